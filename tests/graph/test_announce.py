"""What is said before anything is asked."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from benchfill.graph import announce
from benchfill.memory.records import GapRow


@pytest.mark.parametrize(("tolerance", "said"), [(0.0165, 0), (0.04, 1)])
def test_a_tolerance_that_closes_no_gap_is_named(
    monkeypatch: pytest.MonkeyPatch, tolerance: float, said: int
) -> None:
    gap = GapRow(gap=1, lo=0.4, hi=0.5, target=0.45, tolerance=tolerance, expected_attempts=None)
    monkeypatch.setattr(announce, "aim_of", lambda *_, **__: SimpleNamespace(tolerance=tolerance))
    events: list[dict[str, Any]] = []
    search: Any = SimpleNamespace(
        pool=SimpleNamespace(gaps=lambda: [gap]),
        scale=None,
        theta=None,
        settings=None,
        emit=lambda event, **fields: events.append(fields),
    )
    announce.say_what_is_out_of_reach(search)
    assert [("more than a sixth of its width 0.100" in event["message"]) for event in events] == [True] * said
