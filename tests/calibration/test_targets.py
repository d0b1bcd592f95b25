"""Target distributions against numerical integration, and against the closed form for the uniform one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from benchfill.calibration.measure import ddm, wasserstein
from benchfill.calibration.targets import (
    Beta,
    Histogram,
    Sample,
    Target,
    Uniform,
    distance,
    parse_target,
)
from benchfill.errors import InputError

PLACES = st.lists(st.floats(-0.5, 1.5, allow_nan=False), min_size=1, max_size=40)
TARGETS = [
    Uniform(),
    Beta(2.0, 3.0),
    Beta(0.5, 0.5),
    Histogram((1.0, 2.0, 0.0, 4.0)),
    Histogram((1.0, 3.0), (-0.2, 0.25, 1.1)),
    Sample(np.array([0.9, 0.1, 0.1, 0.4])),
]


def by_integration(z: np.ndarray, target: Target) -> float:
    """The integral of |F_n - F| over the real line, by the trapezoid rule."""
    x = np.linspace(-1.0, 2.0, 600_001)
    counts = np.searchsorted(np.sort(z), x, side="right") / z.size
    return float(np.trapezoid(np.abs(counts - target.cdf(x)), x))


@pytest.mark.parametrize("target", TARGETS, ids=lambda each: each.name)
def test_distance_is_the_integral_of_the_difference(target: Target) -> None:
    for seed, size in ((1, 1), (2, 7), (3, 200)):
        z = np.random.default_rng(seed).normal(0.5, 0.4, size)
        assert distance(z, target) == pytest.approx(by_integration(z, target), abs=1e-5)


@given(PLACES)
@settings(max_examples=50, deadline=None)
def test_uniform_is_the_closed_form(z: list[float]) -> None:
    assert distance(z, Uniform()) == pytest.approx(ddm(z), abs=1e-12)
    assert distance(z, Beta(1.0, 1.0)) == pytest.approx(ddm(z), abs=1e-9)
    assert distance(z, Histogram((1.0, 1.0, 1.0))) == pytest.approx(ddm(z), abs=1e-9)


@given(PLACES, PLACES)
@settings(max_examples=50, deadline=None)
def test_sample_is_the_distance_of_two_samples(z: list[float], other: list[float]) -> None:
    assert distance(z, Sample(np.array(other))) == pytest.approx(wasserstein(z, other), abs=1e-9)
    assert distance(other, Sample(np.array(other))) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("target", TARGETS[:5], ids=lambda each: each.name)
def test_quantiles_undo_the_distribution_function(target: Target) -> None:
    t = np.linspace(0.01, 0.99, 50)
    assert np.allclose(target.cdf(target.quantile(t)), t, atol=1e-9)
    steps = np.linspace(0.0, 0.7, 700_001)
    by_sum = np.trapezoid(target.quantile(steps), steps)
    assert float(target.partial_mean(np.array(0.7))) == pytest.approx(by_sum, abs=1e-5)


def test_beta_has_the_moments_of_scipy() -> None:
    target = Beta(2.0, 5.0)
    assert float(target.partial_mean(np.array(1.0))) == pytest.approx(stats.beta(2, 5).mean())
    # A point mass at 0: W1 is the mean.
    assert distance([0.0], target) == pytest.approx(2.0 / 7.0)


def test_slice_costs_add_up_to_the_distance() -> None:
    z = np.sort(np.random.default_rng(4).random(25))
    levels = np.arange(26) / 25
    costs = Beta(2.0, 3.0).integral_abs(z, levels[:-1], levels[1:])
    assert costs.sum() == pytest.approx(distance(z, Beta(2.0, 3.0)))
    # A single place against every slice: the whole table broadcasts.
    assert Uniform().integral_abs(z[:, None], levels[:-1], levels[1:]).shape == (25, 25)


def test_reading_targets() -> None:
    assert parse_target("uniform") == Uniform()
    assert parse_target(" Beta:2,3") == Beta(2.0, 3.0)
    assert parse_target("histogram:1,2,4,2") == Histogram((1.0, 2.0, 4.0, 2.0))
    assert parse_target("histogram:1,3@0,0.25,1") == Histogram((1.0, 3.0), (0.0, 0.25, 1.0))
    sample = parse_target("sample:other.csv", {"other.csv": [0.3, 0.1]}.__getitem__)
    assert sample.quantile(np.array([0.25, 0.75])).tolist() == [0.1, 0.3]
    for target in TARGETS[:5]:
        assert parse_target(target.name) == target


@pytest.mark.parametrize(
    "text",
    [
        "",
        "beta",
        "beta:2",
        "beta:0,1",
        "beta:nan,1",
        "beta:a,b",
        "uniform:1",
        "histogram:",
        "histogram:0,0",
        "histogram:1,2@0,1",
        "histogram:1,2@0,1,0.5",
        "histogram:-1,2",
        "sample:x",
        "normal:0,1",
    ],
)
def test_what_is_no_target_is_refused(text: str) -> None:
    with pytest.raises(InputError) as refusal:
        parse_target(text)
    assert refusal.value.kind == "bad_target"
    assert "\n" not in str(refusal.value)


def test_places_that_are_no_numbers_are_refused() -> None:
    for z, kind in (([], "no_data"), ([0.1, float("nan")], "not_finite")):
        with pytest.raises(InputError) as refusal:
            distance(z, Uniform())
        assert refusal.value.kind == kind
