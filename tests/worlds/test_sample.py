"""The sample benchmark: reproducible to the byte, with exactly three wide gaps that its log resolves."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from benchfill.calibration.fit import fit_1pl
from benchfill.calibration.measure import find_gaps
from benchfill.calibration.response_log import ResponseLog
from benchfill.calibration.scale import minmax_scale
from benchfill.worlds.simulated import SAMPLE_ITEMS, SAMPLE_RESPONSES, make_sample
from benchfill.worlds.simulated.language import read_question
from benchfill.worlds.simulated.respondents import RESPONDENTS
from benchfill.worlds.simulated.truth import true_z
from tests.worlds.chats import sample


def logged() -> ResponseLog:
    items, models = sorted(item.id for item in sample()), sorted(RESPONDENTS)
    correct, attempts = np.zeros((12, 40), np.int64), np.zeros((12, 40), np.int64)
    with SAMPLE_RESPONSES.open(newline="") as file:
        for row in csv.DictReader(file):
            cell = models.index(row["model"]), items.index(row["item_id"])
            correct[cell], attempts[cell] = int(row["correct"]), int(row["count"])
    return ResponseLog(tuple(models), tuple(items), correct, attempts)


def test_running_the_script_again_writes_the_same_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_sample.main(tmp_path)
    assert (tmp_path / "items.jsonl").read_bytes() == SAMPLE_ITEMS.read_bytes()
    assert (tmp_path / "responses.csv").read_bytes() == SAMPLE_RESPONSES.read_bytes()
    assert capsys.readouterr().out.count("gap") == 10


def test_items_are_complete_right_and_unlike_each_other() -> None:
    items = sample()
    assert len({item.id for item in items}) == len({item.question for item in items}) == 40
    families = set()
    for item in items:
        understood = read_question(item.question)
        assert understood is not None
        assert str(understood.answer) == item.answer
        assert item.solution.endswith(f"The answer is {item.answer}.")
        families.add(understood.family)
    assert len(families) == 7


def test_every_model_and_every_item_is_informative() -> None:
    log = logged()
    assert (log.attempts == 64).all()
    for axis in (0, 1):
        share = log.correct.sum(axis=axis) / log.attempts.sum(axis=axis)
        assert (share > 0).all()
        assert (share < 1).all()


def test_three_wide_gaps_truly_and_as_fitted() -> None:
    log = logged()
    fit = fit_1pl(log, engine="mml")
    scale = minmax_scale(fit)
    assert 8 < scale.width < 11
    text = {item.id: item.question for item in sample()}
    fitted = np.asarray(scale.to_z(fit.b))
    true = np.asarray([true_z(fit.theta.tolist(), text[item], scale.lo, scale.hi) for item in fit.items])
    assert np.sqrt(np.mean((fitted - true) ** 2)) < 0.02
    for z in (fitted, true):
        inner = np.diff(np.sort(z))
        assert 0.17 < np.sort(inner)[-3] < np.sort(inner)[-1] < 0.26
        assert np.sort(inner)[-4] < 0.05
    for told in find_gaps(fitted)[:3]:
        between = true[(true > told.lo + 0.25 * told.width) & (true < told.hi - 0.25 * told.width)]
        assert between.size == 0
