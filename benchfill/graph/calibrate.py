"""Node: where each candidate lies, given the frozen abilities, and what to ask next."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from benchfill.calibration.selection import Goal, fresh_yield
from benchfill.calibration.strategy import GapGoal, next_step
from benchfill.graph.measuring import Measured, measure
from benchfill.graph.plan import aim_of
from benchfill.graph.search import Search
from benchfill.graph.state import NOT_CONFIRMING, SearchState
from benchfill.memory.records import GapRow

__all__ = ["calibrate"]


def calibrate(state: SearchState, runtime: Runtime[Search]) -> dict[str, Any]:
    """Update the posteriors and decide: further attempts, a candidate to take, or an end of the round."""
    search = runtime.context
    gap = search.pool.gap(state["gap"])
    asked = dict(state["asked"])
    measured = {name: measure(search, gap, name, count) for name, count in sorted(asked.items())}
    search.pool.save_estimates(each.estimate for each in measured.values())
    for each in measured.values():
        _say(search, gap, state["round"], each)
    last_round = state["round"] >= search.settings.rounds
    earlier = _earlier(search, gap, asked) if last_round else {}
    everyone = {**earlier, **measured}
    views = {name: each.view for name, each in everyone.items() if each.answered}
    written = set(state["written"])
    aim = aim_of(gap, scale=search.scale, theta=search.theta, settings=search.settings)
    step = next_step(
        search.strategy,
        GapGoal(gap.lo, gap.hi, gap.target, aim.tolerance),
        [view for name, view in views.items() if name in written],
        [view for name, view in views.items() if name not in written],
        goal=Goal(
            target=gap.target,
            tolerance=aim.tolerance,
            models=len(search.models),
            least_yield=fresh_yield(state["chance"], aim.attempts, len(search.models)),
            max_attempts=search.settings.max_attempts,
            max_block=search.settings.max_block,
        ),
        theta=search.theta,
        scale=search.scale,
        last_round=last_round,
        refused=state["refused"],
    )
    suspect = [name for name, each in measured.items() if each.view.suspect]
    if step.candidate is None:
        return {"met": "", "fresh_from": NOT_CONFIRMING, "suspect": suspect}
    asked[step.candidate] = everyone[step.candidate].view.attempts
    if step.kind == "ask":
        return {
            "asked": asked,
            "plan": {step.candidate: asked[step.candidate] + step.block},
            "suspect": suspect,
        }
    confirms = search.settings.confirm and search.strategy.confirms
    return {
        "asked": asked,
        "met": step.candidate,
        "suspect": suspect,
        "taken_at": step.tolerance,
        "fresh_from": asked[step.candidate] if confirms else NOT_CONFIRMING,
    }


def _earlier(search: Search, gap: GapRow, asked: dict[str, int]) -> dict[str, Measured]:
    """Candidates of the gap's earlier rounds that were measured, as they were left."""
    found = {}
    for candidate in search.pool.candidates(gap.gap):
        rows = search.pool.attempts(str(candidate.item)) if candidate.status == "dropped" else []
        if rows and candidate.id not in asked:
            found[candidate.id] = measure(search, gap, candidate.id, 1 + max(row.attempt for row in rows))
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
        z_ml=measured.view.z_ml,
        expected_deviation=estimate.expected_deviation,
        attempts=estimate.attempts,
    )
