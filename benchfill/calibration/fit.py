"""Fitting the 1PL model to a response log: one function, four engines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.gate import Gate
from benchfill.calibration.response_log import ResponseLog

__all__ = ["Engine", "Fit", "Gate", "Progress", "fit_1pl"]

Engine = Literal["nuts", "laplace", "mml", "full"]
Progress = Callable[[float, str], None]


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted 1PL: ``P(correct) = g_i + (1 - g_i) sigmoid(theta_j - b_i)``. Logits everywhere; larger b is harder.

    Parameters
    ----------
    engine
        Which engine made it.
    models, items
        Ids in the order of the arrays.
    theta, theta_sd
        Shape (models,). Posterior means, zero-sum, and standard deviations of the abilities.
    theta_draws
        Shape (draws, models). ``mml`` has one draw: its estimate.
    mu_b_draws, sigma_b_draws
        Shape (draws,). Mean and standard deviation of the difficulties' distribution.
    b, b_sd, b_lo90, b_hi90
        Shape (items,). Posterior mean (mean over draws of the conditional mean on a grid, so that items with equal
        response keys have equal difficulties to the last bit), standard deviation, 5 % and 95 % quantile.
    censored
        Shape (items,). True where every model asked was always right, or never: the place comes from the prior.
    guessing
        Shape (items,). Chance of a blind guess.
    gate
        The checks of the fit; see `Gate`.
    seed, versions
        What it takes to get the same numbers again.
    notes
        Facts about the log that a reader of the fit must know, one plain sentence each.
    """

    engine: str
    models: tuple[str, ...]
    items: tuple[str, ...]
    theta: NDArray[np.float64]
    theta_sd: NDArray[np.float64]
    theta_draws: NDArray[np.float64]
    mu_b_draws: NDArray[np.float64]
    sigma_b_draws: NDArray[np.float64]
    b: NDArray[np.float64]
    b_sd: NDArray[np.float64]
    b_lo90: NDArray[np.float64]
    b_hi90: NDArray[np.float64]
    censored: NDArray[np.bool_]
    guessing: NDArray[np.float64]
    gate: Gate
    seed: int
    versions: Mapping[str, str]
    notes: tuple[str, ...] = ()


def fit_1pl(
    log: ResponseLog,
    *,
    engine: Engine = "nuts",
    guessing: NDArray[np.float64] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Fit:
    """Fit the 1PL model to a response log."""
    raise NotImplementedError
