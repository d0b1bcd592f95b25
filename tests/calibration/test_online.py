"""Online calibration against closed forms, handed cases, brute-force integration and simulated truth."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit

from benchfill.calibration.online import (
    CandidatePrior,
    ItemPosterior,
    attempts_needed,
    item_posterior,
    ml_difficulty,
    pool_information,
)
from benchfill.calibration.scale import Scale
from benchfill.errors import InputError

SCALE = Scale("minmax", -4.0, 4.0)
POOL = np.linspace(-2.0, 2.0, 12)


def brute_force(
    draws: np.ndarray,
    correct: np.ndarray,
    attempts: np.ndarray,
    prior: CandidatePrior | None,
    guessing: float,
    points: int = 10_001,
) -> tuple[np.ndarray, np.ndarray]:
    """Density of z on an even grid over the documented support, from scipy's own distributions."""
    lo = min(SCALE.lo, draws.min()) - 8.0
    hi = max(SCALE.hi, draws.max()) + 8.0
    z = np.linspace((lo - SCALE.lo) / SCALE.width, (hi - SCALE.lo) / SCALE.width, points)
    weight = np.zeros(points)
    for theta in draws:
        p = guessing + (1 - guessing) * expit(theta[:, None] - SCALE.to_b(z))
        log_density = stats.binom.logpmf(correct[:, None], attempts[:, None], p).sum(axis=0)
        if prior is not None:
            log_density += stats.t.logpdf(z, prior.df, prior.center, prior.scale)
        density = np.exp(log_density - log_density.max())
        weight += density / density.sum()
    return z, weight / weight.sum()


@pytest.mark.parametrize("guessing", [0.0, 0.25])
@pytest.mark.parametrize(
    "prior", [None, CandidatePrior(0.6, 0.05), CandidatePrior(0.2, 0.02), CandidatePrior(0.7, 0.1, df=8.0)]
)
@pytest.mark.parametrize("attempts", [1, 16, 400])
def test_posterior_equals_brute_force(attempts: int, prior: CandidatePrior | None, guessing: float) -> None:
    rng = np.random.default_rng(attempts)
    draws = POOL + rng.normal(0, 0.1, (8, 12))
    asked = np.full(12, attempts)
    asked[::5] = 0  # some models were not asked
    correct = rng.binomial(asked, guessing + (1 - guessing) * expit(POOL - 1.0))
    posterior = item_posterior(draws, correct, asked, SCALE, prior=prior, guessing=guessing)
    z, weight = brute_force(draws, correct, asked, prior, guessing)
    mean = float(weight @ z)
    sd = math.sqrt(float(weight @ (z - mean) ** 2))
    cdf = np.cumsum(weight)
    assert posterior.weight.sum() == pytest.approx(1.0)
    assert posterior.mean == pytest.approx(mean, abs=0.02 * sd)
    assert posterior.sd == pytest.approx(sd, rel=0.02)
    assert posterior.lo90 == pytest.approx(np.interp(0.05, cdf, z), abs=0.05 * sd)
    assert posterior.hi90 == pytest.approx(np.interp(0.95, cdf, z), abs=0.05 * sd)
    for target in (mean, mean + sd, 0.5):
        expected = float(weight @ np.abs(z - target))
        assert posterior.expected_deviation(target) == pytest.approx(expected, rel=0.02)
        inside = float(
            np.diff(np.interp([target - 0.5 * sd, target + 0.5 * sd], z + (z[1] - z[0]) / 2, cdf))[0]
        )
        assert posterior.chance_within(target, 0.5 * sd) == pytest.approx(inside, abs=0.01)


def test_many_attempts_give_the_normal_of_the_information() -> None:
    """At 30,000 attempts a model the posterior sd is 1/sqrt(n I) and the grid still resolves it."""
    asked = np.full(12, 30_000)
    correct = np.round(asked * expit(POOL - 0.8)).astype(int)
    posterior = item_posterior(POOL[None, :], correct, asked, SCALE)
    sd = 1 / math.sqrt(12 * 30_000 * pool_information(POOL, 0.8)) / SCALE.width
    assert sd < 0.001
    assert posterior.sd == pytest.approx(sd, rel=0.01)
    assert posterior.mean == pytest.approx(SCALE.to_z(0.8), abs=0.1 * sd)
    assert np.diff(posterior.z).max() < 0.2 * sd
    assert posterior.expected_deviation(posterior.mean) == pytest.approx(
        math.sqrt(2 / math.pi) * sd, rel=0.01
    )


def test_uncertain_abilities_widen_the_posterior_by_their_own_spread() -> None:
    """A common shift of all abilities by N(0, s) shifts the item by as much."""
    shifts = stats.norm.ppf((np.arange(200) + 0.5) / 200) * 0.4
    asked = np.full(12, 2_000)
    correct = np.round(asked * expit(POOL - 0.5)).astype(int)
    frozen = item_posterior(POOL[None, :], correct, asked, SCALE)
    spread = item_posterior(POOL + shifts[:, None], correct, asked, SCALE)
    assert spread.mean == pytest.approx(frozen.mean, abs=1e-3)
    assert spread.sd == pytest.approx(math.hypot(frozen.sd, shifts.std() / SCALE.width), rel=0.02)


