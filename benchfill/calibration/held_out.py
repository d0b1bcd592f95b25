"""How well chances foretell answers that were not seen: accuracy, F1, AUC, log loss, and calibration.

Every attempt counts as one answer; a right one is the positive class of F1 and AUC, and 1/2 the line of accuracy and
F1. Log loss decides, since it alone is proper and sees confidence: accuracy and F1 of a benchmark that most models
solve are mostly its share of right answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["CalibrationBin", "Foretold", "Scores", "score"]

Array = NDArray[np.float64]

BINS = 10
_EDGE = 1e-12  # a chance is kept this far from 0 and 1


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """Answers whose foretold chance lies in [lo, hi): mean chance, share that was right, and how many there are."""

    lo: float
    hi: float
    foretold: float
    observed: float
    attempts: int


@dataclass(frozen=True, eq=False)
class Foretold:
    """Chances and counts of hidden cells, one entry each.

    Parameters
    ----------
    item
        Shape (cells,). Whole numbers that tell items apart: the independent units of standard errors.
    chance
        Shape (cells,). Foretold chance of a right answer.
    correct, attempts
        Shape (cells,). What came; attempts are at least 1.
    """

    item: NDArray[np.int64]
    chance: Array
    correct: Array
    attempts: Array

    @classmethod
    def of(cls, chance: Array, correct: ArrayLike, attempts: ArrayLike, *, first: int = 0) -> Foretold:
        """Cells of a table (models, items) with attempts; items are numbered from ``first``."""
        asked = np.asarray(attempts)
        model, item = np.nonzero(asked)
        return cls(
            item + first,
            np.clip(chance[model, item], _EDGE, 1.0 - _EDGE),
            np.asarray(correct, dtype=np.float64)[model, item],
            asked[model, item].astype(np.float64),
        )

    @classmethod
    def joined(cls, parts: Sequence[Foretold]) -> Foretold:
        """Several parts together, such as folds or benchmarks."""
        return cls(
            *(
                np.concatenate([getattr(each, name) for each in parts])
                for name in ("item", "chance", "correct", "attempts")
            )
        )

    def item_losses(self, items: int) -> tuple[Array, Array]:
        """Log loss summed over each item's attempts, and those attempts: shape (items,) each."""
        loss = -(self.correct * np.log(self.chance) + (self.attempts - self.correct) * np.log1p(-self.chance))
        summed, asked = (np.bincount(self.item, each, items) for each in (loss, self.attempts))
        return summed.astype(np.float64), asked.astype(np.float64)


@dataclass(frozen=True, slots=True)
class Scores:
    """Figures of hidden answers.

    Parameters
    ----------
    attempts
        Hidden answers.
    accuracy, f1
        At the line 1/2; F1 of right answers, None when none is right and none foretold so.
    auc
        Chance that a right answer was foretold with more confidence than a wrong one, ties half; None when all answers
        are alike.
    log_loss
        Mean, nats.
    calibration
        Bins of a tenth that have answers.
    calibration_error
        Mean over answers of the difference of foretold and observed in their bin.
    """

    attempts: int
    accuracy: float
    f1: float | None
    auc: float | None
    log_loss: float
    calibration: tuple[CalibrationBin, ...]
    calibration_error: float


def score(foretold: Foretold) -> Scores:
    """Score the chances of hidden cells."""
    chance, right = foretold.chance, foretold.correct
    wrong = foretold.attempts - right
    total = foretold.attempts.sum()
    says = chance > 0.5
    caught, false, missed = right[says].sum(), wrong[says].sum(), right[~says].sum()
    positives = 2.0 * caught + false + missed
    losses, _ = foretold.item_losses(int(foretold.item.max()) + 1)
    bins = _bins(foretold)
    return Scores(
        attempts=int(total),
        accuracy=float((caught + wrong[~says].sum()) / total),
        f1=float(2.0 * caught / positives) if positives else None,
        auc=_auc(chance, right, wrong),
        log_loss=float(losses.sum() / total),
        calibration=bins,
        calibration_error=float(
            sum(abs(each.foretold - each.observed) * each.attempts for each in bins) / total
        ),
    )


def _auc(chance: Array, right: Array, wrong: Array) -> float | None:
    """Mann and Whitney's statistic with counts as weights."""
    if not right.sum() or not wrong.sum():
        return None
    _, level = np.unique(chance, return_inverse=True)
    ups, downs = np.bincount(level, right), np.bincount(level, wrong)
    below = np.cumsum(downs) - downs
    return float(ups @ (below + 0.5 * downs) / (ups.sum() * downs.sum()))


def _bins(foretold: Foretold) -> tuple[CalibrationBin, ...]:
    place = np.minimum((foretold.chance * BINS).astype(np.int64), BINS - 1)
    attempts, correct, mass = (
        np.bincount(place, each, BINS)
        for each in (foretold.attempts, foretold.correct, foretold.attempts * foretold.chance)
    )
    return tuple(
        CalibrationBin(
            at / BINS,
            (at + 1) / BINS,
            float(mass[at] / attempts[at]),
            float(correct[at] / attempts[at]),
            int(attempts[at]),
        )
        for at in range(BINS)
        if attempts[at]
    )
