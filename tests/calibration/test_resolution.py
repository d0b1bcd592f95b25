"""Resolution of gaps against brute force, planted gaps and a real benchmark."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

from benchfill.calibration.fit import Fit, fit_1pl
from benchfill.calibration.measure import Gap, find_gaps
from benchfill.calibration.resolution import attempts_to_resolve, chance_empty, resolve_gaps
from benchfill.calibration.response_log import ResponseLog
from benchfill.calibration.scale import Scale, minmax_scale, pool_scale
from benchfill.logs.responses import read_responses
from tests.calibration.simulated import Simulated, known, simulate

AXIS = Scale("axis", -3.0, 3.0)


def gap(lo: float, hi: float) -> Gap:
    return Gap(lo, hi, hi - lo, 0.5 * (lo + hi))


def with_gap(items: int, attempts: int, seed: int, width: float = 0.15) -> Simulated:
    """Difficulties evenly over 6 logits but for a gap in the middle."""
    half = 0.5 * (1.0 - width)
    z = np.concatenate(
        [np.linspace(0.0, half, items // 2), np.linspace(half + width, 1.0, items - items // 2)]
    )
    return simulate(12, items, attempts, seed=seed, b=6.0 * z - 3.0)


def test_chance_empty_is_the_product_over_items() -> None:
    """Each item's posterior is sampled by itself, from its density on a grid."""
    simulated = simulate(4, 5, 3, seed=11)
    fit = known(fit_1pl(simulated.log, engine="mml"), simulated.theta, 0.2, 1.4)
    grid, generator = np.linspace(-14.0, 14.0, 28_001), np.random.default_rng(3)
    drawn = np.empty((200_000, 5))
    for item in range(5):
        height = -0.5 * ((grid - 0.2) / 1.4) ** 2
        for ability, right in zip(simulated.theta, simulated.log.correct[:, item], strict=True):
            success = expit(ability - grid)
            height += right * np.log(success) + (3 - right) * np.log1p(-success)
        mass = np.exp(height - height.max())
        drawn[:, item] = generator.choice(grid, size=len(drawn), p=mass / mass.sum())
    edges = np.array([0.1, 0.3, 0.45, 0.5, 0.9])
    (found,) = chance_empty(fit, simulated.log, AXIS, [edges])
    z = AXIS.to_z(drawn)
    for i in range(5):
        for j in range(i + 1, 5):
            empty = ~((z > edges[i]) & (z < edges[j])).any(axis=1)
            assert found[i, j] == pytest.approx(empty.mean(), abs=0.004)
    assert (found[np.tril_indices(5)] == 1.0).all()


def test_a_planted_gap_is_resolved_and_smaller_ones_are_not() -> None:
    simulated = with_gap(30, 64, seed=4, width=0.2)
    fit = fit_1pl(simulated.log, engine="laplace")
    assert fit.gate.passed
    scale = minmax_scale(fit)
    widest, *others = resolve_gaps(fit, simulated.log, scale, find_gaps(scale.to_z(fit.b))[:5])
    assert widest.lo < 0.5 < widest.hi
    assert widest.resolved
    assert widest.p_empty > 0.99
    assert widest.verdict == "resolved"
    assert widest.attempts_needed is None
    assert widest.lo <= widest.resolved_lo < widest.resolved_hi <= widest.hi  # type: ignore[operator]
    assert widest.resolved_width >= 0.5 * widest.width - 1e-9
    (check,) = chance_empty(fit, simulated.log, scale, [np.array([widest.resolved_lo, widest.resolved_hi])])
    assert check[0, 1] >= 0.95
    assert not any(each.resolved for each in others)
    for each in others:
        assert each.attempts_needed is None or each.attempts_needed > 64
        assert each.out_of_reach == (each.attempts_needed is None)
        assert "not resolvable with this design" in each.verdict


@pytest.mark.parametrize("items", [30, 300])
def test_one_attempt_of_twelve_models_resolves_nothing(items: int) -> None:
    simulated = with_gap(items, 1, seed=6)
    fit = fit_1pl(simulated.log, engine="mml")
    scale = minmax_scale(fit)
    found = resolve_gaps(fit, simulated.log, scale, find_gaps(scale.to_z(fit.b))[:5])
    assert max(each.p_empty for each in found) < 0.8
    assert not any(each.resolved for each in found)


