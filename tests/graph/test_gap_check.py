"""Gaps that may not be there: original items are asked again, in a run that can be stopped anywhere."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from benchfill.calibration.fit import fit_1pl
from benchfill.calibration.resolution import RESOLVED
from benchfill.calibration.response_log import ResponseLog
from benchfill.calibration.scale import Scale, minmax_scale
from benchfill.errors import RunPaused
from benchfill.graph.gap_check import check_gaps
from benchfill.graph.gap_report import gap_check_report
from benchfill.graph.plan import GapRequest
from benchfill.graph.prepare import SCALE_ID, make_plan
from benchfill.graph.search import Search
from benchfill.graph.summary import plan_event
from benchfill.graph.waves import drive
from benchfill.item import Item
from benchfill.memory.pool import Pool
from benchfill.memory.records import Estimate, RunRow, ScaleRow
from benchfill.memory.runs import RunFolder
from benchfill.settings import SearchSettings, Settings
from tests.graph.made_search import MODELS, THETA, CurvePanel

# Nothing lies between -0.9 and 0.6 logits; twelve attempts leave every place uncertain by a quarter of that.
B = {
    f"i{index:02d}": place
    for index, place in enumerate((*np.linspace(-3, -0.9, 14), *np.linspace(0.6, 3, 15)))
}
LOGGED = 12


@pytest.fixture(scope="module")
def fitted() -> Any:
    rng = np.random.default_rng(1)
    correct = rng.binomial(LOGGED, expit(THETA[:, None] - np.array(list(B.values()))))
    log = ResponseLog(MODELS, tuple(B), correct, np.full_like(correct, LOGGED))
    return log, fit_1pl(log, engine="laplace", draws=60)


def made(fitted: Any, folder: Path, **settings: Any) -> tuple[Search, CurvePanel, list[dict[str, Any]]]:
    """A run as it stands when its gaps have just been planned."""
    log, fit = fitted
    pool = Pool(folder / "memory.sqlite")
    counts = {
        item: np.stack([log.correct[:, at], log.attempts[:, at]], axis=1).tolist()
        for at, item in enumerate(log.items)
    }
    pool.save_benchmark(
        "print", "bench", [Item(id=i, question=f"q {i}", answer="1") for i in B], MODELS, counts
    )
    chosen = Settings(search=SearchSettings(**settings))
    pool.save_run(
        RunRow(
            id="r", seed=1, world="", version="0", settings=chosen.model_dump(mode="json"),
            request={"count": 2, "interval": None, "target": None},
        )
    )  # fmt: skip
    scale = minmax_scale(fit)
    pool.save_scale(
        ScaleRow(
            SCALE_ID, scale.name, scale.lo, scale.hi, "laplace", 0, MODELS, fit.theta.tolist(),
            fit.theta_draws.tolist(), {}, {}, fit.mu_b_draws.tolist(), fit.sigma_b_draws.tolist(),
        ),
        [
            Estimate(
                item, SCALE_ID, "offline", b, sd, float(scale.to_z(b)), sd / scale.width, 0.0, 1.0, 12 * LOGGED
            )
            for item, b, sd in zip(fit.items, fit.b.tolist(), fit.b_sd.tolist(), strict=True)
        ],
    )  # fmt: skip
    make_plan(pool, GapRequest(count=2), chosen, models=MODELS)
    nobody: Any = None
    events: list[dict[str, Any]] = []
    search = Search(
        run="r", seed=1, settings=chosen.search, pool=pool, scale=Scale(scale.name, scale.lo, scale.hi),
        scale_id=SCALE_ID, models=MODELS, theta=fit.theta, theta_draws=fit.theta_draws, prompts=nobody,
        rewriter=nobody, judge=nobody, respondents={}, grader=nobody, sandbox=nobody,
        emit=lambda event, /, **fields: events.append({"event": event, **fields}),
    )  # fmt: skip
    panel = CurvePanel(
        dict(zip(MODELS, THETA.tolist(), strict=True)), {item: float(b) for item, b in B.items()}
    )
    panel.down = {}
    search.__dict__["panel"] = panel
    return search, panel, events


def test_an_unresolved_gap_is_settled_before_the_search_and_what_it_took_is_counted(
    fitted: Any, tmp_path: Path
):
    search, panel, events = made(fitted, tmp_path, confirm_gaps=True)
    planned = search.pool.gaps()
    assert planned[0].p_empty is not None
    assert planned[0].p_empty < RESOLVED
    asyncio.run(check_gaps(search))
    first = search.pool.gaps()[0]
    assert first.p_empty is not None
    assert first.p_empty >= RESOLVED
    # Numbers of new attempts begin beyond those of the log, whose replies a ledger would give again.
    assert min(attempt for _, _, attempt in panel.asked) == LOGGED
    assert len(panel.asked) == len(set(panel.asked))
    report = gap_check_report(search.pool)
    assert report is not None
    assert report["attempts"] == len(panel.asked) <= report["attempts_limit"]
    assert report["before"][0]["p_empty"] == planned[0].p_empty
    assert report["after"][0]["resolved"] is True
    assert [event for event in events if event["event"] == "gap_check"] == [{"event": "gap_check", **report}]
    # The places of the items that were asked again are those of all answers; the others' are the fit's.
    again = {row.item: row for row in search.pool.rechecks()}
    before, after = search.pool.estimates(as_fitted=True), search.pool.estimates()
    for item in B:
        assert (after[item].attempts > before[item].attempts) == (item in again)
        assert after[item].z_sd < before[item].z_sd or item not in again
        assert after[item] == before[item] or item in again
    asyncio.run(check_gaps(search))
    assert gap_check_report(search.pool) == report


def test_a_check_that_was_stopped_goes_on_as_if_it_had_not_been(fitted: Any, tmp_path: Path):
    whole, panel, _ = made(fitted, tmp_path / "whole", confirm_gaps=True)
    asyncio.run(check_gaps(whole))
    stopped, part, _ = made(fitted, tmp_path / "stopped", confirm_gaps=True)
    real, calls = part.ask, []

    async def ask(item: Item, model: str, attempt: int) -> Any:
        calls.append(attempt)
        if len(calls) == len(panel.asked) // 2 + 10:
            raise KeyboardInterrupt
        return await real(item, model, attempt)

    part.ask = ask  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(check_gaps(stopped))
    assert stopped.pool.rechecks()
    part.ask = real  # type: ignore[method-assign]
    asyncio.run(check_gaps(stopped))
    assert stopped.pool.gaps() == whole.pool.gaps()
    assert stopped.pool.rechecks() == whole.pool.rechecks()
    assert set(part.asked) == set(panel.asked)


def test_a_limit_is_held_and_a_gap_that_cannot_be_settled_is_said(fitted: Any, tmp_path: Path):
    search, panel, events = made(fitted, tmp_path, confirm_gaps=True, check_limit=0.0)
    planned = search.pool.gaps()
    asyncio.run(check_gaps(search))
    assert panel.asked == []
    assert search.pool.gaps() == planned
    assert gap_check_report(search.pool) is None
    assert "to settle it would take more attempts than are allowed" in events[-1]["message"]


def test_without_the_check_an_unresolved_gap_is_said_and_with_resolved_only_skipped(
    fitted: Any, tmp_path: Path
):
    search, panel, events = made(fitted, tmp_path / "said")
    asyncio.run(check_gaps(search))
    assert panel.asked == []
    assert "--confirm-gaps asks first, --resolved-only leaves it out" in events[0]["message"]
    search, panel, events = made(fitted, tmp_path / "skipped", resolved_only=True)
    asyncio.run(check_gaps(search))
    assert {gap.status for gap in search.pool.gaps()} == {"skipped"}
    assert panel.asked == []
    assert events[0]["message"].endswith("skipped")
    assert [gap["resolved"] for gap in plan_event(search.pool)["gaps"]] == [False, False]
    # Nothing is left to search: the graph is not begun.
    asyncio.run(drive(RunFolder(tmp_path / "skipped"), search))
    assert not (tmp_path / "skipped" / "checkpoints.sqlite").exists()


def test_a_silent_pool_pauses_the_check(fitted: Any, tmp_path: Path):
    search, panel, _ = made(fitted, tmp_path, confirm_gaps=True)
    panel.silent = dict.fromkeys(MODELS, "timeout")
    with pytest.raises(RunPaused):
        asyncio.run(check_gaps(search))
    assert search.pool.rechecks() == []
    # An item that nobody has an answer for any more is not asked for ever.
    panel.silent = dict.fromkeys(MODELS, "attempts_exhausted")
    asyncio.run(check_gaps(search))
    stops = {row.stop - row.first for row in search.pool.rechecks()}
    assert stops == {4}


def test_a_search_that_has_begun_keeps_its_gaps(fitted: Any, tmp_path: Path):
    search, panel, _ = made(fitted, tmp_path, confirm_gaps=True)
    gaps = [dataclasses.replace(gap, status="filled") for gap in search.pool.gaps()]
    check = search.pool.gap_check()
    assert check is None
    search.pool.save_gaps(gaps)
    search.pool.candidates = lambda *_: [object()]  # type: ignore[method-assign, assignment]
    asyncio.run(check_gaps(search))
    assert (search.pool.gaps(), panel.asked) == (gaps, [])
