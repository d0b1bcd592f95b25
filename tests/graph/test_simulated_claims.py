"""Small seeded versions of what is claimed of the simulated world: no wrong key is shipped, a hidden gain is found."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from benchfill.graph.ablation import Ablation, summarise_methods
from benchfill.graph.ablation_setup import ablation_of, prepare_ablation
from benchfill.graph.direct import WorkedAnswers
from benchfill.settings import Settings
from benchmarks.made_benchmarks import CONFIG, MODELS, made_benchmark, places_of
from benchmarks.simulated_detection import powers
from benchmarks.wrong_keys import UnjudgedAblation


@pytest.fixture(scope="module")
def sample() -> Ablation:
    return prepare_ablation(
        world="simulated", items=None, responses=None, bank_items=None, bank_responses=None, gaps=1,
        settings=Settings.model_validate({"search": {"tolerance": 0.04, "rounds": 4}}),
        fixed_attempts=16, fixed_tau=0.01,
    )  # fmt: skip


@pytest.mark.parametrize("kind", [Ablation, UnjudgedAblation])
def test_no_wrong_key_is_shipped_by_an_erring_judge_nor_without_one(sample: Ablation, kind: type[Ablation]):
    given = {each.name: getattr(sample, each.name) for each in dataclasses.fields(sample)}
    given["config"] = {"world": "simulated", "settings": {"wrong_key": 0.4, "judge_error": 0.2}}
    records = [each for seed in (1, 2, 3) for each in kind(**given).run_seed(seed, ("benchfill",))]
    assert any(each.true_z is not None for each in records)
    assert not any(each.wrong_key for each in records)


def test_three_fills_reach_nearly_what_items_at_the_midpoints_would():
    """By the world's own truth; a run over HTTP decides alike, and is made less exact where it is tested."""
    three = prepare_ablation(
        world="simulated", items=None, responses=None, bank_items=None, bank_responses=None, gaps=3,
        settings=Settings.model_validate({"search": {"tolerance": 0.015}}), fixed_attempts=16, fixed_tau=0.01,
    )  # fmt: skip
    records = [each for seed in (1, 2, 3, 4) for each in three.run_seed(seed, ("benchfill", "oracle"))]
    found = summarise_methods(list(three.places.values()), records)
    assert found["benchfill"].met == 12
    assert found["benchfill"].reduction >= 0.85 * found["oracle"].reduction > 0


def test_a_gain_inside_the_gap_is_unseen_by_the_sample_and_seen_with_one_item(sample: Ablation):
    found = powers(sample, 1, attempts=64, lift=0.4, pairs=60)
    assert found is not None
    _, without, _, filled = found
    # The level is 5 %: of 60 pairs at most 9 in all but one of a thousand cases.
    assert without <= 9 / 60
    assert filled >= 0.8


def test_a_made_benchmark_has_its_items_where_they_were_wanted():
    rng = np.random.default_rng(3)
    places = places_of("bimodal", 30, rng)
    benchmark = made_benchmark("made", places, 400, rng)
    assert benchmark.log.attempts.shape == (len(MODELS), 30)
    ablation = ablation_of(benchmark, CONFIG, gaps=2, settings=Settings())
    true = [WorkedAnswers().true_place(item, ablation.frozen, MODELS) for item in benchmark.items]
    # The frozen axis is that of the fitted abilities: a line away from the one on which the places were wanted.
    assert np.corrcoef(true, places)[0, 1] > 0.99
    fitted = [ablation.places[item.id] for item in benchmark.items]
    assert np.max(np.abs(np.array(fitted) - true)) < 0.06
    assert all(gap.hi - gap.lo > 0.02 for gap in ablation.gaps)