def test_an_item_put_into_the_gap_is_seen() -> None:
    """The same gap asked about with and without the item that lies in it."""
    z = np.array([0.0, 0.1, 0.2, 0.5, 0.8, 0.9, 1.0])
    simulated = simulate(12, 7, 200, seed=8, b=6.0 * z - 3.0)
    for kept, resolved in ((list(range(7)), False), ([0, 1, 2, 4, 5, 6], True)):
        log = simulated.log.select_items([simulated.log.items[at] for at in kept])
        fit = known(fit_1pl(log, engine="mml"), simulated.theta, 0.0, 2.0)
        (found,) = resolve_gaps(fit, log, AXIS, [gap(0.22, 0.78)])
        assert found.resolved is resolved
        assert found.p_empty == pytest.approx(float(resolved), abs=1e-3)


def test_a_gap_at_the_end_of_the_axis_is_an_interval_like_every_other() -> None:
    simulated = simulate(12, 20, 64, seed=3, b=np.linspace(-1.0, 1.0, 20))
    fit = fit_1pl(simulated.log, engine="laplace")
    scale = pool_scale(fit)
    first, second = resolve_gaps(fit, simulated.log, scale, find_gaps(scale.to_z(fit.b))[:2])
    assert {first.lo, second.hi} == {0.0, 1.0} or {first.hi, second.lo} == {1.0, 0.0}
    assert first.resolved
    assert second.resolved


def test_a_gap_far_from_the_pool_is_out_of_reach() -> None:
    simulated = simulate(12, 30, 64, seed=3)
    fit = fit_1pl(simulated.log, engine="mml")
    b = np.array([*np.linspace(-1.0, 1.0, 28), 8.0, 8.6])
    placed = Fit(**{**vars(fit), "b": b})
    axis = Scale("wide", -3.0, 10.0)
    assert attempts_to_resolve(placed, simulated.log, axis, gap(axis.to_z(8.0), axis.to_z(8.6))) is None
    assert attempts_to_resolve(placed, simulated.log, axis, gap(axis.to_z(1.0), axis.to_z(8.0))) is not None
    (beyond,) = resolve_gaps(fit, simulated.log, Scale("far", 0.0, 20.0), [gap(0.8, 0.9)])
    assert beyond.resolved


def test_the_attempts_it_asks_for_are_about_enough() -> None:
    """Logs with so many attempts resolve the gap in about seven of ten cases, a third of them hardly ever does."""
    pilot = with_gap(40, 16, seed=1, width=0.12)
    base = known(fit_1pl(pilot.log, engine="mml"), pilot.theta, 0.0, 1.8)
    true = Fit(**{**vars(base), "b": pilot.b})
    place = gap(0.44, 0.56)
    needed = attempts_to_resolve(true, pilot.log, AXIS, place)
    assert needed is not None

    def share(attempts: int) -> float:
        hits = 0
        for seed in range(40):
            log = with_gap_of(pilot, attempts, seed)
            fit = known(fit_1pl(log, engine="mml"), pilot.theta, 0.0, 1.8)
            (edges,) = chance_empty(fit, log, AXIS, [np.array([0.47, 0.53])])
            hits += edges[0, 1] >= 0.95
        return hits / 40

    assert 0.55 <= share(needed) <= 1.0
    assert share(needed // 3) <= 0.3


def with_gap_of(pilot: Simulated, attempts: int, seed: int) -> ResponseLog:
    """The items and models of the pilot, answered anew."""
    success = expit(pilot.theta[:, None] - pilot.b)
    correct = np.random.default_rng(seed).binomial(attempts, success)
    return ResponseLog(pilot.log.models, pilot.log.items, correct, np.full_like(correct, attempts))


def test_no_gaps_no_answers() -> None:
    simulated = simulate(4, 6, 2, seed=1)
    assert resolve_gaps(fit_1pl(simulated.log, engine="mml"), simulated.log, AXIS, []) == ()


def test_a_real_benchmark_with_one_attempt_and_with_all(shared: Path) -> None:
    """AIME 2024, 50 models: with one attempt nothing is resolved, with up to 1,100 the widest inner gap is."""
    folder = shared / "data" / "matrices" / "noises_highk_temp0.7__aime2024_cot"
    verdicts = []
    for name in ("aime2024_k1_wide.csv", "responses_long.csv.gz"):
        log = read_responses(folder / name).log
        fit = fit_1pl(log, engine="mml")
        scale = minmax_scale(fit)
        found = resolve_gaps(fit, log, scale, find_gaps(scale.to_z(fit.b))[:5])
        verdicts.append([each.resolved for each in found])
        if name.startswith("responses"):
            assert any(each.resolved and each.width > 0.1 for each in found)
            assert any(each.out_of_reach for each in found)
    assert not any(verdicts[0])
    assert any(verdicts[1])
