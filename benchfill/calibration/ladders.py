"""Ladders of models of one family, and inversions: items that a larger model fails while a smaller one succeeds.

The inversion of an item and a pair of one family, stronger s and weaker w by size, is ``(1 - p_s) p_w``: the chance
that an attempt of each shows one (Benchmark^2, arXiv 2601.03986, has single attempts, where it is 0 or 1). It is
not zero where nothing is wrong with the items: two models of nearly the same ability show it by chance. Under the 1PL
it has the expected value ``(1 - P_s) P_w``, its noise floor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Inversions", "inversions", "ladder_pairs"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Inversions:
    """Inversions of a benchmark.

    Parameters
    ----------
    total, pairs
        Shape (items,). Sum of inversions over the pairs that were both asked the item, and how many these are.
    worst
        Shape (items,). Pair with the largest inversion, an index into the pairs given; -1 without any.
    worst_value
        Shape (items,). Its inversion.
    """

    total: Array
    pairs: Array
    worst: NDArray[np.int64]
    worst_value: Array

    @property
    def of_items(self) -> Array:
        """Mean inversion of each item over its pairs: shape (items,), NaN where it has none."""
        mean = np.full(self.total.shape, np.nan)
        np.divide(self.total, self.pairs, out=mean, where=self.pairs > 0)
        return mean

    @property
    def mean(self) -> float | None:
        """Mean over items and pairs; None where there is no pair."""
        every = float(self.pairs.sum())
        return float(self.total.sum()) / every if every else None


def ladder_pairs(
    models: Sequence[str], names: Mapping[str, tuple[str, float | None]]
) -> tuple[tuple[str, str], ...]:
    """Pairs (stronger, weaker) of one family whose sizes differ, sorted.

    Parameters
    ----------
    models
        Ids.
    names
        Family and size in billions of parameters by id. A model without family or size is on no ladder.
    """
    known = [(*names[model], model) for model in sorted(models) if model in names]
    return tuple(
        sorted(
            (stronger, weaker)
            for family, size, stronger in known
            for other, less, weaker in known
            if family and family == other and size is not None and less is not None and size > less
        )
    )


def inversions(rates: Array, models: Sequence[str], pairs: Sequence[tuple[str, str]]) -> Inversions:
    """Inversions of the pairs on every item.

    Parameters
    ----------
    rates
        Shape (models, items): success rates or chances of success, NaN where an item was not asked.
    models
        Ids of the rows.
    pairs
        Of `ladder_pairs`.
    """
    row = {model: at for at, model in enumerate(models)}
    items = rates.shape[1]
    total, count = np.zeros(items), np.zeros(items)
    worst, value = np.full(items, -1, dtype=np.int64), np.zeros(items)
    for at, (stronger, weaker) in enumerate(pairs):
        found = (1.0 - rates[row[stronger]]) * rates[row[weaker]]
        asked = np.isfinite(found)
        found = np.where(asked, found, 0.0)
        total += found
        count += asked
        larger = asked & ((worst < 0) | (found > value))
        worst[larger], value[larger] = at, found[larger]
    return Inversions(total, count, worst, value)
