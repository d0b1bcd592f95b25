"""Abilities of some models from some of the items, whose curves are taken as known: estimates and standard errors.

An estimate is the mode of likelihood times Normal(mean ability of the pool, 3 logits), found on a grid and between its
points by a parabola, so that a thousand subsets cost a matrix product each, whatever the item model.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.item_curves import ItemCurves
from benchfill.calibration.response_log import ResponseLog

__all__ = ["SubsetAbilities"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_GRID = 161
_MARGIN = 3.0  # logits beyond the pool's abilities
_SD = 3.0  # logits; as in the fit of item models


class SubsetAbilities:
    """Abilities of the models of interest by subsets of the items.

    Parameters
    ----------
    log
        Answers; every attempt counts.
    curves
        Of the same models and items.
    rows
        Models of interest.
    """

    def __init__(self, log: ResponseLog, curves: ItemCurves, rows: Index) -> None:
        theta = curves.theta
        self._grid = np.linspace(theta.min() - _MARGIN, theta.max() + _MARGIN, _GRID)
        self._prior = -0.5 * ((self._grid - theta.mean()) / _SD) ** 2
        self._right = log.correct[rows].astype(np.float64)
        self._wrong = (log.attempts - log.correct)[rows].astype(np.float64)
        told = curves.information(theta[rows], curves.slope[rows]) * log.attempts[rows]
        self._information = np.ascontiguousarray(told.T)
        self._tables: list[tuple[Index, Array, Array]] = []
        slopes, of_slope = np.unique(curves.slope[rows], return_inverse=True)
        for at, slope in enumerate(slopes):
            chance = np.clip(curves.success(self._grid, slope).T, 1e-12, 1.0 - 1e-12)
            self._tables.append((np.flatnonzero(of_slope == at), np.log(chance), np.log1p(-chance)))

    def estimate(self, subset: Index) -> Array:
        """Estimates by the items at these positions: shape (models of interest,), logits."""
        found = np.empty(len(self._right))
        for these, log_right, log_wrong in self._tables:
            part = np.ix_(these, subset)
            height = self._right[part] @ log_right[subset] + self._wrong[part] @ log_wrong[subset]
            found[these] = _peak(self._grid, height + self._prior)
        return found

    def claimed(self, subset: Index) -> Array:
        """Standard errors by the items' information: shape (models of interest,), logits."""
        return np.asarray((self._information[subset].sum(axis=0) + _SD**-2.0) ** -0.5)


def _peak(grid: Array, height: Array) -> Array:
    """Where each row is highest: shape (rows,)."""
    at = np.clip(height.argmax(axis=1), 1, grid.size - 2)
    row = np.arange(len(height))
    left, middle, right = (height[row, at + step] for step in (-1, 0, 1))
    bend = left - 2.0 * middle + right
    shift = np.divide(0.5 * (left - right), bend, out=np.zeros(bend.shape), where=bend < 0.0)
    return np.asarray(grid[at] + np.clip(shift, -1.0, 1.0) * (grid[1] - grid[0]))
