"""Item models with random items: against direct integration, simulated truth and the collapsed 1PL."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit, logsumexp
from scipy.stats import binom, norm

from benchfill.calibration.fit import fit_1pl
from benchfill.calibration.latent import integrate, log_marginals, place_nodes
from benchfill.calibration.model_slopes import _FORMS, ItemModelFit, fit_item_model
from benchfill.calibration.patterns import group_patterns
from benchfill.calibration.response_log import ResponseLog
from benchfill.errors import InputError
from tests.calibration.simulated import log_of, simulate

Array = NDArray[np.float64]


def sloped(models: int, items: int, attempts: int, *, seed: int) -> tuple[ResponseLog, Array, Array, Array]:
    """A log drawn with a slope a model: log, abilities, slopes (mean one) and difficulties."""
    generator = np.random.default_rng(seed)
    theta = generator.normal(0.0, 1.2, models)
    slope = generator.uniform(0.4, 1.6, models)
    slope /= slope.mean()
    b = generator.normal(0.0, 1.5, items)
    chance = expit(slope[:, None] * (theta[:, None] - b))
    return log_of(generator.binomial(attempts, chance), attempts), theta, slope, b


@cache
def fitted_slopes() -> tuple[ItemModelFit, ResponseLog, Array, Array, Array]:
    log, theta, slope, b = sloped(12, 150, 8, seed=3)
    return fit_item_model(log, "model_slopes"), log, theta, slope, b


@pytest.mark.parametrize("model", ["1pl", "model_slopes", "2pl"])
@pytest.mark.parametrize("attempts", [1, 400])
def test_marginals_are_those_of_a_fine_grid(model: str, attempts: int) -> None:
    """Also the prior's mass and the binomial likelihood are checked: plain scipy on a fine grid."""
    guessing = np.array([0.0, 0.0, 0.25, 0.0, 0.25, 0.0])
    w, b = np.array([-1.0, -0.2, 0.5, 1.4]), np.array([-3.0, -1.0, -0.5, 0.2, 1.0, 2.5])
    chance = guessing + (1.0 - guessing) * expit(w[:, None] - b)
    log = log_of(np.random.default_rng(2).binomial(attempts, chance), attempts)
    form, data = _FORMS[model], group_patterns(log, guessing)
    phi = {
        "1pl": np.append(w, np.log(1.3)),
        "model_slopes": np.column_stack([w, [0.5, 1.0, 1.5, 2.0]]).ravel(),
        "2pl": np.append(w, [np.log(1.3), np.log(0.3)]),
    }[model]
    start = np.zeros((data.size.size, form.dimensions))
    value, _ = log_marginals(form, data, phi, place_nodes(form, data, phi, start))
    place, step = np.linspace(-8.0, 8.0, 6001 if model != "2pl" else 901, retstep=True)
    log_slope, turn = np.linspace(-1.5, 1.5, 121, retstep=True) if model == "2pl" else (np.zeros(1), 1.0)
    for pattern in range(data.size.size):
        right, asked = data.correct[:, pattern], data.attempts[:, pattern]
        g = data.guessing[pattern]
        height = np.zeros((place.size, log_slope.size))
        for model_at in range(4):
            if model == "model_slopes":
                logit = (phi[2 * model_at] - phi[2 * model_at + 1] * place)[:, None]
            else:
                logit = np.exp(log_slope) * (w[model_at] - place[:, None])
            likelihood = binom.logpmf(right[model_at], asked[model_at], g + (1.0 - g) * expit(logit))
            # Without the binomial coefficient.
            height += (
                likelihood
                - binom.logpmf(right[model_at], asked[model_at], 0.5)
                - asked[model_at] * np.log(2.0)
            )
        height += norm.logpdf(place, 0.0, 1.0 if model == "model_slopes" else 1.3)[:, None]
        if model == "2pl":
            height += norm.logpdf(log_slope, 0.0, 0.3)
        expected = logsumexp(height) + np.log(step * turn)
        assert value[pattern] == pytest.approx(expected, abs=2e-2 if model == "2pl" else 2e-4)


