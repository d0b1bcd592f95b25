"""Rankings of models: mean success, Kendall's tau-b for many rankings at once, and bootstraps over items.

Kendall (1945): ``tau_b = (C - D) / sqrt((pairs not tied in x) (pairs not tied in y))`` for concordant and discordant
pairs C and D. As products of signs of differences it is one matrix product for a thousand rankings.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchfill.calibration.response_log import ResponseLog

__all__ = ["item_weights", "mean_success", "pair_signs", "tau_b", "tau_of_signs", "weighted_scores"]

Array = NDArray[np.float64]
Signs = NDArray[np.int8]

_TIE_DECIMALS = 12  # equal means summed in another order must tie
_CHUNK = 4_000_000  # numbers worked on at once


def mean_success(log: ResponseLog) -> Array:
    """Mean over the items a model was asked of its success rate on each: shape (models,), NaN where there is none."""
    asked = log.attempts > 0
    rates = np.divide(log.correct, log.attempts, out=np.zeros(asked.shape), where=asked)
    n_asked = asked.sum(axis=1)
    scores = np.full(len(log.models), np.nan)
    np.divide(rates.sum(axis=1), n_asked, out=scores, where=n_asked > 0)
    return scores


def pair_signs(scores: ArrayLike) -> Signs:
    """Sign of the difference of each pair of models: shape (..., models) to (..., pairs).

    Pairs are ordered as by ``numpy.triu_indices(models, 1)``. Differences below 1e-12 are ties, and so is a pair of
    which a score is unknown (NaN).
    """
    values = np.asarray(scores, dtype=np.float64)
    first, second = np.triu_indices(values.shape[-1], 1)
    difference = np.nan_to_num(values[..., first] - values[..., second])
    return np.sign(np.round(difference, _TIE_DECIMALS)).astype(np.int8)


def tau_of_signs(x: Signs, y: Signs) -> Array:
    """Kendall's tau-b from signs of pairs, (..., pairs) each, broadcast: shape (...), NaN where all pairs are tied."""
    agree = (x * y).sum(axis=-1, dtype=np.int64)
    ordered = np.count_nonzero(x, axis=-1) * np.count_nonzero(y, axis=-1)
    return np.asarray(
        np.divide(
            agree, np.sqrt(ordered), out=np.full(np.shape(agree), np.nan), where=np.asarray(ordered) > 0
        )
    )


def tau_b(x: ArrayLike, y: ArrayLike) -> Array:
    """Kendall's tau-b of scores, (..., models) each, broadcast: shape (...), NaN where one side has no order."""
    return tau_of_signs(pair_signs(x), pair_signs(y))


def item_weights(items: int, draws: int, generator: np.random.Generator, width: int) -> Iterator[Array]:
    """How often each bootstrap sample of the items holds each item, in blocks of shape (draws of the block, items).

    Parameters
    ----------
    width
        Numbers that a draw costs the caller besides; the blocks are smaller where it is large. The draws themselves do
        not depend on it.
    """
    step = max(1, _CHUNK // max(items, width))
    even = np.full(items, 1.0 / items)
    for start in range(0, draws, step):
        yield generator.multinomial(items, even, size=min(step, draws - start)).astype(np.float64)


def weighted_scores(rates: Array, weights: Array) -> Array:
    """Mean success of each model on weighted items: shape (draws, models).

    Parameters
    ----------
    rates
        Shape (models, items), NaN where an item was not asked.
    weights
        Shape (draws, items), at least 0. A model that was asked none of the drawn items has NaN.
    """
    asked = np.isfinite(rates)
    right = weights @ np.where(asked, rates, 0.0).T
    total = weights @ asked.T.astype(np.float64)
    return np.asarray(np.divide(right, total, out=np.full(right.shape, np.nan), where=total > 0.0))
