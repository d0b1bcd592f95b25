"""Online calibration: where a new item lies, given the frozen abilities of the pool.

The state of knowledge is a posterior of z on a grid; point estimates only summarise it. It is the average,
over draws of the abilities, of the posterior given that draw. The new item's answers do not weigh the
draws: the abilities are frozen, and an item asked more often than the calibration was would leave a
handful of 200 draws (simulated, 12 models calibrated on 30 items x 1 attempt, the item asked 64 times a
model: 90 % intervals cover in 0.89 of 400 replicates, in 0.85 when draws are weighed; from 8 attempts on
they agree).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit, stdtr

from benchfill.calibration.item_likelihood import checked_counts, log_likelihood
from benchfill.calibration.scale import Scale
from benchfill.errors import InputError

__all__ = [
    "CandidatePrior",
    "ItemPosterior",
    "attempts_needed",
    "item_posterior",
    "ml_difficulty",
    "pool_information",
]

Floats = NDArray[np.float64]

# More draws of the abilities change a posterior by less than their own Monte Carlo error.
_MAX_DRAWS = 200
# Support of b beyond axis and abilities: at 8 logits a model is wrong, or right, once in 3,000 attempts.
_SUPPORT_MARGIN = 8.0
# Log density below a draw's maximum at which the grid ends: 5.3 sd of a normal, mass 1e-7.
_DROP = 14.0
# Grid points while the mass is being located, and at last (cells below 0.1 sd).
_SEARCH_POINTS, _FINAL_POINTS = 41, 145
# The integrand of the prior's core gets points of its own, in units of the prior's scale.
_CORE, _CORE_POINTS = 6.0, 61
# Where ml_difficulty looks, in logits beyond the abilities: one right of 1e9 attempts lies at 21.
_ML_MARGIN, _ML_POINTS = 25.0, 501
# E|x| of a normal is 0.8 sd, so a bound on E|z - z*| is met at sd = 1.25 tolerance.
_SD_PER_DEVIATION = 1.25


@dataclass(frozen=True, slots=True)
class CandidatePrior:
    """Student t prior of a candidate's place.

    Parameters
    ----------
    center, scale
        Location and scale in z.
    df
        Degrees of freedom; 4 leaves heavy tails for a rewriter that missed by far.
    """

    center: float
    scale: float
    df: float = 4.0

    def log_density(self, z: Floats) -> Floats:
        """Log density in z up to a constant."""
        step = (z - self.center) / self.scale
        return np.asarray(-(self.df + 1.0) / 2.0 * np.log1p(step * step / self.df))

    def chance_within(self, target: float, tol: float) -> float:
        """Probability of ``|z - target| <= tol``."""
        ends = (np.array([-tol, tol]) + target - self.center) / self.scale
        below, above = stdtr(self.df, ends)
        return float(above - below)

    @property
    def variance(self) -> float:
        """Variance in z; infinite for df <= 2."""
        return self.scale**2 * self.df / (self.df - 2.0) if self.df > 2.0 else math.inf


@dataclass(frozen=True, eq=False)
class ItemPosterior:
    """Posterior of an item's place on a grid.

    Parameters
    ----------
    z : (G,)
        Ascending grid, not evenly spaced.
    weight : (G,)
        Probability of the cell around each point (cells meet half-way); sums to 1.
    tail
        Probability that the 90 % interval leaves out on either side: 0.05, unless the item was accepted by a rule
        that cuts surprises off (see `acceptance`).
    """

    z: Floats
    weight: Floats
    tail: float = 0.05

    @cached_property
    def mean(self) -> float:
        """Posterior mean of z."""
        return float(self.weight @ self.z)

    @cached_property
    def sd(self) -> float:
        """Posterior standard deviation of z."""
        return math.sqrt(float(self.weight @ (self.z - self.mean) ** 2))

    @cached_property
    def lo90(self) -> float:
        """Lower end of the central 90 % interval of z."""
        return self.quantile(self.tail)

    @cached_property
    def hi90(self) -> float:
        """Upper end of the central 90 % interval of z."""
        return self.quantile(1.0 - self.tail)

    @cached_property
    def _edges(self) -> Floats:
        return _cell_edges(self.z)

    @cached_property
    def _cdf(self) -> Floats:
        return np.concatenate([[0.0], np.cumsum(self.weight)])

    def cdf(self, z: float) -> float:
        """P(item's place <= z), the density taken as constant inside a cell."""
        return float(np.interp(z, self._edges, self._cdf, left=0.0, right=1.0))

    def quantile(self, level: float) -> float:
        """The z below which the probability is ``level``."""
        return float(np.interp(level, self._cdf, self._edges))

    def expected_deviation(self, target: float) -> float:
        """Posterior mean of ``|z - target|``, the figure a search minimises."""
        return float(self.weight @ np.abs(self.z - target))

    def chance_within(self, target: float, tol: float) -> float:
        """Posterior probability of ``|z - target| <= tol``."""
        return self.cdf(target + tol) - self.cdf(target - tol)


def item_posterior(
    theta_draws: ArrayLike,
    correct: ArrayLike,
    attempts: ArrayLike,
    scale: Scale,
    *,
    prior: CandidatePrior | None = None,
    guessing: float = 0.0,
) -> ItemPosterior:
    """Posterior of a new item's place, abilities frozen.

    Parameters
    ----------
    theta_draws : (S, M)
        Draws of the abilities in logits; more than 200 are thinned evenly.
    correct, attempts : (M,)
        Right answers and attempts of each model; a model with 0 attempts says nothing.
    scale
        The frozen axis.
    prior
        Prior of z; None is flat on the support, which reaches 8 logits beyond axis and abilities on both
        sides. Answers that are all right or all wrong have no finite maximum: under the flat prior their
        posterior leans on the end of that support.
    guessing
        Chance of a blind guess, in [0, 1).

    Returns
    -------
    ItemPosterior
        On a grid fine enough for the posterior's own spread (cells of at most about 0.1 sd).

    Raises
    ------
    InputError
        Kind ``bad_counts`` for shapes that do not match or counts outside ``0 <= correct <= attempts``.
    """
    draws = np.atleast_2d(np.asarray(theta_draws, dtype=np.float64))
    right, asked = checked_counts(correct, attempts, draws.shape[1], guessing)
    if len(draws) > _MAX_DRAWS:
        draws = draws[np.linspace(0, len(draws) - 1, _MAX_DRAWS).round().astype(np.int64)]
    lo = min(scale.lo, float(draws.min())) - _SUPPORT_MARGIN
    hi = max(scale.hi, float(draws.max())) + _SUPPORT_MARGIN
    if prior is not None:
        lo = min(lo, scale.to_b(prior.center - 2 * _CORE * prior.scale))
        hi = max(hi, scale.to_b(prior.center + 2 * _CORE * prior.scale))
    draws, right, asked = draws[:, asked > 0], right[asked > 0], asked[asked > 0]

    def log_density(b: Floats) -> Floats:
        value = log_likelihood(draws, right, asked, b, guessing)
        if prior is not None:
            value += prior.log_density(scale.to_z(b))
        value -= value.max(axis=1, keepdims=True)
        return value

    while True:
        b = np.linspace(lo, hi, _SEARCH_POINTS)
        near = np.flatnonzero(log_density(b).max(axis=0) > -_DROP)
        first, last = max(near[0] - 1, 0), min(near[-1] + 1, len(b) - 1)
        lo, hi = float(b[first]), float(b[last])
        if last - first > _SEARCH_POINTS // 3:
            break
    b = np.linspace(lo, hi, _FINAL_POINTS)
    if prior is not None:
        core = scale.to_b(prior.center + prior.scale * np.linspace(-_CORE, _CORE, _CORE_POINTS))
        b = np.union1d(b, core[(core > lo) & (core < hi)])
    mass = np.exp(log_density(b)) * np.diff(_cell_edges(b))
    weight = np.mean(mass / mass.sum(axis=1, keepdims=True), axis=0)
    return ItemPosterior(z=scale.to_z(b), weight=weight / weight.sum())


def ml_difficulty(
    theta: ArrayLike, correct: ArrayLike, attempts: ArrayLike, guessing: float = 0.0
) -> float | None:
    """Maximum-likelihood difficulty for fixed abilities.

    Parameters
    ----------
    theta, correct, attempts : (M,)
        Abilities in logits, right answers and attempts.
    guessing
        Chance of a blind guess, in [0, 1).

    Returns
    -------
    float or None
        Logits; None when the likelihood has no finite maximum: nothing was asked, all answers are right, all
        are wrong or, with guessing, no more are right than blind guesses would be.
    """
    abilities = np.asarray(theta, dtype=np.float64).ravel()
    right, asked = checked_counts(correct, attempts, abilities.size, guessing)
    abilities, right, asked = abilities[asked > 0], right[asked > 0], asked[asked > 0]
    if not asked.size or right.sum() in (0, asked.sum()):
        return None

    def score(b: float) -> float:
        x = np.exp(abilities - b)
        return float(asked @ (x / (1.0 + x)) - right @ (x / (guessing + x)))

    lo, hi = float(abilities.min()) - _ML_MARGIN, float(abilities.max()) + _ML_MARGIN
    if guessing > 0.0:
        # Only then the likelihood can have several peaks.
        b = np.linspace(lo, hi, _ML_POINTS)
        best = int(np.argmax(log_likelihood(abilities[None, :], right, asked, b, guessing)[0]))
        if best in (0, _ML_POINTS - 1):
            return None
        lo, hi = float(b[best - 1]), float(b[best + 1])
    if score(lo) <= 0.0 or score(hi) >= 0.0:
        return None
    return float(brentq(score, lo, hi, xtol=1e-12))


def pool_information(theta: ArrayLike, b: float) -> float:
    """Mean Fisher information of one attempt a model about b: mean over the pool of ``P (1 - P)``.

    Parameters
    ----------
    theta : (M,)
        Abilities in logits.
    b
        Difficulty in logits.
    """
    probability = expit(np.asarray(theta, dtype=np.float64) - b)
    return float(np.mean(probability * (1.0 - probability)))


def attempts_needed(
    theta: ArrayLike, b_target: float, scale: Scale, tolerance: float, prior: CandidatePrior | None = None
) -> int:
    """Least number of attempts of all models together that can bring E|z - z*| to the tolerance (Cramer-Rao).

    Parameters
    ----------
    theta : (M,)
        Abilities in logits; all models are asked equally.
    b_target
        Where the item is wanted, in logits.
    scale
        The frozen axis of width W logits.
    tolerance
        Bound on the expected deviation, in z; it is met at a posterior sd ``s = 1.25 tolerance``.
    prior
        The candidate's prior, of standard deviation t in z; None counts as t infinite.

    Returns
    -------
    int
        ``4 (1/s^2 - 1/t^2) / W^2`` over the pool's efficiency (its information at b_target over 1/4), rounded
        up; 0 when the prior alone meets the tolerance.

    Raises
    ------
    InputError
        Kind ``usage`` when the tolerance is not positive.
    """
    if not tolerance > 0.0:
        raise InputError(f"A tolerance is a positive distance in z, not {tolerance:g}.")
    precision = (_SD_PER_DEVIATION * tolerance) ** -2 - (0.0 if prior is None else 1.0 / prior.variance)
    efficiency = 4.0 * pool_information(theta, b_target)
    return max(0, math.ceil(4.0 * precision / scale.width**2 / efficiency))


def _cell_edges(points: Floats) -> Floats:
    """Edges (G + 1) of the cells around ascending points (G), which meet half-way."""
    return np.concatenate([points[:1], (points[1:] + points[:-1]) / 2.0, points[-1:]])
