"""Both paths decide alike: a finished run of the graph over HTTP, gone through again by the plain loop."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from benchfill.calibration.scale import Scale
from benchfill.calibration.search_loop import Counts, Frozen, History, Rules, Written, search_gap
from benchfill.calibration.strategy import Adaptive, GapGoal
from benchfill.graph.direct import WorkedAnswers
from benchfill.memory.pool import Pool
from benchfill.settings import SearchSettings
from benchfill.tools.client import derive_seed
from tests.end_to_end.conftest import RUN, Finished


class Recorded:
    """Candidates as the run's rewriter wrote them and its judge passed them; answers worked out directly."""

    def __init__(self, pool: Pool, gap: int, models: Sequence[str]) -> None:
        self.pool, self.gap, self.models = pool, gap, models
        self.seed = pool.run().seed

    def write(self, round: int, parents: Sequence[str], known: dict[str, float]) -> list[Written]:
        candidates = self.pool.candidates(self.gap, round)
        assert [each.parent for each in candidates] == [self.item(parent) for parent in parents]
        return [
            Written(each.id, parent)
            for each, parent in zip(candidates, parents, strict=True)
            if each.item is not None and self.pool.attempts(each.item)
        ]

    def item(self, name: str) -> str:
        """The loop knows children by their candidate, the memory by their item."""
        children = {each.id: str(each.item) for each in self.pool.candidates()}
        return children.get(name, name)

    def answer(self, candidate: str, first: int, stop: int) -> Counts:
        item = self.pool.item(str(self.pool.candidate(candidate).item))
        assert item is not None
        outcomes = [
            [
                WorkedAnswers().outcome(item, model, derive_seed(self.seed, "respondent", item.id, model, n))
                for n in range(first, stop)
            ]
            for model in self.models
        ]
        logged = {(row.model, row.attempt): row.outcome == "correct" for row in self.pool.attempts(item.id)}
        for model, row in zip(self.models, outcomes, strict=True):
            assert row == [logged[model, n] for n in range(first, stop)]
        right = np.array([sum(bool(each) for each in row) for row in outcomes])
        return right, np.full(len(self.models), stop - first)


def go_through(path: Path) -> None:
    pool = Pool(path, create=False)
    scale = pool.scale()
    assert scale is not None
    frozen = Frozen(
        Scale(scale.name, scale.lo, scale.hi), np.asarray(scale.theta), np.asarray(scale.theta_draws)
    )
    estimates = pool.estimates()
    candidates = SearchSettings.model_validate(dict(pool.run().settings["search"])).candidates
    history = History({name: each.z for name, each in estimates.items() if each.source == "offline"})
    for gap in pool.gaps():
        source = Recorded(pool, gap.gap, scale.models)
        goal = GapGoal(gap.lo, gap.hi, gap.target, gap.tolerance)
        end = search_gap(source, goal, Rules(Adaptive(), candidates=candidates), frozen, history)
        accepted = estimates[str(pool.candidate(str(gap.accepted)).item)]
        assert end.accepted == gap.accepted
        assert end.rounds == gap.rounds
        assert end.z == pytest.approx(accepted.z, abs=1e-9)
        assert (end.lo90, end.hi90) == pytest.approx((accepted.z_lo90, accepted.z_hi90), abs=1e-9)
        assert end.claimed == pytest.approx(accepted.expected_deviation, abs=1e-9)
        assert end.confirmed == accepted.confirmed
        asked = {
            each.id: len(pool.attempts(str(each.item)))
            for each in pool.candidates(gap.gap)
            if each.item is not None
        }
        assert end.attempts == sum(asked.values())
    pool.close()


def test_the_loop_decides_as_the_run_did(finished: Finished):
    go_through(finished.home / "runs" / RUN / "memory.sqlite")
