"""The hierarchical 4PL: its integrals, what it recovers, and what it says it cannot know. All logs are simulated."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.special import expit, logsumexp

from benchfill.calibration.four_latent import Population, integrate, log_marginals, place_frames
from benchfill.calibration.four_parameter import NOT_IDENTIFIED, FourParameterFit, fit_four_parameter
from benchfill.calibration.item_diagnostics import AMBIGUOUS, SHORTCUT, suspects
from benchfill.calibration.patterns import group_patterns
from benchfill.calibration.response_log import ResponseLog
from tests.calibration.simulated import log_of

PHI_TAIL = np.array([0.3, -0.9, -1.8, -0.1, 2.5, 0.2])


def simulated_log(models: int, items: int, attempts: int, seed: int) -> tuple[ResponseLog, np.ndarray]:
    """Abilities Normal(0, 1.8); the first item can be guessed, the second has a wrong key as often as not."""
    generator = np.random.default_rng(seed)
    theta = np.sort(generator.normal(0.0, 1.8, models))
    truth = np.column_stack(
        [
            generator.normal(0.0, 1.2, items),
            np.exp(generator.normal(0.0, 0.4, items)),
            expit(generator.normal(-2.0, 1.0, items)),
            expit(generator.normal(2.5, 1.0, items)),
        ]
    )
    truth[:2] = (0.5, 1.5, 0.7, 0.97), (-0.5, 1.5, 0.05, 0.35)
    b, a, c, d = truth.T
    d[2:] = np.maximum(d, c + 0.2)[2:]
    chance = c + (d - c) * expit(a * (theta[:, None] - b))
    return log_of(generator.binomial(attempts, chance), attempts), truth


@cache
def rich() -> tuple[FourParameterFit, np.ndarray]:
    log, truth = simulated_log(16, 24, 150, seed=4)
    return fit_four_parameter(log), truth


@pytest.mark.parametrize("attempts", [1, 60])
def test_marginals_are_those_of_a_brute_integral(attempts: int) -> None:
    log, _ = simulated_log(8, 6, attempts, seed=1)
    data, who = group_patterns(log), Population(False, 8)
    phi = np.concatenate([np.linspace(-2.0, 2.0, 8), PHI_TAIL])
    start = np.tile([0.0, 0.0, -1.8, 2.5], (data.size.size, 1))
    frames = place_frames(who, data, phi, start)
    value, weight = log_marginals(who, data, phi, frames)
    w, mean, sd = who.split(phi)
    mode, covariance = frames.moments(weight)
    # A fine grid over five posterior standard deviations a dimension.
    width = np.sqrt(np.diagonal(covariance[0]))
    axes = [np.linspace(at - 5.0 * s, at + 5.0 * s, 19) for at, s in zip(mode[0], width, strict=True)]
    x = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 4)
    c, q = expit(x[:, 2]), expit(x[:, 3])
    chance = c + (1.0 - c) * q * expit(np.exp(x[:, 1]) * (w[:, :1] - x[:, 0]))
    one, none = data.correct[:, 0, None], (data.attempts - data.correct)[:, 0, None]
    height = (one * np.log(chance) + none * np.log1p(-chance)).sum(axis=0)
    height -= 0.5 * (((x - mean) / sd) ** 2).sum(axis=1) + np.log(sd).sum() + 2.0 * np.log(2.0 * np.pi)
    cell = np.prod([axis[1] - axis[0] for axis in axes])
    assert value[0] == pytest.approx(logsumexp(height) + np.log(cell), abs=0.02 if attempts == 1 else 0.15)


def test_gradient_and_hessian_are_those_of_the_value() -> None:
    log, _ = simulated_log(5, 12, 2, seed=2)
    data, who = group_patterns(log), Population(True, 5)
    w = np.column_stack([np.linspace(-1.5, 1.5, 5), np.linspace(0.7, 1.6, 5)]).ravel()
    phi = np.concatenate([w, PHI_TAIL[1:]])
    frames = place_frames(who, data, phi, np.tile([0.0, 0.0, -1.8, 2.5], (data.size.size, 1)))
    integral = integrate(who, data, phi, frames)
    generator = np.random.default_rng(0)
    for _ in range(3):
        way = generator.normal(0.0, 1.0, phi.size)
        way /= np.linalg.norm(way)
        h = 0.02
        low, high = (
            float(data.size @ log_marginals(who, data, phi + step * way, frames)[0]) for step in (-h, h)
        )
        assert integral.gradient @ way == pytest.approx((high - low) / (2.0 * h), rel=0.01, abs=0.02)
        assert way @ integral.hessian @ way == pytest.approx(
            (high - 2.0 * integral.value + low) / h**2, rel=0.03, abs=0.1
        )


def test_items_are_recovered_where_the_log_identifies_them() -> None:
    fit, truth = rich()
    known = fit.prior_share < 0.1
    assert known[:, 0].mean() > 0.5
    # The unit and the origin of the axis are the mean item's, not the truth's.
    b = np.polyval(np.polyfit(fit.b[known[:, 0]], truth[known[:, 0], 0], 1), fit.b)
    difference = np.abs(np.column_stack([b, fit.a, fit.c, fit.d]) - truth)
    assert np.median(difference[known[:, 0], 0]) < 0.22
    assert np.corrcoef(np.log(fit.a[known[:, 1]]), np.log(truth[known[:, 1], 1]))[0, 1] > 0.9
    assert np.median(difference[known[:, 2], 2]) < 0.03
    assert np.median(difference[known[:, 3], 3]) < 0.03
    assert fit.c[0] == pytest.approx(0.7, abs=0.06)
    assert fit.d[1] == pytest.approx(0.35, abs=0.06)


def test_suspects_are_the_planted_items() -> None:
    fit, _ = rich()
    found = {(each.item, each.reason) for each in suspects(fit)}
    assert {("item-000000", SHORTCUT), ("item-000001", AMBIGUOUS)} <= found
    for each in suspects(fit):
        assert each.probability >= 0.9
        assert each.value > 0.5 if each.reason == SHORTCUT else each.value < 0.5


def test_few_answers_are_said_to_identify_nothing() -> None:
    log, _ = simulated_log(8, 40, 1, seed=5)
    fit = fit_four_parameter(log)
    assert (fit.prior_share[:, 1:] > NOT_IDENTIFIED).all()
    # What is not known of an item is the population's mean: estimates hardly differ between items.
    assert np.ptp(fit.c) < 0.2
    assert suspects(fit) == ()


def test_a_long_log_takes_one_step_with_all_items(monkeypatch: pytest.MonkeyPatch) -> None:
    log, _ = simulated_log(6, 60, 4, seed=6)
    whole = fit_four_parameter(log)
    monkeypatch.setattr("benchfill.calibration.four_parameter.MOST_ITEMS", 40)
    stepped = fit_four_parameter(log)
    assert stepped.items == whole.items
    # The unit of ability is hardly known from six models, and a climb ends a quarter of a nat from the top; order and
    # chances are known.
    assert np.corrcoef(stepped.theta, whole.theta)[0, 1] > 0.98
    assert np.abs(stepped.success() - whole.success()).mean() < 0.02


def test_a_new_model_is_placed_where_its_twin_is() -> None:
    fit, _ = rich()
    log, _ = simulated_log(16, 24, 150, seed=4)
    again = fit.success_of(log.correct[9], log.attempts[9])
    assert np.abs(again - fit.success()[9]).max() < 0.02
