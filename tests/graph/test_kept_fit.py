"""An accepted item's fit is kept with the run, and stands in the report of its gap and in the export."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scipy.special import expit

from benchfill.calibration.predictive_fit import OwnItems, predictive_fit
from benchfill.display.plain import fit_text
from benchfill.graph.gap_report import gap_report
from benchfill.graph.measuring import count
from benchfill.graph.remember import remember
from benchfill.item import Item
from benchfill.memory.export import accepted_items
from benchfill.memory.records import AttemptRow, Candidate, GapRow, JudgementRow
from tests.graph.made_search import MODELS, THETA, estimate, make_search


@pytest.mark.parametrize("reversed_", [False, True])
def test_the_fit_of_an_accepted_item(tmp_path: Path, reversed_: bool):
    search, _, events = make_search(tmp_path)
    # The log of this search says nothing of its items: theirs would be as broken as the new one.
    search.__dict__["own_items"] = OwnItems(0.1, 0.5, expit(THETA))
    item = Item(id="bf-1", question="q new", answer="1")
    candidate = Candidate(
        id="g1r01w1", item=item.id, gap=1, round=1, writer=1, target=0.5, parent="i09", reference_ids=[],
        status="calibrating", rewriter="w", judge="j", prompt_version="v1", prompt_hashes={},
    )  # fmt: skip
    search.pool.save_candidate(candidate, item)
    search.pool.save_judgement(JudgementRow(candidate.id, "accepted", "1", True, True, [], ""))
    search.pool.save_gaps([GapRow(1, 0.45, 0.55, 0.5, 0.02, 100)])
    # Sixteen attempts; of the reversed item the weaker half solves what the abler half fails.
    right = {model: (2 * place + 5) // 2 for place, model in enumerate(MODELS)}
    solved = {model: 16 - right[model] if reversed_ else right[model] for model in MODELS}
    rows = [
        AttemptRow(item.id, model, n, "correct" if n < solved[model] else "wrong", "", "x")
        for model in MODELS
        for n in range(16)
    ]
    search.pool.save_attempts(rows)
    found = dataclasses.replace(
        estimate(item.id, 0.0), source="online", expected_deviation=0.01, confirmed=True
    )
    search.pool.save_estimates([found])
    state: Any = {
        "gap": 1,
        "round": 1,
        "met": candidate.id,
        "asked": {candidate.id: 16},
        "suspect": [],
        "refused": [],
    }
    runtime: Any = SimpleNamespace(context=search)
    remember(state, runtime)
    expected = predictive_fit(search.theta_draws, *count(search, rows), search.own_items, seed=search.seed)
    assert expected is not None
    fit = gap_report(search.pool, search.pool.gap(1))["fit"]
    assert fit == {**dataclasses.asdict(expected), "misfits": reversed_}
    (end,) = (event for event in events if event["event"] == "gap_finished")
    assert end["fit"] == fit
    assert (fit["correlation"] < 0) == reversed_
    assert ("misfits" in fit_text(fit)) == reversed_
    (row,) = accepted_items(search.pool)
    assert row["fit"] == fit


def test_what_is_not_known_is_not_said():
    assert fit_text(None) == ""
