"""What a command cannot do is said before the fit, which may take a minute."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from benchfill.errors import InputError


class Fitted(Exception):
    """The command went on to the fit."""


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    log = tmp_path / "log.csv"
    log.write_text("model,item_id,correct\nm,a,1\nm,b,0\nn,a,0\nn,b,1\n", encoding="utf-8")

    def fit(*args: object, **kwargs: object) -> None:
        raise Fitted

    def run(command: str, *arguments: str) -> BaseException | None:
        module = import_module(f"benchfill.commands.{command}")
        monkeypatch.setattr(module, "fit_axis", fit)
        app = typer.Typer()
        app.command()(getattr(module, command))
        logs = [str(log)] * (2 if command == "detect" else 1)
        return CliRunner().invoke(app, [*logs, *arguments]).exception

    return run


@pytest.mark.parametrize(
    ("command", "arguments", "part"),
    [
        ("prune", ["--keep", "3"], "whole number from 1 to 2"),
        ("power", ["--width", "1.5"], "width"),
        ("power", ["--lift", "0"], "lift"),
        ("power", ["--model", "nobody"], "no model 'nobody'"),
        ("detect", ["--model", "m", "--width", "0"], "width"),
        ("detect", ["--model", "m", "--added", "b,c"], "not asked on both sides, first 'c'"),
    ],
)
def test_refused_before_the_fit(
    ask: Callable[..., Any], command: str, arguments: list[str], part: str
) -> None:
    found = ask(command, *arguments)
    assert isinstance(found, InputError), repr(found)
    assert part in str(found)


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("prune", ["--keep", "1"]),
        ("power", ["--width", "0.5"]),
        ("detect", ["--model", "m", "--width", "0.5"]),
    ],
)
def test_what_can_be_done_is_begun(ask: Callable[..., Any], command: str, arguments: list[str]) -> None:
    assert isinstance(ask(command, *arguments), Fitted)
