"""Small simulated searches against the truth, and the step rule by hand. Everything here is simulated."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.stats import norm

from benchfill.calibration.online import CandidatePrior, ItemPosterior, item_posterior
from benchfill.calibration.scale import Scale
from benchfill.calibration.search_loop import Rules, search_gap
from benchfill.calibration.selection import CandidateView, Goal
from benchfill.calibration.strategy import Adaptive, Fixed, GapGoal, make_strategy, next_step
from benchfill.errors import InputError
from benchmarks.search import run_many
from benchmarks.search_worlds import DrawnWorld, Rewriter

SCALE = Scale("s", -3.0, 3.0)
THETA = np.linspace(-2.0, 2.0, 12)
GAP = GapGoal(0.4, 0.6, 0.5, 0.01)
GOAL = Goal(target=0.5, tolerance=0.01, models=12, least_yield=1e-4, max_attempts=256, max_block=8)


def view(name: str, mean: float, sd: float, attempts: int = 10, z_ml: float | None = None) -> CandidateView:
    z = np.linspace(mean - 8 * sd, mean + 8 * sd, 401)
    weight = norm.pdf(z, mean, sd)
    return CandidateView(name, ItemPosterior(z, weight / weight.sum()), attempts, z_ml)


def step(*candidates: CandidateView, earlier=(), last_round=False, refused=(), strategy=None):
    return next_step(
        strategy or Adaptive(), GAP, candidates, earlier, goal=GOAL, theta=THETA, scale=SCALE,
        last_round=last_round, refused=refused,
    )  # fmt: skip


def test_a_candidate_that_will_do_is_taken_at_the_gaps_tolerance():
    found = step(view("a", 0.5, 0.005))
    assert (found.kind, found.candidate, found.tolerance) == ("take", "a", GAP.tolerance)


def test_an_exhausted_round_asks_for_another_while_there_is_one():
    assert step(view("a", 0.8, 0.005, 100)).kind == "next_round"


def test_after_the_last_round_earlier_candidates_count_again():
    earlier = [view("b", 0.52, 0.01, 40)]
    found = step(view("a", 0.8, 0.005, 100), earlier=earlier, last_round=True)
    assert (found.kind, found.candidate) == ("take", "b")
    assert found.tolerance == pytest.approx(GAP.near)


def test_the_closest_inside_the_gap_is_taken_last_and_nothing_outside_ever():
    inside = view("b", 0.56, 0.005, 256)
    found = step(view("a", 0.8, 0.005, 256), inside, last_round=True)
    assert (found.kind, found.candidate) == ("take", "b")
    assert step(view("a", 0.8, 0.005, 256), last_round=True).kind == "give_up"
    assert step(view("a", 0.8, 0.005, 256), inside, last_round=True, refused=["b"]).kind == "give_up"


def test_a_candidate_refused_twice_is_out():
    good = view("a", 0.5, 0.005)
    assert step(good, refused=["a"]).kind == "take"
    assert step(good, refused=["a", "a"]).kind == "next_round"


def test_a_suspect_key_is_out_however_near_it_lies():
    good = view("a", 0.5, 0.005)
    assert step(dataclasses.replace(good, suspect=True)).kind == "next_round"


def test_fixed_asks_everyone_alike_and_takes_the_nearest_estimate():
    fixed = Fixed(attempts=16, tau=0.01)
    asked = step(view("a", 0.5, 0.05, 16, 0.505), view("b", 0.9, 0.05, 1, None), strategy=fixed)
    assert (asked.kind, asked.candidate, asked.block) == ("ask", "b", 15)
    near = view("a", 0.6, 0.05, 16, 0.508), view("b", 0.6, 0.05, 16, 0.493)
    assert step(*near, strategy=fixed).candidate == "b"
    assert step(view("a", 0.5, 0.05, 16, 0.52), strategy=fixed).kind == "next_round"


def test_strategies_have_names():
    assert make_strategy("adaptive") == Adaptive()
    assert make_strategy("fixed", attempts=4, tau=0.02) == Fixed(4, 0.02)
    with pytest.raises(InputError):
        make_strategy("lucky")


def test_the_same_seed_is_the_same_search():
    ends = []
    for _ in range(2):
        world = DrawnWorld(np.random.default_rng([7, 3]))
        ends.append(search_gap(world, world.goal(0.03), Rules(Adaptive()), world.frozen, world.history()))
    assert ends[0] == ends[1]


def test_claims_are_true_where_fixed_batches_claim_a_third_of_it():
    """Tolerance 0.03, 12 models: small, but far beyond what chance could turn round."""
    ours = run_many(Adaptive(), searches=16, seed=5, tolerance=0.03)
    fixed = run_many(Fixed(8, 0.01), searches=16, seed=5, tolerance=0.03)
    assert ours.met >= 0.9
    assert ours.true_deviation <= 0.03 + 2 * ours.true_se
    assert 0.5 < ours.claimed / ours.true_deviation < 2.0
    assert ours.coverage90 >= 0.75
    assert ours.fresh > 0
    assert fixed.claimed < 0.4 * fixed.true_deviation


def test_a_rewriter_that_never_hits_ends_as_not_met():
    world = DrawnWorld(
        np.random.default_rng([6, 1]), rewriter=Rewriter(near=0.01, growth=0.1, never=0.09), gap_width=0.1
    )
    rules = Rules(Adaptive(), rounds=3)
    end = search_gap(world, world.goal(0.02), rules, world.frozen, world.history())
    assert end.status != "filled"


@pytest.mark.parametrize("attempts", [1, 7, 100])
@pytest.mark.parametrize("prior", [None, CandidatePrior(0.5, 0.05)])
def test_simulated_searches_see_the_posteriors_of_a_run(attempts: int, prior: CandidatePrior | None):
    world = DrawnWorld(np.random.default_rng([9, attempts]))
    world.items["a"] = (0.45, 1 / (1 + np.exp(world.scale.to_b(0.45) - world.ability)))
    counts = world.answer("a", 0, attempts)
    cached = world.frozen.posterior(*counts, prior, 0.0)
    exact = item_posterior(world.frozen.theta_draws, *counts, world.scale, prior=prior)
    for name in ("mean", "sd", "lo90", "hi90"):
        assert getattr(cached, name) == pytest.approx(getattr(exact, name), abs=0.01 * exact.sd)
    assert cached.expected_deviation(0.5) == pytest.approx(exact.expected_deviation(0.5), rel=0.01)