@pytest.mark.parametrize("model", ["1pl", "model_slopes", "2pl"])
def test_gradient_and_hessian_are_those_of_the_value(model: str) -> None:
    log = simulate(3, 8, 3, seed=6).log
    form, data = _FORMS[model], group_patterns(log, np.repeat([0.0, 0.2], 4))
    phi = np.random.default_rng(1).normal(0.5, 0.3, 3 * form.n_features + form.n_hyper)
    phi[phi.size - form.n_hyper :] = np.log([1.2, 0.25])[: form.n_hyper]
    start = np.zeros((data.size.size, form.dimensions))

    def look(at: Array) -> tuple[float, Array]:
        found = integrate(form, data, at, place_nodes(form, data, at, start))
        return found.value, found.gradient

    exact = integrate(form, data, phi, place_nodes(form, data, phi, start))
    h = 1e-4
    for parameter, shift in enumerate(h * np.eye(phi.size)):
        (up, slope_up), (down, slope_down) = look(phi + shift), look(phi - shift)
        loose = 2e-2 if model == "2pl" else 2e-3
        assert exact.gradient[parameter] == pytest.approx((up - down) / (2 * h), abs=loose)
        assert exact.hessian[parameter] == pytest.approx((slope_up - slope_down) / (2 * h), abs=5 * loose)


@pytest.mark.parametrize(("items", "attempts"), [(400, 1), (60, 200)])
def test_the_1pl_is_the_one_of_the_engines(items: int, attempts: int) -> None:
    log = simulate(10, items, attempts, seed=4).log
    found, known = fit_item_model(log, "1pl"), fit_1pl(log, engine="mml")
    shift = found.theta.mean()
    # Their weak priors differ: a fixed spread of abilities here, an estimated one there.
    assert np.abs(found.theta - shift - known.theta).max() < 0.05
    assert np.abs(found.b - shift - known.b).max() < 0.05
    assert found.sigma_b == pytest.approx(known.sigma_b_draws[0], rel=0.01)


def test_slopes_of_models_are_recovered() -> None:
    found, _, theta, slope, b = fitted_slopes()
    assert np.abs(found.slope - slope).max() < 0.25
    assert found.slope.mean() == pytest.approx(1.0)
    shift = found.b.mean() - b.mean()
    assert np.sqrt(np.mean((found.b - shift - b) ** 2)) < 0.35
    # An ability moves its curve by slope times itself: a flat curve tells less of it.
    assert np.abs(slope * (found.theta - shift - theta)).max() < 0.3


def test_draws_of_curves_have_the_spread_that_repetition_shows() -> None:
    """The sd of a slope over fresh logs of the same truth is the one the fit states."""
    found, _, theta, slope, b = fitted_slopes()
    c, s = found.draw_curves(400, np.random.default_rng(0))
    assert c.shape == s.shape == (400, 12)
    generator = np.random.default_rng(8)
    chance = expit(slope[:, None] * (theta[:, None] - b))
    again = []
    for _ in range(8):
        fit = fit_item_model(log_of(generator.binomial(8, chance), 8), "model_slopes")
        again.append(fit.slope * fit.sigma_b)
    ratio = np.sqrt(np.mean(np.var(again, axis=0, ddof=1)) / np.mean(s.var(axis=0)))
    # Items are the same in all logs, and the fit allows for others: what it states is the larger.
    assert 0.6 < ratio < 1.15
    with pytest.raises(ValueError, match="model_slopes"):
        fit_item_model(simulate(4, 20, 1, seed=0).log, "1pl").draw_curves(2, generator)


def test_slopes_of_items_are_recovered() -> None:
    generator = np.random.default_rng(5)
    theta, b = np.linspace(-2.0, 2.0, 12), generator.normal(0.0, 1.0, 150)
    slope = np.exp(generator.normal(0.0, 0.5, 150))
    log = log_of(generator.binomial(30, expit(slope * (theta[:, None] - b))), 30)
    found = fit_item_model(log, "2pl")
    assert found.sigma_a == pytest.approx(0.5, abs=0.12)
    ratio = np.log(found.item_slope / slope)
    assert np.std(ratio) < 0.25
    assert found.n_parameters == 14


def test_a_model_that_is_always_right_keeps_a_finite_place() -> None:
    log = simulate(6, 80, 1, seed=9).log
    correct = log.correct.copy()
    correct[2] = 1
    found = fit_item_model(ResponseLog(log.models, log.items, correct, log.attempts), "model_slopes")
    assert np.isfinite(found.theta).all()
    assert found.success()[2].min() > 0.5


def test_missing_cells_and_order_do_not_matter() -> None:
    log = simulate(6, 60, 2, seed=7).log
    holes = np.random.default_rng(0).random(log.attempts.shape) < 0.2
    some = log_of(np.where(holes, 0, log.correct), np.where(holes, 0, log.attempts))
    found = fit_item_model(some, "model_slopes")
    turned = ResponseLog(some.models, some.items, some.correct[::-1, ::-1], some.attempts[::-1, ::-1])
    other = fit_item_model(turned, "model_slopes")
    assert np.allclose(found.theta, other.theta[::-1], atol=1e-3)
    assert np.allclose(found.b, other.b[::-1], atol=1e-3)
    with pytest.raises(InputError):
        fit_item_model(log, "3pl")  # type: ignore[arg-type]
