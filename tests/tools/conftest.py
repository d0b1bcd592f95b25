"""What tests of calls share: a ledger of their own, and waits that take no time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchfill.memory.ledger import Ledger
from benchfill.tools import retrying


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "FIRST_WAIT", 0.002)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.db") as opened:
        yield opened
