"""Laplace approximation of the collapsed posterior, corrected by Pareto-smoothed importance sampling."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.collapsed import Collapsed
from benchfill.calibration.difficulty import Sample, quadrature_error, quadrature_faults, some
from benchfill.calibration.gate import judge_fit
from benchfill.calibration.grouping import ItemGroups
from benchfill.calibration.mml import Mode
from benchfill.calibration.quadrature import place_nodes

__all__ = ["sample_laplace", "smooth_weights"]

Array = NDArray[np.float64]

_PROPOSALS = 4  # for each draw that is kept
_CHECKED_DRAWS = 40
_DEGREES = 10.0  # of the t distribution proposed from: tails a little heavier than the posterior's


def sample_laplace(groups: ItemGroups, mode: Mode, *, seed: int, draws: int) -> Sample:
    """Draw from a t distribution at the posterior's mode, weigh by the exact density, resample.

    Parameters
    ----------
    mode
        Centre and shape of the proposals.
    seed
        Same seed, same draws.
    draws
        How many to keep.
    """
    theta, mu_b, sigma_b = mode.density.split(mode.phi)
    density, finer = (
        Collapsed(groups, place_nodes(groups, theta, mu_b, sigma_b, reach=mode.reach, refine=refine))
        for refine in (0, 1)
    )
    generator = np.random.default_rng(seed)
    size, proposals = mode.phi.size, _PROPOSALS * draws
    x = generator.normal(size=(proposals, size))
    x *= np.sqrt(_DEGREES / generator.chisquare(_DEGREES, size=(proposals, 1)))
    log_proposal = -0.5 * (_DEGREES + size) * np.log1p((x**2).sum(axis=1) / _DEGREES)
    proposed = mode.phi + x @ mode.factor.T
    log_weight = np.array([density.log_density(phi) for phi in proposed]) - log_proposal
    weight, pareto_k = smooth_weights(log_weight)
    places = np.searchsorted(np.cumsum(weight), (np.arange(draws) + generator.random()) / draws)
    kept = proposed[np.minimum(places, proposals - 1)]
    ess = float(1.0 / (weight**2).sum())
    faults = quadrature_faults(quadrature_error(density, finer, some(kept, _CHECKED_DRAWS)))
    return Sample(kept, judge_fit(ess_min=ess, pareto_k=pareto_k, reasons=faults), density)


def smooth_weights(log_weight: Array) -> tuple[Array, float]:
    """Pareto-smoothed importance weights [1]_.

    Parameters
    ----------
    log_weight
        Shape (draws,). Log of target over proposal, up to a constant.

    Returns
    -------
    weight : Array
        Shape (draws,), sum one.
    pareto_k : float
        Shape of the generalised Pareto distribution of the largest weights; above 0.5 their variance is infinite.

    References
    ----------
    .. [1] Vehtari, Simpson, Gelman, Yao and Gabry (2024), Journal of Machine Learning Research 25(72).
    """
    weight = np.exp(log_weight - log_weight.max())
    tail = int(min(0.2 * weight.size, 3.0 * np.sqrt(weight.size)))
    order = np.argsort(weight, kind="stable")
    cut = weight[order[-tail - 1]]
    excess = weight[order[-tail:]] - cut
    if not excess[0] > 0.0:  # no tail to speak of: equal weights
        return weight / weight.sum(), 0.0
    k, scale = _fit_pareto(excess)
    rank = (np.arange(tail) + 0.5) / tail
    smoothed = cut + (
        scale / k * np.expm1(-k * np.log1p(-rank)) if abs(k) > 1e-9 else -scale * np.log1p(-rank)
    )
    weight[order[-tail:]] = np.minimum(smoothed, 1.0)
    return weight / weight.sum(), k


def _fit_pareto(excess: Array) -> tuple[float, float]:
    """Shape and scale of a generalised Pareto distribution, by Zhang and Stephens (2009), Technometrics 51(3).

    The shape is drawn a little towards 0.5 where the tail is short, as in appendix G of the PSIS paper.
    """
    count = excess.size
    grid = 30 + int(np.sqrt(count))
    prior = 1.0 - np.sqrt(grid / (np.arange(1.0, grid + 1.0) - 0.5))
    theta = 1.0 / excess[-1] + prior / (3.0 * excess[int(count / 4.0 + 0.5) - 1])
    k = np.log1p(-theta[:, None] * excess).mean(axis=1)
    height = count * (np.log(-theta / k) - k - 1.0)
    weight = np.exp(height - height.max())
    best = float(weight @ theta / weight.sum())
    shape = float(np.log1p(-best * excess).mean())
    scale = -shape / best
    return (shape * count + 5.0) / (count + 10.0), scale
