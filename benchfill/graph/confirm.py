"""Node: fresh attempts of all models at the chosen candidate, never among those it was chosen by."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from benchfill.calibration.confirmation import (
    Confirmation,
    confirmation_attempts,
    further_attempts,
)
from benchfill.calibration.confirmation import confirm as judge_by_fresh
from benchfill.graph.measuring import (
    count,
    estimate_of,
    item_of,
    prior_of,
    record_before,
    still_answered,
)
from benchfill.graph.plan import aim_of
from benchfill.graph.search import Search
from benchfill.graph.state import NOT_CONFIRMING, SearchState
from benchfill.memory.records import Candidate, ConfirmationRow, GapRow

__all__ = ["confirm"]


def confirm(state: SearchState, runtime: Runtime[Search]) -> dict[str, Any]:
    """Plan the fresh attempts; once they are answered, confirm the candidate, refuse it, or ask on."""
    search = runtime.context
    gap = search.pool.gap(state["gap"])
    candidate = search.pool.candidate(state["met"])
    first, stop = state["fresh_from"], state["asked"][candidate.id]
    planned = confirmation_attempts(search.theta, gap.target, search.scale, state["taken_at"])
    if stop == first:
        _say(search, gap, candidate, "asking", attempts=planned * len(search.models))
        return {"plan": {candidate.id: stop + planned}}
    found = _look(
        search,
        gap,
        candidate,
        first=first,
        stop=stop,
        planned=planned,
        tolerance=state["taken_at"],
        round=state["round"],
    )
    if found.verdict == "unsettled":
        return {"plan": {candidate.id: stop + further_attempts(planned)}}
    _keep(search, candidate, found, first=first, stop=stop, tolerance=state["taken_at"])
    fresh = found.fresh
    _say(
        search,
        gap,
        candidate,
        found.verdict,
        z_mean=fresh.mean,
        z_lo90=fresh.lo90,
        z_hi90=fresh.hi90,
        expected_deviation=found.expected_deviation,
        attempts=(stop - first) * len(search.models),
    )
    if found.verdict == "confirmed":
        return {"fresh_from": NOT_CONFIRMING}
    return {
        "met": "",
        "fresh_from": NOT_CONFIRMING,
        "refused": sorted([*state["refused"], candidate.id]),
    }


def _look(
    search: Search,
    gap: GapRow,
    candidate: Candidate,
    *,
    first: int,
    stop: int,
    planned: int,
    tolerance: float,
    round: int,
) -> Confirmation:
    item = item_of(search, candidate)
    rows = search.pool.attempts(item.id, below=stop)
    found = judge_by_fresh(
        search.theta_draws,
        search.scale,
        target=gap.target,
        tolerance=tolerance,
        fresh=count(search, [row for row in rows if row.attempt >= first]),
        everything=count(search, rows),
        prior=prior_of(search, candidate),
        record=record_before(search, gap.gap, round),
        guessing=item.guessing,
    )
    aim = aim_of(gap, scale=search.scale, theta=search.theta, settings=search.settings)
    return found.settled(
        asked=stop - first,
        planned=planned,
        dry=not still_answered(search, rows, stop),
        settling=tolerance > aim.tolerance,
    )


def _keep(
    search: Search, candidate: Candidate, found: Confirmation, *, first: int, stop: int, tolerance: float
) -> None:
    """The verdict; and the place of a confirmed item, told by the fresh attempts alone."""
    fresh = found.fresh
    search.pool.save_confirmation(
        ConfirmationRow(
            candidate=candidate.id,
            first=first,
            stop=stop,
            tolerance=tolerance,
            verdict="confirmed" if found.verdict == "confirmed" else "refused",
            z=fresh.mean,
            z_sd=fresh.sd,
            z_lo90=fresh.lo90,
            z_hi90=fresh.hi90,
            expected_deviation=found.expected_deviation,
        )
    )
    if found.verdict != "confirmed":
        return
    item = item_of(search, candidate)
    rows = search.pool.attempts(item.id, below=stop)
    estimate = estimate_of(
        search,
        item,
        fresh,
        count(search, [row for row in rows if row.attempt >= first]),
        expected_deviation=found.expected_deviation,
        attempts=sum(row.outcome != "missing" for row in rows),
        confirmed=True,
    )
    search.pool.save_estimates([estimate])


def _say(search: Search, gap: GapRow, candidate: Candidate, verdict: str, **fields: Any) -> None:
    search.emit(
        "confirmation",
        gap=gap.gap,
        round=candidate.round,
        candidate=candidate.id,
        verdict=verdict,
        **fields,
    )
