"""The learned shape of the difficulties: against importance sampling from its prior, and against simulated truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from benchfill.calibration.conditionals import conditionals_of
from benchfill.calibration.figures import benchmark_figures, item_sets
from benchfill.calibration.fit import fit_1pl
from benchfill.calibration.measure import ddm, max_gap, top_k_gap_sum
from benchfill.calibration.scale import Scale
from benchfill.calibration.shape import ALPHAS, DEGREES, REACH, SCALES, WIDTH, base_weights
from tests.calibration.answers import answer
from tests.calibration.simulated import Array, known, log_of, simulate

AXIS = Scale("axis", -3.0, 3.0)
SIGMA = 1.5


def figures_of(z: Array) -> tuple[float, float, float]:
    return ddm(z), max_gap(z), top_k_gap_sum(z, 5)


def test_item_sets_are_those_of_the_joint_posterior() -> None:
    """Shapes are drawn from their prior and weighted by the likelihood of all answers; items then one by one."""
    simulated = simulate(5, 8, 6, seed=2)
    fit = known(fit_1pl(simulated.log, engine="mml"), simulated.theta, 0.0, SIGMA)
    found = benchmark_figures(fit, simulated.log, AXIS, draws=1200, seed=1).sets[0]
    grid, generator = np.linspace(-12.0, 12.0, 2401), np.random.default_rng(3)
    places = np.arange(-round(REACH / WIDTH), round(REACH / WIDTH) + 1) * WIDTH
    kernels = np.exp(-0.5 * ((grid[:, None] / SIGMA - places) / WIDTH) ** 2)
    kernels /= kernels.sum(axis=0)
    likelihood = np.empty((8, grid.size))
    for item in range(8):
        height = np.zeros(grid.size)
        for ability, right in zip(simulated.theta, simulated.log.correct[:, item], strict=True):
            success = expit(ability - grid)
            height += right * np.log(success) + (6 - right) * np.log1p(-success)
        likelihood[item] = np.exp(height - height.max())
    bases = np.array([base_weights(scale, df, places) for scale in SCALES for df in DEGREES])
    shapes = generator.gamma(
        generator.choice(ALPHAS, 40_000)[:, None] * bases[generator.integers(len(bases), size=40_000)]
    )
    shapes /= shapes.sum(axis=1, keepdims=True)
    weight = np.prod((likelihood @ kernels) @ shapes.T, axis=0)
    chosen = shapes[generator.choice(len(shapes), size=1200, p=weight / weight.sum())]
    mass = np.cumsum(likelihood[:, None] * (kernels @ chosen.T).T, axis=2)
    aim = generator.random((8, 1200, 1)) * mass[:, :, -1:]
    sets = AXIS.to_z(grid[(mass < aim).sum(axis=2)]).T
    expected = np.quantile([figures_of(z) for z in sets], [0.05, 0.5, 0.95], axis=0).T
    for figure, quantiles in zip((found.ddm, found.max_gap, found.top5_sum), expected, strict=True):
        assert [figure.lo90, figure.median, figure.hi90] == pytest.approx(quantiles, abs=0.015)


def test_figures_of_skewed_difficulties_hold_where_a_normal_bell_does_not() -> None:
    """500 items, one attempt of 12 models each: under the normal prior the interval of DDM misses its truth."""
    learned, normal = 0, 0
    for seed in range(10):
        generator = np.random.default_rng([seed, 4])
        theta = generator.normal(size=12)
        b = 1.5 * (generator.gamma(2.0, 1.0, 500) - 2.0) / np.sqrt(2.0)
        log = answer(theta - theta.mean(), b - theta.mean(), 1, seed=seed)
        fit = fit_1pl(log, engine="laplace", seed=seed, draws=150)
        conditionals, true = conditionals_of(fit, log, draws=60), ddm(AXIS.to_z(b - theta.mean()))
        lo, hi = np.quantile(
            [ddm(AXIS.to_z(each)) for each in item_sets(conditionals, 60, seed)], [0.05, 0.95]
        )
        learned += lo <= true <= hi
        plain = [ddm(AXIS.to_z(given.draw(generator))) for given in conditionals]
        lo, hi = np.quantile(plain, [0.05, 0.95])
        normal += lo <= true <= hi
    assert learned >= 6
    assert normal <= learned - 4


def test_an_item_far_from_all_others_keeps_its_place() -> None:
    """Beyond the outermost kernel, and known well: it stays where its answers put it."""
    theta = np.linspace(-2.0, 9.0, 12)
    log = answer(theta, np.append(np.linspace(-0.1, 0.1, 60), 9.0), 4000, seed=1)
    fit = fit_1pl(log, engine="mml")
    sets = np.array(list(item_sets(conditionals_of(fit, log, draws=1), 20, 0)))
    assert np.isfinite(sets).all()
    assert sets[:, -1] == pytest.approx(fit.b[-1], abs=0.2)


def test_an_item_about_which_little_is_known_follows_the_others() -> None:
    """One model gave one right and one wrong answer: its place is that of either cluster, not between them."""
    whole = answer(np.zeros(8), np.append(np.repeat([-2.0, 2.0], 40), 0.0), 200, seed=3)
    correct, attempts = whole.correct.copy(), whole.attempts.copy()
    correct[:, 80], attempts[:, 80] = [1, *[0] * 7], [2, *[0] * 7]  # one model: once right, once wrong
    log = log_of(correct, attempts)
    fit = fit_1pl(log, engine="mml")
    drawn = np.array([each[-1] for each in item_sets(conditionals_of(fit, log, draws=1), 400, 0)])
    assert np.mean(np.abs(drawn) < 0.6) < 0.1
    assert 0.3 < np.mean(drawn > 0) < 0.7
