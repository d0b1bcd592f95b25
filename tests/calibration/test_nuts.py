"""The sampled posterior against brute force, against plain PyMC, and at the limits of its quadrature."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from benchfill.calibration import nuts
from benchfill.calibration.fit import fit_1pl
from benchfill.calibration.grouping import group_items
from benchfill.calibration.mml import find_mode
from benchfill.errors import BenchfillError
from tests.calibration.answers import answer
from tests.calibration.simulated import log_of


def silent(fraction: float, message: str) -> None:
    """No progress."""


def brute_force(correct: np.ndarray, attempts: int) -> dict[str, np.ndarray]:
    """Posterior means and sds of two models' half difference, mu_b, log sigma_b and every b, on plain grids."""
    t = np.linspace(-4, 4, 41)
    mu, log_sigma = np.linspace(-9, 9, 37), np.linspace(-3.2, 4.2, 38)
    b = np.linspace(-40, 40, 801)
    spread = np.exp(np.linspace(-5, 5, 1001))
    width = np.exp(-0.5 * (np.log(spread) / 0.75) ** 2)
    prior_t = (width / spread * np.exp(-(t[:, None] ** 2) / spread**2)).sum(axis=1)  # |theta|**2 = 2 t**2
    sigma = np.exp(log_sigma)[None, :, None]
    prior_b = np.exp(-0.5 * ((b - mu[:, None, None]) / sigma) ** 2)
    prior_b /= prior_b.sum(axis=2, keepdims=True)
    flat_prior = prior_b.reshape(-1, b.size)
    wrong = attempts - correct
    success = 1 / (1 + np.exp(b - np.stack([t, -t])[:, :, None]))
    posterior = prior_t[:, None, None] * np.exp(
        -0.5 * (mu / 5) ** 2 - 0.5 * (log_sigma[:, None] - 0.5) ** 2
    ).T.reshape(1, mu.size, log_sigma.size)
    marginal, mean, square = [], [], []
    for item in range(correct.shape[1]):
        likelihood = np.prod(
            success ** correct[:, item, None, None] * (1 - success) ** wrong[:, item, None, None], axis=0
        )
        z, first, second = (
            ((likelihood * b**power) @ flat_prior.T).reshape(posterior.shape) for power in (0, 1, 2)
        )
        marginal.append(z)
        mean.append(first / z)
        square.append(second / z)
        posterior = posterior * z
    posterior /= posterior.sum()
    figures = [t[:, None, None], mu[None, :, None], log_sigma[None, None, :]]
    centre = [float((posterior * each).sum()) for each in figures] + [
        float((posterior * each).sum()) for each in mean
    ]
    power = [float((posterior * each**2).sum()) for each in figures]
    power += [float((posterior * each).sum()) for each in square]
    return {"mean": np.array(centre), "sd": np.sqrt(np.array(power) - np.array(centre) ** 2)}


def test_nuts_is_the_posterior_that_brute_force_finds() -> None:
    correct = np.array([[3, 3, 1, 2, 0], [2, 1, 0, 3, 0]])
    expected = brute_force(correct, 3)
    fit = fit_1pl(log_of(correct, 3), seed=1)
    assert fit.gate.passed, fit.gate.reasons
    log_sigma = np.log(fit.sigma_b_draws)
    mean = np.array([fit.theta[0], fit.mu_b_draws.mean(), log_sigma.mean(), *fit.b])
    sd = np.array([fit.theta_sd[0], fit.mu_b_draws.std(), log_sigma.std(), *fit.b_sd])
    assert fit.gate.ess_min is not None
    error = 4.5 / np.sqrt(fit.gate.ess_min)
    assert np.abs((mean - expected["mean"]) / expected["sd"]).max() < error
    assert np.abs(np.log(sd / expected["sd"])).max() < 1.5 * error


