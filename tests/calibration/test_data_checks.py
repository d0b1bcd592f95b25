"""Data checks against planted faults, handed cases and the known faults of public logs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import pearsonr

from benchfill.calibration.data_checks import check_data, collapse_repeats, find_repeats, rest_correlations
from benchfill.calibration.response_log import ResponseLog
from benchfill.errors import InputError
from benchfill.logs.responses import read_responses
from tests.calibration.simulated import log_of, simulate


def test_correlations_are_pearsons_with_fishers_bound() -> None:
    full = simulate(9, 30, 4, seed=5).log
    holes = np.random.default_rng(1).random(full.attempts.shape) < 0.2
    log = log_of(np.where(holes, 0, full.correct), np.where(holes, 0, full.attempts))
    correlation, upper = rest_correlations(log)
    with np.errstate(invalid="ignore"):
        rates = log.correct / log.attempts
    compared = 0
    for item in range(30):
        models = np.flatnonzero(log.attempts[:, item])
        rest = [np.nanmean(np.delete(rates[model], item)) for model in models]
        if len(models) < 4 or np.ptp(rates[models, item]) == 0.0:
            assert np.isnan(correlation[item])
            continue
        known = pearsonr(rates[models, item], rest)
        assert correlation[item] == pytest.approx(known.statistic)
        one_sided = pearsonr(rates[models, item], rest, alternative="less").confidence_interval(0.95)
        assert upper[item] == pytest.approx(one_sided.high)
        compared += 1
    assert compared > 20


def test_planted_repeats_are_found_and_collapsed() -> None:
    log = simulate(6, 40, 5, seed=2).log
    correct = log.correct.copy()
    correct[2] = 5 * (correct[2] > 2)
    greedy = ResponseLog(log.models, log.items, correct, log.attempts)
    (found,) = find_repeats(greedy)
    assert found.model == log.models[2]
    assert (found.cells, found.right) == (40, int((correct[2] > 0).sum()))
    once = collapse_repeats(greedy, [found.model])
    assert set(once.attempts[2]) == {1}
    assert np.array_equal(once.correct[2], correct[2] > 0)
    assert np.array_equal(once.correct[0], log.correct[0])
    with pytest.raises(InputError, match="differ on item") as error:
        collapse_repeats(greedy, [log.models[0]])
    assert error.value.kind == "repeats_differ"
    with pytest.raises(InputError):
        collapse_repeats(greedy, ["nobody"])
    assert collapse_repeats(greedy, []).attempts.tolist() == greedy.attempts.tolist()


def test_single_attempts_and_models_at_an_end_carry_no_signature() -> None:
    assert find_repeats(simulate(5, 40, 1, seed=1).log) == ()
    assert find_repeats(log_of(np.zeros((2, 40), dtype=np.int64), 4)) == ()


def test_twins_are_named() -> None:
    log = simulate(5, 20, 1, seed=4).log
    correct = log.correct.copy()
    correct[3] = correct[1]
    twins = check_data(ResponseLog(log.models, log.items, correct, log.attempts)).twins
    assert twins == ((log.models[1], log.models[3]),)


@pytest.mark.parametrize(
    ("case", "field", "expected"),
    [
        ("m01_extreme_items.csv", "always_right_items", ("easy",)),
        ("m01_extreme_items.csv", "always_wrong_items", ("hard",)),
        ("m02_extreme_models.csv", "always_right_models", ("best",)),
        ("m02_extreme_models.csv", "always_wrong_models", ("worst",)),
        ("m16_identical_models.csv", "always_right_items", ("q1", "q3")),
        ("m16_identical_models.csv", "always_wrong_items", ("q2",)),
        ("m17_all_ones.csv", "reversed_items", ()),
    ],
)
def test_handed_cases(shared: Path, case: str, field: str, expected: tuple[str, ...]) -> None:
    assert getattr(check_data(read_responses(shared / "cases/matrices" / case).log), field) == expected


def test_a_wrong_key_correlates_negatively(shared: Path) -> None:
    checks = check_data(read_responses(shared / "cases/matrices/m35_reversed_item.csv").log)
    assert [each.item for each in checks.reversed_items] == ["bad_key"]
    assert checks.reversed_items[0].correlation < -0.8
    assert checks.connected


def test_disconnected_groups_are_named(shared: Path) -> None:
    checks = check_data(read_responses(shared / "cases/matrices/m19_disconnected.csv").log)
    assert not checks.connected
    assert [(each.models, each.items) for each in checks.groups] == [
        (("m1", "m2"), ("q1", "q2")),
        (("m3", "m4"), ("q3", "q4")),
    ]


def test_repeats_of_public_logs_are_the_known_ones(shared: Path) -> None:
    """Every folder at hand, among them five with 20 greedy models and several without any."""
    known = json.loads((shared / "data/matrices/PSEUDO_REPLICATES.json").read_text(encoding="utf-8"))
    seen = 0
    for folder in sorted((shared / "data/matrices").iterdir()):
        logs = list(folder.glob("responses_long.csv.gz")) if folder.is_dir() else []
        for path in logs:
            found = [each.model for each in find_repeats(read_responses(path).log)]
            assert found == known[folder.name], folder.name
            seen += len(found)
    assert seen > 10
