"""PSN-IRT's networks: the gradient against numerical differences, and what training finds. All logs are simulated."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.stats import spearmanr

from benchfill.calibration.networks import Networks
from benchfill.calibration.neural import NeuralFit, Training, fit_neural
from benchfill.errors import InputError
from tests.calibration.simulated import Simulated, log_of, simulate


@cache
def trained() -> tuple[NeuralFit, Simulated]:
    made = simulate(10, 250, 2, seed=1, spread=1.5)
    return fit_neural(made.log, seed=3), made


def test_gradient_is_that_of_the_loss() -> None:
    generator = np.random.default_rng(0)
    networks = Networks(4, 6, 8, generator, dtype=np.float64)
    for parameter in networks.parameters:
        parameter += generator.normal(0.0, 0.3, parameter.shape)
    model, item = generator.integers(0, 4, 20), generator.integers(0, 5, 20)
    rate, weight = generator.random(20), generator.integers(1, 4, 20).astype(float)
    loss, gradients, rows = networks.gradient(model, item, rate, weight)
    assert loss > 0.0
    for at, gradient in enumerate(gradients):
        whole = np.zeros_like(networks.parameters[at])
        if at % 4 == 0:
            whole[rows[at // 4]] = gradient
        else:
            whole[...] = gradient
        way = generator.normal(0.0, 1.0, whole.shape)
        losses = []
        for step in (-1e-6, 1e-6):
            networks.parameters[at] += step * way
            losses.append(networks.gradient(model, item, rate, weight)[0])
            networks.parameters[at] -= step * way
        assert (whole * way).sum() == pytest.approx((losses[1] - losses[0]) / 2e-6, rel=1e-5, abs=1e-9)


def test_training_finds_abilities_and_difficulties() -> None:
    fit, made = trained()
    curves = fit.curves()
    assert spearmanr(curves.theta, made.theta).statistic > 0.95
    assert spearmanr(curves.success(0.0)[0], -made.b).statistic > 0.75
    rate = made.log.correct.sum() / made.log.attempts.sum()
    entropy = -(rate * np.log(rate) + (1.0 - rate) * np.log1p(-rate))
    assert min(each.aside for each in fit.epochs) < 0.9 * entropy
    assert fit.epochs[fit.best].aside == min(each.aside for each in fit.epochs)


def test_scale_and_sign_of_ability_are_fixed() -> None:
    curves = trained()[0].curves()
    assert curves.theta.mean() == pytest.approx(0.0, abs=1e-6)
    assert np.median(np.abs(curves.a)) == pytest.approx(1.0)
    assert curves.a.mean() > 0.0
    assert trained()[0].success() == pytest.approx(curves.success(curves.theta))


@pytest.mark.parametrize("seed", range(4))
def test_every_start_tells_models_apart_within_a_few_epochs(seed: int) -> None:
    """Begun around zero the span is 0.27 to 0.53 here, and on a long real log one start ended with equal abilities."""
    made = simulate(12, 2000, 1, seed=4, spread=1.5)
    curves = fit_neural(made.log, seed=seed, training=Training(epochs=3)).curves()
    assert spearmanr(curves.theta, made.theta).statistic > 0.95
    # Truly 0.78: from the least to the most able model, on the median item.
    assert np.median(curves.success(curves.theta.max()) - curves.success(curves.theta.min())) > 0.6
    assert (curves.c <= curves.d).all()


def test_a_seed_makes_the_fit() -> None:
    log = simulate(6, 40, 1, seed=2).log
    first, again, other = (
        fit_neural(log, seed=seed, training=Training(epochs=3)).curves().theta for seed in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_new_model_is_placed_where_its_twin_is() -> None:
    fit, made = trained()
    again = fit.success_of(made.log.correct[4], made.log.attempts[4])
    assert np.abs(again - fit.success()[4]).mean() < 0.05


def test_a_tiny_log_is_refused() -> None:
    with pytest.raises(InputError):
        fit_neural(log_of(np.ones((2, 4), dtype=np.int64), 1))
