"""Before a search over a log from elsewhere: do the models that will answer still have the abilities of the log?"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from benchfill.calibration.drift import LEAST_SHIFT, Shift, ability_shifts, choose_anchors
from benchfill.errors import BenchfillError
from benchfill.graph.attempts import counted_as
from benchfill.graph.search import Search
from benchfill.item import Item
from benchfill.memory.records import AttemptRow, Estimate

__all__ = ["DriftFound", "check_anchors", "refuse_drift"]


class DriftFound(BenchfillError):
    """A model of the pool is another one than in the log; the run can be gone on with all the same."""


async def check_anchors(search: Search) -> list[Shift]:
    """Ask the anchors, keep the attempts, say how far each ability has moved.

    Replies that were paid for, in an earlier session or for a log that was made here, cost nothing.

    Returns
    -------
    list
        A shift a model, in the order of ``search.models``; empty where no anchors are wanted.
    """
    # As fitted: the same items in every session, whatever was asked again since.
    settings, estimates = search.settings, search.pool.estimates(as_fitted=True)
    items = {item.id: item for item in search.pool.items("original") if item.id in estimates}
    if not settings.anchors or not items:
        return []
    ids = sorted(items)
    chosen = choose_anchors(
        ids,
        [estimates[item].b for item in ids],
        search.theta,
        count=settings.anchors,
        attempts=settings.anchor_attempts,
        guessing=[items[item].guessing for item in ids],
    )
    _say(search, f"re-asking {len(chosen)} items of the log, {settings.anchor_attempts} times a model")
    rows = await asyncio.gather(
        *(
            search.panel.ask(items[item], model, attempt)
            for attempt in range(settings.anchor_attempts)
            for item in chosen
            for model in search.models
        )
    )
    search.pool.save_attempts(rows)
    shifts = _shifts(search, [items[item] for item in chosen], estimates, rows)
    search.emit(
        "anchors",
        items=chosen,
        attempts=settings.anchor_attempts,
        shifts=[dataclasses.asdict(shift) for shift in shifts],
    )
    return shifts


def _shifts(
    search: Search, anchors: Sequence[Item], estimates: Mapping[str, Estimate], rows: Sequence[AttemptRow]
) -> list[Shift]:
    model_at = {model: index for index, model in enumerate(search.models)}
    item_at = {item.id: index for index, item in enumerate(anchors)}
    counts = np.zeros((2, len(model_at), len(item_at)), dtype=np.int64)
    for row in rows:
        outcome = counted_as(row, search.no_answer)
        counts[:, model_at[row.model], item_at[row.item]] += (outcome == "correct", outcome != "missing")
    return ability_shifts(
        search.models,
        search.theta,
        search.theta_draws.std(axis=0),
        [estimates[item.id].b for item in anchors],
        [estimates[item.id].b_sd for item in anchors],
        counts[0],
        counts[1],
        [item.guessing for item in anchors],
    )


def refuse_drift(search: Search, shifts: Sequence[Shift]) -> None:
    """Stop where an ability has moved by more than its error, unless that is accepted.

    Raises
    ------
    DriftFound
        Which models, and by how much.
    """
    moved = [shift for shift in shifts if shift.drifted]
    if not moved:
        return
    named = ", ".join(f"{each.model} by {each.shift:+.2f} (error {each.se:.2f})" for each in moved)
    what = f"{len(moved)} of {len(shifts)} abilities differ from the log, in logits: {named}"
    if search.settings.accept_drift:
        _say(search, f"{what}; accepted")
        return
    raise DriftFound(
        f"{what}. Each is beyond {LEAST_SHIFT:g} logits and its error.",
        "Check model, parameters and prompt of these endpoints, answer the items anew with benchfill answer, or "
        f"go on with: benchfill resume {search.run} --accept-drift",
    )


def _say(search: Search, message: str) -> None:
    search.emit("stage", name="anchors", message=message, fraction=None)
