"""``benchfill grade``: one JSON line a case, the self-check and its exit code, errors as one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from benchfill.commands.grade import grade
from benchfill.errors import InputError

app = typer.Typer()
app.command()(grade)


def _write(path: Path, rows: list[dict[str, object]]) -> str:
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return str(path)


def test_one_line_a_case_in_order(tmp_path: Path) -> None:
    cases = [
        {"id": "a", "reference": 5, "response": "The answer is 5.0", "answer_type": "numeric"},
        {"id": "b", "reference": ["60", "60%"], "response": "60%"},
        {"reference": "B", "response": "(C)", "choices": {"A": "1", "B": "2", "C": "3"}},
        {"id": "d", "reference": "8", "response": "<think>8"},
        {
            "id": "e",
            "reference": "B",
            "response": "D",
            "choices": ["3", "4", "5", "7"],
            "shown_order": [3, 2, 0, 1],
        },
    ]
    done = CliRunner().invoke(app, [_write(tmp_path / "cases.jsonl", cases)])
    assert done.exit_code == 0
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [list(line) for line in lines] == [["id", "verdict", "extracted", "reason"]] * 5
    assert [(line["id"], line["verdict"]) for line in lines] == [
        ("a", "correct"),
        ("b", "correct"),
        ("3", "wrong"),
        ("d", "no_answer"),
        ("e", "correct"),
    ]


def test_settings_change_verdicts(tmp_path: Path) -> None:
    cases = _write(
        tmp_path / "c.jsonl", [{"reference": "1/12", "response": "0.0833", "answer_type": "numeric"}]
    )
    strict = CliRunner().invoke(app, [cases])
    loose = CliRunner().invoke(app, [cases, "--set", "rounding=both"])
    assert [json.loads(done.stdout)["verdict"] for done in (strict, loose)] == ["wrong", "correct"]


def test_keys_that_fail_are_listed(tmp_path: Path) -> None:
    good = {"id": "g", "question": "?", "answer": r"\frac{1}{2}"}
    done = CliRunner().invoke(app, ["--self-check", _write(tmp_path / "good.jsonl", [good])])
    assert (done.exit_code, done.stdout) == (0, "")
    empty = {"id": "e", "question": "?", "answer": "(", "answer_type": "regex"}
    done = CliRunner().invoke(app, ["--self-check", _write(tmp_path / "bad.jsonl", [good, empty])])
    assert done.exit_code == 1
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == ["e"]


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        ({"response": "5"}, "missing_field"),
        ({"reference": "5"}, "missing_field"),
        ({"reference": "5", "response": ["5"]}, "bad_field"),
        ({"reference": "5", "response": "5", "answer_type": "number"}, "bad_field"),
        ({"reference": "A", "response": "A", "choices": 3}, "bad_field"),
        ({"reference": "5", "response": "5", "tolerance": -1}, "bad_field"),
        ({"reference": "A", "response": "A", "choices": ["x", "y"], "shown_order": [0, 0]}, "bad_field"),
    ],
)
def test_bad_cases_name_their_line(tmp_path: Path, row: dict[str, object], kind: str) -> None:
    cases = _write(tmp_path / "cases.jsonl", [{"reference": "1", "response": "1"}, row])
    done = CliRunner().invoke(app, [cases])
    assert isinstance(done.exception, InputError)
    assert (done.exception.kind, done.exception.lines) == (kind, (2,))


def test_something_has_to_be_named() -> None:
    assert isinstance(CliRunner().invoke(app, []).exception, InputError)
