"""What is known of each difficulty, from draws of abilities and hyperparameters.

Given a draw the difficulty's distribution is known on quadrature nodes, so nothing is drawn at random: groups
of items with equal keys get equal figures to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from benchfill.calibration.collapsed import Collapsed, Conditional
from benchfill.calibration.gate import Gate

__all__ = [
    "Difficulties",
    "Sample",
    "point_difficulties",
    "quadrature_error",
    "quadrature_faults",
    "some",
    "summarise_difficulties",
]

Array = NDArray[np.float64]

_LEVELS = (0.05, 0.95)
_QUADRATURE_LIMIT = 0.01
_CDF_DRAWS = 400
_CDF_POINTS = 257
_CDF_RANGE = 8.0  # standard deviations on both sides of the mean
_FAR_SCORE = 7.0  # normal scores further out are rounding


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


def some(draws: Array, count: int) -> Array:
    """At most this many of the draws (rows), evenly spread."""
    return np.asarray(draws[np.unique(np.linspace(0, len(draws) - 1, count).astype(int))])


def quadrature_error(density: Collapsed, finer: Collapsed, draws: Array) -> float:
    """Largest difference between the two in the log-likelihood of one item of any group, over draws (rows)."""
    return max(
        float(np.abs(density.conditional(phi).log_z - finer.conditional(phi).log_z).max()) for phi in draws
    )


def quadrature_faults(error: float) -> list[str]:
    """What the gate says of a `quadrature_error`: nothing when it is small."""
    if error <= _QUADRATURE_LIMIT:
        return []
    return [f"The quadrature is off by {error:.3f} in the log-likelihood of a group of items."]


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


def point_difficulties(density: Collapsed, draws: Array) -> Difficulties:
    """Conditional means at the first draw, a point estimate: nothing says how uncertain they are, so NaN."""
    given = density.conditional(draws[0])
    mean = np.add.reduceat(given.weight * given.b, density.nodes.start)
    unknown = np.full(mean.size, np.nan)
    return Difficulties(mean, unknown, unknown, unknown)


def summarise_difficulties(density: Collapsed, draws: Array) -> Difficulties:
    """Mean over draws of the conditional mean; the sd and the 90 % interval of the mixture over draws.

    Parameters
    ----------
    density
        On nodes that cover the draws.
    draws
        Shape (draws, models + 1), parameters of `Collapsed`.
    """
    nodes = density.nodes
    means = np.empty((draws.shape[0], nodes.start.size))
    variances = np.empty_like(means)
    mixture = np.zeros(nodes.index.size)
    for row, phi in enumerate(draws):
        given = density.conditional(phi)
        means[row] = np.add.reduceat(given.weight * given.b, nodes.start)
        off = given.b - means[row][nodes.group]
        variances[row] = np.add.reduceat(given.weight * off * off, nodes.start)
        mixture += given.weight
    mean = means.mean(axis=0)
    sd = np.sqrt(variances.mean(axis=0) + means.var(axis=0))
    relative = nodes.relative[nodes.index[nodes.start]]
    interval = np.empty((nodes.start.size, len(_LEVELS)))
    still = Conditional(np.zeros(0), density.conditional(draws[0]).b, mixture / draws.shape[0])
    for group in np.flatnonzero(~relative):
        interval[group] = _quantiles(*_scores(density, still, group))
    moving = np.flatnonzero(relative)
    if moving.size:
        grid = mean[moving, None] + sd[moving, None] * np.linspace(-_CDF_RANGE, _CDF_RANGE, _CDF_POINTS)
        cdf = np.zeros_like(grid)
        thinned = some(draws, _CDF_DRAWS)
        for phi in thinned:
            given = density.conditional(phi)
            for row, group in enumerate(moving):
                b, score = _scores(density, given, group)
                cdf[row] += ndtr(np.interp(grid[row], b, score, left=-_FAR_SCORE, right=_FAR_SCORE))
        for row, group in enumerate(moving):
            interval[group] = _quantiles(grid[row], _normal_score(cdf[row] / len(thinned)))
    return Difficulties(mean, sd, interval[:, 0], interval[:, 1])


def _scores(density: Collapsed, given: Conditional, group: np.int64) -> tuple[Array, Array]:
    """Normal scores of one group's distribution function halfway between its nodes.

    The function is the sum of the weights below (midpoint rule) with its first end correction.
    """
    start = density.nodes.start
    stop = start[group + 1] if group + 1 < start.size else density.nodes.index.size
    b, weight = given.b[start[group] : stop], given.weight[start[group] : stop]
    return 0.5 * (b[1:] + b[:-1]), _normal_score(np.cumsum(weight)[:-1] + np.diff(weight) / 24.0)


def _normal_score(cdf: Array) -> Array:
    return np.asarray(np.clip(ndtri(np.clip(cdf, 0.0, 1.0)), -_FAR_SCORE, _FAR_SCORE))


def _quantiles(b: Array, score: Array) -> Array:
    """Quantiles by monotone cubic interpolation between normal scores: exact for a normal at any spacing."""
    rising = np.concatenate([[True], score[1:] > np.maximum.accumulate(score)[:-1]])
    x, y = score[rising], b[rising]
    return np.array([_monotone_cubic(x, y, level) for level in ndtri(_LEVELS)])


def _monotone_cubic(x: Array, y: Array, at: float) -> float:
    """The interpolant of Fritsch and Butland (1984), SIAM J. Sci. Stat. Comput. 5, through increasing x and y.

    Only the four points around the place matter, so that it need not be built for all of them.
    """
    left = int(np.searchsorted(x, at, side="right")) - 1
    if not 1 <= left <= x.size - 3:
        from scipy.interpolate import PchipInterpolator

        return float(PchipInterpolator(x, y)(at))
    step, rise = np.diff(x[left - 1 : left + 3]), np.diff(y[left - 1 : left + 3])
    slope = rise / step
    first, second = 2.0 * step[1:] + step[:-1], step[1:] + 2.0 * step[:-1]
    bend = (first + second) / (first / slope[:-1] + second / slope[1:])
    share = (at - x[left]) / step[1]
    rest = 1.0 - share
    value = y[left] * (1.0 + 2.0 * share) * rest**2 + y[left + 1] * (3.0 - 2.0 * share) * share**2
    return float(value + step[1] * share * rest * (bend[0] * rest - bend[1] * share))
