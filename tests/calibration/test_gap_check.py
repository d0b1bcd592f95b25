"""Is a gap there? Against the diagnosis' own figure, and against logs whose true places are known."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.special import expit

from benchfill.calibration.fit import Fit, fit_1pl
from benchfill.calibration.gap_check import GapLook, look_at_gaps, places_after, questions
from benchfill.calibration.measure import Gap, find_gaps
from benchfill.calibration.resolution import resolve_gaps
from benchfill.calibration.response_log import ResponseLog
from benchfill.calibration.scale import Scale, minmax_scale

THETA = np.linspace(-2.5, 2.5, 12)
MODELS = tuple(f"m{index:02d}" for index in range(12))


def answers(rng: np.random.Generator, b: np.ndarray, attempts: int) -> np.ndarray:
    return rng.binomial(attempts, expit(THETA[:, None] - b))


def log_of(b: np.ndarray, attempts: int, seed: int) -> ResponseLog:
    correct = answers(np.random.default_rng(seed), b, attempts)
    items = tuple(f"i{index:02d}" for index in range(b.size))
    return ResponseLog(MODELS, items, correct, np.full_like(correct, attempts))


@pytest.fixture(scope="module")
def blurred() -> tuple[Fit, ResponseLog, Scale]:
    """Thirty items, one truly at 0.2 logits; six attempts leave every place uncertain by half a logit."""
    b = np.sort(np.concatenate([np.linspace(-3.0, -0.6, 14), [0.2], np.linspace(0.9, 3.0, 15)]))
    log = log_of(b, 6, seed=3)
    fit = fit_1pl(log, engine="laplace", draws=200)
    return fit, log, minmax_scale(fit)


def test_p_empty_is_the_one_of_the_diagnosis(blurred: tuple[Fit, ResponseLog, Scale]):
    fit, log, scale = blurred
    gaps = find_gaps(scale.to_z(fit.b))[:4]
    looks = look_at_gaps(fit, log, scale, gaps, theta=fit.theta, most=256)
    for look, known in zip(looks, resolve_gaps(fit, log, scale, gaps), strict=True):
        assert look.p_empty == pytest.approx(known.p_empty, abs=1e-4)
        assert look.resolved == known.resolved


def test_whom_to_ask_leaves_half_of_the_doubt_at_most(blurred: tuple[Fit, ResponseLog, Scale]):
    fit, log, scale = blurred
    gap = find_gaps(scale.to_z(fit.b))[0]
    (look,) = look_at_gaps(fit, log, scale, [gap], theta=fit.theta, most=256)
    assert not look.resolved
    assert 1 <= len(look.ask) < len(fit.items)
    kept = [item for item in fit.items if item not in look.ask]
    at = [fit.items.index(item) for item in kept]
    rest = dataclasses.replace(
        fit, items=tuple(kept),
        **{name: getattr(fit, name)[at] for name in ("b", "b_sd", "b_lo90", "b_hi90", "censored", "guessing")},
    )  # fmt: skip
    (left,) = look_at_gaps(rest, log.select_items(kept), scale, [gap], theta=fit.theta, most=256)
    assert left.p_empty >= 0.95**0.5 - 0.01
    # Without one of them the others would leave more.
    (barred,) = look_at_gaps(fit, log, scale, [gap], theta=fit.theta, most=256, barred=look.ask)
    assert barred.attempts is None or not set(barred.ask) & set(look.ask)


def test_places_without_new_answers_are_those_of_the_fit(blurred: tuple[Fit, ResponseLog, Scale]):
    fit, log, _ = blurred
    items, found = places_after(fit, log, ["i03", "i17"])
    assert items == ("i03", "i17")
    at = [fit.items.index(item) for item in items]
    assert found.mean == pytest.approx(fit.b[at], abs=0.02)
    assert found.sd == pytest.approx(fit.b_sd[at], rel=0.05)


def test_a_block_doubles_what_was_asked_and_a_gap_beyond_what_is_left_is_left_alone():
    gap = Gap(0.4, 0.6, 0.2, 0.5)
    look = GapLook(gap, 0.5, ("a", "b"), 20)
    assert questions([look], {}, models=12, left=480) == {"a": 4, "b": 4}
    assert questions([look], {"a": 4, "b": 12}, models=12, left=480) == {"a": 4, "b": 12}
    assert questions([look], {"a": 100}, models=12, left=480) == {"a": 20, "b": 4}
    assert questions([look], {}, models=12, left=479) == {}
    assert questions([dataclasses.replace(look, p_empty=0.96)], {}, models=12, left=480) == {}
    assert questions([dataclasses.replace(look, attempts=None)], {}, models=12, left=480) == {}


def check(fit: Fit, log: ResponseLog, scale: Scale, truth: np.ndarray, seed: int) -> tuple[GapLook, int]:
    """Ask until the widest gap is settled; the gap as it is then, and the answers it took."""
    rng, asked, spent = np.random.default_rng(seed), dict.fromkeys(fit.items, 0), 0
    while True:
        gap = find_gaps(scale.to_z(fit.b))[0]
        (look,) = look_at_gaps(fit, log, scale, [gap], theta=fit.theta, most=256)
        wanted = questions([look], asked, models=12, left=100_000 - spent)
        if not wanted:
            return look, spent
        correct, attempts = log.correct.copy(), log.attempts.copy()
        for item, block in wanted.items():
            at = log.items.index(item)
            correct[:, at] += answers(rng, truth[at : at + 1], block)[:, 0]
            attempts[:, at] += block
            asked[item] += block
            spent += 12 * block
        log = ResponseLog(log.models, log.items, correct, attempts)
        items, found = places_after(fit, log, wanted)
        b, b_sd = fit.b.copy(), fit.b_sd.copy()
        for item, mean, sd in zip(items, found.mean, found.sd, strict=True):
            b[fit.items.index(item)], b_sd[fit.items.index(item)] = mean, sd
        fit = dataclasses.replace(fit, b=b, b_sd=b_sd)


@pytest.mark.parametrize("seed", [1, 2])
def test_asking_again_settles_the_gap_as_it_truly_is(seed: int):
    """The widest gap in the end is resolved, and no item truly lies in its middle half."""
    b = np.sort(np.concatenate([np.linspace(-3.0, -0.9, 14), np.linspace(0.6, 3.0, 15)]))
    log = log_of(b, 12, seed=seed)
    fit = fit_1pl(log, engine="laplace", draws=200)
    scale = minmax_scale(fit)
    look, spent = check(fit, log, scale, b, seed)
    assert look.resolved
    lo, hi = (scale.to_b(look.gap.lo + share * look.gap.width) for share in (0.25, 0.75))
    # Places are told on the fitted abilities, whose mean need not be that of the true ones.
    assert not ((b > lo + 0.1) & (b < hi - 0.1)).any()
    assert 0 < spent < 12 * 30 * 64
