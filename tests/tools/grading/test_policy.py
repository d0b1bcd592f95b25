"""The open questions of grading: what the defaults say, and the setting that says otherwise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchfill.errors import InputError
from benchfill.settings import load_settings
from benchfill.tools.grading import GradingSettings
from tests.tools.grading.conftest import Grading

# answer type, key, response, verdict by default, settings that change it, verdict with them
QUESTIONS: dict[str, tuple[str, str, str, str, dict[str, Any], str]] = {
    "bare number for a percentage": ("percent", "28%", "28", "correct", {"percent_sign_optional": False}, "wrong"),
    "percent sign for a bare key": ("numeric", "60", "60%", "correct", {"percent_sign_optional": False}, "wrong"),
    "fraction for a percentage": ("percent", "20%", "0.2", "correct", {"percent_as_fraction": False}, "wrong"),
    "inequality for an interval": (
        "interval", "(0, 12.5)", "0 < x < 12.5", "correct", {"inequality_as_interval": False}, "wrong",
    ),
    "rounded response": ("numeric", "1/12", "0.0833", "wrong", {"rounding": "both"}, "correct"),
    "rounded key": ("numeric", "33.3", "100/3", "correct", {"rounding": "exact"}, "wrong"),
    "rounded key, few digits": ("numeric", "0.5", "6/13", "wrong", {"significant_digits": 1}, "correct"),
    "lowest terms": ("numeric", "1/2", "2/4", "correct", {"form": "same"}, "wrong"),
    "simplified surds": ("expr", r"2\sqrt{3}", r"\sqrt{12}", "correct", {"form": "same"}, "wrong"),
    "factored form": ("expr", "(x+1)^2", "x^2+2x+1", "correct", {"form": "same"}, "wrong"),
    "base left out": ("base", "52_8", "52", "correct", {"base_optional": False}, "wrong"),
    "unit left out": ("quantity", r"864 \mbox{ inches}^2", "864", "correct", {"unit_optional": False}, "wrong"),
    "ordinal": ("numeric", "12", r"12^{\text{th}}", "correct", {"ordinals": False}, "wrong"),
    "degree left out": ("quantity", r"60^\circ", "60", "correct", {"unit_optional": False}, "wrong"),
    "unit converted": ("quantity", "3 km", "3000 m", "correct", {"convert_units": False}, "wrong"),
    "hedged answer": ("numeric", "8", "The answer is 7 or 8.", "wrong", {"hedged": "ungraded"}, "ungraded"),
    "run-on generation": (
        "numeric", "7", "#### 7\n\nQuestion: What is 5+6?\n#### 11", "correct", {"cut_run_on": False}, "wrong",
    ),
    "unclosed box": (
        "numeric", "13", r"so the final result is \boxed{13", "no_answer", {"unclosed_box": True}, "correct",
    ),
    "several boxes": (
        "set", "a, b, c", r"\boxed{a}, \boxed{b}, \boxed{c}", "correct", {"join_boxes": False}, "wrong",
    ),
    "no statement of an answer": ("numeric", "72", "She has 72 clips.", "correct", {"undeclared": "none"}, "no_answer"),
}  # fmt: skip


@pytest.mark.parametrize("question", QUESTIONS)
def test_defaults_and_settings(grading: Grading, question: str) -> None:
    kind, key, response, by_default, settings, otherwise = QUESTIONS[question]
    assert grading(kind, key, response).verdict == by_default
    assert grading(kind, key, response, **settings).verdict == otherwise


def test_the_tolerance_of_an_item_is_relative(grading: Grading) -> None:
    assert grading("numeric", "1/12", "0.0833", tolerance=0.001).verdict == "correct"
    assert grading("numeric", "1/12", "0.083", tolerance=0.001).verdict == "wrong"
    assert grading("numeric", "200", "201", tolerance=0.005).verdict == "correct"
    assert grading("numeric", r"\pi", "3.14", tolerance=0.001).verdict == "correct"
    assert grading("numeric", "-200", "200", tolerance=0.5).verdict == "wrong"


def test_a_cut_response_counts_only_with_a_statement(grading: Grading) -> None:
    assert grading("numeric", "72", "So far that makes 72", finish_reason="length").verdict == "no_answer"
    assert grading("numeric", "72", r"\boxed{72} To check, we", finish_reason="length").verdict == "correct"


def test_settings_from_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "benchfill.toml").write_text('[grading]\nrounding = "exact"\nordinals = false\n')
    given = {"rounding": "both", "percent_as_fraction": "false", "seconds": "2.5", "significant_digits": "4"}
    assert load_settings(grading=given).grading == GradingSettings(
        rounding="both", percent_as_fraction=False, seconds=2.5, significant_digits=4, ordinals=False
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [("rounded", "both"), ("rounding", "up"), ("seconds", "-1"), ("seconds", "x"), ("ordinals", "maybe")],
)
def test_bad_settings_are_named(name: str, value: str) -> None:
    with pytest.raises(InputError) as caught:
        load_settings(grading={name: value})
    assert caught.value.kind == "settings"
    assert name in str(caught.value)


def test_every_setting_is_explained() -> None:
    text = (Path(__file__).parents[3] / "docs" / "grading.md").read_text(encoding="utf-8")
    assert [name for name in GradingSettings.model_fields if f"`{name}" not in text] == []


def test_every_open_question_of_the_cases_is_settled(shared: Path) -> None:
    lines = (shared / "cases" / "grading_policy.jsonl").read_text(encoding="utf-8").splitlines()
    settled = {(key, response) for _, key, response, *_ in QUESTIONS.values()}
    asked = [json.loads(line) for line in lines]
    assert len(asked) == 18
    assert [case["id"] for case in asked if (case["reference"], case["response"]) not in settled] == []
