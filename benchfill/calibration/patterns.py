"""Response patterns: items that every model answered alike are one item with a weight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.response_log import ResponseLog

__all__ = ["ResponsePatterns", "group_patterns"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ResponsePatterns:
    """The distinct columns of a response log.

    Parameters
    ----------
    correct, attempts
        Shape (models, patterns).
    guessing
        Shape (patterns,). Chance of a blind guess.
    size
        Shape (patterns,). Items that show the pattern.
    of_item
        Shape (items,). Pattern of each item.
    """

    correct: Array
    attempts: Array
    guessing: Array
    size: Array
    of_item: NDArray[np.int64]


def group_patterns(log: ResponseLog, guessing: Array | None = None) -> ResponsePatterns:
    """Group the items of a log by attempts, right answers and guessing.

    Parameters
    ----------
    guessing
        Shape (items,), values in [0, 1); None is 0 throughout.
    """
    chance = np.zeros(len(log.items)) if guessing is None else np.asarray(guessing, dtype=np.float64)
    rates, rate = np.unique(chance, return_inverse=True)
    keys = np.ascontiguousarray(np.column_stack([rate, log.attempts.T, log.correct.T]))
    # Rows as opaque bytes sort several times faster than rows as rows.
    rows = keys.view(np.dtype((np.void, keys.dtype.itemsize * keys.shape[1]))).ravel()
    _, first, of_item, size = np.unique(rows, return_index=True, return_inverse=True, return_counts=True)
    return ResponsePatterns(
        correct=log.correct[:, first].astype(np.float64),
        attempts=log.attempts[:, first].astype(np.float64),
        guessing=rates[rate[first]],
        size=size.astype(np.float64),
        of_item=of_item.reshape(-1).astype(np.int64),
    )
