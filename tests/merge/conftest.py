"""The made run, made once and merged once; a copy of it in the home of each test."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchfill.calibration.figures import benchmark_figures
from benchfill.calibration.resolution import resolve_gaps
from benchfill.memory.runs import RunFolder
from benchfill.merge.folder import MergeRequest, merge_run
from tests.merge.made_run import known_effects, make_run, write_benchmark


@pytest.fixture(scope="session")
def made_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    make_run(folder / "home", "made", *write_benchmark(folder))
    return folder


@pytest.fixture(scope="session")
def merged_once(made_home: Path) -> tuple[Path, dict[str, Any]]:
    """Both new items of run ``made`` merged without review: the folder and the card."""
    out = made_home / "merged"
    request = MergeRequest(out, unreviewed=True, engine="laplace")
    run = RunFolder(made_home / "home" / "runs" / "made")
    with pytest.MonkeyPatch.context() as patch:
        # Their Monte Carlo error is no matter here, and hundreds of draws take seconds.
        patch.setattr("benchfill.merge.effects.benchmark_figures", partial(benchmark_figures, draws=40))
        patch.setattr("benchfill.merge.effects.resolve_gaps", partial(resolve_gaps, draws=20))
        return out, merge_run(
            run, made_home / "home" / "ledger.sqlite", request, lambda fraction, message: None
        )


@pytest.fixture
def made(made_home: Path, own_home: Path) -> RunFolder:
    """Run ``made``: items q00 to q14, new items bf-aaa (confirmed) and bf-bbb (not)."""
    shutil.copytree(made_home / "home", own_home)
    return RunFolder(own_home / "runs" / "made")


@pytest.fixture
def known_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is fitted: for tests that are about something else than figures."""
    monkeypatch.setattr("benchfill.merge.folder.effects_of", lambda *args, **options: known_effects())
