"""Fit of a new item against the frozen pool: uniform p under the model, small p and a residual where it is broken."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from benchfill.calibration.fit import fit_1pl
from benchfill.calibration.item_fit import item_fit
from benchfill.calibration.predictive_fit import OwnItems, own_items, predictive_fit
from benchfill.calibration.response_log import ResponseLog

THETA = np.linspace(-2.5, 2.5, 12)
DRAWS = THETA + np.random.default_rng(0).normal(0.0, 0.02, (200, 12))
OWN = OwnItems(0.2, 0.5, expit(THETA))


def drawn(rng: np.random.Generator, logit: np.ndarray, attempts: int) -> tuple[np.ndarray, np.ndarray]:
    return rng.binomial(attempts, expit(logit)), np.full(12, attempts)


def test_p_of_items_that_follow_the_model_is_spread_evenly():
    rng = np.random.default_rng(1)
    found = [
        predictive_fit(DRAWS, *drawn(rng, THETA - rng.uniform(-1, 1), 32), OWN, seed=seed)
        for seed in range(80)
    ]
    p = np.array([each.p for each in found if each is not None])
    # The difficulty is fitted to the same answers, which draws p a little to the middle.
    assert np.mean(p < 0.05) < 0.09
    assert 0.4 < np.mean(p) < 0.65
    assert not any(each.misfits for each in found if each is not None)


def test_departures_beyond_chance_are_told_in_logits():
    rng = np.random.default_rng(2)
    residuals = []
    for seed in range(10):
        departure = rng.normal(0.0, 1.5, 12)
        fit = predictive_fit(DRAWS, *drawn(rng, THETA + departure - departure.mean(), 200), OWN, seed=seed)
        assert fit is not None
        assert fit.p < 0.01
        residuals.append(fit.residual)
    assert np.sqrt(np.mean(np.square(residuals))) == pytest.approx(1.5, rel=0.25)


def test_a_reversed_item_correlates_against_the_score_and_misfits():
    rng = np.random.default_rng(3)
    straight = predictive_fit(DRAWS, *drawn(rng, THETA, 64), OWN)
    fallen = predictive_fit(DRAWS, *drawn(rng, -THETA, 64), OWN)
    assert straight is not None
    assert fallen is not None
    assert straight.correlation is not None
    assert straight.correlation > 0.95
    assert fallen.correlation is not None
    assert fallen.correlation < -0.95
    assert fallen.misfits
    assert not straight.misfits


def test_the_bar_is_that_of_the_benchmarks_own_items():
    """A benchmark that itself departs by two logits makes an item that does so one of its own."""
    rng = np.random.default_rng(4)
    answers = drawn(rng, THETA + rng.normal(0, 2.0, 12), 200)
    fit = predictive_fit(DRAWS, *answers, OWN)
    beside = predictive_fit(DRAWS, *answers, OwnItems(2.0, 0.1, expit(THETA)))
    assert fit is not None
    assert fit.misfits
    assert beside is not None
    assert beside.p < 0.01
    assert not beside.misfits


def test_own_items_agree_with_the_item_fit_of_the_log():
    rng = np.random.default_rng(5)
    b = np.linspace(-2, 2, 20)
    correct = rng.binomial(40, expit(THETA[:, None] - b + rng.normal(0, 0.8, (12, 20))))
    log = ResponseLog(tuple(f"m{n:02d}" for n in range(12)), tuple(f"i{n:02d}" for n in range(20)), correct,
                      np.full_like(correct, 40))  # fmt: skip
    fit = fit_1pl(log, engine="mml")
    own = own_items(fit.theta, log.correct, log.attempts, fit.b, fit.guessing)
    known = item_fit(fit, log)
    assert own.residual == pytest.approx(known.median, rel=1e-6)
    assert own.correlation == pytest.approx(float(np.quantile(known.correlation, 0.05)), abs=0.05)
    assert own.scores == pytest.approx((log.correct / log.attempts).mean(axis=1))


def test_missing_models_count_nowhere_and_no_answer_at_all_is_none():
    rng = np.random.default_rng(6)
    right, asked = drawn(rng, THETA, 64)
    right[3] = asked[3] = 0
    fit = predictive_fit(DRAWS, right, asked, OWN)
    assert fit is not None
    assert fit.p > 0.01
    assert predictive_fit(DRAWS, np.zeros(12), np.zeros(12), OWN) is None
