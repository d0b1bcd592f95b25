"""Node: the round goes to memory; then the next round, the next gap, or the end."""

from __future__ import annotations

import dataclasses
from typing import Any

from langgraph.runtime import Runtime

from benchfill.graph.search import Search
from benchfill.graph.state import SearchState, Step
from benchfill.memory.pool import Pool
from benchfill.memory.records import Candidate, CandidateStatus, GapRow, GapStatus

__all__ = ["gap_report", "remember"]

SUSPECT = "suspect_key: weaker models solve it more often than stronger ones"


def remember(state: SearchState, runtime: Runtime[Search]) -> dict[str, Any]:
    """Settle what became of the round's candidates and of the gap."""
    search = runtime.context
    gap = search.pool.gap(state["gap"])
    met = state["met"]
    for name in state["asked"]:
        if name in state["suspect"]:
            _settle(search, search.pool.candidate(name), "rejected", SUSPECT)
        elif name != met:
            reason = "refused by fresh attempts" if name in state["refused"] else ""
            _settle(search, search.pool.candidate(name), "dropped", reason)
    status: GapStatus = "open"
    accepted: str | None = None
    if met:
        # A search whose tolerance is out of reach of its attempts ends at what is within reach.
        status, accepted = _status_of(search, gap, met), met
    elif state["round"] >= search.settings.rounds:
        status = "unfilled"
    if accepted is not None:
        _settle(search, search.pool.candidate(accepted), "accepted")
    row = dataclasses.replace(gap, status=status, accepted=accepted, rounds=state["round"])
    search.pool.save_gaps([row])
    if status == "open":
        return {"round": state["round"] + 1, "step": "next_round"}
    search.emit("gap_finished", **gap_report(search.pool, row))
    remaining = [other.gap for other in search.pool.gaps() if other.gap > gap.gap]
    step: Step = "next_gap" if remaining else "done"
    return {"gap": gap.gap + bool(remaining), "round": 1, "step": step, "done": not remaining}


def _status_of(search: Search, gap: GapRow, candidate: str) -> GapStatus:
    estimate = search.pool.estimates()[str(search.pool.candidate(candidate).item)]
    within = estimate.expected_deviation is not None and estimate.expected_deviation <= gap.tolerance
    return "filled" if within else "accepted_outside_tolerance"


def _settle(search: Search, candidate: Candidate, status: CandidateStatus, reason: str = "") -> None:
    search.pool.save_candidate(dataclasses.replace(candidate, status=status, reason=reason))
    search.emit(
        "candidate",
        gap=candidate.gap,
        round=candidate.round,
        candidate=candidate.id,
        status=status,
        reason=reason,
    )


def gap_report(pool: Pool, gap: GapRow) -> dict[str, Any]:
    """What the display and the summary say of a gap: where its accepted item lies and what it took."""
    candidates = pool.candidates(gap.gap)
    estimates, judgements = pool.estimates(), pool.judgements()
    accepted = next((str(each.item) for each in candidates if each.id == gap.accepted), None)
    estimate = None if accepted is None else estimates[accepted]
    asked = [pool.attempts(str(each.item)) for each in candidates if each.item is not None]
    attempts = sum(row.outcome != "missing" for rows in asked for row in rows)
    confirmation = sum(_fresh_attempts(pool, each) for each in candidates if each.item is not None)
    calls = sum(each.calls for each in candidates) + sum(len(rows) for rows in asked)
    calls += sum(judgements[each.id].calls for each in candidates if each.id in judgements)
    return {
        "gap": gap.gap,
        "target": gap.target,
        "lo": gap.lo,
        "hi": gap.hi,
        "tolerance": gap.tolerance,
        "status": gap.status,
        "accepted": accepted,
        "z_mean": None if estimate is None else estimate.z,
        "z_lo90": None if estimate is None else estimate.z_lo90,
        "z_hi90": None if estimate is None else estimate.z_hi90,
        "z_ml": None if estimate is None else pool.z_ml(estimate),
        "expected_deviation": None if estimate is None else estimate.expected_deviation,
        "confirmed": None if estimate is None else estimate.confirmed,
        "attempts": attempts,
        "confirmation_attempts": confirmation,
        "calls": calls,
        "rounds": gap.rounds,
    }


def _fresh_attempts(pool: Pool, candidate: Candidate) -> int:
    """Answers to one candidate that were asked to confirm it."""
    spans = [(each.first, each.stop) for each in pool.confirmations(candidate.id)]
    rows = pool.attempts(str(candidate.item)) if spans else []
    return sum(
        row.outcome != "missing" and any(first <= row.attempt < stop for first, stop in spans) for row in rows
    )
