"""Do a new item's answers look like answers to an item of this benchmark? Fit against the frozen pool, and beside it.

A real benchmark never follows the 1PL exactly, so an item is not judged alone: its misfit stands beside the median of
the benchmark's own items on the same abilities, its correlation with the rest score beside theirs. It is said to
misfit when its posterior-predictive p is below 0.01 AND its residual misfit is more than 1 logit above that median,
which is the rule for the items of a log (`benchfill.calibration.item_fit`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from benchfill.calibration.item_fit import EXCESS, LEVEL
from benchfill.calibration.item_likelihood import checked_counts, log_likelihood

__all__ = ["OwnItems", "PredictiveFit", "own_items", "predictive_fit"]

Floats = NDArray[np.float64]

# Replicates of each draw of the abilities: with 200 draws p = 0.01 is known to 0.002.
REPEATS = 10
# Grid of the difficulty around the abilities, logits.
REACH, STEP = 8.0, 0.05
# Share of the benchmark's own items whose correlations lie below what is shown beside a new item's.
OWN_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class OwnItems:
    """The benchmark's own items, to hold a new one against.

    Parameters
    ----------
    residual
        Median residual misfit, logits.
    correlation
        5 % quantile of the correlations with the rest score; None where no item has one.
    scores
        Shape (models,). Mean success rate of each model over the items it was asked.
    """

    residual: float
    correlation: float | None
    scores: Floats


@dataclass(frozen=True, slots=True)
class PredictiveFit:
    """How a new item's answers fit.

    Parameters
    ----------
    p
        Posterior-predictive p of ``D = sum_j (y - nP)^2 / (nP(1-P))``: how often answers drawn from the 1PL, at the
        same draw of abilities and difficulty, are as far off.
    residual
        Residual misfit in logits: what separates the models' rates from the curve beyond chance.
    own_residual
        The median of the benchmark's own items.
    correlation
        Of the models' success rates with their scores on the benchmark, models weighted by attempts; None when all
        rates or scores agree.
    own_correlation
        5 % quantile of the benchmark's own items, each against the others; None where there is none.
    """

    p: float
    residual: float
    own_residual: float
    correlation: float | None
    own_correlation: float | None

    @property
    def misfits(self) -> bool:
        return self.p < LEVEL and self.residual > self.own_residual + EXCESS


def own_items(
    theta: ArrayLike, correct: ArrayLike, attempts: ArrayLike, b: ArrayLike, guessing: ArrayLike
) -> OwnItems:
    """What the items of the benchmark look like on the frozen abilities.

    Parameters
    ----------
    theta : (M,)
    correct, attempts : (M, I)
        The benchmark's log.
    b, guessing : (I,)
        Places in logits, chances of a blind guess.
    """
    right, asked = np.asarray(correct, dtype=np.float64), np.asarray(attempts, dtype=np.float64)
    residual = _residual(np.asarray(theta), right, asked, np.asarray(b), np.asarray(guessing))
    rate = np.where(asked > 0, right / np.maximum(asked, 1.0), 0.0)
    known = (asked > 0).astype(np.float64)
    total, items = rate.sum(axis=1), known.sum(axis=1)
    # Each item against the score on the others.
    rest = (total[:, None] - rate) / np.maximum(items[:, None] - known, 1.0)
    found = [
        each
        for item in range(right.shape[1])
        if (each := _correlation(rest[:, item], rate[:, item], asked[:, item])) is not None
    ]
    answered = residual[np.isfinite(residual)]
    return OwnItems(
        float(np.median(answered)) if answered.size else 0.0,
        float(np.quantile(found, OWN_SHARE)) if found else None,
        total / np.maximum(items, 1.0),
    )


def predictive_fit(
    theta_draws: ArrayLike,
    correct: ArrayLike,
    attempts: ArrayLike,
    own: OwnItems,
    *,
    guessing: float = 0.0,
    seed: int = 0,
) -> PredictiveFit | None:
    """Hold a new item's answers against the frozen pool and the benchmark's own items.

    Parameters
    ----------
    theta_draws : (S, M)
        Draws of the frozen abilities, logits.
    correct, attempts : (M,)
        All answers to the item.
    seed
        Of the replicates.

    Returns
    -------
    PredictiveFit or None
        None without any answer.

    Raises
    ------
    InputError
        Kind ``bad_counts``.
    """
    draws = np.asarray(theta_draws, dtype=np.float64)
    right, asked = checked_counts(correct, attempts, draws.shape[1], guessing)
    some = asked > 0
    if not some.any():
        return None
    draws, right, asked = draws[:, some], right[some], asked[some]
    b = np.arange(draws.min() - REACH, draws.max() + REACH, STEP)
    rng = np.random.default_rng(seed)
    value = log_likelihood(draws, right, asked, b, guessing)
    weight = np.exp(value - value.max(axis=1, keepdims=True))
    total = np.cumsum(weight, axis=1)
    # One difficulty a draw of the abilities, from its posterior given that draw.
    cell = (total < rng.random((len(draws), 1)) * total[:, -1:]).sum(axis=1)
    success = _success(draws - b[cell][:, None], guessing)
    expected = asked * success
    rarity = 1.0 / np.maximum(expected * (1.0 - success), 1e-300)
    real = (rarity * (right - expected) ** 2).sum(axis=1) * (1.0 - 1e-9)
    answers = rng.binomial(asked.astype(np.int64), success, (REPEATS, *success.shape))
    far = int((np.einsum("rsm,sm->rs", (answers - expected) ** 2, rarity) >= real).sum())
    mean = float((weight.sum(axis=0) * b).sum() / weight.sum())
    residual = _residual(
        draws.mean(axis=0), right[:, None], asked[:, None], np.array([mean]), np.array([guessing])
    )
    return PredictiveFit(
        p=(1.0 + far) / (1.0 + REPEATS * len(draws)),
        residual=float(residual[0]),
        own_residual=own.residual,
        correlation=_correlation(own.scores[some], right / asked, asked),
        own_correlation=own.correlation,
    )


def _success(logit: Floats, guessing: Floats | float) -> Floats:
    # Away from 0 and 1, where a variance of 0 would divide.
    return np.asarray(np.clip(guessing + (1.0 - guessing) * expit(logit), 1e-12, 1.0 - 1e-12))


def _residual(theta: Floats, right: Floats, asked: Floats, b: Floats, guessing: Floats) -> Floats:
    """Residual misfit of items (I,), as `item_fit` defines it: first order, 0 where chance explains all."""
    success = _success(theta[:, None] - b, guessing)
    count = np.maximum(asked, 1.0)
    excess = np.where(asked > 0, (right / count - success) ** 2 - success * (1.0 - success) / count, 0.0)
    curve = (success - guessing) / (1.0 - guessing)
    slope = np.where(asked > 0, (1.0 - guessing) * curve * (1.0 - curve), 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.sqrt(np.maximum(excess.sum(axis=0), 0.0) / (slope**2).sum(axis=0)))


def _correlation(score: Floats, rate: Floats, weight: Floats) -> float | None:
    if not weight.sum() > 0:
        return None
    x, y = score - np.average(score, weights=weight), rate - np.average(rate, weights=weight)
    size = float(np.sqrt((weight @ x**2) * (weight @ y**2)))
    return float(weight @ (x * y)) / size if size > 1e-12 else None
