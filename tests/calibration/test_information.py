"""Information of the pool against the curvature of the log-likelihood, and blind stretches."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from benchfill.calibration.fit import Fit, fit_1pl
from benchfill.calibration.information import PLACING_LIMIT, information_at, information_curve
from benchfill.calibration.online import pool_information
from benchfill.calibration.scale import Scale, failure_scale
from tests.calibration.simulated import simulate


@pytest.fixture(scope="module")
def fitted() -> Fit:
    return fit_1pl(simulate(12, 40, 16, seed=1).log, engine="mml")


@pytest.mark.parametrize("guessing", [0.0, 0.25])
def test_information_is_the_expected_squared_score(guessing: float) -> None:
    theta, b, h = np.array([-2.0, 0.3, 1.5]), np.array([-1.0, 0.0, 2.5]), 1e-5

    def success(at: np.ndarray) -> np.ndarray:
        return guessing + (1.0 - guessing) * expit(theta - at[:, None])

    slope = (success(b + h) - success(b - h)) / (2.0 * h)
    p = success(b)
    assert np.allclose(information_at(theta, b, guessing), slope**2 / (p * (1.0 - p)), rtol=1e-6)


def test_without_guessing_it_is_that_of_the_online_calibration() -> None:
    theta = np.array([-2.0, 0.3, 1.5])
    assert information_at(theta, [0.7]).mean() == pytest.approx(pool_information(theta, 0.7))


def test_far_from_every_model_there_is_nothing_to_see() -> None:
    assert information_at(np.zeros(2), [800.0, -800.0], 0.2).max() < 1e-200


def test_blind_stretches_are_where_too_many_attempts_are_needed(fitted: Fit) -> None:
    scale = Scale("far", -20.0, 4.0)
    curve = information_curve(fitted, scale)
    assert curve.efficiency.max() <= 1.0
    assert len(curve.blind) == 1
    lo, hi = curve.blind[0]
    assert lo == 0.0
    inside = curve.z < hi
    assert (curve.attempts[inside] > PLACING_LIMIT).all()
    assert (curve.attempts[~inside] <= PLACING_LIMIT).all()
    assert curve.is_blind(0.01)
    assert not curve.is_blind(0.9)


def test_attempts_place_an_item_as_well_as_they_say(fitted: Fit) -> None:
    """Against simulated answers: the maximum-likelihood place of an item asked so often errs by 0.025 in z."""
    scale = Scale("axis", -3.0, 3.0)
    curve = information_curve(fitted, scale, points=3)
    attempts = round(float(curve.attempts[1]))
    generator = np.random.default_rng(2)
    grid = np.linspace(-1.5, 1.5, 3001)
    right = generator.binomial(attempts, expit(fitted.theta), size=(2000, fitted.theta.size)).sum(axis=1)
    expected = attempts * expit(fitted.theta - grid[:, None]).sum(axis=1)
    estimate = np.interp(-right, -expected, grid)
    assert scale.to_z(estimate).std() == pytest.approx(0.025, rel=0.08)


def test_a_curved_axis_is_stretched_where_the_pool_sees(fitted: Fit) -> None:
    curve = information_curve(fitted, failure_scale(fitted), points=101)
    assert curve.attempts[50] > 0
    assert np.isfinite(curve.attempts).all()