def test_draws_beyond_200_are_thinned_and_one_dimension_is_one_draw() -> None:
    rng = np.random.default_rng(5)
    draws = POOL + rng.normal(0, 0.1, (3_000, 12))
    asked, correct = np.full(12, 8), np.arange(12) % 9
    thinned = item_posterior(draws, correct, asked, SCALE)
    same = item_posterior(draws[np.linspace(0, 2_999, 200).round().astype(int)], correct, asked, SCALE)
    np.testing.assert_array_equal(thinned.weight, same.weight)
    one = item_posterior(POOL, correct, asked, SCALE)
    np.testing.assert_array_equal(one.z, item_posterior(POOL[None, :], correct, asked, SCALE).z)


def test_nothing_asked_is_the_prior() -> None:
    nothing = np.zeros(12, dtype=int)
    prior = CandidatePrior(0.6, 0.05)
    posterior = item_posterior(POOL, nothing, nothing, SCALE, prior=prior)
    assert posterior.mean == pytest.approx(0.6, abs=1e-3)
    assert posterior.lo90 == pytest.approx(stats.t.ppf(0.05, 4, 0.6, 0.05), abs=1e-3)
    flat = item_posterior(POOL, nothing, nothing, SCALE)
    assert flat.mean == pytest.approx(0.5)
    assert (flat.z[0], flat.z[-1]) == (-1.0, 2.0)


def test_all_right_and_all_wrong_have_a_posterior_but_no_maximum() -> None:
    asked = np.full(12, 4)
    easy = item_posterior(POOL, asked, asked, SCALE, prior=CandidatePrior(0.5, 0.1))
    hard = item_posterior(POOL, 0 * asked, asked, SCALE, prior=CandidatePrior(0.5, 0.1))
    assert ml_difficulty(POOL, asked, asked) is None
    assert ml_difficulty(POOL, 0 * asked, asked) is None
    assert easy.hi90 < 0.5 < hard.lo90
    assert easy.mean + hard.mean == pytest.approx(1.0)  # the pool is symmetric
    assert np.isfinite([easy.sd, hard.sd]).all()


def test_a_prior_far_off_the_axis_is_inside_the_support() -> None:
    asked = np.full(12, 1)
    posterior = item_posterior(POOL, 0 * asked, asked, SCALE, prior=CandidatePrior(9.0, 0.05))
    assert posterior.mean == pytest.approx(9.0, abs=0.01)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_order_of_models_and_translation_do_not_matter(data: st.DataObject) -> None:
    theta = np.array(data.draw(st.lists(st.floats(-3, 3), min_size=2, max_size=8)))
    asked = np.array(data.draw(st.lists(st.integers(1, 9), min_size=len(theta), max_size=len(theta))))
    correct = np.array([data.draw(st.integers(0, int(n))) for n in asked])
    order = np.array(data.draw(st.permutations(range(len(theta)))))
    posterior = item_posterior(theta, correct, asked, SCALE)
    mixed = item_posterior(theta[order], correct[order], asked[order], SCALE)
    assert mixed.mean == pytest.approx(posterior.mean, abs=1e-9)
    moved = item_posterior(theta + 1.5, correct, asked, Scale("minmax", SCALE.lo + 1.5, SCALE.hi + 1.5))
    assert moved.mean == pytest.approx(posterior.mean, abs=1e-6)
    ml, ml_moved = ml_difficulty(theta, correct, asked), ml_difficulty(theta + 1.5, correct, asked)
    assert (ml is None) == (ml_moved is None) == (correct.sum() in (0, asked.sum()))
    if ml is not None and ml_moved is not None:
        assert ml_moved == pytest.approx(ml + 1.5, abs=1e-8)
        # The score equation of the 1PL: as many right as expected.
        assert float(asked @ expit(theta - ml)) == pytest.approx(correct.sum(), abs=1e-6)


