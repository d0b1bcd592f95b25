"""Abilities from anchors: closed forms, and simulated pools that drifted or did not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit

from benchfill.calibration.drift import (
    LEAST_SHIFT,
    ability_of,
    ability_shifts,
    choose_anchors,
    critical_factor,
)
from benchfill.errors import InputError

THETA = np.linspace(-1.8, 1.8, 12)
MODELS = [f"m{index:02d}" for index in range(12)]


@pytest.mark.parametrize("right", [0, 1, 11, 39, 40])
def test_items_of_one_difficulty_have_a_closed_form(right: int) -> None:
    """Warm's estimate is the logit with half an answer added on both sides."""
    counts = [min(8, max(0, right - 8 * place)) for place in range(5)]
    found = ability_of([0.7] * 5, counts, [8] * 5)
    assert found is not None
    assert found.theta == pytest.approx(0.7 + math.log((right + 0.5) / (40 - right + 0.5)), abs=1e-6)
    p = expit(found.theta - 0.7)
    assert found.se == pytest.approx((40 * p * (1 - p)) ** -0.5, rel=1e-6)


def test_nothing_answered_has_no_ability() -> None:
    assert ability_of([0.0, 1.0], [0, 0], [0, 0]) is None


def test_the_error_is_the_spread_of_estimates_and_guessing_is_taken_out() -> None:
    rng = np.random.default_rng(5)
    b, guessing = np.array([-1.5, -0.5, 0.0, 0.5, 1.5]), 0.25
    p = guessing + (1 - guessing) * expit(0.4 - b)
    found = [ability_of(b, rng.binomial(24, p), [24] * 5, guessing) for _ in range(120)]
    thetas = np.array([each.theta for each in found if each])
    assert thetas.mean() == pytest.approx(0.4, abs=4 * thetas.std() / math.sqrt(120))
    assert np.mean([each.se for each in found if each]) == pytest.approx(thetas.std(), rel=0.2)


def drifted(shift: np.ndarray, rng: np.random.Generator, *, noise: float = 0.1) -> list[bool]:
    """Verdicts on a pool whose abilities are off by ``shift`` from what was frozen with that noise."""
    b = np.array([-1.5, -0.75, 0.0, 0.75, 1.5])
    frozen = THETA + rng.normal(0.0, noise, THETA.size)
    known = b + rng.normal(0.0, noise, b.size)
    p = expit(np.add.outer(THETA + shift, -b))
    rows = ability_shifts(
        MODELS, frozen, np.full(12, noise), known, np.full(5, noise), rng.binomial(8, p), np.full((12, 5), 8)
    )
    return [row.drifted for row in rows]


def test_a_pool_that_did_not_move_is_rarely_stopped_and_one_that_did_is_named() -> None:
    rng = np.random.default_rng(11)
    still = [any(drifted(np.zeros(12), rng)) for _ in range(60)]
    assert sum(still) <= 8  # 3 expected at a rate of 1 in 20; 9 or more have probability 0.003
    weaker = np.zeros(12)
    weaker[6] = -2.0
    verdicts = [drifted(weaker, rng) for _ in range(20)]
    assert sum(row[6] for row in verdicts) >= 17
    assert sum(any(row[:6] + row[7:]) for row in verdicts) <= 5


def test_a_small_shift_never_stops_however_well_it_is_known() -> None:
    b, many = np.linspace(-2, 2, 5), np.full((1, 5), 200_000)
    for shift, stops in ((0.9 * LEAST_SHIFT, False), (1.1 * LEAST_SHIFT, True)):
        right = np.round(200_000 * expit(shift - b)).astype(int)[None, :]
        (row,) = ability_shifts(["m"], [0.0], [0.0], b, np.zeros(5), right, many)
        assert row.shift == pytest.approx(shift, abs=1e-3)
        assert row.drifted is stops


def test_a_model_without_answers_has_no_shift_and_shapes_are_checked() -> None:
    (row,) = ability_shifts(["m"], [0.3], [0.1], [0.0], [0.1], [[0]], [[0]])
    assert (row.now, row.shift, row.se, row.answered, row.drifted) == (None, None, None, 0, False)
    with pytest.raises(InputError):
        ability_shifts(["m"], [0.3], [0.1], [0.0, 1.0], [0.1, 0.1], [[0]], [[0]])


def test_the_factor_is_two_sided_and_grows_with_the_pool() -> None:
    assert critical_factor(1) == pytest.approx(1.959964, abs=1e-6)
    draws = np.abs(np.random.default_rng(3).normal(size=(200_000, 12))).max(axis=1)
    assert np.mean(draws > critical_factor(12)) == pytest.approx(0.05, abs=0.003)


def test_anchors_leave_less_error_than_random_ones_and_spread_over_the_pool() -> None:
    rng = np.random.default_rng(2)
    ids = [f"i{index:03d}" for index in rng.permutation(80)]
    b = rng.normal(0.0, 2.5, 80)
    chosen = choose_anchors(ids, b, THETA, count=5, attempts=8)
    assert chosen == sorted(set(chosen))
    assert len(chosen) == 5

    def mean_variance(some: list[str]) -> float:
        places = np.array([b[ids.index(each)] for each in some])
        p = expit(np.add.outer(THETA, -places))
        return float(np.mean(1.0 / (0.25 + 8 * (p * (1 - p)).sum(axis=1))))

    random = [mean_variance([str(each) for each in rng.choice(ids, 5, replace=False)]) for _ in range(300)]
    assert mean_variance(chosen) <= min(random)
    wide = choose_anchors(ids, b, 3.0 * THETA, count=5, attempts=8)
    places = sorted(b[ids.index(each)] for each in wide)
    assert places[0] < -2.0
    assert places[-1] > 2.0


def test_the_order_of_items_changes_no_anchor() -> None:
    ids = ["d", "a", "c", "b"]
    b = [0.5, 0.5, -1.0, 2.0]
    first = choose_anchors(ids, b, THETA, count=2, attempts=8)
    assert choose_anchors(ids[::-1], b[::-1], THETA, count=2, attempts=8) == first
    assert "d" not in first
    assert choose_anchors(ids, b, THETA, count=9, attempts=8) == sorted(ids)
