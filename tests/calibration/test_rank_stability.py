"""Rank stability against simulated truth and the formulas written out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from benchfill.calibration.fit import Fit, fit_1pl
from benchfill.calibration.model_slopes import ItemModelFit, fit_item_model
from benchfill.calibration.rank_stability import PairStability, RankStability, rank_stability
from benchfill.calibration.response_log import ResponseLog
from benchfill.calibration.reweighting import PairWeights, bootstrap_scores
from benchfill.calibration.scale import Scale, minmax_scale
from benchfill.calibration.targets import Beta, Uniform, distance
from benchfill.errors import InputError
from benchfill.logs.responses import read_responses
from tests.calibration.simulated import log_of, simulate

Array = NDArray[np.float64]

# Three models whose curves cross in pairs, one that is weaker everywhere; most items are easy.
C = np.array([2.0, 0.6, 1.2, -2.5])
S = np.array([2.4, 0.5, 1.3, 1.3])


@pytest.fixture(scope="module")
def crossing() -> tuple[ResponseLog, Fit, Scale, ItemModelFit]:
    generator = np.random.default_rng(4)
    u = np.concatenate([generator.normal(-0.8, 0.5, 70), generator.uniform(-0.5, 2.5, 30)])
    u = (u - u.mean()) / u.std()
    chance = expit(C[:, None] - S[:, None] * u)
    log = log_of(generator.binomial(40, chance), 40)
    fit = fit_1pl(log, engine="mml")
    return log, fit, minmax_scale(fit), fit_item_model(log, "model_slopes")


def pair_of(found: RankStability, one: int, two: int) -> PairStability:
    names = {f"model-{one:04}", f"model-{two:04}"}
    return next(pair for pair in found.pairs if {pair.stronger, pair.weaker} == names)


def test_crossing_curves_are_seen_and_the_order_under_the_target_is_the_true_one(
    crossing: tuple[ResponseLog, Fit, Scale, ItemModelFit],
) -> None:
    log, fit, scale, slopes = crossing
    found = rank_stability(log, fit, scale, slopes, target=Beta(6.0, 1.5))
    # Against the true curves on the true axis: u is linear in the places of the items.
    z = scale.to_z(fit.b)
    factor = 1.0 / z.std()
    levels = (np.arange(2000) + 0.5) / 2000
    u = (Beta(6.0, 1.5).quantile(levels) - z.mean()) * factor
    truth = expit(C[:, None] - S[:, None] * u).mean(axis=1)
    for one, two in ((0, 1), (0, 2), (1, 2), (0, 3)):
        pair = pair_of(found, one, two)
        sign = 1.0 if pair.stronger.endswith(str(one)) else -1.0
        assert pair.d_target_slopes == pytest.approx(sign * (truth[one] - truth[two]), abs=0.05)
    steep = pair_of(found, 0, 1)
    assert steep.stronger == "model-0000"
    assert steep.crosses
    assert steep.d_benchmark > 0.0 > steep.d_target_hi95
    assert steep.d_target < 0.0
    assert steep.p_reversed == 1.0
    assert steep.verdict == "likely_reversed"
    assert steep in found.at_risk()
    assert found.pairs[0].p_reversed == 1.0
    clear = pair_of(found, 2, 3)
    assert not clear.crosses
    assert clear.verdict in ("kept", "guaranteed")
    assert found.crossing == sum(pair.crosses for pair in found.pairs) >= 1


def test_the_bound_is_the_formula(crossing: tuple[ResponseLog, Fit, Scale, ItemModelFit]) -> None:
    log, fit, scale, slopes = crossing
    attempts = log.attempts.copy()
    attempts[1, :50] = 80
    log = ResponseLog(log.models, log.items, log.correct, attempts)
    found = rank_stability(log, fit, scale, slopes, delta=0.1)
    ddm = distance(scale.to_z(fit.b), Uniform())
    for pair in found.pairs:
        one, two = log.models.index(pair.stronger), log.models.index(pair.weaker)
        noise = sum(1.0 / attempts[one, i] + 1.0 / attempts[two, i] for i in range(100)) / 100**2
        t = np.sqrt(np.log(2.0 * 6 / 0.1) / 2.0 * noise)
        d = (log.correct[one] / attempts[one] - log.correct[two] / attempts[two]).mean()
        assert pair.tolerance == pytest.approx(t)
        assert pair.d_benchmark == pytest.approx(d)
        assert pair.largest_slope == pytest.approx(max(d - t, 0.0) / ddm)
        if pair.verdict == "guaranteed":
            assert pair.largest_slope is not None
            assert pair.slope_max95 <= pair.largest_slope
    equal = np.sqrt(np.log(2.0 * 6 / 0.1) / (100 * 40))
    assert pair_of(found, 0, 2).tolerance == pytest.approx(equal)


def test_weights_are_the_masses_of_the_cells() -> None:
    z = np.array([0.5, 0.1, 0.1, 0.9])
    weights = PairWeights.of(z, Uniform())
    assert weights.of_items() == pytest.approx([0.4, 0.15, 0.15, 0.3])
    assert weights.of_items(np.array([0, 1, 2, 1])) == pytest.approx([0.0, 0.5 / 3, 1.0 / 3, 0.5])


def test_the_interval_covers_the_score_under_the_target() -> None:
    """Items drawn from a known density, places known: the 95 % interval covers the integral in 95 % of logs."""
    generator, hits, repeats = np.random.default_rng(3), 0, 100
    truth = float(expit(1.0 - 3.0 * (np.arange(4000) + 0.5) / 4000).mean())
    for _ in range(repeats):
        z = generator.beta(2.0, 3.0, 80)
        attempts = np.full((1, 80), 3)
        correct = generator.binomial(attempts, expit(1.0 - 3.0 * z))
        boot = bootstrap_scores(
            PairWeights.of(z, Uniform()), correct, attempts, draws=200, generator=generator
        )
        lo, hi = np.quantile(boot, [0.025, 0.975])
        hits += lo <= truth <= hi
    # Attempts are drawn anew on top of items, which already carry their noise: never too narrow.
    assert hits / repeats > 0.92


def test_pairs_are_compared_on_common_items_and_order_does_not_matter() -> None:
    log = simulate(4, 40, 5, seed=8).log
    attempts = log.attempts.copy()
    attempts[3, :10] = 0
    log = ResponseLog(log.models, log.items, np.where(attempts > 0, log.correct, 0), attempts)
    fit, slopes = fit_1pl(log, engine="mml"), fit_item_model(log, "model_slopes")
    found = rank_stability(log, fit, minmax_scale(fit), slopes)
    assert {pair.items for pair in found.pairs if "model-0003" in (pair.stronger, pair.weaker)} == {30}
    assert pair_of(found, 0, 1).items == 40
    assert found == rank_stability(log, fit, minmax_scale(fit), slopes)
    other = simulate(4, 39, 5, seed=8).log
    with pytest.raises(InputError, match="not the one"):
        rank_stability(other, fit, minmax_scale(fit), slopes)
    with pytest.raises(InputError, match="delta"):
        rank_stability(log, fit, minmax_scale(fit), slopes, delta=1.0)


def test_math500_crosses_as_often_as_a_sketch_says(shared: Path) -> None:
    """45 models above 2 %: a sketch counted 129 of 990 pairs that cross and 13 orders that reverse."""
    log = read_responses(shared / "data/matrices/noises_highk_temp0.7__math500_cot/responses_long.csv.gz").log
    score = (log.correct / log.attempts).mean(axis=1)
    log = log.select_models([name for name, each in zip(log.models, score, strict=True) if each > 0.02])
    fit = fit_1pl(log, engine="mml")
    found = rank_stability(log, fit, minmax_scale(fit), fit_item_model(log, "model_slopes"))
    assert len(found.pairs) == 990
    assert 100 <= found.crossing <= 160
    assert 3 <= found.reversed_slopes <= 20
