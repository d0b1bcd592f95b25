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

__all__ = ["NewItemFit", "lowest_slope", "new_item_fit"]

Floats = NDArray[np.float64]

# Prior of a slope: around 1PL's 1, wide enough for all that is seen; it only decides where nothing else does.
SLOPE_PRIOR_SD = 3.0
# Upper 95 % bound of a normal.
ONE_SIDED = 1.645
# Share of the benchmark's own items whose slopes may lie below what is still taken for one of them.
OWN_SHARE = 0.02
STEPS = 60


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
    design = np.stack([np.ones_like(ability), ability - float(np.average(ability, weights=asked))], axis=1)
    # The intercept is free but for a touch that keeps all-right and all-wrong answers finite.
    precision = np.diag([0.01, SLOPE_PRIOR_SD**-2])
    prior = np.array([0.0, 1.0])
    at = prior.copy()
    information = precision
    for _ in range(STEPS):
        curve = expit(np.clip(design @ at, -30.0, 30.0))
        chance = guessing + (1.0 - guessing) * curve
        slope = (1.0 - guessing) * curve * (1.0 - curve)
        spread = np.maximum(chance * (1.0 - chance), 1e-12)
        gradient = design.T @ ((right - asked * chance) * slope / spread) - precision @ (at - prior)
        information = design.T @ (design * (asked * slope**2 / spread)[:, None]) + precision
        step = np.linalg.solve(information, gradient)
        at = at + step / max(1.0, float(np.abs(step).max()))
        if float(np.abs(step).max()) < 1e-9:
            break
    chance = guessing + (1.0 - guessing) * expit(np.clip(design @ at, -30.0, 30.0))
    spread = np.maximum(asked * chance * (1.0 - chance), 1e-9)
    free = ability.size - 2
    misfit = float(np.sum((right - asked * chance) ** 2 / spread) / free) if free > 0 else None
    inflated = max(1.0, misfit or 1.0)
    sd = float(np.sqrt(np.linalg.inv(information)[1, 1] * inflated))
    return NewItemFit(float(at[1]), sd, _correlation(ability, right / asked, asked), misfit)


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
    right, asked = np.asarray(correct), np.asarray(attempts)
    floors = np.asarray(guessing, dtype=np.float64)
    slopes = [
        new_item_fit(theta, right[:, item], asked[:, item], float(floors[item])).slope
        for item in range(right.shape[1])
    ]
    return min(0.0, float(np.quantile(slopes, OWN_SHARE))) if slopes else 0.0


def _correlation(ability: Floats, rate: Floats, weight: Floats) -> float | None:
    x = ability - np.average(ability, weights=weight)
    y = rate - np.average(rate, weights=weight)
    size = float(np.sqrt((weight @ x**2) * (weight @ y**2)))
    return float(weight @ (x * y)) / size if size > 0.0 else None
