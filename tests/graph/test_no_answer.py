"""Replies without an answer: rates, and both readings of the same attempts."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from benchfill.graph.attempts import counted_as
from benchfill.graph.measuring import count
from benchfill.graph.no_answer import accepted_both_ways, no_answer_rates
from benchfill.item import Item
from benchfill.memory.records import AttemptRow, Candidate, GapRow
from tests.graph.made_search import MODELS, estimate, make_search


def row(item: str, model: str, attempt: int, what: str) -> AttemptRow:
    if what in ("correct", "wrong"):
        return AttemptRow(item, model, attempt, what, "", "x")  # type: ignore[arg-type]
    return AttemptRow(item, model, attempt, "missing", what, None)


def test_rates_by_model_and_from_easy_to_hard() -> None:
    """One model is silent on half of the hard items; failures of the infrastructure count nowhere."""
    rows = []
    for index in range(8):
        for attempt in range(10):
            hard = index >= 4 and attempt < 5
            rows.append(row(f"i{index}", "a", attempt, "no_answer" if hard else "correct"))
            rows.append(row(f"i{index}", "b", attempt, "correct" if attempt else "timeout"))
    found = no_answer_rates(rows, {f"i{index}": float(index) for index in range(8)})
    assert (found["replies"], found["no_answer"]) == (80 + 72, 20)
    first, second = found["models"]
    assert (first["rate"], first["accuracy"], first["accuracy_as_wrong"]) == (0.25, 1.0, 0.75)
    assert first["differs"]
    assert (second["rate"], second["replies"], second["differs"]) == (0.0, 72, False)
    assert [part["rate"] for part in found["by_difficulty"]] == pytest.approx([0, 0, 10 / 38, 10 / 38])
    assert [(part["lo"], part["hi"]) for part in found["by_difficulty"]] == [(0, 1), (2, 3), (4, 5), (6, 7)]


def test_a_model_that_never_answers_has_no_accuracy() -> None:
    (model,) = no_answer_rates([row("i", "a", 0, "no_answer")], {})["models"]
    assert (model["accuracy"], model["accuracy_as_wrong"], model["differs"]) == (None, 0.0, True)
    assert no_answer_rates([], {})["models"] == []


@pytest.mark.parametrize("setting", ["missing", "wrong"])
def test_the_setting_decides_what_counts_and_the_row_stays(setting: str, tmp_path: Path) -> None:
    search, _, _ = make_search(tmp_path)
    search.no_answer = setting  # type: ignore[assignment]
    rows = [
        row("i00", "m00", 0, "no_answer"),
        row("i00", "m00", 1, "timeout"),
        row("i00", "m01", 0, "correct"),
    ]
    correct, answered = count(search, rows)
    assert answered.tolist()[:2] == ([0, 1] if setting == "missing" else [1, 1])
    assert correct.tolist()[:2] == [0, 1]
    assert counted_as(rows[1], "wrong") == "missing"


def test_an_accepted_item_is_placed_under_both_readings(tmp_path: Path) -> None:
    """Models that fail an item by giving up: as wrong the item is harder, by more than its interval."""
    search, _, _ = make_search(tmp_path)
    item = Item(id="c", question="new", answer="1")
    candidate = Candidate(
        id="g1r01w1", item="c", gap=1, round=1, writer=1, target=0.5, parent="i00", reference_ids=[],
        status="accepted", rewriter="r", judge="j", prompt_version="1", prompt_hashes={},
    )  # fmt: skip
    search.pool.save_candidate(candidate, item)
    gap = GapRow(1, 0.4, 0.6, 0.5, 0.02, 100, "filled", candidate.id, 1)
    search.pool.save_gaps([gap])
    search.pool.save_estimates([dataclasses.replace(estimate("c", 0.0), source="online")])
    some = [
        row("c", model, attempt, "correct" if attempt % 2 else "no_answer" if attempt % 4 else "wrong")
        for model in MODELS
        for attempt in range(16)
    ]
    search.pool.save_attempts(some)
    (both,) = accepted_both_ways(search)
    assert both["no_answer"] == 48
    # Of 16 attempts 8 are right, 4 wrong and 4 without an answer.
    assert both["z_as_wrong"] > both["z_hi90_as_missing"]
    assert both["differs"]
    search.pool.save_attempts(row("c", each.model, each.attempt, "wrong") for each in some if each.reason)
    assert accepted_both_ways(search) == []