def test_handed_maximum_likelihood_cases(shared: Path) -> None:
    lines = (shared / "cases" / "numeric" / "online_mle.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) >= 16
    for line in lines:
        case = json.loads(line)
        theta = np.array(case["theta"])
        correct = np.zeros(len(theta))
        correct[: case["n_correct"]] = 1  # the total is sufficient under the 1PL
        for answers in (correct, correct[::-1]):
            ml = ml_difficulty(theta, answers, np.ones(len(theta)))
            if case["b_mle"] in ("inf", "-inf"):
                assert ml is None, case["id"]
                continue
            assert ml == pytest.approx(case["b_mle"], abs=1e-4), case["id"]
            information = len(theta) * pool_information(theta, ml)
            assert 1 / math.sqrt(information) == pytest.approx(case["se"], abs=1e-4), case["id"]


def test_maximum_likelihood_with_guessing() -> None:
    theta, asked = np.zeros(4), np.full(4, 100)
    assert ml_difficulty(theta, np.full(4, 75), asked, guessing=0.5) == pytest.approx(0.0, abs=1e-9)
    assert ml_difficulty(theta, np.full(4, 50), asked, guessing=0.5) is None  # no better than guessing
    assert ml_difficulty(theta, np.full(4, 30), asked, guessing=0.5) is None
    assert ml_difficulty(theta, np.zeros(4), np.zeros(4)) is None


def test_attempts_needed_is_what_the_posterior_needs() -> None:
    """So many attempts bring the expected deviation to the tolerance, and half as many do not."""
    target = 0.6
    b = SCALE.to_b(target)
    for tolerance, prior in ((0.02, None), (0.02, CandidatePrior(target, 0.05))):
        total = attempts_needed(POOL, b, SCALE, tolerance, prior)
        for share, met in ((1.0, True), (0.5, False)):
            asked = np.full(12, total * share / 12)
            posterior = item_posterior(POOL, asked * expit(POOL - b), asked, SCALE, prior=prior)
            assert (posterior.expected_deviation(target) <= 1.03 * tolerance) is met
    closed = 4 / (1.25 * 0.02) ** 2 / 64 / (4 * pool_information(POOL, b))
    assert attempts_needed(POOL, b, SCALE, 0.02) == math.ceil(closed)
    assert attempts_needed(POOL, b, SCALE, 0.1, CandidatePrior(target, 0.01)) == 0
    assert pool_information(np.zeros(3), 0.0) == 0.25


def test_intervals_cover_when_abilities_were_calibrated_on_little() -> None:
    """12 models, 30 items x 1 attempt, then 64 attempts on a new item: 90 % intervals hold their promise."""
    rng = np.random.default_rng(11)
    replicates, covered = 120, 0
    for _ in range(replicates):
        theta = rng.normal(0, 1.2, 12)
        theta -= theta.mean()
        draws = laplace_abilities(rng, theta, rng.normal(0, 1.8, 30))
        b = rng.uniform(-1.5, 1.5)
        asked = np.full(12, 64)
        posterior = item_posterior(draws, rng.binomial(asked, expit(theta - b)), asked, SCALE)
        covered += posterior.lo90 <= SCALE.to_z(b) <= posterior.hi90
    assert stats.binomtest(covered, replicates, 0.9, alternative="less").pvalue > 0.01


def laplace_abilities(rng: np.random.Generator, theta: np.ndarray, b: np.ndarray) -> np.ndarray:
    """200 zero-sum draws of the abilities from the normal approximation of a fit to one attempt a cell."""
    models, items = len(theta), len(b)
    correct = rng.binomial(1, expit(theta[:, None] - b))
    x = np.zeros(models + items)
    penalty = np.concatenate([np.full(models, 1 / 30**2), np.full(items, 1 / 1.8**2)])
    for _ in range(15):
        p = expit(x[:models, None] - x[models:])
        w = p * (1 - p)
        gradient = np.concatenate([(correct - p).sum(1), (p - correct).sum(0)]) - penalty * x
        hessian = np.block([[np.diag(w.sum(1)), -w], [-w.T, np.diag(w.sum(0))]]) + np.diag(penalty)
        x = x + np.linalg.solve(hessian, gradient)
    covariance = np.linalg.inv(hessian)[:models, :models]
    draws = rng.multivariate_normal(x[:models], covariance, size=200)
    return np.asarray(draws - draws.mean(axis=1, keepdims=True))


@pytest.mark.parametrize(
    ("correct", "attempts", "guessing"),
    [
        ([1] * 11, [1] * 12, 0.0),
        ([2] * 12, [1] * 12, 0.0),
        ([-1] * 12, [1] * 12, 0.0),
        ([1] * 12, [1] * 12, 1.0),
    ],
)
def test_impossible_counts_are_refused(correct: list[int], attempts: list[int], guessing: float) -> None:
    with pytest.raises(InputError) as caught:
        item_posterior(POOL, correct, attempts, SCALE, guessing=guessing)
    assert caught.value.kind == "bad_counts"
    with pytest.raises(InputError):
        ml_difficulty(POOL, correct, attempts, guessing)


def test_a_tolerance_is_positive() -> None:
    with pytest.raises(InputError):
        attempts_needed(POOL, 0.0, SCALE, 0.0)


def test_histogram_arithmetic_of_a_posterior() -> None:
    posterior = ItemPosterior(z=np.array([0.0, 0.5, 1.0]), weight=np.array([0.25, 0.5, 0.25]))
    assert posterior.mean == 0.5
    assert posterior.cdf(0.5) == pytest.approx(0.5)
    assert posterior.quantile(0.25) == pytest.approx(0.25)
    assert posterior.chance_within(0.5, 0.25) == pytest.approx(0.5)
    assert (posterior.cdf(-1.0), posterior.cdf(2.0)) == (0.0, 1.0)
    assert posterior.expected_deviation(0.0) == 0.5
