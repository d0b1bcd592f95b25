"""Fixtures of all tests: shared data, a closed network, a home of its own for every test."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# The same examples in every run: a failure is a change's, never the day's.
settings.register_profile(
    "same", derandomize=True, deadline=None, print_blob=False, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("same")


REPOSITORY = Path(__file__).resolve().parents[1]
LOOPBACK = {"127.0.0.1", "::1", "localhost"}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """What tests share is made once, not once a worker."""
    if config.getvalue("dist") not in {"load", "loadgroup"}:
        return None
    from tests.scheduling import Together

    return Together(config, log)


def shared_folder() -> Path | None:
    """The folder of real logs and handed cases: BENCHFILL_SHARED, else beside the repository."""
    named = os.environ.get("BENCHFILL_SHARED")
    folder = Path(named) if named else REPOSITORY.parent / "shared"
    return folder if (folder / "cases" / "index.json").is_file() else None


@pytest.fixture(scope="session")
def shared() -> Path:
    folder = shared_folder()
    if folder is None:
        if os.environ.get("BENCHFILL_REQUIRE_SHARED"):
            pytest.fail("the shared data and cases are required and absent")
        pytest.skip("the shared data and cases are absent (set BENCHFILL_SHARED)")
    return folder


@pytest.fixture(autouse=True)
def closed_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No test reaches an outside host by accident: connections but to loopback fail."""
    real_connect = socket.socket.connect

    def connect(self: socket.socket, address: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in LOOPBACK:
            raise AssertionError(f"a test tried to reach {address[0]}")
        return real_connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)
    return


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs, ledger and settings of a test live in its own folder, and no variable of the user's leaks in."""
    home = tmp_path / "benchfill-home"
    for name in list(os.environ):
        if name.startswith("BENCHFILL_") and name not in {"BENCHFILL_SHARED", "BENCHFILL_REQUIRE_SHARED"}:
            monkeypatch.delenv(name)
    for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BENCHFILL_HOME", str(home))
    return home
