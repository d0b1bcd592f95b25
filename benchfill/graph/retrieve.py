"""Node: parents nearest to the target, with some spread."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from benchfill.graph.search import Search
from benchfill.graph.state import SearchState
from benchfill.memory.records import Estimate

__all__ = ["choose_parents", "retrieve"]


def retrieve(state: SearchState, runtime: Runtime[Search]) -> dict[str, Any]:
    """Choose one parent a writer from the pool: originals and calibrated children alike."""
    search = runtime.context
    gap = search.pool.gap(state["gap"])
    if state["round"] == 1:
        search.emit(
            "gap_started",
            gap=gap.gap,
            of=len(search.pool.gaps()),
            lo=gap.lo,
            hi=gap.hi,
            target=gap.target,
            tolerance=gap.tolerance,
        )
    children = {
        str(candidate.item): candidate.item is not None
        and (candidate.gap, candidate.round) < (gap.gap, state["round"])
        for candidate in search.pool.candidates()
    }
    known = {
        item: estimate
        for item, estimate in search.pool.estimates().items()
        # Children of this very round may stand there when the node runs again after a kill.
        if estimate.source == "offline" or children.get(item, False)
    }
    parents = choose_parents(known, gap.target, search.settings.candidates)
    return {"parents": parents, "written": None, "asked": {}, "plan": {}, "met": "", "done": False}


def choose_parents(known: dict[str, Estimate], target: float, count: int) -> list[str]:
    """The items expected nearest to the target, ``count`` of them, all different where there are enough.

    Nearness is ``E|z - z*|`` under a normal approximation's bound ``|z - z*| + 0.8 sd``: a child measured by a
    handful of attempts is not taken for near because its mean happens to be. At least every fourth parent is an
    original item, so that a search does not drift off in the descendants of one parent.
    """
    if not known:
        return []

    def distance(item: str) -> tuple[float, str]:
        estimate = known[item]
        # An original's own uncertainty does not count against it: it is what the axis is made of.
        spread = 0.8 * estimate.z_sd if estimate.source == "online" else 0.0
        return (abs(estimate.z - target) + spread, item)

    ranked = sorted(known, key=distance)
    originals = [item for item in ranked if known[item].source == "offline"]
    wanted_originals = originals[: max(1, count // 4)]
    others = [item for item in ranked if item not in wanted_originals]
    chosen = sorted([*wanted_originals, *others[: count - len(wanted_originals)]], key=distance)
    return [chosen[index % len(chosen)] for index in range(count)]
