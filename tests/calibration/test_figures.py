"""Figures of the true item set: against direct simulation, and against the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from benchfill.calibration.conditionals import conditionals_of
from benchfill.calibration.figures import SHAPE_LIMIT, benchmark_figures, item_sets
from benchfill.calibration.fit import fit_1pl
from benchfill.calibration.measure import ddm, max_gap, top_k_gap_sum
from benchfill.calibration.scale import Scale, failure_scale, minmax_scale, pool_scale
from benchfill.calibration.targets import Beta, Uniform, distance
from tests.calibration.answers import answer
from tests.calibration.simulated import known, log_of, simulate

AXIS = Scale("axis", -3.0, 3.0)


def test_intervals_cover_the_truth_where_the_model_holds() -> None:
    """30 logs of 12 models x 40 items x 16 attempts, difficulties normal: of 90 figures most are covered."""
    covered = {"ddm": 0, "max_gap": 0, "top5_sum": 0}
    for seed in range(30):
        simulated = simulate(12, 40, 16, seed=100 + seed)
        fit = known(fit_1pl(simulated.log, engine="mml"), simulated.theta, 0.0, 1.5)
        figures = benchmark_figures(fit, simulated.log, AXIS, draws=40, seed=seed).sets[0]
        z = AXIS.to_z(simulated.b)
        for name, true in (("ddm", ddm(z)), ("max_gap", max_gap(z)), ("top5_sum", top_k_gap_sum(z, 5))):
            figure = getattr(figures, name)
            covered[name] += figure.lo90 <= true <= figure.hi90
    # Binomial(30, 0.9) is at least 22 with probability 0.99.
    assert min(covered.values()) >= 22
    assert sum(covered.values()) < 90


def test_the_point_figure_lies_outside_its_interval_with_one_attempt() -> None:
    simulated = simulate(12, 500, 1, seed=5)
    fit = fit_1pl(simulated.log, engine="mml")
    found = benchmark_figures(fit, simulated.log, minmax_scale(fit), draws=100)
    widest = found.sets[0].max_gap
    assert widest.point > widest.hi90
    assert found.shape_dependent
    assert found.blur == pytest.approx(0.45, abs=0.1)


def test_many_attempts_do_not_depend_on_the_shape() -> None:
    simulated = simulate(12, 60, 64, seed=5)
    fit = fit_1pl(simulated.log, engine="mml")
    assert not benchmark_figures(fit, simulated.log, minmax_scale(fit), draws=20).shape_dependent


def test_many_items_depend_on_the_shape_where_neighbours_are_nearer_than_is_known() -> None:
    # Evenly spread, so that no neighbours are as far apart as at the ends of a normal density.
    log = answer(np.linspace(-1.5, 1.5, 12), np.linspace(-2.6, 2.6, 400), 64, seed=5)
    fit = fit_1pl(log, engine="mml")
    found = benchmark_figures(fit, log, minmax_scale(fit), draws=20)
    assert found.blur < SHAPE_LIMIT
    assert found.gap_blur > 0.5
    assert found.shape_dependent


def test_censored_items_are_counted_and_left_out_on_the_same_axis() -> None:
    simulated = simulate(3, 30, 2, seed=7)
    fit = fit_1pl(simulated.log, engine="mml")
    assert 0 < fit.censored.sum() < 30
    scale = minmax_scale(fit)
    found = benchmark_figures(fit, simulated.log, scale, target=Beta(2.0, 2.0), draws=50)
    every, without, pool = found.sets
    assert [each.items for each in found.sets] == ["all", "uncensored", "all"]
    assert [each.scale for each in found.sets] == ["minmax", "minmax", "pool"]
    assert without.n_items == 30 - found.n_censored == int((~fit.censored).sum())
    assert without.ddm.point == pytest.approx(distance(scale.to_z(fit.b[~fit.censored]), Beta(2.0, 2.0)))
    assert pool.max_gap.point == pytest.approx(max_gap(pool_scale(fit).to_z(fit.b)))
    assert every.target == "beta:2,2"
    assert (found.draws, len(benchmark_figures(fit, simulated.log, pool_scale(fit), draws=2).sets)) == (1, 2)


def test_same_seed_same_figures() -> None:
    simulated = simulate(5, 20, 4, seed=1)
    fit = fit_1pl(simulated.log, engine="mml")
    first, second, other = (
        benchmark_figures(fit, simulated.log, AXIS, draws=20, seed=seed) for seed in (1, 1, 2)
    )
    assert first == second
    assert first != other


def test_sets_are_drawn_as_often_as_asked() -> None:
    simulated = simulate(5, 20, 4, seed=1)
    conditionals = conditionals_of(fit_1pl(simulated.log, engine="mml"), simulated.log, draws=1)
    assert np.array(list(item_sets(conditionals, 3, 0))).shape == (3, 20)


def test_all_items_censored() -> None:
    correct = np.zeros((4, 6), dtype=np.int64)
    correct[:, :3] = 2
    log = log_of(correct, 2)
    fit = fit_1pl(log, engine="mml")
    found = benchmark_figures(fit, log, minmax_scale(fit), target=Uniform(), draws=10)
    assert [each.items for each in found.sets] == ["all", "all"]
    assert found.n_censored == 6


def test_the_failure_axis_is_curved_and_holds_everything() -> None:
    simulated = simulate(8, 25, 8, seed=3)
    fit = fit_1pl(simulated.log, engine="mml")
    axis = failure_scale(fit)
    z = axis.to_z(fit.b)
    assert z == pytest.approx([1.0 - expit(fit.theta - b).mean() for b in fit.b])
    assert axis.to_b(z) == pytest.approx(fit.b, abs=1e-9)
    assert axis.to_b(axis.to_z(0.3)) == pytest.approx(0.3)
    assert (axis.to_z(axis.lo), axis.to_z(axis.hi)) == pytest.approx((0.02, 0.98))
    found = benchmark_figures(fit, simulated.log, axis, draws=20).sets[0]
    assert found.max_gap.point == pytest.approx(max_gap(z))
