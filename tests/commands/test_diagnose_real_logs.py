"""Public logs and handed matrices through the diagnosis: nothing is claimed that the design cannot show."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from benchfill.calibration.diagnosis import diagnose
from benchfill.commands import diagnose as command
from benchfill.display.diagnosis import print_diagnosis
from benchfill.errors import InputError
from benchfill.logs.responses import read_responses

pytestmark = pytest.mark.usefixtures("few_draws")

AIME24 = "data/matrices/noises_highk_temp0.7__aime2024_cot"


def fast_json(path: Path) -> Any:
    app = typer.Typer()
    app.command()(command.diagnose)
    return CliRunner().invoke(app, [str(path), "--fast", "--json"])


def printed(document: dict[str, Any]) -> str:
    sink = io.StringIO()
    print_diagnosis(document, sink)
    return " ".join(sink.getvalue().split())


@pytest.mark.parametrize(
    ("path", "totals"),
    [(f"{AIME24}/aime2024_k1_wide.csv", 51), ("data/psn_irt/HumanEval_wide.csv.gz", 13)],
)
def test_single_attempts_resolve_no_gap_and_the_report_says_so(shared: Path, path: str, totals: int) -> None:
    log = read_responses(shared / path).log
    found = diagnose(log, engine="laplace", seed=1, fast=True, accept_unconverged=True)
    document = found.document()
    resolution = document["resolution"]
    assert (resolution["examined"], resolution["resolved"], resolution["most_totals"]) == (5, 0, totals)
    assert resolution["sentence"].startswith("Not resolvable with this design")
    assert [gap["resolved"] for gap in document["gaps"][:5]] == [False] * 5
    assert all("not resolvable with this design" in gap["verdict"] for gap in document["gaps"][:5])
    assert resolution["sentence"] in printed(document)
    assert any(resolution["sentence"] in limit for limit in document["limits"])


def test_the_model_that_is_right_on_all_of_mmlu_is_named(shared: Path) -> None:
    whole = read_responses(shared / "data/psn_irt/MMLU_wide.csv.gz").log
    always = [
        m
        for m, right, asked in zip(whole.models, whole.correct, whole.attempts, strict=True)
        if (right == asked).all()
    ]
    assert (always, len(whole.items)) == (["psn_model_03"], 14_042)
    log = whole.select_items(whole.items[::70])
    document = diagnose(log, engine="mml", seed=1, fast=True).document()
    assert document["data"]["always_right_models"] == always
    assert any("Always right" in note and "psn_model_03" in note for note in document["notes"])
    assert "1 model right on every attempt: an artefact, or beyond this benchmark: psn_model_03" in printed(
        document
    )


def test_every_handed_matrix_is_diagnosed_or_refused_in_one_line(shared: Path) -> None:
    entries = json.loads((shared / "cases" / "index.json").read_text(encoding="utf-8"))["entries"]
    cases = [entry for entry in entries if entry["file"].startswith("matrices/")]
    assert len(cases) == 26
    for case in cases:
        expect, result = case["expect"], fast_json(shared / "cases" / case["file"])
        if expect["load"] == "error" or expect.get("fit") == "refused":
            assert isinstance(result.exception, InputError), case["file"]
            assert "\n" not in str(result.exception)
            continue
        if expect.get("fit") == "warning":
            assert result.exception is not None
            assert "No variation" in str(result.exception)
        else:
            assert result.exit_code == 0, (case["file"], result.output)
        document = json.loads(result.stdout)
        flags = expect.get("flags", {})
        data, items = document["data"], document["items"]
        if "extreme_items" in flags:
            assert [each["id"] for each in items if each["censored"]] == flags["extreme_items"]
        if "extreme_models" in flags:
            assert (
                sorted(data["always_right_models"] + data["always_wrong_models"]) == flags["extreme_models"]
            )
        if "misfit_items" in flags:
            assert [each["item"] for each in data["reversed_items"]] == flags["misfit_items"]
        if expect.get("finite") and document["gate"]["passed"]:
            assert all(each["b"] is not None for each in items)
