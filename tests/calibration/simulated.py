"""Response logs with known parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from benchfill.calibration.fit import Fit
from benchfill.calibration.response_log import ResponseLog

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Simulated:
    """A log and the parameters it was drawn from."""

    log: ResponseLog
    theta: Array
    b: Array


def log_of(correct: NDArray[np.int64], attempts: NDArray[np.int64] | int) -> ResponseLog:
    """A log with made-up ids in the order of rows and columns."""
    models, items = correct.shape
    asked = np.broadcast_to(attempts, correct.shape).astype(np.int64)
    names = tuple(f"model-{at:04}" for at in range(models)), tuple(f"item-{at:06}" for at in range(items))
    return ResponseLog(*names, np.asarray(correct, dtype=np.int64), asked)


def simulate(
    models: int, items: int, attempts: int, *, seed: int, b: Array | None = None, spread: float = 1.0
) -> Simulated:
    """Abilities Normal(0, spread), difficulties as given or Normal(0, 1.5)."""
    generator = np.random.default_rng(seed)
    theta = generator.normal(0.0, spread, models)
    theta -= theta.mean()
    places = generator.normal(0.0, 1.5, items) if b is None else np.asarray(b, dtype=np.float64)
    correct = generator.binomial(attempts, expit(theta[:, None] - places))
    return Simulated(log_of(correct, attempts), theta, places)


def known(fit: Fit, theta: Array, mu_b: float, sigma_b: float) -> Fit:
    """The fit with a single draw: these parameters."""
    return replace(
        fit,
        theta=theta,
        theta_draws=theta[None],
        mu_b_draws=np.array([mu_b]),
        sigma_b_draws=np.array([sigma_b]),
    )
