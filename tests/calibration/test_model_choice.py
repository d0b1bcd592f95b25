"""Held-out comparison of item models: the true one wins, and the figures are what they say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

from benchfill.calibration.model_choice import (
    HeldOut,
    ModelChoice,
    ModelScore,
    choose_model,
    deal_folds,
    score_held_out,
)
from benchfill.calibration.model_slopes import fit_item_model
from benchfill.calibration.response_log import ResponseLog
from benchfill.errors import InputError
from benchfill.logs.responses import read_responses
from tests.calibration.simulated import log_of, simulate


def test_standard_error_is_that_of_a_ratio_over_items() -> None:
    loss, attempts = np.array([1.0, 4.0, 0.0, 2.5]), np.array([2.0, 4.0, 0.0, 2.0])
    held = HeldOut(loss, attempts, 5.0)
    off = loss - attempts * 7.5 / 8.0
    assert held.log_loss == 7.5 / 8.0
    assert held.accuracy == 5.0 / 8.0
    assert held.se() == pytest.approx(np.sqrt(1.5 * (off @ off)) / 8.0)
    assert held.se(held) == 0.0


def test_folds_hide_every_asked_cell_once_and_evenly_within_items() -> None:
    log = simulate(10, 40, 1, seed=1).log
    holes = np.random.default_rng(0).random(log.attempts.shape) < 0.2
    some = log_of(np.where(holes, 0, log.correct), np.where(holes, 0, 1))
    fold_of = deal_folds(some, 5, seed=3)
    assert ((fold_of == -1) == holes).all()
    for item in range(40):
        counts = np.bincount(fold_of[:, item][~holes[:, item]], minlength=5)
        assert counts.max() - counts.min() <= 1
    assert np.array_equal(fold_of, deal_folds(some, 5, seed=3))
    with pytest.raises(InputError):
        deal_folds(some, 1, seed=0)
    with pytest.raises(InputError):
        deal_folds(log_of(np.array([[1, 0]]), 1), 5, seed=0)


def test_prediction_uses_only_the_training_part() -> None:
    log = simulate(8, 120, 1, seed=2).log
    fold_of = deal_folds(log, 4, seed=0)
    train, test = (
        ResponseLog(log.models, log.items, np.where(keep, log.correct, 0), np.where(keep, log.attempts, 0))
        for keep in (fold_of != 0, fold_of == 0)
    )
    held = score_held_out(train, test, "1pl")
    chance = fit_item_model(train, "1pl").success()
    answers = np.where(test.attempts == 1, np.where(test.correct == 1, chance, 1.0 - chance), 1.0)
    assert held.log_loss == pytest.approx(-np.log(answers).sum() / test.attempts.sum())
    with pytest.raises(InputError):
        score_held_out(train, replace(test, items=tuple(f"x{name}" for name in test.items)), "1pl")


@pytest.mark.parametrize("truth", ["1pl", "model_slopes", "2pl"])
def test_the_true_model_is_chosen(truth: str) -> None:
    generator = np.random.default_rng(7)
    theta, b = generator.normal(0.0, 1.2, 12), generator.normal(0.0, 1.5, 120)
    slope = np.ones((12, 120))
    if truth == "model_slopes":
        slope = generator.uniform(0.3, 1.7, (12, 1))
    elif truth == "2pl":
        slope = np.exp(generator.normal(0.0, 0.6, (1, 120)))
    log = log_of(generator.binomial(10, expit(slope * (theta[:, None] - b))), 10)
    found = choose_model(log, folds=3)
    assert found.best == truth
    assert found.lowest_bic == truth
    assert found.attempts == log.attempts.sum()
    assert [score.n_parameters for score in found.scores] == [13, 24, 14]
    assert found.scores[0].gain is None
    best = next(score for score in found.scores if score.model == truth)
    if truth == "1pl":
        assert "No richer" in found.sentence()
    else:
        assert best.gain is not None
        assert best.gain_se is not None
        assert best.gain > 2.0 * best.gain_se
        assert f"{best.log_loss:.4f}" in found.sentence()


def test_a_large_log_is_compared_on_a_random_part_of_its_items_and_says_so() -> None:
    generator = np.random.default_rng(8)
    theta, b = generator.normal(0.0, 1.2, 10), generator.normal(0.0, 1.5, 300)
    slope = generator.uniform(0.3, 1.7, (10, 1))
    log = log_of(generator.binomial(8, expit(slope * (theta[:, None] - b))), 8)
    guessing = np.zeros(300)
    first, second, other = (
        choose_model(
            log, folds=2, models=("1pl", "model_slopes"), most_cells=1000, guessing=guessing, seed=seed
        )
        for seed in (1, 1, 2)
    )
    assert first == second
    assert first.scores != other.scores
    assert (first.items, first.of_items, first.best) == (100, 300, "model_slopes")
    assert first.attempts == 10 * 100 * 8
    assert first.sentence().endswith("Compared on a random 100 of 300 items.")
    whole = choose_model(log, folds=2, models=("1pl", "model_slopes"), most_cells=3000)
    assert (whole.items, whole.of_items) == (300, 300)
    assert "random" not in whole.sentence()
    # The part says the same as the whole, less surely.
    assert first.scores[1].gain == pytest.approx(whole.scores[1].gain, abs=4 * first.scores[1].gain_se)
    assert first.scores[1].gain_se > whole.scores[1].gain_se


def test_the_sentence_names_who_leads_and_who_is_as_good() -> None:
    def score(model: str, log_loss: float, gain: float | None) -> ModelScore:
        return ModelScore(model, log_loss, 0.01, 0.8, gain, None if gain is None else 0.01, 0.0, 0.0, 3)

    scores = score("1pl", 0.44, None), score("model_slopes", 0.42, 0.02), score("2pl", 0.41, 0.03)

    def sentence(best: str) -> str:
        return ModelChoice(scores, best, "1pl", 3, 100, 10, 10).sentence()

    assert sentence("2pl").startswith("A 2PL predicts hidden answers better than the 1PL: log loss 0.4100")
    both = sentence("model_slopes")
    assert both.startswith(sentence("2pl"))
    assert both.endswith("A 1PL with a slope a model is within two standard errors of it (0.4200).")
    assert sentence("1pl").startswith("No richer item model")


def test_slopes_of_models_win_on_gsm8k_of_twelve_models(shared: Path) -> None:
    """A sketch on the public split: 0.3865 against 0.4202 over eleven blocks; here one of them, dealt anew."""
    log = read_responses(shared / "data/psn_irt/GSM8K_wide.csv.gz").log
    found = choose_model(log, folds=2, models=("1pl", "model_slopes"))
    assert found.best == "model_slopes"
    plain, sloped = found.scores
    assert sloped.gain is not None
    assert sloped.gain_se is not None
    assert sloped.gain > 5.0 * sloped.gain_se
    assert 0.30 < sloped.log_loss < plain.log_loss < 0.40
