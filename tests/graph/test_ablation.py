"""An ablation on the simulated world: small, seeded, and held against what each method must be by definition."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from benchfill.calibration.measure import top_k_gap_sum
from benchfill.display.ablation import ablation_document, ablation_table
from benchfill.graph.ablation import Ablation, SearchRecord, summarise_methods
from benchfill.graph.ablation_setup import prepare_ablation
from benchfill.graph.references import nearest_on_both_sides
from benchfill.report.ablation import ablation_picture
from benchfill.settings import Settings

FIELDS = {"searches", "reduction", "true_deviation", "claimed_deviation", "coverage90", "attempts",
          "attempts_over_bound", "wrong_keys"}  # fmt: skip


@pytest.fixture(scope="module")
def prepared() -> Ablation:
    return prepare_ablation(
        world="simulated", items=None, responses=None, bank_items=None, bank_responses=None, gaps=2,
        settings=Settings.model_validate({"search": {"tolerance": 0.03, "rounds": 3}}),
        fixed_attempts=4, fixed_tau=0.01,
    )  # fmt: skip


@pytest.fixture(scope="module")
def records(prepared: Ablation) -> list[SearchRecord]:
    return prepared.run_seed(3)


def test_every_method_searches_every_gap(records: list[SearchRecord]):
    assert [(each.method, each.gap) for each in records] == [
        (method, gap) for method in ("benchfill", "fixed", "baseline", "oracle") for gap in (1, 2)
    ]


def test_the_baseline_spends_what_benchfill_spent(records: list[SearchRecord]):
    ours = {each.gap: each for each in records if each.method == "benchfill"}
    for each in records:
        if each.method == "baseline":
            assert each.candidates == max(1, ours[each.gap].candidates)
            # Shared equally among candidates and twelve models, to the nearest whole attempt.
            assert abs(each.attempts - ours[each.gap].attempts) <= 6 * each.candidates + 6


def test_the_oracle_is_the_middle_of_every_gap(prepared: Ablation, records: list[SearchRecord]):
    places = list(prepared.places.values())
    summary = summarise_methods(places, records)["oracle"]
    middles = [(gap.lo + gap.hi) / 2 for gap in prepared.gaps]
    assert summary.reduction == pytest.approx(
        1 - top_k_gap_sum([*places, *middles], 3) / top_k_gap_sum(places, 3)
    )
    assert summary.true_deviation == 0.0


def test_the_same_seed_gives_the_same_records(prepared: Ablation, records: list[SearchRecord]):
    assert prepared.run_seed(3, methods=("fixed",)) == [each for each in records if each.method == "fixed"]


def test_the_bound_is_the_cramer_rao_figure(prepared: Ablation, records: list[SearchRecord]):
    frozen, gap = prepared.frozen, prepared.gaps[0]
    chance = 1 / (1 + np.exp(frozen.scale.to_b(gap.target) - frozen.theta))
    efficiency = 4 * float(np.mean(chance * (1 - chance)))
    needed = 4 / (1.25 * gap.tolerance * frozen.scale.width) ** 2 / efficiency
    assert records[0].bound == int(np.ceil(needed))


def test_unfilled_searches_count_as_no_reduction_and_no_deviation():
    row = SearchRecord("fixed", 1, 1, "unfilled", None, None, None, None, 120, 60, 4, False)
    hit = dataclasses.replace(
        row, seed=2, status="filled", true_z=0.5, true_deviation=0.01, claimed_deviation=0.004, covered=True,
        wrong_key=True,
    )  # fmt: skip
    found = summarise_methods([0.0, 1.0], [row, hit])["fixed"]
    assert (found.searches, found.met, found.wrong_keys) == (2, 1, 1)
    assert found.reduction == pytest.approx(0.0)
    assert (found.true_deviation, found.claimed_deviation, found.coverage90) == (0.01, 0.004, 1.0)
    assert (found.attempts, found.attempts_over_bound) == (120, 2.0)


def test_document_table_and_picture(prepared: Ablation, records: list[SearchRecord]):
    summaries = summarise_methods(list(prepared.places.values()), records)
    document = json.loads(ablation_document(summaries, world="simulated", seeds=1, seed=3))
    assert document["simulated"] is True
    assert all(set(method) >= FIELDS for method in document["methods"].values())
    assert ablation_table(summaries, "t").row_count == 4
    picture = ablation_picture(records, simulated=True)
    assert picture.startswith("<svg xmlns=")
    assert "simulated" in picture
    taken = [each for each in records if each.method != "oracle" and each.true_deviation is not None]
    assert picture.count("<circle") == len(taken)


def test_nearest_on_both_sides_of_plain_places():
    places = {f"i{n:02d}": n / 20 for n in range(21)}
    assert nearest_on_both_sides(places, 0.52, 4) == ["i09", "i10", "i11", "i12"]
