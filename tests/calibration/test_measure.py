"""DDM, Wasserstein distance and gaps against closed forms, numerical integration, scipy and handed cases."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchfill.calibration.measure import Gap, ddm, find_gaps, max_gap, top_k_gap_sum, wasserstein
from benchfill.errors import InputError

places = st.lists(st.floats(-3, 4, allow_nan=False), min_size=1, max_size=40)


def test_handed_wasserstein_cases(shared: Path) -> None:
    lines = (shared / "cases" / "numeric" / "wasserstein.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) >= 11
    for line in lines:
        case = json.loads(line)
        a, b = [float(x) for x in case["a"]], [float(x) for x in case["b"]]
        if case["w1"] is None:
            with pytest.raises(InputError) as caught:
                wasserstein(a, b)
            assert caught.value.kind == case["error_class"]
            continue
        assert wasserstein(a, b) == pytest.approx(case["w1"], abs=1e-9)
        assert wasserstein(b[::-1], a[::-1]) == pytest.approx(case["w1"], abs=1e-9)
        assert wasserstein(2 * np.array(a), 2 * np.array(b)) == pytest.approx(case["scaled_by_2"], abs=1e-9)
        assert ddm(a, target=b) == pytest.approx(case["w1"], abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(places, places)
def test_wasserstein_equals_scipy(a: list[float], b: list[float]) -> None:
    from scipy.stats import wasserstein_distance

    assert wasserstein(a, b) == pytest.approx(wasserstein_distance(a, b), abs=1e-9)


@pytest.mark.parametrize(
    ("z", "expected"),
    [
        ([0.5], 0.25),  # one item in the middle: the mean distance of a uniform to 1/2
        ([0.0], 0.5),
        ([5.0], 4.5),  # places outside the axis are kept, not clipped
        ([-1.0, 2.0], 1.25),
        ([0.0, 1.0], 0.25),
        ([(i + 0.5) / 20 for i in range(20)], 1 / 80),  # the best that n items can do: 1/(4n)
    ],
)
def test_ddm_closed_forms(z: list[float], expected: float) -> None:
    assert ddm(z) == pytest.approx(expected, abs=1e-14)


@settings(max_examples=40, deadline=None)
@given(places)
def test_ddm_is_the_integral_of_the_cdf_difference(z: list[float]) -> None:
    grid = np.linspace(-3.5, 4.5, 80_001)
    middle = (grid[1:] + grid[:-1]) / 2
    empirical = np.searchsorted(np.sort(z), middle, side="right") / len(z)
    integral = float(np.sum(np.abs(empirical - np.clip(middle, 0, 1))) * (grid[1] - grid[0]))
    assert ddm(z) == pytest.approx(integral, abs=2e-4)
    assert ddm(z[::-1]) == ddm(z)


def test_ddm_equals_wasserstein_to_a_fine_uniform_sample() -> None:
    z = np.random.default_rng(3).beta(2, 5, size=31)
    sample = (np.arange(200_000) + 0.5) / 200_000
    assert ddm(z) == pytest.approx(wasserstein(z, sample), abs=1e-5)


def test_gaps_by_hand() -> None:
    gaps = find_gaps([0.5, 0.0, 0.25, 1.0])
    assert [(gap.lo, gap.hi) for gap in gaps] == [(0.5, 1.0), (0.0, 0.25), (0.25, 0.5)]
    assert gaps[0] == Gap(lo=0.5, hi=1.0, width=0.5, target=0.75)
    assert max_gap([0.5, 0.0, 0.25, 1.0]) == 0.5
    assert top_k_gap_sum([0.5, 0.0, 0.25, 1.0], 2) == 0.75
    assert top_k_gap_sum([0.5, 0.0, 0.25, 1.0], 99) == pytest.approx(1.0)


def test_gaps_reach_to_the_ends_of_the_axis_and_clip_what_lies_outside() -> None:
    assert [(gap.lo, gap.hi) for gap in find_gaps([0.3])] == [(0.3, 1.0), (0.0, 0.3)]
    assert [(gap.lo, gap.hi) for gap in find_gaps([-2.0, 7.0])] == [(0.0, 1.0)]
    assert max_gap([0.3, 0.3, 0.3]) == pytest.approx(0.7)
    assert len(find_gaps([0.3, 0.3, 0.3])) == 2


def test_equal_widths_are_ordered_by_their_place_despite_rounding() -> None:
    gaps = find_gaps([0.1 * k for k in range(11)])
    assert [gap.lo for gap in gaps] == sorted(gap.lo for gap in gaps)


@settings(max_examples=60, deadline=None)
@given(places, st.randoms(use_true_random=False))
def test_gaps_fill_the_axis_whatever_the_order(z: list[float], shuffler: object) -> None:
    gaps = find_gaps(z)
    assert sum(gap.width for gap in gaps) == pytest.approx(1.0)
    assert max_gap(z) == pytest.approx(gaps[0].width)
    assert top_k_gap_sum(z, 3) == pytest.approx(sum(gap.width for gap in gaps[:3]))
    mixed = list(z)
    shuffler.shuffle(mixed)  # type: ignore[attr-defined]
    assert find_gaps(mixed) == gaps


@pytest.mark.parametrize(
    ("z", "kind"), [([], "no_data"), ([math.nan, 0.2], "not_finite"), ([math.inf], "not_finite")]
)
def test_what_is_no_benchmark_is_refused(z: list[float], kind: str) -> None:
    for figure in (ddm, find_gaps, max_gap):
        with pytest.raises(InputError) as caught:
            figure(z)
        assert caught.value.kind == kind
