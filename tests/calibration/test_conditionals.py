"""Conditional distributions of difficulties against fine numerical integration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from benchfill.calibration.conditionals import GivenDraw, conditionals_of
from benchfill.calibration.fit import fit_1pl
from benchfill.calibration.response_log import ResponseLog
from benchfill.errors import InputError
from tests.calibration.simulated import Array, known, log_of, simulate

POINTS = np.linspace(-5.0, 5.0, 61)


def integrated(log: ResponseLog, item: int, given: GivenDraw, guessing: float) -> Array:
    """P(b <= POINTS) for one item, by summing its posterior density on a very fine grid."""
    grid = np.linspace(-16.0, 16.0, 64_001)
    density = -0.5 * ((grid - given.mu_b) / given.sigma_b) ** 2
    for ability, right, asked in zip(given.theta, log.correct[:, item], log.attempts[:, item], strict=True):
        success = guessing + (1.0 - guessing) * expit(ability - grid)
        density += right * np.log(success) + (asked - right) * np.log1p(-success)
    mass = np.exp(density - density.max())
    return np.interp(POINTS, grid, (np.cumsum(mass) - 0.5 * mass) / mass.sum())


@pytest.mark.parametrize(
    ("models", "attempts", "guessing"),
    [(12, 1, 0.0), (5, 400, 0.0), (8, 3, 0.25)],
    ids=["few", "many", "guessing"],
)
def test_distribution_functions_are_those_of_the_posterior(
    models: int, attempts: int, guessing: float
) -> None:
    log = simulate(models, 12, attempts, seed=5).log
    chance = np.where(np.arange(12) % 2, guessing, 0.0)
    fit = fit_1pl(log, engine="mml", guessing=chance)
    shift = np.random.default_rng(1).normal(0.0, 0.05, (5, models))
    draws = fit.theta + shift - shift.mean(axis=1, keepdims=True)
    fit = replace(
        fit, theta_draws=draws, mu_b_draws=np.linspace(-0.3, 0.3, 5), sigma_b_draws=np.linspace(1, 2, 5)
    )
    conditionals = conditionals_of(fit, log, draws=5)
    for given in list(conditionals)[::2]:
        found = given.cdf(POINTS)[conditionals.groups.of_item]
        for item in range(0, 12, 3):
            assert found[item] == pytest.approx(integrated(log, item, given, chance[item]), abs=2e-4)


def test_missing_cells_and_unequal_attempts() -> None:
    generator = np.random.default_rng(3)
    attempts = generator.integers(0, 9, (6, 10))
    attempts[0] = 4
    log = log_of(generator.binomial(attempts, 0.6), attempts)
    fit = known(fit_1pl(log, engine="mml"), np.linspace(-1.0, 1.0, 6), 0.4, 1.3)
    conditionals = conditionals_of(fit, log, draws=10)
    assert len(conditionals) == 1
    given = next(iter(conditionals))
    for item in range(10):
        row = given.cdf(POINTS)[conditionals.groups.of_item[item]]
        assert row == pytest.approx(integrated(log, item, given, 0.0), abs=2e-4)


def test_draws_follow_the_distribution_functions() -> None:
    log = simulate(6, 8, 4, seed=2).log
    conditionals = conditionals_of(fit_1pl(log, engine="mml"), log, draws=1)
    given = next(iter(conditionals))
    generator = np.random.default_rng(7)
    drawn = np.array([given.draw(generator) for _ in range(4000)])
    for item, group in enumerate(conditionals.groups.of_item):
        test = stats.kstest(drawn[:, item], lambda b, g=group: given.cdf(np.asarray(b))[g])
        assert test.pvalue > 1e-3
        assert given.sd()[item] == pytest.approx(drawn[:, item].std(), rel=0.06)
    assert abs(np.corrcoef(drawn[:, 0], drawn[:, 1])[0, 1]) < 0.06


def test_equal_keys_have_equal_distributions() -> None:
    log = simulate(4, 60, 1, seed=9).log
    conditionals = conditionals_of(fit_1pl(log, engine="mml"), log, draws=1)
    assert len(conditionals.groups.size) == len(set(log.correct.sum(axis=0)))


def test_another_log_is_refused() -> None:
    log = simulate(4, 6, 2, seed=1).log
    fit = fit_1pl(log, engine="mml")
    with pytest.raises(InputError):
        conditionals_of(fit, log.select_items(log.items[:5]), draws=1)
