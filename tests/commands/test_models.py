"""``benchfill models``: what a user reads, and what is refused. The log is simulated."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchfill.errors import BenchfillError
from tests.calibration.simulated import simulate


@pytest.fixture
def log_file(tmp_path: Path) -> Path:
    log = simulate(6, 24, 1, seed=1).log
    path = tmp_path / "bench.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["model", *log.items])
        writer.writerows([model, *row] for model, row in zip(log.models, log.correct.tolist(), strict=True))
    return path


def test_document_and_items(benchfill: Callable[..., Any], log_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "items.csv"
    said = benchfill(
        "models", str(log_file), "--model", "1pl", "--model", "model_slopes", "--folds", "2",
        "--items-out", str(out), "--json",
    )  # fmt: skip
    assert said.code == 0
    document = json.loads(said.out)
    assert [(each["model"], each["scope"]) for each in document["comparison"]["contenders"]] == [
        ("1pl", "benchmark"), ("model_slopes", "benchmark"),
    ]  # fmt: skip
    (bench,) = document["benchmarks"]
    assert bench["name"] == "bench"
    assert bench["not_identified"]["guessing"] == 1.0
    assert [each["n"] for each in bench["suspects"]] == [0, 0]
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 24
    assert sum(float(row["difficulty"]) for row in rows) / 24 == pytest.approx(
        bench["figures"]["difficulty"], abs=1e-4
    )


def test_a_person_reads_tables_and_reservations(benchfill: Callable[..., Any], log_file: Path) -> None:
    said = benchfill("models", str(log_file), "--test", str(log_file), "--model", "1pl")
    assert said.code == 0
    for text in (
        "Item models, by the given answers",
        "Recommended: 1PL",
        "No item is named",
        "not a verdict",
    ):
        assert text in said.out


def test_a_model_that_cannot_be_fitted_is_named_and_the_others_are_reported(
    benchfill: Callable[..., Any], log_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise BenchfillError("The climb lost its way.", "Look at the log.")

    for module in ("item_models", "item_report"):
        monkeypatch.setattr(f"benchfill.calibration.{module}.fit_four_parameter", failing)
    other = tmp_path / "other.csv"
    other.write_text(log_file.read_text(), encoding="utf-8")
    out = tmp_path / "items.csv"
    call = ("models", str(log_file), str(other), "--model", "1pl", "--model", "4pl", "--folds", "2",
            "--scope", "benchmark", "--items-out", str(out))  # fmt: skip
    said = benchfill(*call, "--json")
    assert said.code == 1
    document = json.loads(said.out)
    first, second = document["comparison"]["contenders"]
    assert first["scores"]["log_loss"] > 0.0
    assert first["failure"] == ""
    assert second["scores"] is None
    assert second["failure"] == "bench: The climb lost its way. Look at the log."
    assert document["comparison"]["best"] == 0
    assert document["item_model"] == {"model": "4pl", "failure": "The climb lost its way. Look at the log."}
    assert not out.exists()
    said = benchfill(*call)
    assert said.code == 1
    text = " ".join(said.out.split())
    assert "not fitted: bench: The climb lost its way." in text
    assert "Recommended: 1PL" in text
    assert "items.csv is not written" in said.err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--model", "5pl"], "no item model '5pl'"),
        (["--hide", "models", "--model", "1pl", "--folds", "2", "--test", "missing.csv"], "missing.csv"),
        (["--items-out", "nowhere/items.csv"], "no such folder"),
    ],
)
def test_what_cannot_be_is_said(
    benchfill: Callable[..., Any], log_file: Path, arguments: list[str], text: str
) -> None:
    said = benchfill("models", str(log_file), *arguments)
    assert said.code in (1, 2)
    assert text in said.err
