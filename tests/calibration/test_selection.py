"""The rule that buys attempts, against what it must do by definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from benchfill.calibration.online import ItemPosterior
from benchfill.calibration.selection import CandidateView, Goal, choose_next, fresh_yield

TARGET, TOLERANCE = 0.5, 0.01


def normal_posterior(mean: float, sd: float) -> ItemPosterior:
    z = np.linspace(mean - 8 * sd, mean + 8 * sd, 801)
    weight = norm.pdf(z, mean, sd)
    return ItemPosterior(z, weight / weight.sum())


def view(name: str, mean: float, sd: float, attempts: int = 10) -> CandidateView:
    return CandidateView(name, normal_posterior(mean, sd), attempts)


def decide(*views: CandidateView, max_attempts: int = 256):
    goal = Goal(
        target=TARGET,
        tolerance=TOLERANCE,
        models=12,
        least_yield=fresh_yield(0.05, 700, 12),
        max_attempts=max_attempts,
        max_block=8,
    )
    return choose_next(views, goal)


def test_a_candidate_is_met_exactly_when_its_expected_deviation_is_within_the_tolerance():
    # E|x| of a centred normal is sd * sqrt(2 / pi).
    just_met = TOLERANCE / np.sqrt(2 / np.pi)
    assert decide(view("a", TARGET, just_met * 0.99)).kind == "met"
    assert decide(view("a", TARGET, just_met * 1.01)).kind == "ask"


def test_of_several_met_the_nearest_is_taken():
    decision = decide(view("a", TARGET + 0.004, 0.004), view("b", TARGET, 0.004))
    assert (decision.kind, decision.candidate) == ("met", "b")


def test_the_likelier_candidate_is_asked_and_the_hopeless_one_is_out():
    decision = decide(view("far", TARGET + 0.3, 0.02), view("near", TARGET + 0.005, 0.02))
    assert (decision.kind, decision.candidate, decision.out) == ("ask", "near", ("far",))


def test_a_small_tolerance_alone_drops_nobody():
    # A vague posterior around the target has a small chance, and so has a fresh candidate.
    assert decide(view("a", TARGET, 0.1, attempts=1)).kind == "ask"


def test_a_candidate_settled_off_target_is_out():
    decision = decide(view("a", TARGET + 2.0 * TOLERANCE, 0.5 * TOLERANCE, attempts=100))
    assert (decision.kind, decision.out) == ("exhausted", ("a",))


def test_what_was_cheap_to_learn_does_not_end_a_candidate_but_the_same_posterior_bought_dearly_does():
    # Half likely to be wanted: worth going on after 4 attempts a model, not when its precision took 250.
    posterior = view("a", TARGET + 0.02, 0.02, attempts=2), view("a", TARGET + 0.02, 0.02, attempts=120)
    assert decide(posterior[0]).kind == "ask"
    assert decide(posterior[1]).kind == "exhausted"


def test_blocks_grow_with_what_was_asked_and_end_at_the_limits():
    assert decide(view("a", TARGET, 0.05, attempts=1)).block == 1
    assert decide(view("a", TARGET, 0.03, attempts=6)).block == 3
    assert decide(view("a", TARGET, 0.0126, attempts=100)).block == 8
    assert decide(view("a", TARGET, 0.0126, attempts=253)).block == 3
    assert decide(view("a", TARGET, 0.0126, attempts=256)).kind == "exhausted"


def test_nobody_left_is_exhausted():
    assert decide().kind == "exhausted"


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_candidates_does_not_matter(seed: int):
    rng = np.random.default_rng(seed)
    views = [view(f"c{i}", TARGET + rng.normal(0, 0.05), rng.uniform(0.01, 0.05)) for i in range(6)]
    shuffled = [views[i] for i in rng.permutation(6)]
    assert decide(*views) == decide(*shuffled)
