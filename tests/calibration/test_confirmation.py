"""Confirmation by fresh attempts, against closed forms and drawn answers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit

from benchfill.calibration.confirmation import confirm, confirmation_attempts, further_attempts
from benchfill.calibration.online import CandidatePrior
from benchfill.calibration.rewriter_record import Hit, RewriterRecord
from benchfill.calibration.scale import Scale

SCALE = Scale("s", -3.0, 3.0)
THETA = np.linspace(-2.0, 2.0, 12)
TARGET, TOLERANCE = 0.5, 0.015
NOTHING = RewriterRecord(())


def answers(z: float, attempts: int, rng: np.random.Generator):
    chance = expit(THETA - SCALE.to_b(z))
    asked = np.full(THETA.size, attempts)
    return rng.binomial(asked, chance), asked


def look(z: float, attempts: int, rng: np.random.Generator, *, tolerance: float = TOLERANCE):
    """Fresh answers of an item at z that was chosen for lying exactly on target, by as many answers."""
    fresh = answers(z, attempts, rng)
    before = np.round(attempts * expit(THETA - SCALE.to_b(TARGET))).astype(int), fresh[1]
    return confirm(
        THETA[None, :],
        SCALE,
        target=TARGET,
        tolerance=tolerance,
        fresh=fresh,
        everything=(fresh[0] + before[0], fresh[1] + before[1]),
        prior=CandidatePrior(TARGET, 0.05),
        record=NOTHING,
    )


def test_the_attempts_are_the_formula():
    """ceil(4 / (1.25 tol W)^2 / efficiency), shared by the models."""
    p = expit(THETA - SCALE.to_b(TARGET))
    together = math.ceil(4 / (1.25 * TOLERANCE * 6) ** 2 / (np.mean(p * (1 - p)) * 4))
    assert confirmation_attempts(THETA, TARGET, SCALE, TOLERANCE) == math.ceil(together / 12)


def test_so_many_attempts_tell_the_place_to_the_tolerance():
    rng = np.random.default_rng(1)
    attempts = confirmation_attempts(THETA, TARGET, SCALE, TOLERANCE)
    fresh = [look(TARGET, attempts, rng).fresh for _ in range(40)]
    # E|x| is 0.8 sd.
    assert np.mean([0.8 * each.sd for each in fresh]) == pytest.approx(TOLERANCE, rel=0.05)


def test_items_on_target_pass_and_items_far_off_never_do():
    rng = np.random.default_rng(2)
    attempts = confirmation_attempts(THETA, TARGET, SCALE, TOLERANCE)
    on = [look(TARGET, attempts, rng).verdict for _ in range(60)]
    off = [look(TARGET + 6 * TOLERANCE, attempts, rng).verdict for _ in range(60)]
    assert on.count("confirmed") >= 48
    assert set(off) == {"refused"}


def test_the_reported_place_knows_nothing_of_the_attempts_it_was_chosen_by():
    rng = np.random.default_rng(3)
    fresh = answers(TARGET, 50, rng)
    told = [
        confirm(
            THETA[None, :], SCALE, target=TARGET, tolerance=TOLERANCE, fresh=fresh, everything=everything,
            prior=CandidatePrior(TARGET, 0.01), record=NOTHING,
        )
        for everything in (fresh, (fresh[0] + 40, fresh[1] + 40))
    ]  # fmt: skip
    assert told[0].fresh.mean == told[1].fresh.mean
    assert told[0].pooled.mean != told[1].pooled.mean


def test_what_is_unsettled_ends_after_twice_as_many_attempts():
    rng = np.random.default_rng(4)
    found = (look(TARGET + 0.5 * TOLERANCE, 40, rng) for _ in range(400))
    unsettled = next(each for each in found if each.verdict == "unsettled")
    assert unsettled.settled(asked=40, planned=40, dry=False, settling=False).verdict == "unsettled"
    assert unsettled.settled(asked=80, planned=40, dry=False, settling=False).verdict == "refused"
    # The best that is left is taken, at what it claims; so is one that nobody answers any more.
    assert unsettled.settled(asked=80, planned=40, dry=False, settling=True).verdict == "confirmed"
    assert unsettled.settled(asked=40, planned=40, dry=True, settling=False).verdict == "confirmed"
    assert further_attempts(41) == 20


def test_the_best_that_is_left_claims_no_more_than_its_rewriter_has_shown():
    """Twelve items of a rewriter that kept 3 tolerances away; the thirteenth looks as if it lay on target."""
    rng = np.random.default_rng(6)
    away = [Hit(TARGET, TARGET, TARGET + side * 3.2 * TOLERANCE, 0.01) for side in (-1, 1) for _ in range(6)]
    record = RewriterRecord(tuple(away))
    fresh = answers(TARGET + 0.01, 60, rng)
    before = answers(TARGET, 40, rng)
    found = confirm(
        THETA[None, :], SCALE, target=TARGET, tolerance=TOLERANCE, fresh=fresh,
        everything=(before[0] + fresh[0], before[1] + fresh[1]),
        prior=record.prior(TARGET, TARGET), record=record,
    )  # fmt: skip
    assert found.expected_deviation <= TOLERANCE < found.doubted_deviation
    assert found.verdict == "refused"
    last = found.settled(asked=60, planned=60, dry=False, settling=True)
    assert last.expected_deviation == found.doubted_deviation
    sooner = found.settled(asked=60, planned=60, dry=False, settling=False)
    assert sooner.expected_deviation == found.expected_deviation


def test_intervals_of_confirmed_items_hold_nine_tenths_of_them():
    """Places drawn from the prior, attempts before and fresh ones; those that pass are looked at (simulated)."""
    rng = np.random.default_rng(5)
    attempts = confirmation_attempts(THETA, TARGET, SCALE, TOLERANCE)
    held, plain = [], []
    for z in rng.normal(TARGET, 0.02, 320):
        before, fresh = answers(z, attempts, rng), answers(z, attempts, rng)
        found = confirm(
            THETA[None, :], SCALE, target=TARGET, tolerance=TOLERANCE, fresh=fresh,
            everything=(before[0] + fresh[0], before[1] + fresh[1]),
            prior=CandidatePrior(TARGET, 0.02, df=200.0), record=NOTHING,
        )  # fmt: skip
        if found.verdict == "confirmed":
            held.append(found.fresh.lo90 <= z <= found.fresh.hi90)
            plain.append(found.fresh.quantile(0.05) <= z <= found.fresh.quantile(0.95))
    assert len(held) > 100
    # 0.9 within two standard errors of so few; a plain interval of the same answers holds more.
    assert abs(np.mean(held) - 0.9) <= 0.06
    assert np.mean(plain) > np.mean(held)
