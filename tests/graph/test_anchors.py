"""Anchors: a changed model stops the run before anything is spent on the search."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchfill.graph.anchors import DriftFound, check_anchors, refuse_drift
from tests.graph.made_search import MODELS, make_search


async def test_a_pool_as_it_was_passes_and_its_attempts_are_kept(tmp_path: Path) -> None:
    search, panel, events = make_search(tmp_path)
    shifts = await check_anchors(search)
    refuse_drift(search, shifts)
    assert [shift.model for shift in shifts] == list(MODELS)
    assert len(panel.asked) == len(set(panel.asked)) == 5 * 8 * 12
    (said,) = (event for event in events if event["event"] == "anchors")
    assert len(said["items"]) == 5
    assert said["shifts"][0]["answered"] == 40
    assert len(search.pool.attempts(said["items"][0])) == 8 * 12


async def test_a_model_that_became_another_one_stops_the_run_and_may_be_accepted(tmp_path: Path) -> None:
    search, panel, _ = make_search(tmp_path)
    panel.theta["m08"] -= 2.5
    shifts = await check_anchors(search)
    with pytest.raises(
        DriftFound, match=r"1 of 12 abilities .* m08 by -\d\.\d\d \(error 0\.\d\d\)"
    ) as caught:
        refuse_drift(search, shifts)
    assert caught.value.exit_code == 1
    assert "benchfill resume r --accept-drift" in str(caught.value)
    accepted, _, events = make_search(tmp_path / "accepted", accept_drift=True)
    refuse_drift(accepted, shifts)
    assert "m08" in events[-1]["message"]


async def test_a_model_that_does_not_answer_has_no_shift(tmp_path: Path) -> None:
    search, panel, _ = make_search(tmp_path)
    panel.silent["m03"] = "timeout"
    shifts = await check_anchors(search)
    assert shifts[3].shift is None
    refuse_drift(search, shifts)


async def test_no_anchors_ask_nothing(tmp_path: Path) -> None:
    search, panel, events = make_search(tmp_path, anchors=0)
    assert await check_anchors(search) == []
    assert (panel.asked, events) == ([], [])
