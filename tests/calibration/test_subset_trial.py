"""Choosing items: each rule against its definition; subsets beside random ones, where the truth is simulated."""

from __future__ import annotations

import numpy as np
import pytest

from benchfill.calibration.item_curves import ItemCurves
from benchfill.calibration.item_subsets import Chooser, added_discriminability, top_models
from benchfill.calibration.response_log import ResponseLog
from benchfill.calibration.subset_trial import SubsetTrial, halve_attempts, try_subset
from benchfill.errors import InputError
from tests.calibration.simulated import simulate

FAMILIES = {f"model-{at:04}": (f"f{at // 3}", float(1 + at % 3)) for at in range(12)}


def curves_of(a: list[float], b: list[float], theta: list[float]) -> ItemCurves:
    models = tuple(f"m{at}" for at in range(len(theta)))
    items = tuple(f"q{at}" for at in range(len(a)))
    zero, one = np.zeros(len(a)), np.ones(len(a))
    return ItemCurves(
        models, items, np.array(theta), np.ones(len(theta)), np.array(b), np.array(a), zero, one
    )


def test_fisher_keeps_the_most_informative_items_at_the_abilities_of_interest() -> None:
    curves = curves_of([1.0, 1.0, 2.0, 1.0], [0.0, 3.0, -3.0, 2.9], [-3.0, 3.0])
    log = ResponseLog(curves.models, curves.items, np.ones((2, 4)), np.ones((2, 4)))
    assert top_models(curves, 1).tolist() == [1]
    assert Chooser("fisher", 2, top=1)(log, curves) == ("q1", "q3")
    # At both abilities the sharp item is the best one: 4/4 over 2 models against at most 1/4.
    assert Chooser("fisher", 1)(log, curves) == ("q2",)


def test_cad_ds_leaves_inverted_items_out_and_then_keeps_what_spreads_the_scores() -> None:
    # Of four families alike. q0: only small models solve it. q1: everyone. q2, q3: large ones only. q4: nobody.
    large = np.array([at % 3 > 0 for at in range(12)])
    table = np.column_stack([~large, np.ones(12), large, large, np.zeros(12)]).astype(np.int64)
    log = ResponseLog(tuple(FAMILIES), tuple(f"q{at}" for at in range(5)), table, np.ones_like(table))
    assert Chooser("cad-ds", 2, FAMILIES)(log) == ("q2", "q3")
    added = added_discriminability(table.astype(float), table.mean(axis=1))
    scores = table.mean(axis=1)
    for item in range(5):
        # The derivative of log(sigma / mean) by the item's weight, by a small step.
        weights = np.full(5, 1 / 5)
        weights[item] += 1e-6
        moved = table @ weights
        slope = (np.log(moved.std() / moved.mean()) - np.log(scores.std() / scores.mean())) / 1e-6
        assert added[item] == pytest.approx(slope, abs=1e-4)
    with pytest.raises(InputError, match="two sizes"):
        Chooser("cad-ds", 2)(log)


@pytest.fixture(scope="module")
def trial() -> tuple[ResponseLog, SubsetTrial]:
    """Simulated: 12 models, 120 items, 6 attempts."""
    log = simulate(12, 120, 6, seed=3).log
    return log, try_subset(log, Chooser("random", 40, FAMILIES, seed=5), subsets=60, seed=2)


def test_a_random_subset_is_no_better_than_random_ones(trial: tuple[ResponseLog, SubsetTrial]) -> None:
    _, found = trial
    verdicts = {name: each.verdict for name, each in found.figures.items()}
    # Seven figures inside 95 % each; one outside would not be a surprise, several would.
    assert sum(verdict != "none" for verdict in verdicts.values()) <= 1
    assert all(0.0 < each.as_good < 1.0 for each in found.figures.values() if each.verdict == "none")


def test_folds_are_whole_families_and_hold_every_model_once(trial: tuple[ResponseLog, SubsetTrial]) -> None:
    log, found = trial
    assert sorted(model for fold in found.folds for model in fold) == list(log.models)
    for fold in found.folds:
        for family in {FAMILIES[model][0] for model in fold}:
            assert {model for model, (name, _) in FAMILIES.items() if name == family} <= set(fold)


def test_abilities_on_a_subset_err_as_their_standard_error_says(
    trial: tuple[ResponseLog, SubsetTrial],
) -> None:
    """Where the item model holds, the error against held-out items is that of both parts together."""
    _, found = trial
    claimed, error = found.figures["se_top"].median, found.figures["error_top"].median
    # 20 items against 60 held-out ones: the variance of 40 items times 40 / 20 + 40 / 60.
    assert error == pytest.approx(claimed * np.sqrt(2 + 2 / 3), rel=0.2)


def test_items_that_tell_models_apart_beat_chance_and_items_that_do_not_lose() -> None:
    """Simulated: a quarter of the items near the models, the rest far too easy; information finds the former."""
    rng = np.random.default_rng(8)
    b = np.concatenate([rng.normal(0.0, 0.5, 20), rng.normal(-7.0, 0.5, 60)])
    log = simulate(10, 80, 4, seed=9, b=b).log
    found = try_subset(log, Chooser("fisher", 20, model="1pl"), subsets=60, seed=1)
    assert sum(item < log.items[20] for item in found.kept) >= 19
    assert {found.figures[name].verdict for name in ("se_top", "error_top")} == {"better"}
    assert found.figures["tau"].as_good < 0.5


def test_halves_of_attempts_add_up_and_models_asked_once_are_left_out() -> None:
    log = simulate(5, 9, 5, seed=1).log
    attempts = log.attempts.copy()
    attempts[0] = 1
    halves = halve_attempts(
        ResponseLog(log.models, log.items, np.minimum(log.correct, attempts), attempts), 3
    )
    assert halves is not None
    one, two = halves
    assert one.models == two.models == log.models[1:]
    assert (one.attempts == 2).all()
    assert (two.attempts == 3).all()
    assert np.array_equal(one.correct + two.correct, log.correct[1:])
    assert halve_attempts(simulate(5, 9, 1, seed=1).log, 3) is None


def test_what_cannot_be_had_says_why() -> None:
    log = simulate(4, 12, 1, seed=2).log
    found = try_subset(log, Chooser("random", 12, top=1), subsets=20)
    reasons = {name: each.reason for name, each in found.figures.items() if each.value is None}
    assert set(reasons) == {"tau_top", "se_top", "error_top", "held_out_attempts"}
    assert "several attempts" in reasons["held_out_attempts"]
    assert found.figures["tau"].value == 1.0
