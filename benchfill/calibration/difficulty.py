"""What is known of each difficulty, from draws of abilities and hyperparameters.

Given a draw the difficulty's distribution is known on quadrature nodes, so nothing is drawn at random: groups
of items with equal keys get equal figures to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from benchfill.calibration.collapsed import Collapsed, Conditional
from benchfill.calibration.gate import Gate

__all__ = ["Difficulties", "Sample", "summarise_difficulties"]

Array = NDArray[np.float64]

_LEVELS = (0.05, 0.95)
_CDF_DRAWS = 400
_CDF_POINTS = 257
_CDF_RANGE = 8.0  # standard deviations on both sides of the mean


@dataclass(frozen=True, eq=False)
class Sample:
    """Draws of the collapsed posterior.

    Parameters
    ----------
    draws
        Shape (draws, models + 1), parameters of `Collapsed`.
    gate
        The checks of these draws.
    density
        The collapsed posterior on nodes that cover the draws.
    """

    draws: Array
    gate: Gate
    density: Collapsed


@dataclass(frozen=True, eq=False)
class Difficulties:
    """Posterior of difficulties: shape (groups,) or (items,) each, logits."""

    mean: Array
    sd: Array
    lo90: Array
    hi90: Array

    def of(self, group: NDArray[np.int64]) -> Difficulties:
        """The figures of each item, given the group it is in."""
        return Difficulties(*(getattr(self, each.name)[group] for each in fields(self)))


def summarise_difficulties(density: Collapsed, draws: Array) -> Difficulties:
    """Mean over draws of the conditional mean; the sd and the 90 % interval of the mixture over draws.

    Parameters
    ----------
    density
        On nodes that cover the draws.
    draws
        Shape (draws, models + 1), parameters of `Collapsed`.
    """
    start = density.nodes.start
    means = np.empty((draws.shape[0], start.size))
    variances = np.empty_like(means)
    mixture = np.zeros(density.nodes.index.size)
    for row, phi in enumerate(draws):
        given = density.conditional(phi)
        means[row] = np.add.reduceat(given.weight * given.b, start)
        variances[row] = np.add.reduceat(
            given.weight * (given.b - means[row][density.nodes.group]) ** 2, start
        )
        mixture += given.weight
    mean = means.mean(axis=0)
    sd = np.sqrt(variances.mean(axis=0) + means.var(axis=0))
    relative = density.nodes.relative[density.nodes.index[start]]
    lo90, hi90 = np.empty(start.size), np.empty(start.size)
    fixed = Conditional(np.zeros(0), density.conditional(draws[0]).b, mixture / draws.shape[0])
    for group in np.flatnonzero(~relative):
        b, cdf = _cdf(density, fixed, group)
        lo90[group], hi90[group] = _quantiles(b, cdf)
    moving = np.flatnonzero(relative)
    if moving.size:
        grid = mean[moving, None] + sd[moving, None] * np.linspace(-_CDF_RANGE, _CDF_RANGE, _CDF_POINTS)
        total = np.zeros_like(grid)
        some = draws[np.unique(np.linspace(0, draws.shape[0] - 1, _CDF_DRAWS).astype(int))]
        for phi in some:
            given = density.conditional(phi)
            for row, group in enumerate(moving):
                b, cdf = _cdf(density, given, group)
                total[row] += np.interp(grid[row], b, cdf, left=0.0, right=1.0)
        for row, group in enumerate(moving):
            lo90[group], hi90[group] = _quantiles(grid[row], total[row] / some.shape[0])
    return Difficulties(mean, sd, lo90, hi90)


def _cdf(density: Collapsed, given: Conditional, group: np.int64) -> tuple[Array, Array]:
    """Distribution function of one group's difficulty halfway between its nodes (midpoint rule, end-corrected)."""
    start = density.nodes.start
    stop = start[group + 1] if group + 1 < start.size else density.nodes.index.size
    b, weight = given.b[start[group] : stop], given.weight[start[group] : stop]
    return 0.5 * (b[1:] + b[:-1]), np.cumsum(weight)[:-1] + np.diff(weight) / 24.0


def _quantiles(b: Array, cdf: Array) -> tuple[float, float]:
    """Quantiles by interpolation between normal scores: exact for a normal distribution at any spacing."""
    scores = ndtri(np.clip(np.maximum.accumulate(cdf), 1e-12, 1.0 - 1e-12))
    lo, hi = np.interp(ndtri(_LEVELS), scores, b)
    return float(lo), float(hi)
