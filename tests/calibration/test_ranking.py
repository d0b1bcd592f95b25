"""Kendall's tau-b against scipy, ties and all; weighted scores against repeated items."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from benchfill.calibration.ranking import item_weights, mean_success, pair_signs, tau_b, weighted_scores
from benchfill.calibration.response_log import ResponseLog
from tests.calibration.simulated import log_of

# Few distinct scores: most rankings have ties, some have nothing else.
SCORES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=9)


@settings(max_examples=40)
@given(SCORES)
def test_tau_b_is_scipys(pairs: list[tuple[int, int]]) -> None:
    x, y = (np.array(side) / 7.0 for side in zip(*pairs, strict=True))
    ours = float(tau_b(x, y))
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert np.isnan(ours)
    else:
        assert ours == pytest.approx(kendalltau(x, y).statistic, abs=1e-12)


def test_many_rankings_are_compared_at_once() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 5, (30, 8)), rng.integers(0, 5, 8)
    together = tau_b(x, y)
    assert together.shape == (30,)
    for row, found in zip(x, together, strict=True):
        assert found == pytest.approx(kendalltau(row, y).statistic, abs=1e-12)


def test_means_that_differ_in_the_last_digit_tie_and_unknown_scores_are_no_order() -> None:
    assert pair_signs([0.1 + 0.2, 0.3, 0.4]).tolist() == [0, -1, -1]
    assert pair_signs([0.5, np.nan, 0.4]).tolist() == [0, 1, 0]


def test_weighted_scores_are_those_of_repeated_items_and_know_missing_cells() -> None:
    rates = np.array([[1.0, 0.5, 0.0], [0.25, np.nan, 1.0], [np.nan, np.nan, 0.5]])
    scores = weighted_scores(rates, np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 2.0]]))
    assert scores[0, :2] == pytest.approx([2.5 / 3, 0.25])
    assert np.isnan(scores[0, 2])
    assert scores[1] == pytest.approx([0.5 / 3, 1.0, 0.5])


def test_mean_success_is_over_items_asked() -> None:
    log = ResponseLog(("a", "b"), ("x", "y"), np.array([[1, 3], [0, 0]]), np.array([[1, 4], [0, 0]]))
    scores = mean_success(log)
    assert scores[0] == pytest.approx(0.875)
    assert np.isnan(scores[1])
    assert mean_success(log_of(np.array([[2, 0]]), 4))[0] == 0.25


def test_bootstrap_samples_have_the_size_of_the_benchmark_and_do_not_depend_on_blocks() -> None:
    one = np.concatenate(list(item_weights(7, 50, np.random.default_rng(3), 1)))
    blocks = list(item_weights(7, 50, np.random.default_rng(3), 400_000))
    assert len(blocks) > 1
    assert np.array_equal(one, np.concatenate(blocks))
    assert (one.sum(axis=1) == 7).all()
