"""The collapsed posterior against integrals and derivatives computed by other means."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import simpson
from scipy.stats import norm

from benchfill.calibration.collapsed import Collapsed
from benchfill.calibration.grouping import group_items
from benchfill.calibration.mml import find_mode
from benchfill.calibration.quadrature import place_nodes
from benchfill.calibration.response_log import ResponseLog
from tests.calibration.answers import answer
from tests.calibration.simulated import log_of

RNG = np.random.default_rng(5)


def like_twelve_by_64() -> ResponseLog:
    return answer(RNG.normal(0, 1.2, 12), RNG.normal(0, 1.5, 20), 64, seed=1)


def like_aime() -> ResponseLog:
    theta = RNG.normal(0, 2.8, 50)
    attempts = np.where(np.arange(50) == 7, 155, 1100)[:, None]
    return answer(theta, RNG.normal(6, 3, 12), attempts, seed=2)


def one_attempt_with_holes() -> ResponseLog:
    return answer(RNG.normal(0, 1, 6), RNG.normal(0, 1, 15), RNG.integers(0, 2, (6, 15)), seed=3)


def reference_log_z(
    log: ResponseLog, item: int, theta: np.ndarray, mu_b: float, sigma_b: float, g: float
) -> float:
    """Log of the integral over b, by Simpson's rule on 8001 points; theta * correct left out if g = 0."""
    right, asked = log.correct[:, item], log.attempts[:, item]

    def height(b: np.ndarray) -> np.ndarray:
        success = g + (1 - g) / (1 + np.exp(b[:, None] - theta))
        value = np.log(success) @ right + np.log1p(-success) @ (asked - right)
        return value + norm.logpdf(b, mu_b, sigma_b)

    grid = np.linspace(mu_b - 9 * sigma_b, mu_b + 9 * sigma_b, 20001)
    near = grid[height(grid) > height(grid).max() - 60]
    grid = np.linspace(near[0] - 0.01, near[-1] + 0.01, 8001)
    top = height(grid).max()
    area = simpson(np.exp(height(grid) - top), x=grid)
    constant = right @ theta if g == 0 else (asked - right).sum() * np.log(1 - g)
    return float(top + np.log(area) - constant + 0.5 * np.log(2 * np.pi))


@pytest.mark.parametrize(
    ("make", "g"),
    [(like_twelve_by_64, 0.0), (like_aime, 0.0), (one_attempt_with_holes, 0.0), (like_twelve_by_64, 0.25)],
)
def test_the_integrals_are_exact_within_the_reach_of_the_posterior(make, g) -> None:
    log = make()
    groups = group_items(log, np.full(len(log.items), g))
    mode = find_mode(groups)
    density = Collapsed(groups, place_nodes(groups, *mode.density.split(mode.phi), reach=mode.reach))
    rng = np.random.default_rng(0)
    for _ in range(2):
        phi = mode.phi + mode.factor @ rng.normal(0, 1.5, mode.phi.size)
        theta, mu_b, sigma_b = density.split(phi)
        found = density.conditional(phi).log_z[groups.of_item]
        for item in (0, int(log.correct.sum(axis=0).argmin()), int(log.correct.sum(axis=0).argmax())):
            expected = reference_log_z(log, item, theta, mu_b, sigma_b, g)
            assert found[item] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("g", [0.0, 0.25])
@pytest.mark.parametrize("make", [like_twelve_by_64, one_attempt_with_holes])
def test_gradient_and_hessian_are_the_derivatives(make, g) -> None:
    log = make()
    groups = group_items(log, np.where(np.arange(len(log.items)) % 2, g, 0.0))
    mode = find_mode(groups)
    rng = np.random.default_rng(1)
    still = mode.density
    moving = Collapsed(groups, place_nodes(groups, *still.split(mode.phi), reach=mode.reach))
    phi = mode.phi + mode.factor @ rng.normal(size=mode.phi.size)
    _, gradient = moving.value_and_gradient(phi)
    for _ in range(3):
        step = 1e-5 * rng.normal(size=phi.size)
        slope = moving.log_density(phi + step) - moving.log_density(phi - step)
        assert 2 * gradient @ step == pytest.approx(slope, rel=1e-5, abs=1e-8)
        before, after = (still.value_and_gradient(mode.phi + sign * step)[1] for sign in (-1, 1))
        assert still.hessian(mode.phi) @ step == pytest.approx((after - before) / 2, rel=1e-4, abs=1e-8)


def test_items_with_equal_totals_share_a_group_unless_guessing_makes_the_pattern_count() -> None:
    log = log_of(np.array([[1, 0, 1, 0], [0, 1, 1, 0]]), 1)
    assert len(set(group_items(log, np.zeros(4)).of_item)) == 3
    assert len(set(group_items(log, np.full(4, 0.25)).of_item)) == 4
    mixed = group_items(log, np.array([0.0, 0.0, 0.25, 0.5]))
    assert mixed.of_item[0] == mixed.of_item[1]
    assert mixed.solved.tolist() == [1.0, 1.0]
