"""Item fit: planted misfits are flagged, sound items are not, and each figure is its definition."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import false_discovery_control

from benchfill.calibration.fit import fit_1pl
from benchfill.calibration.item_fit import benjamini_hochberg, item_fit
from benchfill.logs.responses import read_responses
from tests.calibration.simulated import log_of, simulate


def test_adjustment_is_benjamini_hochberg() -> None:
    p = np.random.default_rng(0).random(50) ** 3
    assert benjamini_hochberg(p) == pytest.approx(false_discovery_control(p))
    some = np.append(p, np.nan)
    assert benjamini_hochberg(some)[:50] == pytest.approx(false_discovery_control(p))
    assert np.isnan(benjamini_hochberg(some)[50])


def test_mean_squares_and_residual_misfit_are_their_formulas() -> None:
    log = simulate(9, 30, 6, seed=1).log
    fit = fit_1pl(log, engine="mml", guessing=np.full(30, 0.2))
    found = item_fit(fit, log)
    p = 0.2 + 0.8 * expit(fit.theta[:, None] - fit.b)
    variance, off = 6 * p * (1 - p), log.correct - 6 * p
    assert found.outfit == pytest.approx((off**2 / variance).mean(axis=0))
    assert found.infit == pytest.approx((off**2).sum(axis=0) / variance.sum(axis=0))
    h = 1e-6
    slope = (0.8 * expit(fit.theta[:, None] - fit.b - h) - 0.8 * expit(fit.theta[:, None] - fit.b + h)) / (
        2 * h
    )
    excess = (log.correct / 6 - p) ** 2 - p * (1 - p) / 6
    tau = np.sqrt(np.maximum(excess.sum(axis=0), 0.0) / (slope**2).sum(axis=0))
    assert found.residual == pytest.approx(tau, abs=1e-6)
    of_models = np.sqrt(np.maximum(excess.sum(axis=1), 0.0) / (slope**2).sum(axis=1))
    assert found.model_residual == pytest.approx(of_models, abs=1e-6)


def test_residual_misfit_is_in_logits() -> None:
    """Cells that depart by 0.5 logits are said to, where the departure is small enough for first order."""
    generator = np.random.default_rng(2)
    theta, b = np.linspace(-1.5, 1.5, 20), generator.normal(0.0, 1.0, 80)
    logit = theta[:, None] - b + generator.normal(0.0, 0.5, (20, 80))
    log = log_of(generator.binomial(200, expit(logit)), 200)
    found = item_fit(fit_1pl(log, engine="mml"), log)
    assert found.overall == pytest.approx(0.5, abs=0.06)
    assert found.median == pytest.approx(0.5, abs=0.06)


def test_planted_misfits_are_flagged_and_nothing_else() -> None:
    generator = np.random.default_rng(5)
    theta, b = np.linspace(-2.0, 2.0, 12), generator.normal(0.0, 1.0, 60)
    chance = expit(theta[:, None] - b)
    chance[:, 10] = 0.5 + 0.45 * (-1.0) ** np.arange(12)  # no matter of ability
    chance[:, 20] = 1.0 - expit(3.0 * theta)  # keyed wrong
    log = log_of(generator.binomial(16, chance), 16)
    found = item_fit(fit_1pl(log, engine="laplace"), log)
    flagged = {each.id: each for each in found.flagged}
    assert set(flagged) == {"item-000010", "item-000020"}
    assert flagged["item-000010"].reasons == ("misfit",)
    assert flagged["item-000020"].reasons == ("misfit", "reversed")
    assert all(each.p_adjusted < 0.01 and each.residual > found.median + 1.0 for each in flagged.values())


def test_a_true_1pl_is_not_accused_though_outfit_would() -> None:
    accused, outfit = 0, []
    for seed in range(4):
        log = simulate(12, 150, 1, seed=seed).log
        found = item_fit(fit_1pl(log, engine="mml"), log)
        accused += sum("misfit" in each.reasons for each in found.flagged)
        outfit += (found.outfit > 1.5).tolist()
    assert accused == 0
    assert np.mean(outfit) > 0.03


def test_replicates_suffice_for_a_single_bad_item_among_many() -> None:
    """1 / (1 + replicates) must not keep the only bad one of 400 items above the adjusted level."""
    generator = np.random.default_rng(9)
    chance = expit(np.linspace(-2.0, 2.0, 12)[:, None] - generator.normal(0.0, 1.0, 400))
    chance[:, 7] = np.where(np.arange(12) % 2, 0.98, 0.02)
    log = log_of(generator.binomial(4, chance), 4)
    found = item_fit(fit_1pl(log, engine="mml"), log)
    assert [each.id for each in found.flagged if "misfit" in each.reasons] == ["item-000007"]
    again = item_fit(fit_1pl(log, engine="mml"), log)
    assert np.array_equal(found.p, again.p)


def test_the_reversed_item_is_flagged(shared: Path) -> None:
    log = read_responses(shared / "cases/matrices/m35_reversed_item.csv").log
    found = item_fit(fit_1pl(log, engine="mml"), log)
    assert [(each.id, each.reasons) for each in found.flagged] == [("bad_key", ("reversed",))]


def test_public_logs_depart_by_about_a_logit(shared: Path) -> None:
    """A sketch says 1.1 to 1.2 logits a cell on AIME24 and MATH-500; it does not give its formula."""
    log = read_responses(
        shared / "data/matrices/noises_highk_temp0.7__aime2024_cot/responses_long.csv.gz"
    ).log
    found = item_fit(fit_1pl(log, engine="mml"), log)
    assert 0.9 < found.overall < 1.2
    assert (found.outfit > 1.5).mean() > 0.9
    assert len(found.flagged) < 4