@pytest.mark.slow
def test_nuts_agrees_with_plain_pymc_under_guessing_and_missing_cells() -> None:
    rng = np.random.default_rng(3)
    theta, b = rng.normal(0, 1.2, 5), rng.normal(0.3, 1.5, 10)
    chance = np.where(np.arange(10) < 4, 0.25, 0.0)
    attempts = rng.integers(0, 8, (5, 10))
    attempts[0] = 6
    log = answer(theta, b, attempts, seed=5, guessing=chance)
    ours = fit_1pl(log, guessing=chance, seed=2)
    plain = fit_1pl(log, guessing=chance, seed=2, engine="full")
    assert ours.gate.passed, ours.gate.reasons
    assert plain.gate.rhat_max is not None
    assert plain.gate.rhat_max < 1.02
    assert plain.gate.ess_min is not None
    assert ours.gate.ess_min is not None
    error = 4.5 * np.sqrt(1 / plain.gate.ess_min + 1 / ours.gate.ess_min)
    for name in ("b", "theta"):
        sd = getattr(plain, f"{name}_sd")
        assert np.abs((getattr(ours, name) - getattr(plain, name)) / sd).max() < error, name
        assert np.abs(np.log(getattr(ours, f"{name}_sd") / sd)).max() < 2 * error, name
    for name in ("b_lo90", "b_hi90"):
        assert np.abs((getattr(ours, name) - getattr(plain, name)) / plain.b_sd).max() < 3 * error, name


def test_nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    model = nuts.import_pymc().Model

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("something was compiled")

    for name in ("compile_fn", "compile_logp", "logp_dlogp_function", "initial_point", "point_logps"):
        assert hasattr(model, name)
        monkeypatch.setattr(model, name, refuse)
    fit = fit_1pl(answer(np.array([-0.5, 0.5]), np.zeros(6), 8, seed=1), seed=1)
    assert fit.gate.passed


def test_a_sampler_that_cannot_start_is_one_readable_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise MemoryError("out of memory")

    monkeypatch.setattr(nuts, "import_pymc", lambda: SimpleNamespace(Model=fail))
    with pytest.raises(BenchfillError) as caught:
        fit_1pl(log_of(np.array([[1, 0], [0, 1]]), 1))
    assert "\n" not in str(caught.value)
    assert "memory" in str(caught.value)


def test_a_compiler_that_dies_is_one_readable_line(monkeypatch: pytest.MonkeyPatch) -> None:
    pymc = nuts.import_pymc()

    def die(*args: object, **kwargs: object) -> None:
        raise RuntimeError("Compilation failed\nkilled: out of memory\n" + "x" * 5000)

    monkeypatch.setattr(pymc, "sample", die)
    with pytest.raises(BenchfillError) as caught:
        fit_1pl(log_of(np.array([[1, 0], [0, 1]]), 1), engine="full")
    assert "\n" not in str(caught.value)
    assert "killed" in str(caught.value)
    assert len(str(caught.value)) < 400


def test_nodes_that_do_not_cover_the_posterior_are_replaced_after_warm_up(monkeypatch) -> None:
    log = answer(np.array([-1.0, 0.0, 1.0]), np.linspace(-2, 2, 8), 50, seed=2)
    groups = group_items(log, np.zeros(8))
    mode = find_mode(groups)
    honest = nuts.sample_nuts(groups, mode, seed=1, progress=silent)
    asked: list[int] = []
    real = nuts.quadrature_error

    def once_bad(*args: object) -> float:
        asked.append(1)
        return 0.5 if len(asked) == 1 else real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(nuts, "quadrature_error", once_bad)
    again = nuts.sample_nuts(groups, mode, seed=1, progress=silent)
    assert len(asked) == 2
    assert again.gate.passed
    assert np.abs(again.draws.mean(axis=0) - honest.draws.mean(axis=0)).max() < 0.1
    monkeypatch.setattr(nuts, "quadrature_error", lambda *args: 0.5)
    monkeypatch.setattr(nuts, "ESS_WANTED", 0.0)
    refused = nuts.sample_nuts(groups, mode, seed=1, progress=silent)
    assert not refused.gate.passed
    assert any("quadrature" in reason for reason in refused.gate.reasons)
