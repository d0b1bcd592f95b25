"""Items reweighted to a target measure: the mass of the target in each item's cell of the axis, and its bootstrap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.targets import Target

__all__ = ["PairWeights", "bootstrap_scores"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PairWeights:
    """Where items lie, and the target.

    Parameters
    ----------
    place
        Shape (places,). Distinct places z, ascending.
    of_item
        Shape (items,). Place of each item; items at one place share its cell equally.
    target
        The measure.
    """

    place: Array
    of_item: NDArray[np.int64]
    target: Target

    @classmethod
    def of(cls, z: Array, target: Target) -> PairWeights:
        """For items at z, shape (items,)."""
        place, of_item = np.unique(z, return_inverse=True)
        return cls(place, of_item.reshape(-1), target)

    def of_items(self, copies: NDArray[np.int64] | None = None) -> Array:
        """Weight of each item, (items,), summing to one.

        Parameters
        ----------
        copies
            Shape (items,). How often each item is there; None is once. A place without items has no cell, its
            neighbours' cells meet between them.
        """
        each = np.ones(self.of_item.size, dtype=np.int64) if copies is None else copies
        there = np.bincount(self.of_item, each, self.place.size)
        filled = np.flatnonzero(there)
        middle = 0.5 * (self.place[filled][1:] + self.place[filled][:-1])
        mass = np.diff(np.concatenate([[0.0], self.target.cdf(middle), [1.0]]))
        cell = np.zeros(self.place.size)
        cell[filled] = mass / there[filled]
        return np.asarray(cell[self.of_item] * each)


def bootstrap_scores(
    weights: PairWeights,
    correct: NDArray[np.int64],
    attempts: NDArray[np.int64],
    *,
    draws: int,
    generator: np.random.Generator,
) -> Array:
    """Scores under the target, of items drawn with replacement and attempts drawn anew: shape (draws, models).

    Parameters
    ----------
    correct, attempts
        Shape (models, items), every cell asked. The attempts of a cell are drawn from its own success rate, once a
        draw, so that copies of an item share them.
    """
    items = weights.of_item.size
    rates = correct / attempts
    mixed = np.nonzero((correct > 0) & (correct < attempts))
    asked, chance = attempts[mixed], rates[mixed]
    scores = np.empty((draws, rates.shape[0]))
    for draw in range(draws):
        copies = np.bincount(generator.integers(items, size=items), minlength=items)
        drawn = rates.copy()
        drawn[mixed] = generator.binomial(asked, chance) / asked
        scores[draw] = drawn @ weights.of_items(copies)
    return scores
