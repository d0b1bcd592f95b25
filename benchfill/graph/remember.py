"""Node: the round goes to memory; then the next round, or the end of this gap."""

from __future__ import annotations

import dataclasses
from typing import Any

from langgraph.runtime import Runtime

from benchfill.calibration.predictive_fit import predictive_fit
from benchfill.graph.gap_report import gap_report
from benchfill.graph.measuring import count, item_of
from benchfill.graph.search import Search
from benchfill.graph.state import SearchState
from benchfill.memory.records import Candidate, CandidateStatus, GapRow, GapStatus, ItemFitRow

__all__ = ["SUSPECT", "keep_fit", "remember"]

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
        keep_fit(search, search.pool.candidate(accepted))
    row = dataclasses.replace(gap, status=status, accepted=accepted, rounds=state["round"])
    search.pool.save_gaps([row])
    if status == "open":
        return {"round": state["round"] + 1, "step": "next_round"}
    search.emit("gap_finished", **gap_report(search.pool, row))
    return {"step": "done", "done": True}


def _status_of(search: Search, gap: GapRow, candidate: str) -> GapStatus:
    estimate = search.pool.estimates()[str(search.pool.candidate(candidate).item)]
    within = estimate.expected_deviation is not None and estimate.expected_deviation <= gap.tolerance
    return "filled" if within else "accepted_outside_tolerance"


def keep_fit(search: Search, candidate: Candidate) -> None:
    """How the answers to the accepted item fit the pool, beside the benchmark's own items: shown, never a reason."""
    item = item_of(search, candidate)
    counts = count(search, search.pool.attempts(item.id))
    fit = predictive_fit(
        search.theta_draws, *counts, search.own_items, guessing=item.guessing, seed=search.seed
    )
    if fit is not None:
        search.pool.save_item_fit(ItemFitRow(item.id, **dataclasses.asdict(fit), misfits=fit.misfits))


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
