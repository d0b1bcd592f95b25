"""The command: abilities from three sources, what is invisible, what it takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from benchfill.commands.power import power
from benchfill.errors import InputError

B = np.array([-2.0, -1.6, -1.2, -0.8, -0.4, 0.0, 1.2, 1.6, 2.0])


def run(*arguments: object) -> Any:
    app = typer.Typer()
    app.command()(power)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def diagnosis(tmp_path: Path) -> Path:
    path = tmp_path / "diagnosis.json"
    items = [{"id": f"q{n}", "z": (b + 2) / 4} for n, b in enumerate(B.tolist())]
    path.write_text(json.dumps({"v": 1, "scale": {"lo": -2, "hi": 2}, "items": items}), encoding="utf-8")
    return path


def test_a_width_within_the_gap_is_invisible_and_an_item_helps(diagnosis: Path) -> None:
    result = run("--difficulties", diagnosis, "--theta", 0.0, "--width", 0.2, "--simulations", 40, "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["v"], document["n_items"], document["invisible"]) == (1, 9, True)
    assert document["max_gap"] == pytest.approx(0.3)
    assert document["items_needed"] == 1
    for test in document["tests"].values():
        assert test["worst_case"]["power"] == document["level"] == 0.05
        assert test["attempts_needed"] is None
        assert test["smallest_width"] is None or test["smallest_width"] >= 0.3
    shown = run("--difficulties", diagnosis, "--theta", 0.0, "--width", 0.2, "--simulations", 40).stdout
    assert "no number of attempts" in shown
    assert "1 item must be added" in shown


def test_a_wider_lift_has_a_power_and_a_number_of_attempts(diagnosis: Path) -> None:
    arguments = [
        "--difficulties",
        diagnosis,
        "--accuracy",
        0.5,
        "--width",
        0.35,
        "--simulations",
        40,
        "--json",
    ]
    result = run(*arguments)
    document = json.loads(result.stdout)
    assert document["invisible"] is False
    assert document["model"]["accuracy"] == pytest.approx(0.5)
    theta = document["model"]["theta"]
    assert np.mean(1 / (1 + np.exp(B - theta))) == pytest.approx(0.5)
    scan = document["tests"]["scan"]
    assert scan["attempts_needed"] in {1 << n for n in range(13)}
    assert 0.0 <= scan["worst_case"]["power"] <= 1.0
    assert run(*arguments).stdout == result.stdout


def test_a_log_gives_the_axis_and_its_models_the_ability(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    lines = ["model,item_id,correct,count"]
    for model, theta in (("weak", -1.0), ("middle", 0.0), ("strong", 1.0)):
        lines += [f"{model},q{n},{rng.binomial(30, 1 / (1 + np.exp(b - theta)))},30" for n, b in enumerate(B)]
    log = tmp_path / "log.csv"
    log.write_text("\n".join(lines), encoding="utf-8")
    common = [log, "--engine", "mml", "--simulations", 20, "--attempts", 4, "--json"]
    default = json.loads(run(*common).stdout)
    assert default["model"]["name"] == "middle"
    assert (default["width"], default["invisible"]) == (None, None)
    strong = json.loads(run(*common, "--model", "strong").stdout)
    assert strong["model"]["theta"] > default["model"]["theta"] + 0.5
    assert "no model" in str(run(*common, "--model", "absent").exception)


def test_unclear_requests_are_refused(diagnosis: Path, tmp_path: Path) -> None:
    table = tmp_path / "z.csv"
    table.write_text("item_id,z\nq0,0.1\nq1,0.9", encoding="utf-8")
    for arguments in (
        [],
        [diagnosis, "--difficulties", diagnosis],
        ["--difficulties", diagnosis],
        ["--difficulties", diagnosis, "--theta", "nan"],
        ["--difficulties", diagnosis, "--theta", 0, "--accuracy", 0.5],
        ["--difficulties", diagnosis, "--accuracy", 1.0],
        ["--difficulties", diagnosis, "--theta", 0, "--width", 2],
        ["--difficulties", diagnosis, "--theta", 0, "--lift", 0],
        ["--difficulties", table, "--theta", 0],
    ):
        result = run(*arguments)
        assert isinstance(result.exception, InputError), arguments
