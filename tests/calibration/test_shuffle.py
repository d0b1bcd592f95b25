"""The shuffle control finds structure where there is some, and only there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from benchfill.calibration import shuffle
from benchfill.calibration.grouping import group_items
from benchfill.calibration.mml import find_mode
from benchfill.calibration.shuffle import shuffle_cells, shuffle_control
from tests.calibration.simulated import log_of, simulate


def test_cells_move_within_models_and_stay_whole() -> None:
    full = simulate(5, 30, 7, seed=1).log
    generator = np.random.default_rng(0)
    attempts = generator.integers(0, 4, full.attempts.shape)
    log = log_of(generator.binomial(attempts, 0.4), attempts)
    dealt = shuffle_cells(log, generator)
    assert np.array_equal(dealt.attempts > 0, log.attempts > 0)
    assert not np.array_equal(dealt.correct, log.correct)
    for model in range(5):
        cells = [sorted(zip(each.correct[model], each.attempts[model], strict=True)) for each in (log, dealt)]
        assert cells[0] == cells[1]


@pytest.mark.parametrize("attempts", [1, 40])
def test_real_structure_beats_shuffled(attempts: int) -> None:
    log = simulate(12, 120, attempts, seed=3).log
    found = shuffle_control(log, shuffles=2)
    assert found.passed
    assert found.structured
    assert not found.unequal_attempts
    assert len(found.shuffled) == 2
    assert found.beaten_by == found.real.held_out_gain - max(each.held_out_gain for each in found.shuffled)
    assert found.beaten_by > 0.05
    assert all(each.spread < 0.4 * found.real.spread for each in found.shuffled)
    assert all(each.marginal_gain < 0.2 * found.real.marginal_gain for each in found.shuffled)
    assert found == shuffle_control(log, shuffles=2)


def test_of_a_large_log_a_random_part_is_shuffled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffle, "_MOST_CELLS", 600)
    found = shuffle_control(simulate(12, 120, 4, seed=3).log, guessing=np.zeros(120), shuffles=1)
    assert (found.items, found.of_items) == (50, 120)
    assert found.structured


def test_a_log_without_structure_is_said_to_have_none() -> None:
    generator = np.random.default_rng(6)
    rates = expit(np.linspace(-1.0, 1.0, 10))[:, None]
    found = shuffle_control(log_of(generator.binomial(1, np.broadcast_to(rates, (10, 100))), 1), shuffles=2)
    assert found.passed
    assert not found.structured
    assert found.real.marginal_gain < 0.005


def test_marginal_gain_is_the_likelihood_integrated_by_hand() -> None:
    """One item each by quadrature over b on a plain grid, guessing included."""
    log = simulate(4, 25, 3, seed=5).log
    guessing = np.repeat([0.0, 0.25], [12, 13])
    found = shuffle_control(log, guessing=guessing, shuffles=1)
    mode = find_mode(group_items(log, guessing))
    theta, mu, sigma = mode.density.split(mode.phi)
    b = np.linspace(mu - 9 * sigma, mu + 9 * sigma, 4001)
    prior = np.exp(-0.5 * ((b - mu) / sigma) ** 2) / (sigma * np.sqrt(2 * np.pi)) * (b[1] - b[0])
    value = 0.0
    for item in range(25):
        p = guessing[item] + (1 - guessing[item]) * expit(theta[:, None] - b)
        right = log.correct[:, item, None]
        value += np.log((np.prod(p**right * (1 - p) ** (3 - right), axis=0) * prior).sum())
    rate = log.correct.sum(axis=1) / 75
    alone = (75 * (rate * np.log(rate) + (1 - rate) * np.log1p(-rate))).sum()
    assert found.real.marginal_gain == pytest.approx((value - alone) / 300, abs=1e-6)
