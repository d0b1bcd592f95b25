"""What is said of anchors, of replies without an answer, of spending; nothing of it steers a terminal."""

from __future__ import annotations

import io
from typing import Any

import pytest

from benchfill.display.answering import AnswerProgress, print_answers
from benchfill.display.console import make_console
from benchfill.display.no_answer import print_no_answer
from benchfill.display.plain import event_lines
from benchfill.display.session import Session
from benchfill.display.spending import forecast_table, spend_table


def shift(model: str, **changes: Any) -> dict[str, Any]:
    return {
        "model": model,
        "frozen": 0.0,
        "now": 0.5,
        "shift": 0.5,
        "se": 0.25,
        "answered": 40,
        "drifted": False,
        **changes,
    }


def test_anchors_are_said_a_line_a_model() -> None:
    event = {
        "event": "anchors",
        "items": ["i1", "i2\x1b[2J"],
        "attempts": 8,
        "shifts": [
            shift("a"),
            shift("b", shift=-1.5, drifted=True),
            shift("c", now=None, shift=None, se=None),
        ],
    }
    assert event_lines(event, Session()) == [
        "anchors: i1, i2, 8 attempts a model",
        "anchors: a +0.50 logits (standard error 0.25)",
        "anchors: b -1.50 logits (standard error 0.25), beyond its error",
        "anchors: c did not answer",
    ]


def report(**changes: Any) -> dict[str, Any]:
    model = {"model": "oak\x1b]0;t\x07", "replies": 10, "no_answer": 4, "rate": 0.4, "accuracy": 1.0,
             "accuracy_lo90": 0.7, "accuracy_hi90": 1.0, "accuracy_as_wrong": 0.6, "differs": True}  # fmt: skip
    item = {"item": "bf-1", "no_answer": 3, "differs": False, "z_as_missing": 0.5, "z_lo90_as_missing": 0.4,
            "z_hi90_as_missing": 0.6, "z_as_wrong": 0.55, "z_lo90_as_wrong": 0.5, "z_hi90_as_wrong": 0.6}  # fmt: skip
    stretch = {"lo": 0.1, "hi": 0.9, "items": 3, "replies": 10, "no_answer": 4, "rate": 0.4}
    return {
        "replies": 10,
        "no_answer": 4,
        "models": [model],
        "by_difficulty": [stretch],
        "accepted": [item],
        **changes,
    }


def said(**changes: Any) -> str:
    stream = io.StringIO()
    print_no_answer(make_console(stream), report(**changes), axis="z")
    return stream.getvalue()


def test_both_readings_are_shown_and_the_warning_names_who_depends_on_them() -> None:
    text = said()
    assert "\x1b" not in text
    assert "bf-1: z 0.500 [0.400, 0.600] without 3 replies, 0.550 [0.500, 0.600] as wrong" in text
    assert "changes more than the interval of: oak." in text
    assert "Warning" not in said(models=[{**report()["models"][0], "differs": False}])
    assert said(no_answer=0) == ""


@pytest.mark.parametrize("total", [3, 1])
def test_without_a_terminal_progress_is_lines_on_stderr(total: int) -> None:
    stream = io.StringIO()
    meter = {"calls": 2, "from_ledger": 1, "tokens_in": 10, "tokens_out": 5, "cost": None}
    with AnswerProgress(stream, lambda: meter) as progress:
        for done in range(1, total + 1):
            progress.update(done, total)
    (line,) = stream.getvalue().splitlines()
    assert line.startswith(
        f"answering: {total} of {total} attempts | 2 calls (1 from the ledger) | 10 tokens in, 5 out"
    )


def test_answers_name_what_is_missing() -> None:
    row = {
        "model": "m",
        "attempts": 4,
        "correct": 2,
        "wrong": 1,
        "no_answer": 0,
        "missing": {"timeout": 1},
        "accuracy": 2 / 3,
    }
    stream = io.StringIO()
    print_answers(stream, {"models": [row], "no_answer": {"no_answer": 0}})
    assert "timeout 1" in stream.getvalue()
    assert "0.667" in stream.getvalue()


def test_a_sum_with_unknown_prices_says_so() -> None:
    row = {"run": "r", "role": "pool", "model": "m", "calls": 2, "failed": 1, "input_tokens": 10, "output_tokens": 4,
           "price": 1.5, "unpriced": 1, "unmetered": 0, "seconds": 3.0}  # fmt: skip
    stream = io.StringIO()
    make_console(stream).print(spend_table([row, {**row, "model": "n", "price": None, "unpriced": 3}]))
    assert stream.getvalue().count("1.50 +?") == 2
    expected = {
        "role": "pool",
        "model": "m",
        "calls": 7,
        "input_tokens": 70,
        "output_tokens": 35,
        "cost": None,
        "basis": "assumed",
    }
    stream = io.StringIO()
    make_console(stream).print(forecast_table([expected], expected))
    assert "assumed" in stream.getvalue()
