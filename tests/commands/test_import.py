"""The command: from a folder of logs to files, and on to a diagnosis."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from benchfill.calibration.diagnosis import diagnose
from benchfill.commands.diagnose import diagnose as diagnose_command
from benchfill.commands.import_ import import_
from benchfill.errors import InputError
from benchfill.logs.responses import read_responses
from tests.logs.harness.made_logs import lm_eval_folder, lm_eval_row, rasch_scores, write_jsonl

MODELS = [f"org/net-{size}B" for size in (1, 3, 7, 13, 34, 70)]
pytestmark = pytest.mark.usefixtures("few_draws")

runner = CliRunner()


def run(*arguments: object) -> Any:
    app = typer.Typer()
    app.command("import")(import_)
    return runner.invoke(app, [str(argument) for argument in arguments])


def test_a_folder_of_lm_eval_samples_to_a_diagnosis(tmp_path: Path) -> None:
    scores = rasch_scores(MODELS, 40)
    out = tmp_path / "out"
    result = run(lm_eval_folder(tmp_path / "logs", scores), "--out", out)
    assert result.exit_code == 0, result.output
    assert "6 models, 40 items (40 with text), 240 attempts, 0 missing" in result.stdout
    for model in MODELS:
        (line,) = [each for each in result.stdout.splitlines() if each.startswith(model + " ")]
        assert f"{sum(scores[model]) / 40:.4f}" in line
        assert line.endswith(f"net {model.removeprefix('org/net-').removesuffix('B')}B")
    assert sorted(path.name for path in out.iterdir()) == [
        "items.jsonl", "missing.csv", "models.csv", "report.json", "responses.csv",
    ]  # fmt: skip
    rows = list(csv.DictReader((out / "responses.csv").read_text(encoding="utf-8").splitlines()))
    assert {(row["model"], row["item_id"]): int(row["correct"]) for row in rows} == {
        (model, str(doc)): score for model in MODELS for doc, score in enumerate(scores[model])
    }
    found = diagnose(read_responses(out / "responses.csv").log, engine="mml", seed=1, fast=True).document()
    assert (found["n_models"], found["n_items"]) == (6, 40)
    assert 0 < found["ddm"] < 1


def test_a_folder_of_lm_eval_samples_to_a_report_in_one_command(tmp_path: Path) -> None:
    app = typer.Typer()
    app.command("diagnose")(diagnose_command)
    logs, page = lm_eval_folder(tmp_path / "logs", rasch_scores(MODELS, 40)), tmp_path / "report.html"
    result = runner.invoke(app, [str(logs), "--fast", "--json", "--html", str(page)])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert (found["n_models"], found["n_items"]) == (6, 40)
    assert page.read_text(encoding="utf-8").startswith("<!")


def test_the_report_as_json(tmp_path: Path) -> None:
    logs = lm_eval_folder(tmp_path / "logs", rasch_scores(MODELS[:2], 5), filters=("strict", "loose"))
    result = run(logs, "--out", tmp_path / "out", "--json", "--filter", "loose")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document == json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    assert document["v"] == 1
    assert document["filters"]["sums"]["chosen"] == "loose"
    assert (document["items"], document["attempts"]) == (5, 10)
    assert {model["mean_score"] for model in document["models"].values()} == {1.0}


def test_families_of_the_user_override_names(tmp_path: Path) -> None:
    (tmp_path / "models.csv").write_text(
        "model,family,size_b\norg/net-1B,mine,2\nabsent,x,1\n", encoding="utf-8"
    )
    logs = lm_eval_folder(tmp_path / "logs", rasch_scores(MODELS[:2], 3))
    result = run(logs, "--out", tmp_path / "out", "--models", tmp_path / "models.csv", "--json")
    models = json.loads(result.stdout)["models"]
    assert (models["org/net-1B"]["family"], models["org/net-1B"]["size_b"]) == ("mine", 2)
    assert (models["org/net-3B"]["family"], models["org/net-3B"]["size_b"]) == ("net", 3)
    assert any("absent" in note for note in json.loads(result.stdout)["notes"])


def test_refusals_leave_no_folder(tmp_path: Path) -> None:
    row = lm_eval_row(0, "q", "1", "none", 0.5, "r")
    path = write_jsonl(tmp_path / "s.jsonl", [row])
    result = run(path, "--out", tmp_path / "out")
    assert isinstance(result.exception, InputError)
    assert result.exception.kind == "partial_scores"
    assert not (tmp_path / "out").exists()
    assert run(path, "--out", tmp_path / "out", "--threshold", "0.5").exit_code == 0
    again = run(path, "--out", tmp_path / "out", "--threshold", "0.5")
    assert isinstance(again.exception, InputError)
    assert again.exception.kind == "exists"
    assert run(path, "--out", tmp_path / "out", "--threshold", "0.9", "--force").exit_code == 0
    with (tmp_path / "out" / "responses.csv").open(encoding="utf-8") as file:
        assert [row["correct"] for row in csv.DictReader(file)] == ["0"]


@pytest.mark.parametrize("name", ["lm_eval", "inspect_ai", "evalscope_v1", "helm"])
def test_real_logs_by_command(shared: Path, tmp_path: Path, name: str) -> None:
    result = run(shared / "data" / "formats" / name, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "unverified" not in result.output
