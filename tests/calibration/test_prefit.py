"""Pre-fit checks against their definitions, counted pair by pair."""

from __future__ import annotations

import time
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchfill.calibration.prefit import PrefitCheck, discordance, prefit_checks
from benchfill.calibration.response_log import ResponseLog
from benchfill.logs.responses import read_responses
from tests.calibration.simulated import log_of, simulate


def by_name(log: ResponseLog) -> dict[str, PrefitCheck]:
    return {check.name: check for check in prefit_checks(log)}


def counted_item_inversion(log: ResponseLog) -> dict[str, float]:
    """The definition, pair by pair, in exact fractions of integers where attempts are alike."""
    found = {}
    for item in range(len(log.items)):
        weaker_better = pairs = 0
        for one, two in combinations(range(len(log.models)), 2):
            if not (log.attempts[one, item] and log.attempts[two, item]):
                continue
            rates, rests = [], []
            for model in (one, two):
                others = [
                    log.correct[model, at] / log.attempts[model, at]
                    for at in range(len(log.items))
                    if at != item and log.attempts[model, at]
                ]
                rates.append(log.correct[model, item] / log.attempts[model, item])
                rests.append(round(float(np.mean(others)), 12) if others else None)
            if None in rests or rates[0] == rates[1] or rests[0] == rests[1]:
                continue
            pairs += 1
            weaker_better += (rates[0] > rates[1]) == (rests[0] < rests[1])
        if pairs:
            found[log.items[item]] = weaker_better / pairs
    return found


def transposed(log: ResponseLog) -> ResponseLog:
    return ResponseLog(log.items, log.models, log.correct.T, log.attempts.T)


@pytest.mark.parametrize("attempts", [1, 3])
def test_inversion_rates_are_those_of_the_definition(attempts: int) -> None:
    full = simulate(7, 25, attempts, seed=3).log
    holes = np.random.default_rng(0).random(full.attempts.shape) < 0.2
    log = log_of(np.where(holes, 0, full.correct), np.where(holes, 0, full.attempts))
    checks = by_name(log)
    for name, expected in (
        ("item_inversion", counted_item_inversion(log)),
        ("model_inversion", counted_item_inversion(transposed(log))),
    ):
        check = checks[name]
        assert check.value == pytest.approx(np.mean(list(expected.values())))
        assert {each.id: pytest.approx(each.value) for each in check.offenders} == {
            unit: rate for unit, rate in expected.items() if rate > 0.3
        }
        assert [each.value for each in check.offenders] == sorted(
            (each.value for each in check.offenders), reverse=True
        )


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4)), min_size=0, max_size=40))
@settings(max_examples=100, deadline=None)
def test_discordance_counts_pairs(points: list[tuple[int, int]]) -> None:
    order = np.array([each[0] for each in points], dtype=np.float64)
    value = np.array([each[1] for each in points], dtype=np.float64)
    signs = [
        np.sign(order[one] - order[two]) * np.sign(value[one] - value[two])
        for one, two in combinations(range(len(points)), 2)
    ]
    assert discordance(order, value) == (signs.count(-1.0), signs.count(-1.0) + signs.count(1.0))


def test_nine_hundred_million_pairs_take_a_moment() -> None:
    generator = np.random.default_rng(1)
    order = generator.random(41_871)
    start = time.perf_counter()
    inverted, pairs = discordance(order, -order)
    assert time.perf_counter() - start < 3.0
    assert inverted == pairs == 41_871 * 41_870 // 2


def test_information_names_constant_items_and_extreme_models() -> None:
    correct = np.zeros((4, 100), dtype=np.int64)
    correct[0, 1:] = 1  # 0.99
    correct[1, 1:51] = 1
    correct[2, 2:40] = 1
    checks = by_name(log_of(correct, 1))
    assert checks["item_information"].value == 0.99
    assert [each.id for each in checks["item_information"].offenders] == ["item-000000"]
    assert checks["model_information"].value == 0.5
    assert [(each.id, each.value) for each in checks["model_information"].offenders] == [
        ("model-0003", 0.0),
        ("model-0000", 0.99),
    ]
    assert checks["model_information"].passed


def test_coin_flips_fail_and_a_constant_log_is_undefined() -> None:
    noise = by_name(log_of(np.random.default_rng(2).integers(0, 2, (12, 60)), 1))
    assert noise["item_inversion"].passed is False
    assert noise["model_inversion"].passed is False
    constant = by_name(log_of(np.ones((3, 5), dtype=np.int64), 1))
    assert constant["item_inversion"].value is None
    assert constant["item_inversion"].passed is None
    assert constant["item_information"].value == 0.0
    assert constant["item_information"].passed is False


def test_mmlu_names_the_model_at_one_hundred_percent(shared: Path) -> None:
    log = read_responses(shared / "data/psn_irt/MMLU_wide.csv.gz").log
    check = by_name(log)["model_information"]
    assert [(each.id, each.value) for each in check.offenders] == [("psn_model_03", 1.0)]
