"""The gate of a fit: nothing downstream uses a fit that did not pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

__all__ = [
    "ESS_LIMIT",
    "ESS_WANTED",
    "PARETO_LIMIT",
    "RHAT_LIMIT",
    "RHAT_WANTED",
    "Gate",
    "bulk_ess",
    "judge_fit",
    "split_rhat",
]

Array = NDArray[np.float64]

RHAT_LIMIT = 1.02
RHAT_WANTED = 1.01
ESS_LIMIT = 400.0
ESS_WANTED = 1000.0
PARETO_LIMIT = 0.5


@dataclass(frozen=True)
class Gate:
    """What was checked of a fit and what came out; a figure that the engine does not have is None.

    Parameters
    ----------
    rhat_max
        Largest rank-normalised split R-hat over abilities and hyperparameters.
    ess_min
        Smallest bulk effective sample size over the same.
    divergences
        Divergent transitions after warm-up.
    pareto_k
        Shape of the importance weights' tail (``laplace``).
    passed, reasons
        Whether the fit may be used, and why not: one plain sentence each.
    """

    rhat_max: float | None
    ess_min: float | None
    divergences: int | None
    pareto_k: float | None
    passed: bool
    reasons: tuple[str, ...]


def judge_fit(
    *,
    rhat_max: float | None = None,
    ess_min: float | None = None,
    divergences: int | None = None,
    pareto_k: float | None = None,
    reasons: Sequence[str] = (),
) -> Gate:
    """Hold the figures of a fit against the limits of the gate.

    Parameters
    ----------
    rhat_max, ess_min, divergences, pareto_k
        As in `Gate`; None where the engine has no such figure. A figure that is not a number fails.
    reasons
        Faults found elsewhere, e.g. by the check of the quadrature.
    """
    found = list(reasons)
    if rhat_max is not None and not rhat_max <= RHAT_LIMIT:
        found.append(f"R-hat is {rhat_max:.4f}, the limit is {RHAT_LIMIT}: the chains do not agree.")
    if ess_min is not None and not ess_min >= ESS_LIMIT:
        found.append(f"The effective sample size is {ess_min:.0f}, at least {ESS_LIMIT:.0f} are needed.")
    if divergences:
        found.append(f"{divergences} transitions diverged.")
    if pareto_k is not None and not pareto_k <= PARETO_LIMIT:
        found.append(f"Pareto k is {pareto_k:.2f}, the limit is {PARETO_LIMIT}: use the engine nuts.")
    return Gate(rhat_max, ess_min, divergences, pareto_k, not found, tuple(found))


def split_rhat(draws: Array) -> Array:
    """Rank-normalised split R-hat, the larger of bulk and folded [1]_.

    Parameters
    ----------
    draws
        Shape (chains, draws, parameters).

    Returns
    -------
    Array
        Shape (parameters,).

    References
    ----------
    .. [1] Vehtari, Gelman, Simpson, Carpenter and Buerkner (2021), Bayesian Analysis 16(2), equations 1 to 14.
    """
    halves = _split(draws)
    folded = np.abs(halves - np.median(halves, axis=(0, 1)))
    return np.maximum(_rhat(_normal_scores(halves)), _rhat(_normal_scores(folded)))


def bulk_ess(draws: Array) -> Array:
    """Bulk effective sample size: of the rank-normalised split chains, by Geyer's initial monotone sequence.

    Parameters
    ----------
    draws
        Shape (chains, draws, parameters).

    Returns
    -------
    Array
        Shape (parameters,).

    References
    ----------
    Vehtari et al. (2021), as in `split_rhat`, section 3.
    """
    scores = _normal_scores(_split(draws))
    chains, length, parameters = scores.shape
    centred = scores - scores.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, n=2 * length, axis=1)
    autocovariance = np.fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, :length] / length
    within = autocovariance[:, 0].mean(axis=0) * length / (length - 1.0)
    total = autocovariance[:, 0].mean(axis=0) + scores.mean(axis=1).var(axis=0, ddof=1)
    correlation = 1.0 - (within - autocovariance.mean(axis=0)) / total
    correlation[0] = 1.0
    pairs = correlation[: length - length % 2].reshape(-1, 2, parameters).sum(axis=1)
    positive = np.logical_and.accumulate(pairs > 0.0, axis=0)
    monotone = np.minimum.accumulate(np.where(positive, pairs, 0.0), axis=0)
    size = chains * length
    times = np.maximum(2.0 * monotone.sum(axis=0) - 1.0, 1.0 / np.log10(size))
    return np.asarray(size / times)


def _split(draws: Array) -> Array:
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])


def _normal_scores(draws: Array) -> Array:
    """Normal scores of the ranks over all chains, equal values sharing their mean rank."""
    scores = np.empty_like(draws)
    for parameter in range(draws.shape[2]):
        _, value, count = np.unique(draws[:, :, parameter], return_inverse=True, return_counts=True)
        rank = (np.cumsum(count) - 0.5 * (count - 1.0))[value]
        scores[:, :, parameter] = ndtri((rank - 0.375) / (value.size + 0.25)).reshape(draws.shape[:2])
    return scores


def _rhat(scores: Array) -> Array:
    length = scores.shape[1]
    within = scores.var(axis=1, ddof=1).mean(axis=0)
    between = scores.mean(axis=1).var(axis=0, ddof=1)
    return np.asarray(np.sqrt((length - 1.0) / length + between / within))
