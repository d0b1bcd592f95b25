"""Searches that lose three in ten attempts for good. The world is simulated; its truth is known."""

from __future__ import annotations

import pytest

from benchmarks.soak import over_seeds, report_seeds


def test_items_lie_where_it_is_said_though_three_in_ten_answers_never_come(
    capsys: pytest.CaptureFixture[str],
) -> None:
    records = over_seeds(range(3), gaps=3, tolerance=0.03)
    assert sum(record.status == "filled" for record in records) >= 8
    # The mean of the true deviations keeps the tolerance, and the intervals hold the true places.
    assert report_seeds(records, 0.03), capsys.readouterr().out
