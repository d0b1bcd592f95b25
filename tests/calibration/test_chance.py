"""Gaps by chance: what gap-free designs show, and what they do not."""

from __future__ import annotations

import numpy as np
import pytest

from benchfill.calibration.chance import affordable_replicates, gap_chances
from benchfill.calibration.fit import fit_1pl
from benchfill.calibration.measure import find_gaps
from benchfill.calibration.scale import minmax_scale
from tests.calibration.simulated import log_of, simulate


def test_a_gap_that_no_smooth_density_shows_has_a_small_chance() -> None:
    b = np.concatenate([np.linspace(-2.5, -1.2, 60), np.linspace(1.2, 2.5, 60)])
    simulated = simulate(12, 120, 16, seed=1, b=b)
    fit = fit_1pl(simulated.log, engine="mml")
    scale = minmax_scale(fit)
    found = gap_chances(fit, simulated.log, scale, replicates=20)
    assert found.p_chance[0] == 0.0
    assert found.widths[0] == pytest.approx(find_gaps(scale.to_z(fit.b))[0].width)
    assert found.null_median[0] < 0.5 * found.widths[0]
    assert found.replicates == 20


def test_gap_free_benchmarks_look_like_their_replicates() -> None:
    """p_chance of the widest gap over gap-free logs is spread over (0, 1), not heaped at small values."""
    chances = []
    for seed in range(8):
        simulated = simulate(8, 30, 4, seed=50 + seed)
        fit = fit_1pl(simulated.log, engine="mml")
        chances.append(gap_chances(fit, simulated.log, minmax_scale(fit), top=1, replicates=12).p_chance[0])
    assert 0.25 < np.mean(chances) < 0.75
    assert min(chances) < 0.4
    assert max(chances) > 0.6


def test_a_small_design_shows_the_same_steps_whatever_it_measures() -> None:
    """12 models x 1 attempt: the widest gap of 2,000 items is a step between totals, and chance shows it too."""
    simulated = simulate(12, 2000, 1, seed=4)
    fit = fit_1pl(simulated.log, engine="mml")
    found = gap_chances(fit, simulated.log, minmax_scale(fit), top=1, replicates=10)
    assert found.widths[0] > 1.0 / 13.0
    assert found.null_median[0] == pytest.approx(found.widths[0], rel=0.1)


def test_same_seed_same_chances_and_few_gaps_are_filled_up() -> None:
    log = log_of(np.array([[0, 1, 2], [1, 2, 2], [0, 0, 1]]), 2)
    fit = fit_1pl(log, engine="mml")
    scale = minmax_scale(fit)
    first, second, other = (gap_chances(fit, log, scale, replicates=8, seed=seed) for seed in (1, 1, 2))
    assert first == second
    assert first.null_median != other.null_median
    assert first.widths[2:] == (0.0, 0.0, 0.0)
    assert first.p_chance[2:] == (1.0, 1.0, 1.0)


def test_missing_cells_stay_missing_and_progress_is_told() -> None:
    generator = np.random.default_rng(3)
    attempts = generator.integers(0, 4, (6, 15))
    attempts[0] = 3
    log = log_of(generator.binomial(attempts, 0.5), attempts)
    fit = fit_1pl(log, engine="mml", guessing=np.full(15, 0.25))
    told: list[float] = []
    gap_chances(fit, log, minmax_scale(fit), replicates=3, progress=lambda fraction, _: told.append(fraction))
    assert told == [0.0, pytest.approx(1 / 3), pytest.approx(2 / 3)]


def test_replicates_are_as_many_as_the_design_affords() -> None:
    """A hundred for a dozen models and one attempt, whatever the items; fewer where every item is a group."""
    cheap, dear = simulate(12, 1000, 1, seed=1).log, simulate(30, 300, 200, seed=1).log
    counts = [affordable_replicates(fit_1pl(log, engine="mml"), log) for log in (cheap, dear)]
    assert counts == [100, 20]
