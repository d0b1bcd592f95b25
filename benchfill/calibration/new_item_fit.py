"""Does a new item measure what the benchmark measures? Its answers against the frozen abilities of the pool.

A right item is solved the more often the abler the model. An item with a wrong key is solved by those who make the
key's mistake: by nobody, which puts it beyond the axis, or by the weak rather than the strong, which is a falling
curve. The slope of ``logit P = a (theta - c)`` tells: under 1PL it is 1, and a falling one is a suspect key, whatever
the item's difficulty. Bare limits on outfit would flag nearly every real item, so what counts as falling is judged
beside the slopes of the benchmark's own items, and the uncertainty of a slope grows with the item's own misfit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from benchfill.calibration.item_likelihood import checked_counts

__all__ = ["NewItemFit", "lowest_slope", "new_item_fit", "suspect_key"]

Floats = NDArray[np.float64]

# Prior of a slope: around 1PL's 1, wide enough for all that is seen; it only decides where nothing else does.
SLOPE_PRIOR_SD = 3.0
# Upper 95 % bound of a normal.
ONE_SIDED = 1.645
# Share of the benchmark's own items whose slopes may lie below what is still taken for one of them.
OWN_SHARE = 0.02
STEPS = 60
# Items whose slopes are fitted at the same time, for the memory it takes.
TOGETHER = 4096


@dataclass(frozen=True, slots=True)
class NewItemFit:
    """How an item's answers follow ability.

    Parameters
    ----------
    slope, slope_sd
        Of the item's logistic curve over ability (1 under 1PL), and its standard deviation, misfit included.
    correlation
        Between ability and success rate, models weighted by their attempts; None when all rates agree.
    misfit
        Pearson chi-square a degree of freedom around the fitted curve; 1 is chance, None with fewer than 3 models.
    """

    slope: float
    slope_sd: float
    correlation: float | None
    misfit: float | None

    def suspect_key(self, lowest: float = 0.0) -> bool:
        """Whether the upper 95 % bound of the slope lies below ``lowest`` (see `lowest_slope`)."""
        return self.slope + ONE_SIDED * self.slope_sd < lowest


def new_item_fit(
    theta: ArrayLike, correct: ArrayLike, attempts: ArrayLike, guessing: float = 0.0
) -> NewItemFit:
    """Fit the slope of one item over frozen abilities.

    Parameters
    ----------
    theta, correct, attempts : (M,)
        Abilities in logits, right answers and attempts; models without attempts are left out.
    guessing
        Chance of a blind guess, the floor of the curve.

    Returns
    -------
    NewItemFit
        Penalised maximum likelihood (Fisher scoring) of intercept and slope.

    Raises
    ------
    InputError
        Kind ``bad_counts``.
    """
    ability = np.asarray(theta, dtype=np.float64).ravel()
    right, asked = checked_counts(correct, attempts, ability.size, guessing)
    ability, right, asked = ability[asked > 0], right[asked > 0], asked[asked > 0]
    if not ability.size:
        return NewItemFit(1.0, SLOPE_PRIOR_SD, None, None)
    slopes, variances, chances = _slopes(ability, right[:, None], asked[:, None], np.array([guessing]))
    slope, chance = float(slopes[0]), chances[:, 0]
    spread = np.maximum(asked * chance * (1.0 - chance), 1e-9)
    free = ability.size - 2
    misfit = float(np.sum((right - asked * chance) ** 2 / spread) / free) if free > 0 else None
    inflated = max(1.0, misfit or 1.0)
    sd = float(np.sqrt(variances[0] * inflated))
    return NewItemFit(slope, sd, _correlation(ability, right / asked, asked), misfit)


def suspect_key(
    theta: ArrayLike, correct: ArrayLike, attempts: ArrayLike, guessing: float = 0.0, *, lowest: float = 0.0
) -> bool:
    """Whether an item's key is suspect, without a fit where it cannot be.

    Without guessing the penalised likelihood is concave, and its slope at a flat curve has the sign of the covariance
    of right answers and ability, plus what the prior adds: where able models are right at least as often, the fitted
    slope is positive.

    Parameters
    ----------
    theta, correct, attempts, guessing
        As `new_item_fit` takes them.
    lowest
        At most 0 (see `lowest_slope`).
    """
    ability = np.asarray(theta, dtype=np.float64).ravel()
    right, asked = checked_counts(correct, attempts, ability.size, guessing)
    if guessing == 0.0 and right @ ability * asked.sum() >= right.sum() * (asked @ ability):
        return False
    return new_item_fit(theta, correct, attempts, guessing).suspect_key(lowest)


def lowest_slope(theta: ArrayLike, correct: ArrayLike, attempts: ArrayLike, guessing: ArrayLike) -> float:
    """The slope below which an item is none of the benchmark's kind: 0, or lower where its own items fall too.

    Parameters
    ----------
    theta : (M,)
    correct, attempts : (M, I)
        The benchmark's log.
    guessing : (I,)

    Returns
    -------
    float
        The 2 % quantile of the items' slopes, at most 0.
    """
    right, asked = np.asarray(correct, dtype=np.float64), np.asarray(attempts, dtype=np.float64)
    floors = np.asarray(guessing, dtype=np.float64)
    if not right.shape[1]:
        return 0.0
    ability = np.asarray(theta, dtype=np.float64).ravel()
    slopes = []
    for first in range(0, right.shape[1], TOGETHER):
        part = slice(first, first + TOGETHER)
        slopes.append(_slopes(ability, right[:, part], asked[:, part], floors[part])[0])
    return min(0.0, float(np.quantile(np.concatenate(slopes), OWN_SHARE)))


def _slopes(ability: Floats, right: Floats, asked: Floats, guessing: Floats) -> tuple[Floats, Floats, Floats]:
    """Fisher scoring of level and slope of each item, all items at the same time.

    Parameters
    ----------
    ability : (M,)
    right, asked : (M, I)
    guessing : (I,)

    Returns
    -------
    slope, variance : (I,)
    chance : (M, I)
        Of a right answer, by the fitted curves.
    """
    total = np.maximum(asked.sum(axis=0), 1.0)
    x = ability[:, None] - (ability @ asked) / total
    # The intercept is free but for a touch that keeps all-right and all-wrong answers finite.
    weak, steep = 0.01, SLOPE_PRIOR_SD**-2
    slopes, variances, chances = np.ones(guessing.size), np.ones(guessing.size), np.zeros(asked.shape)
    # Items that still move, and theirs of everything: where they stand, the step from there and how much of it.
    moving = np.arange(guessing.size)
    level, slope, best = np.zeros(guessing.size), np.ones(guessing.size), np.full(guessing.size, -np.inf)
    rise, tip, share = np.zeros(guessing.size), np.zeros(guessing.size), np.ones(guessing.size)
    variance, chance = np.ones(guessing.size), np.zeros(asked.shape)
    for left in range(STEPS, -1, -1):
        there, turned = level + share * rise, slope + share * tip
        curve = expit(np.clip(there + turned * x, -30.0, 30.0))
        p = guessing + (1.0 - guessing) * curve
        likelihood = (right * np.log(p) + (asked - right) * np.log1p(-p)).sum(axis=0)
        height = likelihood - (weak * there**2 + steep * (turned - 1.0) ** 2) / 2
        # With guessing the likelihood is not concave, and a whole step may lead back and forth for ever.
        up = height >= best - 1e-12 * np.abs(height)
        tilt = (1.0 - guessing) * curve * (1.0 - curve)
        weight = tilt / np.maximum(p * (1.0 - p), 1e-12)
        pull, known = (right - asked * p) * weight, asked * tilt * weight
        lift, turn = pull.sum(axis=0) - weak * there, (pull * x).sum(axis=0) - steep * (turned - 1.0)
        cross, first, second = (known * x).sum(axis=0), known.sum(axis=0), (known * x * x).sum(axis=0)
        first, second = first + weak, second + steep
        determinant = first * second - cross * cross
        onward = np.array([second * lift - cross * turn, first * turn - cross * lift]) / determinant
        onward /= np.maximum(1.0, np.abs(onward).max(axis=0))
        level, slope, best = (
            np.where(up, there, level),
            np.where(up, turned, slope),
            np.where(up, height, best),
        )
        rise, tip = np.where(up, onward, (rise, tip))
        share = np.where(up, 1.0, share / 2)
        variance, chance = np.where(up, first / determinant, variance), np.where(up, p, chance)
        on = (share * np.maximum(np.abs(rise), np.abs(tip)) >= 1e-9) & (left > 0)
        if not on.all():
            still = moving[~on]
            slopes[still], variances[still], chances[:, still] = slope[~on], variance[~on], chance[:, ~on]
            if not on.any():
                break
            moving, level, slope, best, rise, tip, share, variance, guessing = (
                each[on] for each in (moving, level, slope, best, rise, tip, share, variance, guessing)
            )
            x, right, asked, chance = (each[:, on] for each in (x, right, asked, chance))
    return slopes, variances, chances


def _correlation(ability: Floats, rate: Floats, weight: Floats) -> float | None:
    x = ability - np.average(ability, weights=weight)
    y = rate - np.average(rate, weights=weight)
    size = float(np.sqrt((weight @ x**2) * (weight @ y**2)))
    return float(weight @ (x * y)) / size if size > 0.0 else None
