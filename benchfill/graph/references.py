"""Node: the two-sided list of references around the target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime

from benchfill.graph.search import Search
from benchfill.graph.state import SearchState
from benchfill.memory.records import Estimate

__all__ = ["choose_references", "nearest_on_both_sides", "references"]


def references(state: SearchState, runtime: Runtime[Search]) -> dict[str, Any]:
    """Choose the references of this round: originals, and children whose place is known well enough."""
    search = runtime.context
    gap = search.pool.gap(state["gap"])
    earlier = {
        str(candidate.item)
        for candidate in search.pool.candidates()
        if (candidate.gap, candidate.round) < (gap.gap, state["round"]) and candidate.status != "rejected"
    }
    known = {
        item: estimate
        for item, estimate in search.pool.estimates().items()
        if estimate.source == "offline" or (item in earlier and estimate.z_sd <= search.settings.reference_sd)
    }
    chosen = choose_references(known, gap.target, search.settings.references)
    search.emit(
        "round_started",
        gap=gap.gap,
        round=state["round"],
        parents=list(state["parents"]),
        references=len(chosen),
    )
    return {"references": chosen}


def choose_references(known: dict[str, Estimate], target: float, count: int) -> list[str]:
    """The references among measured items (`nearest_on_both_sides`)."""
    return nearest_on_both_sides({item: estimate.z for item, estimate in known.items()}, target, count)


def nearest_on_both_sides(known: Mapping[str, float], target: float, count: int) -> list[str]:
    """The nearest items on both sides: half below and half above where they exist, by ascending difficulty.

    A side that is too short is filled up from the other one.

    Parameters
    ----------
    known
        Places (z) by id.
    """
    below = sorted((item for item in known if known[item] <= target), key=lambda item: (-known[item], item))
    above = sorted((item for item in known if known[item] > target), key=lambda item: (known[item], item))
    half = count // 2
    take_below = max(half, count - len(above))
    take_above = max(count - half, count - len(below))
    chosen = [*below[:take_below], *above[:take_above]]
    return sorted(chosen, key=lambda item: (known[item], item))
