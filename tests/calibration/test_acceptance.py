"""The interval of an accepted item, against drawn items that the rule of acceptance was applied to."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from benchfill.calibration.acceptance import left_out, reach
from benchfill.calibration.online import ItemPosterior

TARGET, TOLERANCE = 0.5, 0.015


def normal(mean: float, sd: float) -> ItemPosterior:
    z = np.linspace(mean - 7 * sd, mean + 7 * sd, 401)
    weight = norm.pdf(z, mean, sd)
    return ItemPosterior(z, weight / weight.sum())


def drawn(mean: float, sd: float, fresh_sd: float, count: int, seed: int):
    """True places, fresh estimates and acceptance of items that stood at (mean, sd) before."""
    rng = np.random.default_rng(seed)
    z = rng.normal(mean, sd, count)
    fresh = rng.normal(z, fresh_sd)
    pooled = 1.0 / (sd**-2 + fresh_sd**-2)
    center = pooled * (mean / sd**2 + fresh / fresh_sd**2)
    x = (center - TARGET) / pooled**0.5
    expected = pooled**0.5 * (2 * norm.pdf(x) + x * (1 - 2 * norm.cdf(-x)))
    accepted = (np.abs(fresh - TARGET) <= 2 * fresh_sd + TOLERANCE) & (expected <= TOLERANCE)
    return z[accepted], fresh[accepted]


@pytest.mark.parametrize("mean", [TARGET, TARGET + 0.006, TARGET - 0.009])
@pytest.mark.parametrize("sd", [0.012, 0.018, 0.03])
def test_nine_of_ten_accepted_items_lie_inside_and_a_plain_interval_holds_more(mean: float, sd: float):
    fresh_sd = 1.25 * TOLERANCE
    z, fresh = drawn(mean, sd, fresh_sd, 200_000, 1)
    tail = left_out(normal(mean, sd), fresh_sd, target=TARGET, tolerance=TOLERANCE)
    half = -norm.ppf(tail) * fresh_sd
    assert np.mean(np.abs(z - fresh) <= half) == pytest.approx(0.9, abs=0.005)
    assert np.mean(np.abs(z - fresh) <= 1.645 * fresh_sd) > 0.92


def test_an_acceptance_that_cuts_nothing_off_leaves_the_plain_interval():
    # Far more is known than the tolerance asks for: fresh attempts change nothing.
    assert left_out(normal(TARGET, 0.002), 0.004, target=TARGET, tolerance=0.05) == pytest.approx(
        0.05, abs=1e-3
    )


def test_the_reach_is_where_the_expected_deviation_meets_the_tolerance():
    near = reach(0.013, TOLERANCE)
    assert near is not None
    assert normal(TARGET + near, 0.013).expected_deviation(TARGET) == pytest.approx(TOLERANCE, rel=1e-3)
    assert reach(0.0189, TOLERANCE) is None
