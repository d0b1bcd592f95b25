"""Slopes of new items: against drawn curves, a closed form, and the two ways a wrong key looks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from benchfill.calibration.new_item_fit import SLOPE_PRIOR_SD, lowest_slope, new_item_fit

THETA = np.linspace(-2.5, 2.5, 12)


def drawn(rng, slope: float, place: float, attempts: int, own: float = 0.0, guessing: float = 0.0):
    logit = slope * (THETA - place) + own * rng.normal(size=12)
    asked = np.full(12, attempts)
    return rng.binomial(asked, guessing + (1 - guessing) * expit(logit)), asked


@pytest.mark.parametrize("slope", [-1.0, 0.3, 1.0, 2.0])
def test_the_slope_is_recovered(slope: float):
    rng = np.random.default_rng(1)
    found = [new_item_fit(THETA, *drawn(rng, slope, 0.5, 60)) for _ in range(20)]
    assert np.mean([each.slope for each in found]) == pytest.approx(slope, abs=0.08)
    # Its sd is the spread of the estimates.
    assert np.mean([each.slope_sd for each in found]) == pytest.approx(
        np.std([each.slope for each in found]), rel=0.6
    )


def test_the_mode_is_that_of_a_general_optimiser():
    rng = np.random.default_rng(2)
    right, asked = drawn(rng, 0.8, -1.0, 9, guessing=0.25)
    centre = THETA - THETA.mean()

    def loss(x):
        p = 0.25 + 0.75 * expit(x[0] + x[1] * centre)
        fit = right @ np.log(p) + (asked - right) @ np.log1p(-p)
        return -fit + 0.01 * x[0] ** 2 / 2 + (x[1] - 1) ** 2 / (2 * SLOPE_PRIOR_SD**2)

    best = minimize(loss, [0.0, 1.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}).x
    assert new_item_fit(THETA, right, asked, 0.25).slope == pytest.approx(best[1], abs=1e-4)


@pytest.mark.parametrize("place", [-2.0, 0.0, 2.0])
def test_what_weak_models_solve_and_strong_ones_fail_is_suspect_at_any_difficulty(place: float):
    rng = np.random.default_rng(3)
    found = [new_item_fit(THETA, *drawn(rng, -1.0, place, 20)) for _ in range(30)]
    assert sum(each.suspect_key() for each in found) >= 29
    assert all(each.correlation is not None and each.correlation < 0 for each in found)


def test_right_items_are_not_suspect_under_realistic_misfit():
    rng = np.random.default_rng(4)
    places = rng.uniform(-3, 3, 200)
    assert not any(new_item_fit(THETA, *drawn(rng, 1.0, b, 16, own=1.0)).suspect_key() for b in places)


def test_all_wrong_all_right_and_nothing_asked_are_not_suspect():
    asked = np.full(12, 10)
    for right in (np.zeros(12), asked):
        found = new_item_fit(THETA, right, asked)
        assert found.correlation is None
        assert not found.suspect_key()
    assert not new_item_fit(THETA, np.zeros(12), np.zeros(12)).suspect_key()


def test_missing_models_and_their_order_do_not_matter():
    rng = np.random.default_rng(5)
    right, asked = drawn(rng, 1.0, 0.0, 10)
    asked[3] = right[3] = 0
    some = np.arange(12) != 3
    order = rng.permutation(12)
    whole = new_item_fit(THETA, right, asked)
    assert whole.slope == pytest.approx(new_item_fit(THETA[some], right[some], asked[some]).slope)
    assert whole.slope == pytest.approx(new_item_fit(THETA[order], right[order], asked[order]).slope)


def test_a_benchmark_with_falling_items_of_its_own_lowers_the_bar():
    rng = np.random.default_rng(6)
    rising = [drawn(rng, 1.0, b, 30)[0] for b in np.linspace(-2, 2, 40)]
    falling = [drawn(rng, -0.8, 0.0, 30)[0] for _ in range(4)]
    none = np.zeros(44)
    log = np.stack([*rising, *falling], axis=1)
    asked = np.full_like(log, 30)
    assert lowest_slope(THETA, log[:, :40], asked[:, :40], none[:40]) == 0.0
    assert lowest_slope(THETA, log, asked, none) == pytest.approx(-0.8, abs=0.3)


def test_slopes_under_guessing_are_where_the_likelihood_is_highest():
    # Few answers under guessing: full scoring steps would lead back and forth between two places.
    rng = np.random.default_rng(7)
    floors = np.full(80, 0.25)
    right = np.stack([drawn(rng, 0.7, b, 2, guessing=0.25)[0] for b in np.linspace(-4, 4, 80)], axis=1)
    asked = np.full_like(right, 2)
    slopes = [new_item_fit(THETA, right[:, n], asked[:, n], 0.25).slope for n in range(80)]
    away = THETA - THETA.mean()
    for n, slope in enumerate(slopes):

        def loss(level: float, slope: float, n: int = n) -> float:
            chance = 0.25 + 0.75 * expit(level + slope * away)
            fit = right[:, n] @ np.log(chance) + (2 - right[:, n]) @ np.log1p(-chance)
            return -fit + 0.005 * level**2 + ((slope - 1) / SLOPE_PRIOR_SD) ** 2 / 2

        def profile(slope: float, loss=loss) -> float:
            return min(minimize(lambda x: loss(x[0], slope), [start]).fun for start in (-2.0, 2.0))

        assert profile(slope) <= min(profile(slope - 0.02), profile(slope + 0.02)) + 1e-7
    # Many items at the same time are the same as one by one.
    assert lowest_slope(THETA, right, asked, floors) == pytest.approx(min(0.0, np.quantile(slopes, 0.02)))
