"""Node: where each candidate lies, given the frozen abilities, and what to ask next."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from benchfill.calibration.online import attempts_needed
from benchfill.calibration.selection import Decision, choose_next, fresh_yield
from benchfill.graph.measuring import Measured, measure, prior_posterior
from benchfill.graph.plan import aim_of
from benchfill.graph.search import Search
from benchfill.graph.state import SearchState
from benchfill.memory.records import GapRow

__all__ = ["calibrate"]

# In the end an item within a sixth of the gap's width from its target leaves no part above two thirds of it.
SETTLING = 1 / 6
# Attempts, in units of what an item on target takes, that one success may be expected to cost in the end.
SETTLING_COST = 8


def calibrate(state: SearchState, runtime: Runtime[Search]) -> dict[str, Any]:
    """Update the posteriors and plan the next block of attempts, or none."""
    search = runtime.context
    gap = search.pool.gap(state["gap"])
    asked = state["asked"]
    measured = [measure(search, gap, name, count) for name, count in sorted(asked.items())]
    search.pool.save_estimates(each.estimate for each in measured)
    for each in measured:
        _say(search, gap, state["round"], each)
    decision = _search_on(search, gap, measured)
    if decision.kind == "exhausted" and state["round"] >= search.settings.rounds:
        everyone = [*measured, *_earlier(search, gap, asked)]
        decision = _settle_for_near(search, gap, everyone)
        counts = {each.view.id: each.view.attempts for each in everyone}
        asked = {**asked, **({decision.candidate: counts[decision.candidate]} if decision.candidate else {})}
    if decision.kind == "met":
        return {"met": decision.candidate, "asked": asked}
    if decision.kind == "ask" and decision.candidate is not None:
        return {"asked": asked, "plan": {decision.candidate: asked[decision.candidate] + decision.block}}
    return {"met": ""}


def _search_on(search: Search, gap: GapRow, measured: list[Measured]) -> Decision:
    """Go on with the round's candidates as long as they promise more than fresh ones."""
    aim = aim_of(gap, scale=search.scale, theta=search.theta, settings=search.settings)
    chance = prior_posterior(search, gap).chance_within(gap.target, aim.tolerance)
    return choose_next(
        [each.view for each in measured if each.answered],
        target=gap.target,
        tolerance=aim.tolerance,
        models=len(search.models),
        least_yield=fresh_yield(chance, aim.attempts, len(search.models)),
        max_attempts=search.settings.max_attempts,
        max_block=search.settings.max_block,
    )


def _settle_for_near(search: Search, gap: GapRow, measured: list[Measured]) -> Decision:
    """No fresh ones come after the last round: the most promising candidate of all rounds is measured on."""
    aim = aim_of(gap, scale=search.scale, theta=search.theta, settings=search.settings)
    near = max(aim.tolerance, SETTLING * (gap.hi - gap.lo))
    on_target = attempts_needed(search.theta, search.scale.to_b(gap.target), search.scale, near)
    return choose_next(
        [each.view for each in measured if each.answered],
        target=gap.target,
        tolerance=near,
        models=len(search.models),
        least_yield=1.0 / (SETTLING_COST * on_target),
        max_attempts=search.settings.max_attempts,
        max_block=search.settings.max_block,
    )


def _earlier(search: Search, gap: GapRow, asked: dict[str, int]) -> list[Measured]:
    """Candidates of the gap's earlier rounds that were measured, as they were left."""
    found = []
    for candidate in search.pool.candidates(gap.gap):
        rows = search.pool.attempts(str(candidate.item)) if candidate.status == "dropped" else []
        if rows and candidate.id not in asked:
            found.append(measure(search, gap, candidate.id, 1 + max(row.attempt for row in rows)))
    return found


def _say(search: Search, gap: GapRow, round: int, measured: Measured) -> None:
    estimate = measured.estimate
    search.emit(
        "posterior",
        gap=gap.gap,
        round=round,
        candidate=measured.view.id,
        z_mean=estimate.z,
        z_lo90=estimate.z_lo90,
        z_hi90=estimate.z_hi90,
        z_ml=search.pool.z_ml(estimate),
        expected_deviation=estimate.expected_deviation,
        attempts=estimate.attempts,
    )
