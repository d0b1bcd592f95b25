"""One full run of the sample, and copies of it as they stood right after its scale was frozen."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

RUN = "reference"
# What a search adds to a run: emptied, so that a copy starts where the scale has just been frozen.
SEARCHED = ("item_fits", "confirmations", "candidates", "judgements", "attempts")


@dataclass(frozen=True)
class Finished:
    """A run that went to its end."""

    home: Path
    code: int
    events: list[dict[str, Any]]
    errors: str

    @property
    def summary(self) -> dict[str, Any]:
        return self.events[-1]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "benchfill", *arguments]


def environment(home: Path) -> dict[str, str]:
    """Without the user's settings, and without the coverage tracer, which doubles the time of a long run."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("BENCHFILL_", "COVERAGE"))
    }
    return {**kept, "BENCHFILL_HOME": str(home)}


def call(home: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return subprocess.run(
        command(*arguments), env={**environment(home), **variables}, capture_output=True, text=True,
        timeout=280, check=False,
    )  # fmt: skip


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """``benchfill run --gaps 3`` on the sample, uninterrupted.

    A quarter as exact as by default and two candidates a round, which saves calls and takes one gap a second round.
    """
    home = tmp_path_factory.mktemp("finished")
    if "PYTEST_XDIST_WORKER" in os.environ:
        # A whole run is made once: should a second worker want one, this fails, and tests/scheduling.py is amiss.
        (home.parent.parent / "finished-is-made").touch(exist_ok=False)
    arguments = ("run", "--gaps", "3", "--name", RUN, "--seed", "7", "--tolerance", "0.04", "--json")
    result = call(home, *arguments, BENCHFILL_SEARCH__CANDIDATES="2")
    events = [json.loads(line) for line in result.stdout.splitlines()]
    return Finished(home, result.returncode, events, result.stderr)


def copy_after_the_fit(finished: Finished, home: Path) -> Path:
    """A home whose run has its scale and plan, and nothing of the search yet."""
    source, target = finished.home / "runs" / RUN, home / "runs" / RUN
    target.mkdir(parents=True)
    shutil.copy(source / "world.json", target)
    original, copy = sqlite3.connect(source / "memory.sqlite"), sqlite3.connect(target / "memory.sqlite")
    with copy:
        original.backup(copy)
        for table in SEARCHED:
            copy.execute(f"DELETE FROM {table}")  # noqa: S608
        copy.execute("DELETE FROM estimates WHERE source = 'online'")
        copy.execute("DELETE FROM items WHERE origin = 'candidate'")
        copy.execute("UPDATE gaps SET status = 'open', accepted = NULL, rounds = 0")
        copy.execute("UPDATE runs SET status = 'prepared', summary = NULL")
    copy.close()
    original.close()
    return home


@pytest.fixture
def unsearched(finished: Finished, tmp_path: Path) -> Path:
    return copy_after_the_fit(finished, tmp_path / "home")
