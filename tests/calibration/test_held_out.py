"""Scores of hidden answers against counts by hand and brute force."""

from __future__ import annotations

import numpy as np
import pytest

from benchfill.calibration.held_out import Foretold, score


def cells(chance: list[float], correct: list[int], attempts: list[int] | None = None) -> Foretold:
    asked = np.array(attempts or [1] * len(chance), dtype=float)
    return Foretold(np.arange(len(chance)), np.array(chance), np.array(correct, dtype=float), asked)


def test_scores_by_hand() -> None:
    found = score(cells([0.9, 0.8, 0.6, 0.3, 0.2], [1, 1, 0, 1, 0]))
    assert (found.attempts, found.accuracy) == (5, 3 / 5)
    assert found.f1 == pytest.approx(2 * 2 / (2 * 2 + 1 + 1))
    assert found.auc == pytest.approx(5 / 6)  # of six pairs only (0.3 right, 0.6 wrong) is in the wrong order
    assert found.log_loss == pytest.approx(-np.log([0.9, 0.8, 0.4, 0.3, 0.8]).mean())
    assert [(each.lo, each.attempts, each.observed) for each in found.calibration] == [
        (0.2, 1, 0.0), (0.3, 1, 1.0), (0.6, 1, 0.0), (0.8, 1, 1.0), (0.9, 1, 1.0),
    ]  # fmt: skip
    assert found.calibration_error == pytest.approx((0.1 + 0.2 + 0.6 + 0.7 + 0.2) / 5)


def test_an_attempt_is_an_answer() -> None:
    generator = np.random.default_rng(0)
    chance, attempts = generator.choice([0.1, 0.35, 0.5, 0.7, 0.9], 60), generator.integers(1, 5, 60)
    correct = generator.binomial(attempts, chance)
    counted = score(cells(chance.tolist(), correct.tolist(), attempts.tolist()))
    answers = [(p, int(k < y)) for p, y, n in zip(chance, correct, attempts, strict=True) for k in range(n)]
    single = score(cells([p for p, _ in answers], [y for _, y in answers]))
    assert (counted.attempts, counted.accuracy, counted.f1) == (single.attempts, single.accuracy, single.f1)
    assert (counted.auc, counted.log_loss) == pytest.approx((single.auc, single.log_loss))
    assert counted.calibration_error == pytest.approx(single.calibration_error)
    ups, downs = ([p for p, y in answers if y == side] for side in (1, 0))
    pairs = [(u > d) + 0.5 * (u == d) for u in ups for d in downs]
    assert counted.auc == pytest.approx(np.mean(pairs))


def test_what_is_not_defined_is_none() -> None:
    assert score(cells([0.9, 0.8], [1, 1])).auc is None
    assert score(cells([0.2, 0.1], [0, 0])).f1 is None


def test_tables_keep_their_items_apart() -> None:
    chance = np.array([[0.5, 0.25], [0.5, 0.75]])
    correct, attempts = np.array([[1, 0], [0, 2]]), np.array([[1, 0], [0, 2]])
    found = Foretold.joined([Foretold.of(chance, correct, attempts, first=at) for at in (0, 2)])
    losses, asked = found.item_losses(4)
    assert asked.tolist() == [1, 2, 1, 2]
    assert losses == pytest.approx([np.log(2), -2 * np.log(0.75)] * 2)
