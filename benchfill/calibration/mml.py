"""Marginal maximum likelihood: the mode of the collapsed posterior, by Newton's method.

With the weak priors of `benchfill.calibration.collapsed` it exists for every log, also where a model is always
right. It is the whole of the engine ``mml``, and the pilot of ``nuts`` and ``laplace``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.collapsed import LOG_SPREAD_SD, Collapsed, zero_sum_basis
from benchfill.calibration.grouping import ItemGroups
from benchfill.calibration.quadrature import Reach, place_nodes
from benchfill.errors import BenchfillError

__all__ = ["Mode", "find_mode"]

Array = NDArray[np.float64]

_ROUNDS = 50
_STEPS = 100
_LONGEST_STEP = 2.0  # logits, of any parameter
_DECREMENT = 1e-12  # Newton's estimate of twice the distance to the top, in log density


@dataclass(frozen=True, eq=False)
class Mode:
    """Where the collapsed posterior is highest, and its shape there.

    Parameters
    ----------
    phi
        Shape (models + 1,). The parameters of `Collapsed`.
    covariance, factor
        Shape (models + 1, models + 1). Inverse of the negative Hessian, and its Cholesky factor.
    density
        The collapsed posterior on nodes placed for the mode itself.
    reach
        How far the posterior moves each group's integrand.
    """

    phi: Array
    covariance: Array
    factor: Array
    density: Collapsed
    reach: Reach


def find_mode(groups: ItemGroups) -> Mode:
    """Climb to the mode of the collapsed posterior, with the abilities' spread at its own marginal maximum.

    The spread alternates with the rest (EM: its expected square is the mode's plus the posterior variance),
    since a joint mode would collapse all abilities to zero on small logs.

    Raises
    ------
    BenchfillError
        Newton's method did not converge.
    """
    phi, log_spread = _rough_start(groups), 0.0
    for _ in range(_ROUNDS):
        mode = _climb(groups, phi, log_spread)
        abilities = mode.phi.size - 2
        square = float(mode.phi[:-2] @ mode.phi[:-2] + np.trace(mode.covariance[:-2, :-2]))
        before, phi, log_spread = log_spread, mode.phi, _best_log_spread(abilities, square, log_spread)
        if abs(log_spread - before) < 1e-5:
            break
    return mode


def _climb(groups: ItemGroups, phi: Array, log_spread: float) -> Mode:
    """Newton's method on the collapsed posterior from phi, given the log of the abilities' spread."""
    density = _density_at(groups, phi, log_spread)
    value, gradient = density.value_and_gradient(phi)
    for _ in range(_STEPS):
        bend, turn = np.linalg.eigh(-density.hessian(phi))
        bend = np.maximum(np.abs(bend), 1e-6)
        step = turn @ ((turn.T @ gradient) / bend)
        if gradient @ step < _DECREMENT:
            covariance = (turn / bend) @ turn.T
            slopes = density.centre_slopes(phi)
            drift = np.sqrt(np.einsum("gd,de,ge->g", slopes, covariance, slopes))
            reach = Reach(drift, float(np.sqrt(covariance[-1, -1])))
            return Mode(phi, covariance, np.linalg.cholesky(covariance), density, reach)
        step *= min(1.0, _LONGEST_STEP / float(np.abs(step).max()))
        for _ in range(40):
            candidate = _density_at(groups, phi + step, log_spread)
            value_there, gradient_there = candidate.value_and_gradient(phi + step)
            # Relative: at millions of attempts the value's own rounding is larger than any fixed slack.
            if value_there >= value - 1e-9 - 1e-12 * abs(value):
                break
            step *= 0.5
        phi, density, value, gradient = phi + step, candidate, value_there, gradient_there
    raise BenchfillError(
        "The maximum of the marginal likelihood was not found.", "Check the response log for damaged counts."
    )


def _best_log_spread(abilities: int, square: float, x: float) -> float:
    """Maximum of ``-abilities x - square exp(-2 x) / 2`` plus the log prior of x, by Newton's method."""
    rarity = 1.0 / LOG_SPREAD_SD**2
    for _ in range(50 if abilities else 0):
        pull = square * np.exp(-2.0 * x)
        move = (pull - abilities - rarity * x) / (2.0 * pull + rarity)
        x += min(max(move, -1.0), 1.0)
    return x


def _density_at(groups: ItemGroups, phi: Array, log_spread: float) -> Collapsed:
    theta = zero_sum_basis(groups.designs.shape[1]) @ phi[:-2]
    nodes = place_nodes(groups, theta, float(phi[-2]), float(np.exp(phi[-1])))
    return Collapsed(groups, nodes, log_spread)


def _rough_start(groups: ItemGroups) -> Array:
    """Logits of smoothed success rates: right signs and order, that is all Newton needs."""
    asked = groups.size @ groups.designs[groups.design]
    right = groups.solved + groups.size @ groups.correct
    logits = np.log((right + 0.5) / (asked - right + 0.5))
    phi = np.zeros(logits.size + 1)
    phi[:-2] = zero_sum_basis(logits.size).T @ logits
    phi[-2] = -logits.mean()
    return phi
