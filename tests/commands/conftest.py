"""The command line in this process: what a user would read on both streams, and the exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pytest


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str


@pytest.fixture
def benchfill(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    def call(*arguments: str) -> Said:
        from benchfill.cli import main

        monkeypatch.setattr(sys, "argv", ["benchfill", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        captured = capsys.readouterr()
        return Said(int(left.value.code or 0), captured.out, captured.err)

    return call


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """A diagnosis with a tenth of its draws: its Monte Carlo error is held elsewhere, and draws take seconds."""
    from benchfill.calibration import diagnosis
    from benchfill.calibration.figures import benchmark_figures

    monkeypatch.setattr(diagnosis, "benchmark_figures", partial(benchmark_figures, draws=40))
