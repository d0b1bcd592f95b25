"""The forecast of a plan against what small simulated searches take."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from benchfill.calibration.forecast import forecast_search
from benchfill.calibration.search_loop import Rules, search_gap
from benchfill.calibration.strategy import Adaptive, Fixed
from benchmarks.search_worlds import DrawnWorld

TOLERANCE = 0.03


def forecast_of(world: DrawnWorld, strategy: Adaptive | Fixed, *, confirm: bool = True):
    frozen = world.frozen
    return forecast_search(
        strategy,
        theta=frozen.theta,
        target=world.target,
        scale=frozen.scale,
        tolerance=TOLERANCE,
        confirm=confirm,
    )


@pytest.mark.parametrize("strategy", [Adaptive(), Fixed(16, 0.01)])
def test_searches_take_about_what_was_forecast(strategy: Adaptive | Fixed):
    """At a tolerance twice as wide as the figures come from, and as wide as the rewriter's spread."""
    taken, forecasts = [], []
    for number in range(16):
        world = DrawnWorld(np.random.default_rng([11, number]))
        forecasts.append(forecast_of(world, strategy))
        end = search_gap(world, world.goal(TOLERANCE), Rules(strategy), world.frozen, world.history())
        taken.append(end.attempts)
    assert 0.5 < np.mean(taken) / np.mean([each.expected for each in forecasts]) < 1.7
    inside = [each.low <= attempts <= each.high for each, attempts in zip(forecasts, taken, strict=True)]
    assert np.mean(inside) >= 0.6


def test_twice_as_exact_is_four_times_as_much_and_doing_without_confirmation_is_less():
    world = DrawnWorld(np.random.default_rng(3))
    forecast = forecast_of(world, Adaptive())
    half = forecast_search(
        Adaptive(), theta=world.frozen.theta, target=world.target, scale=world.scale, tolerance=TOLERANCE / 2,
        confirm=True,
    )  # fmt: skip
    assert half.expected == pytest.approx(4 * forecast.expected, rel=0.05)
    assert forecast_of(world, Adaptive(), confirm=False).expected < forecast.expected
    assert forecast.low < forecast.expected < forecast.high
    assert all(isinstance(each, int) for each in dataclasses.astuple(forecast))
