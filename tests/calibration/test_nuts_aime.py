"""NUTS on AIME24, 50 models x 30 items with up to 1100 attempts, held against the plain model.

Difficulties are known to 0.01 logits given the abilities there, which is where a quadrature laid on the prior
fails. The reference is Stein's identity: under the plain model with every difficulty in it, posterior draws x have
``E[score_k] = 0`` and ``E[(x_k - E x_k) score_k] = -1``, where score is the gradient of the plain log density. Its
difficulties are drawn here from fine grids, by code that shares nothing with the product.
``benchmarks/fit_speed.py`` makes the direct comparison with plain PyMC, which takes too long for a test.
"""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest

from benchfill.calibration.fit import Fit, fit_1pl
from benchfill.calibration.response_log import ResponseLog

DRAWS = 400


def read(path: Path) -> ResponseLog:
    with gzip.open(path, "rt", newline="") as lines:
        rows = list(csv.DictReader(lines))
    models, items = (tuple(sorted({row[key] for row in rows})) for key in ("model", "item_id"))
    correct, attempts = np.zeros((2, len(models), len(items)), dtype=np.int64)
    for row in rows:
        cell = models.index(row["model"]), items.index(row["item_id"])
        correct[cell], attempts[cell] = int(row["correct"]), int(row["count"])
    return ResponseLog(models, items, correct, attempts)


@pytest.fixture(scope="module")
def log(shared: Path) -> ResponseLog:
    folder = shared / "data" / "matrices" / "noises_highk_temp0.7__aime2024_cot"
    if not folder.is_dir():
        pytest.skip("the AIME24 log is absent")
    return read(folder / "responses_long.csv.gz")


@pytest.fixture(scope="module")
def fit(log: ResponseLog) -> Fit:
    return fit_1pl(log, seed=1)


def plain_difficulties(log: ResponseLog, fit: Fit, rows: np.ndarray) -> np.ndarray:
    """One difficulty of each item for each of these draws, by inversion on a grid: shape (draws, items)."""
    rng = np.random.default_rng(7)
    found = np.empty((rows.size, len(log.items)))
    total = log.correct.sum(axis=0)
    for item in range(len(log.items)):
        grid = fit.b[item] + fit.b_sd[item] * np.linspace(-9, 9, 601)
        for place, row in enumerate(rows):
            loss = np.logaddexp(0, fit.theta_draws[row][:, None] - grid)
            height = -total[item] * grid - log.attempts[:, item] @ loss
            height -= 0.5 * ((grid - fit.mu_b_draws[row]) / fit.sigma_b_draws[row]) ** 2
            cdf = np.cumsum(np.exp(height - height.max()))
            found[place, item] = np.interp(rng.random() * cdf[-1], cdf, grid)
    return found


@pytest.mark.slow
def test_the_gate_is_met_and_the_figures_are_finite(log: ResponseLog, fit: Fit) -> None:
    assert (len(log.models), len(log.items), log.attempts.max()) == (50, 30, 1100)
    assert fit.gate.passed, fit.gate.reasons
    assert fit.gate.rhat_max is not None
    assert fit.gate.rhat_max <= 1.01
    assert np.isfinite(fit.b).all()
    assert fit.b_sd.min() < 0.05  # far narrower than a prior of sd 3


@pytest.mark.slow
def test_the_draws_satisfy_the_identities_of_the_plain_model(log: ResponseLog, fit: Fit) -> None:
    rows = np.linspace(0, len(fit.theta_draws) - 1, DRAWS).astype(int)
    b = plain_difficulties(log, fit, rows)
    assert np.abs((b.mean(axis=0) - fit.b) / fit.b_sd).max() < 5 / np.sqrt(DRAWS)
    assert np.abs(b.std(axis=0) / fit.b_sd - 1).max() < 0.2
    theta, mu, sigma = fit.theta_draws[rows], fit.mu_b_draws[rows], fit.sigma_b_draws[rows]
    models = len(log.models)
    spread = np.exp(np.linspace(-4, 4, 2001))
    height = -0.5 * (np.log(spread) / 0.75) ** 2 - (models - 1) * np.log(spread)
    weight = np.exp(height - 0.5 * (theta**2).sum(axis=1, keepdims=True) / spread**2 - height.max())
    precision = (weight / spread**2).sum(axis=1) / weight.sum(axis=1)
    success = 1 / (1 + np.exp(b[:, None, :] - theta[:, :, None]))
    by_theta = (log.correct - log.attempts * success).sum(axis=2) - precision[:, None] * theta
    z = (b - mu[:, None]) / sigma[:, None]
    by_mu = z.sum(axis=1) / sigma - mu / 25
    by_log_sigma = (z**2 - 1).sum(axis=1) - (np.log(sigma) - 0.5)
    contrast = np.linalg.svd(np.ones((1, models)))[2][1:]  # any basis of the zero-sum abilities
    scores = np.column_stack([by_theta @ contrast.T, by_mu, by_log_sigma])
    places = np.column_stack([theta @ contrast.T, mu, np.log(sigma)])
    for identity, expected in ((scores, 0.0), ((places - places.mean(axis=0)) * scores, -1.0)):
        error = identity.std(axis=0) / np.sqrt(DRAWS)
        assert np.abs((identity.mean(axis=0) - expected) / error).max() < 5
    assert np.median(((places - places.mean(axis=0)) * scores).mean(axis=0)) == pytest.approx(-1, abs=0.05)
