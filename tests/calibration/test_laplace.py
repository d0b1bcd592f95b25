"""Pareto-smoothed importance weights against ArviZ and against integrals with closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from benchfill.calibration.fit import fit_1pl
from benchfill.calibration.laplace import smooth_weights
from tests.calibration.simulated import log_of


def log_ratios(proposal_sd: float, size: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    """Draws of Normal(0, proposal_sd) and their log weights for a standard normal target."""
    x = np.random.default_rng(1).normal(0, proposal_sd, size)
    return x, -0.5 * x**2 + 0.5 * (x / proposal_sd) ** 2


def test_weights_and_pareto_k_agree_with_arviz() -> None:
    arviz = pytest.importorskip("arviz")
    for sd in (0.6, 0.8, 1.5):
        _, log_weight = log_ratios(sd)
        weight, k = smooth_weights(log_weight)
        if hasattr(arviz, "psislw"):
            expected, expected_k = arviz.psislw(log_weight.copy())
        else:
            from arviz_stats.base import array_stats

            expected, expected_k = array_stats.psislw(-log_weight)  # it takes log likelihoods
        assert k == pytest.approx(float(expected_k), abs=0.02)
        assert np.abs(weight - np.exp(expected)).max() < 0.02 * weight.max()


def test_weights_give_the_moments_of_the_target_and_k_says_when_they_cannot() -> None:
    x, log_weight = log_ratios(1.5)
    weight, k = smooth_weights(log_weight)
    assert weight.sum() == pytest.approx(1.0)
    assert weight @ x**2 == pytest.approx(1.0, abs=0.05)
    assert k < 0.5
    assert smooth_weights(log_ratios(0.5)[1])[1] > 0.5  # tails of exp(+1.5 x**2): k = 0.75 in theory
    assert smooth_weights(np.zeros(100))[0] == pytest.approx(np.full(100, 0.01))


def test_a_posterior_that_is_far_from_normal_is_refused() -> None:
    fit = fit_1pl(log_of(np.array([[1, 1, 1], [0, 0, 0], [1, 0, 1], [0, 1, 1]]), 1), engine="laplace")
    assert fit.gate.pareto_k is not None
    assert fit.gate.ess_min is not None
    assert fit.gate.passed == (fit.gate.pareto_k <= 0.5 and fit.gate.ess_min >= 400)
    assert fit.gate.passed == (not fit.gate.reasons)
