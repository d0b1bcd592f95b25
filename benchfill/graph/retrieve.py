"""Node: the parents whose rewrites promise most, by how this rewriter has hit its targets so far."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from benchfill.calibration.rewriter_record import choose_parents
from benchfill.graph.measuring import record_before
from benchfill.graph.plan import aim_of
from benchfill.graph.search import Search
from benchfill.graph.state import NOT_CONFIRMING, SearchState

__all__ = ["retrieve"]


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
        and candidate.status != "rejected"
        for candidate in search.pool.candidates()
    }
    known = {
        item: estimate
        for item, estimate in search.pool.estimates().items()
        # Children of this very round may stand there when the node runs again after a kill.
        if estimate.source == "offline" or children.get(item, False)
    }
    record = record_before(search, gap.gap, state["round"])
    aim = aim_of(gap, scale=search.scale, theta=search.theta, settings=search.settings)
    # An original's own uncertainty does not count against it: it is what the axis is made of.
    places = {item: (each.z, 0.0 if each.source == "offline" else each.z_sd) for item, each in known.items()}
    parents = choose_parents(
        record,
        [(item, *place, known[item].source == "offline") for item, place in places.items()],
        gap.target,
        aim.tolerance,
        search.settings.candidates,
    )
    priors = {parent: record.prior(gap.target, *places[parent]) for parent in parents}
    return {
        "parents": parents,
        "priors": {parent: [prior.center, prior.scale] for parent, prior in priors.items()},
        "chance": max(prior.chance_within(gap.target, aim.tolerance) for prior in priors.values()),
        "written": None,
        "asked": {},
        "plan": {},
        "met": "",
        "fresh_from": NOT_CONFIRMING,
        "suspect": [],
        "refused": [] if state["round"] == 1 else state["refused"],
        "done": False,
    }
