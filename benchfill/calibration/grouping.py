"""Items with equal keys share one integral: grouping, and the connectedness of a response graph.

Under the 1PL without guessing the total of an item's right answers is all that its answers say about its
difficulty, given how often each model was asked. With a guessing chance the whole response pattern counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from benchfill.calibration.response_log import ResponseLog
from benchfill.errors import InputError

__all__ = ["ItemGroups", "group_items", "refuse_disconnected"]


@dataclass(frozen=True, eq=False)
class ItemGroups:
    """Groups of items whose likelihoods are the same function of the difficulty.

    Parameters
    ----------
    of_item
        Shape (items,). Group of each item.
    size
        Shape (groups,). Items in each group.
    total
        Shape (groups,). Right answers over all models.
    correct
        Shape (groups, models). The response pattern where ``guessing > 0``, zeros elsewhere.
    design
        Shape (groups,). Row of ``designs`` and ``guessing`` that says how the items of this group were asked.
    designs
        Shape (designs, models). Attempts.
    guessing
        Shape (designs,). Chance of a blind guess.
    solved
        Shape (models,). Right answers of each model on the items without guessing: the part of the likelihood,
        ``sum_j theta_j solved_j``, that grouping by totals leaves out.
    """

    of_item: NDArray[np.int64]
    size: NDArray[np.float64]
    total: NDArray[np.float64]
    correct: NDArray[np.float64]
    design: NDArray[np.int64]
    designs: NDArray[np.float64]
    guessing: NDArray[np.float64]
    solved: NDArray[np.float64]


def group_items(log: ResponseLog, guessing: NDArray[np.float64]) -> ItemGroups:
    """Group the items of a log by (attempts, total, guessing), or by response pattern where guessing > 0.

    Parameters
    ----------
    guessing
        Shape (items,), values in [0, 1).
    """
    attempts = log.attempts.T
    pattern = np.where(guessing[:, None] > 0.0, log.correct.T, 0)
    total = log.correct.sum(axis=0)
    rates, rate = np.unique(guessing, return_inverse=True)
    keys = np.column_stack([rate, attempts, total, pattern])
    # Rows as bytes sort several times faster than rows as rows, and in their order: counts are not negative.
    whole = np.ascontiguousarray(keys, dtype=">i8")
    packed = whole.view(np.dtype((np.void, whole.dtype.itemsize * whole.shape[1]))).ravel()
    _, first, of_item, size = np.unique(packed, return_index=True, return_inverse=True, return_counts=True)
    rows = keys[first]
    models = len(log.models)
    designs, design = np.unique(rows[:, : models + 1], axis=0, return_inverse=True)
    return ItemGroups(
        of_item=of_item.reshape(-1),
        size=size.astype(np.float64),
        total=rows[:, models + 1].astype(np.float64),
        correct=rows[:, models + 2 :].astype(np.float64),
        design=design.reshape(-1),
        designs=designs[:, 1:].astype(np.float64),
        guessing=rates[designs[:, 0]],
        solved=log.correct[:, guessing == 0.0].sum(axis=1).astype(np.float64),
    )


def refuse_disconnected(log: ResponseLog) -> None:
    """Refuse a log whose models and items fall into groups without a common answer.

    Raises
    ------
    InputError
        The scales of the groups cannot be compared (kind ``disconnected``); the message names them.
    """
    rows, columns = np.nonzero(log.attempts)
    models, items = log.attempts.shape
    edges = coo_array((np.ones(rows.size), (rows, columns + models)), shape=(models + items, models + items))
    count, label = connected_components(edges, directed=False)
    if count == 1:
        return
    names = [f"model {name!r}" for name in log.models] + [f"item {name!r}" for name in log.items]
    groups = [[names[position] for position in np.flatnonzero(label == each)] for each in range(count)]
    shown = "; ".join(
        f"({number}) " + ", ".join(group[:4]) + (f" and {len(group) - 4} more" if len(group) > 4 else "")
        for number, group in enumerate(groups[:4], start=1)
    )
    raise InputError(
        f"The response log falls into {count} groups that share no model and no item: {shown}"
        + ("; ..." if count > 4 else "")
        + ".",
        "Their scales cannot be compared: fit them apart, or add answers that link them.",
        kind="disconnected",
    )
