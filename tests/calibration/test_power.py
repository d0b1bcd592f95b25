"""Power: exactly the level where a lift touches nothing, and agreement with the tests themselves elsewhere."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from benchfill.calibration.detection import detect
from benchfill.calibration.measure import max_gap
from benchfill.calibration.pairing import pair_logs
from benchfill.calibration.power import (
    Design,
    attempts_needed,
    items_needed,
    smallest_width,
    worst_case,
)
from benchfill.calibration.response_log import ResponseLog
from benchfill.errors import InputError

EVEN = np.linspace(0.0, 1.0, 11)


def test_a_width_below_the_widest_gap_is_invisible_at_any_number_of_attempts() -> None:
    z = np.delete(EVEN, 5)
    design = Design(z, np.full(10, 0.3), lift=0.7)
    for attempts in (1, 64, 100_000):
        found = worst_case(design, 0.19, attempts)
        assert found.invisible
        assert found.mean.power == found.scan.power == 0.05
        assert (found.scan.n_items, found.scan.lo >= 0.4, found.scan.hi <= 0.6) == (0, True, True)
    assert attempts_needed(design, 0.19) == {"mean": None, "scan": None}
    assert not worst_case(design, max_gap(z), 64).invisible
    # Ten gaps of one tenth, some of them a rounding error wider.
    for shift in (0.0, 1e-3, 0.05):
        assert not worst_case(
            Design(EVEN[1:-1] + shift, np.full(9, 0.3), 0.4, simulations=1), 0.1 + shift, 1
        ).invisible


def test_power_against_a_lift_of_everything_is_that_of_the_exact_test() -> None:
    # One item: both tests are Fisher's exact test, whose power is a finite sum.
    k, p, lift, level = 12, 0.3, 0.5, 0.065
    power = 0.0
    for x, y in itertools.product(range(k + 1), repeat=2):
        tail = sum(
            math.comb(k, later) * math.comb(k, x + y - later) for later in range(y, min(k, x + y) + 1)
        ) / math.comb(2 * k, x + y)
        power += binom.pmf(x, k, p) * binom.pmf(y, k, p + lift) * (tail <= level)
    found = worst_case(Design([0.5], [p], lift, level, simulations=2000, seed=1), 1.0, k)
    assert found.mean.power == found.scan.power
    # Of all possible p-values none is between 0.0498 and 0.0775, where a level is hard to tell with few re-deals.
    assert found.mean.power == pytest.approx(power, abs=0.06)


def test_the_worst_stretch_is_the_one_with_the_fewest_or_most_solved_items() -> None:
    success = np.full(11, 0.3)
    success[7:9] = 0.97
    found = worst_case(Design(EVEN, success, 0.4, simulations=100), 0.15, 64)
    assert found.scan.lo <= 0.8 <= found.scan.hi or found.scan.lo <= 0.7 <= found.scan.hi
    assert found.scan.n_items == 1
    easy = worst_case(Design(EVEN, np.full(11, 0.3), 0.4, simulations=100), 0.15, 64)
    assert easy.scan.power > found.scan.power + 0.3


def test_power_agrees_with_the_test_that_users_run() -> None:
    rng = np.random.default_rng(8)
    z, success = EVEN, rng.uniform(0.2, 0.5, 11)
    found = worst_case(Design(z, success, 0.4, simulations=300), 0.1, 16)
    lifted = (z > found.scan.lo + 1e-9) & (z <= found.scan.hi + 1e-9)
    assert lifted.sum() == found.scan.n_items == 1
    ids, asked = tuple(f"q{index:02d}" for index in range(11)), np.full((1, 11), 16)
    places = dict(zip(ids, z.tolist(), strict=True))
    rejected = 0
    for seed in range(80):
        before, after = (
            ResponseLog(("m",), ids, rng.binomial(16, p)[None], asked)
            for p in (success, success + 0.4 * lifted)
        )
        test = detect(pair_logs(before, after), places, randomisations=199, seed=seed).groups["all"]
        rejected += test.p_scan is not None and test.p_scan <= 0.05
    assert rejected / 80 == pytest.approx(found.scan.power, abs=0.17)


def test_more_attempts_and_wider_lifts_are_seen_better() -> None:
    design = Design(EVEN, np.full(11, 0.4), 0.4, simulations=50)
    needed = attempts_needed(design, 0.1)
    assert needed["scan"] is not None
    assert worst_case(design, 0.1, needed["scan"]).scan.power >= 0.8
    assert worst_case(design, 0.1, needed["scan"] // 2).scan.power < 0.8
    widths = smallest_width(design, 16)
    assert widths["scan"] is not None
    assert widths["scan"] >= max_gap(EVEN)
    assert worst_case(design, widths["scan"], 16).scan.power >= 0.8
    assert smallest_width(Design([0.5], [1.0], 0.4), 16) == {"mean": None, "scan": None}


def test_items_needed_leave_no_stretch_empty() -> None:
    assert items_needed(EVEN, 0.1) == 0
    assert items_needed(np.delete(EVEN, 5), 0.1) == 1
    assert items_needed([0.0, 1.0], 0.25) == 3
    assert items_needed([0.5], 0.2) == 4
    rng = np.random.default_rng(0)
    z = rng.random(20)
    edges = np.concatenate([[0.0], np.sort(z), [1.0]])
    filled = [edges]
    for lo, hi in itertools.pairwise(edges):
        filled.append(np.linspace(lo, hi, math.ceil((hi - lo) / 0.03 - 1e-9) + 1)[1:-1])
    assert sum(each.size for each in filled[1:]) == items_needed(z, 0.03)
    assert max_gap(np.concatenate(filled)) <= 0.03 + 1e-12


def test_impossible_designs_are_refused() -> None:
    for arguments in (([], [], 0.4), ([0.5], [1.2], 0.4), ([0.5], [0.5], 0.0), ([0.5], [0.5], 0.4, 0.9)):
        with pytest.raises(InputError):
            Design(*arguments)
    for width, attempts in ((0.0, 4), (1.1, 4), (0.5, 0)):
        with pytest.raises(InputError):
            worst_case(Design([0.5], [0.5], 0.4), width, attempts)


def test_a_lift_in_a_gap_of_aime24_is_seen_once_an_item_lies_in_it(shared: Path) -> None:
    from benchmarks.detection import experiment

    found = experiment(shared, attempts=(16, 64), simulations=120, seed=1)
    for row in found:
        # Three standard errors of 120 simulations around the level.
        assert row.original_mean <= 0.11
        assert row.original_scan <= 0.11
    assert found[1].filled_scan >= 0.95
    assert found[1].filled_mean < found[1].filled_scan
    assert found[0].filled_scan < found[1].filled_scan
