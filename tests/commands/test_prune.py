"""The command: figures, kept lines byte for byte, refusals."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from benchfill.commands.prune import prune
from benchfill.errors import InputError


def run(*arguments: object) -> Any:
    app = typer.Typer()
    app.command()(prune)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """5 models, 24 items crowded in the middle, 8 attempts a cell."""
    rng = np.random.default_rng(3)
    lines = ["model,item_id,correct,count"]
    for model, theta in enumerate(np.linspace(-1.5, 1.5, 5)):
        for item, b in enumerate(rng.normal(0, 1, 24)):
            lines.append(f"m{model},q{item:02d},{rng.binomial(8, 1 / (1 + np.exp(b - theta)))},8")
    path = tmp_path / "log.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_document_names_figures_order_and_ids(log: Path) -> None:
    result = run(log, "--keep", 0.5, "--engine", "mml", "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["v"], document["before"]["n_items"], document["after"]["n_items"]) == (1, 24, 12)
    assert document["kept"] == sorted(set(document["kept"]))
    assert len(document["kept"]) == 12
    assert document["after"]["ddm"] < document["before"]["ddm"]
    assert document["after"]["max_gap"] >= document["before"]["max_gap"]
    assert -1.0 <= document["kendall_tau_b"] <= 1.0
    assert any("never reduce Max Gap" in note for note in document["notes"])
    assert run(log, "--keep", 12, "--engine", "mml", "--json").stdout == result.stdout


def test_terminal_output_says_what_pruning_cannot_do(log: Path) -> None:
    result = run(log, "--keep", 6, "--engine", "mml")
    assert result.exit_code == 0, result.output
    for part in ("6 of 24 items kept, 5 models", "Kendall tau-b", "Max Gap", "never reduce Max Gap"):
        assert part in result.stdout


@pytest.mark.parametrize("packed", [False, True])
def test_kept_lines_are_copied_byte_for_byte(log: Path, tmp_path: Path, packed: bool) -> None:
    lines = [
        f'{{"answer":  "{n}.0", "ref": "q{n:02d}", "question": "f(x) = {n}\\u00e9é", "z": 1e5}}'
        + ("\r" if n % 2 else "")
        for n in range(23, -1, -1)
    ]
    items = tmp_path / "items.jsonl"
    data = ("\ufeff" + "\n".join(lines)).encode()
    items.write_bytes(gzip.compress(data) if packed else data)
    out, ids = tmp_path / "kept.jsonl", tmp_path / "kept.txt"
    result = run(
        log,
        "--keep",
        7,
        "--engine",
        "mml",
        "--items",
        items,
        "--map",
        "id=ref",
        "--out-items",
        out,
        "--out-ids",
        ids,
    )
    assert result.exit_code == 0, result.output
    kept = ids.read_text(encoding="utf-8").split()
    assert len(kept) == 7
    expected = [line for line in lines if json.loads(line)["ref"] in kept]
    assert out.read_bytes() == "".join(f"{line}\n" for line in expected).encode()
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


def test_what_cannot_be_done_is_said_in_one_line(log: Path, tmp_path: Path) -> None:
    array = tmp_path / "items.json"
    array.write_text(
        json.dumps([{"id": f"q{n:02d}", "question": "?", "answer": "1"} for n in range(24)]), encoding="utf-8"
    )
    for arguments, part in (
        (["--keep", 25], "whole number from 1 to 24"),
        (["--keep", 0], "whole number"),
        (["--keep", 0.001], "less than one item"),
        (["--keep", 5, "--out-items", tmp_path / "x.jsonl"], "--items"),
        (["--keep", 5, "--items", array, "--out-items", tmp_path / "x.jsonl"], "not JSON Lines"),
        (["--keep", 5, "--out-ids", tmp_path / "absent" / "x.txt"], "cannot be written"),
        (["--keep", 5, "--target-dist", "bump"], "target"),
    ):
        result = run(log, "--engine", "mml", *arguments)
        assert isinstance(result.exception, InputError), result.output
        assert part in str(result.exception)
    assert not (tmp_path / "x.jsonl").exists()
