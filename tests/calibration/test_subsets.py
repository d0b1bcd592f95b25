"""Pool dependence: halves against the spread over fresh pools."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from benchfill.calibration.fit import fit_1pl
from benchfill.calibration.measure import ddm, find_gaps
from benchfill.calibration.scale import Scale, minmax_scale
from benchfill.calibration.subsets import pool_dependence
from benchfill.errors import InputError
from tests.calibration.simulated import log_of, simulate

AXIS = Scale("minmax", -3.0, 3.0)


def misfitting(seed: int, models: int = 20, items: int = 30, attempts: int = 300) -> np.ndarray:
    """Right answers where every cell is off by Normal(0, 1) logits: many attempts, and the model is wrong."""
    generator = np.random.default_rng(seed)
    theta = generator.normal(0.0, 1.0, models)
    b = np.linspace(-2.0, 2.0, items)
    success = expit(theta[:, None] - b + generator.normal(0.0, 1.0, (models, items)))
    return generator.binomial(attempts, success)


def test_misfit_moves_items_more_than_the_posterior_knows() -> None:
    log = log_of(misfitting(1), 300)
    fit = fit_1pl(log, engine="laplace")
    found = pool_dependence(fit, log, AXIS, subsets=10)
    assert found.wider == "pool"
    assert np.median(found.z_sd) > 3.0 * np.median(found.posterior_sd)
    # Over fresh pools of 20 models the same items scatter as the halves say, and so does DDM on axes of their own.
    places, published = [], []
    for seed in range(2, 22):
        fresh = fit_1pl(log_of(misfitting(seed), 300), engine="mml")
        places.append(AXIS.to_z((fresh.b - fresh.b.mean()) / fresh.b.std() * fit.b.std()))
        published.append(ddm(minmax_scale(fresh).to_z(fresh.b)))
    assert np.median(found.z_sd) == pytest.approx(np.median(np.std(places, axis=0)), rel=0.3)
    own = pool_dependence(fit, log, minmax_scale(fit), subsets=20).own_ddm
    assert own.whole == pytest.approx(ddm(minmax_scale(fit).to_z(fit.b)))
    assert own.sd == pytest.approx(np.std(published, ddof=1), rel=0.5)


def test_where_the_model_holds_it_agrees_with_the_posterior() -> None:
    simulated = simulate(16, 40, 8, seed=3)
    fit = fit_1pl(simulated.log, engine="laplace")
    found = pool_dependence(fit, simulated.log, AXIS, subsets=12)
    assert np.median(found.z_sd) == pytest.approx(np.median(found.posterior_sd), rel=0.35)
    assert found.z_lo90 == pytest.approx(found.z - 1.6449 * found.z_sd, abs=1e-4)


def test_widths_of_gaps_have_the_posterior_interval_of_the_two_items_beside_them() -> None:
    b = np.concatenate([np.linspace(-2.0, -0.8, 8), np.linspace(0.8, 2.0, 8)])
    simulated = simulate(12, 16, 32, seed=2, b=b)
    fit = fit_1pl(simulated.log, engine="laplace")
    gap = find_gaps(AXIS.to_z(fit.b))[:3]
    planted = next(each for each in gap if each.lo < 0.5 < each.hi)
    (found,) = pool_dependence(fit, simulated.log, AXIS, [planted], subsets=4).gaps
    below, above = np.argsort(fit.b)[[7, 8]]
    sd = np.hypot(fit.b_sd[below], fit.b_sd[above]) / AXIS.width
    assert found.posterior_lo90 == pytest.approx(planted.width - 1.645 * sd, abs=0.35 * sd)
    assert found.posterior_hi90 == pytest.approx(planted.width + 1.645 * sd, abs=0.35 * sd)


def test_gaps_and_figures_move_with_the_pool() -> None:
    b = np.concatenate([np.linspace(-2.0, -0.8, 12), np.linspace(0.8, 2.0, 12)])
    simulated = simulate(12, 24, 64, seed=2, b=b)
    fit = fit_1pl(simulated.log, engine="mml")
    scale = minmax_scale(fit)
    gaps = find_gaps(scale.to_z(fit.b))[:2]
    found = pool_dependence(fit, simulated.log, scale, gaps, subsets=6)
    widest = found.gaps[0]
    assert widest.width.whole == pytest.approx(gaps[0].width)
    assert widest.stays_empty == 1.0
    assert widest.width.lo90 < gaps[0].width < widest.width.hi90
    assert found.max_gap.lo90 <= found.max_gap.whole <= found.max_gap.hi90
    assert (found.engine, found.subsets, found.wider) == ("mml", 6, None)
    assert np.isnan(found.posterior_sd).all()
    assert (widest.posterior_lo90, widest.posterior_hi90) == (None, None)


def test_items_that_a_half_was_never_asked_are_left_unknown() -> None:
    simulated = simulate(8, 12, 6, seed=4)
    attempts = np.array(simulated.log.attempts)
    attempts[1:, 5] = 0
    log = log_of(np.minimum(simulated.log.correct, attempts), attempts)
    fit = fit_1pl(log, engine="mml")
    found = pool_dependence(fit, log, AXIS, subsets=4)
    # One model of eight asked item 5, so exactly half of the halves did.
    assert np.isfinite(np.delete(found.z_sd, 5)).all()
    assert np.isfinite(found.ddm.sd)


def test_same_seed_same_halves() -> None:
    simulated = simulate(7, 12, 6, seed=4)
    fit = fit_1pl(simulated.log, engine="mml")
    first, second, other = (
        pool_dependence(fit, simulated.log, AXIS, subsets=4, seed=seed) for seed in (1, 1, 2)
    )
    assert np.array_equal(first.z_sd, second.z_sd)
    assert not np.array_equal(first.z_sd, other.z_sd)


def test_a_handful_of_models_has_no_halves() -> None:
    simulated = simulate(5, 12, 6, seed=4)
    with pytest.raises(InputError) as refusal:
        pool_dependence(fit_1pl(simulated.log, engine="mml"), simulated.log, AXIS)
    assert refusal.value.kind == "too_few_models"
