"""Which item model describes a log: held-out log loss with its standard error decides, BIC stands beside it.

Cells are dealt to folds item by item, so that every fold hides about the same share of every item. Each fold is
predicted by a fit to the others: the model's parameters from there, the item's place from its answers there.
BIC = -2 log L + p log(items): the unit is the item, since items are what is drawn; p counts parameters of models and
of spread, items are integrated out.

Of a large log a random part of the items is compared: differences between the models are told apart by a few
thousand items, and hidden cells make nearly every item a response pattern of its own, so that time grows with items.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.model_slopes import ItemModel, fit_item_model
from benchfill.calibration.response_log import ResponseLog
from benchfill.errors import InputError

__all__ = [
    "HeldOut",
    "ModelChoice",
    "ModelScore",
    "choose_model",
    "deal_folds",
    "score_held_out",
    "some_items",
]

Array = NDArray[np.float64]

MOST_CELLS = 26_000  # models x items that are compared; three folds of the 2PL take about 15 seconds for them
DECISIVE = 2.0  # standard errors of the paired difference from which on the simpler model is given up


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Answers predicted without having been seen.

    Parameters
    ----------
    loss
        Shape (items,). Log loss summed over the item's hidden attempts, nats.
    attempts
        Shape (items,). Hidden attempts.
    hits
        Hidden attempts on the side of 1/2 that was predicted.
    """

    loss: Array
    attempts: Array
    hits: float

    @classmethod
    def of(cls, parts: Sequence[HeldOut]) -> HeldOut:
        """Several parts of the same items together, such as folds."""
        return cls(
            np.sum([each.loss for each in parts], axis=0),
            np.sum([each.attempts for each in parts], axis=0),
            sum(each.hits for each in parts),
        )

    @property
    def log_loss(self) -> float:
        """Mean over attempts, nats."""
        return float(self.loss.sum() / self.attempts.sum())

    @property
    def accuracy(self) -> float:
        """Share of hits."""
        return float(self.hits / self.attempts.sum())

    def se(self, other: HeldOut | None = None) -> float:
        """Standard error of the log loss, or of its difference to another's; items are the independent units."""
        loss = self.loss if other is None else self.loss - other.loss
        total, items = self.attempts.sum(), np.count_nonzero(self.attempts)
        if items < 2:
            return float("nan")
        off = (loss - self.attempts * loss.sum() / total)[self.attempts > 0]
        return float(np.sqrt(items / (items - 1.0) * (off @ off)) / total)


@dataclass(frozen=True, slots=True)
class ModelScore:
    """One model.

    Parameters
    ----------
    model
        ``1pl``, ``model_slopes`` or ``2pl``.
    log_loss, log_loss_se
        Held-out log loss an attempt, nats, and its standard error.
    accuracy
        Share of held-out attempts predicted on the right side of 1/2.
    gain, gain_se
        Log loss of the 1PL minus that of this model, on the same cells, and its standard error; None for the 1PL.
    bic, log_likelihood, n_parameters
        Of the fit to all data.
    """

    model: str
    log_loss: float
    log_loss_se: float | None
    accuracy: float
    gain: float | None
    gain_se: float | None
    bic: float
    log_likelihood: float
    n_parameters: int


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The comparison.

    Parameters
    ----------
    scores
        In the order of their number of assumptions dropped: 1PL, model slopes, 2PL.
    best
        The model with the lowest held-out log loss, or the first of ``scores`` that it does not beat by more than two
        standard errors of the difference.
    lowest_bic
        By the other criterion.
    folds, attempts
        Folds of the cross-validation, and attempts that were predicted.
    items, of_items
        Items that were compared, and items of the log; fewer of a large log, see `choose_model`.
    """

    scores: tuple[ModelScore, ...]
    best: str
    lowest_bic: str
    folds: int
    attempts: int
    items: int
    of_items: int

    def sentence(self) -> str:
        """What came out, in plain words."""
        first, best = self.scores[0], next(score for score in self.scores if score.model == self.best)
        lead = min(self.scores, key=lambda score: score.log_loss)
        if best is first:
            text = (
                "No richer item model predicts hidden answers better than the 1PL by more than two standard errors"
                f" (its log loss is {first.log_loss:.4f})."
            )
        else:
            text = (
                f"{_WORDS[lead.model]} predicts hidden answers better than the 1PL: log loss {lead.log_loss:.4f} "
                f"against {first.log_loss:.4f}, a difference of {lead.gain:.4f} with standard error {lead.gain_se:.4f}."
            )
            if best is not lead:
                text += f" {_WORDS[self.best]} is within two standard errors of it ({best.log_loss:.4f})."
        if self.items < self.of_items:
            text += f" Compared on a random {self.items:,} of {self.of_items:,} items."
        return text


_WORDS = {"model_slopes": "A 1PL with a slope a model", "2pl": "A 2PL"}


def choose_model(
    log: ResponseLog,
    *,
    guessing: Array | None = None,
    folds: int = 5,
    seed: int = 0,
    models: Sequence[ItemModel] = get_args(ItemModel),
    most_cells: int = MOST_CELLS,
    progress: Callable[[float, str], None] | None = None,
) -> ModelChoice:
    """Compare item models by cross-validation over cells.

    Parameters
    ----------
    guessing
        Shape (items,), in [0, 1); None is 0 throughout.
    folds
        At least 2.
    seed
        Deals the cells to the folds.
    models
        Which, the 1PL first.
    most_cells
        A log with more cells (models x items) is compared on a random part of its items with about so many.
    progress
        Called with the fraction done and a short message.

    Raises
    ------
    InputError
        Fewer than two folds, or the log is too small to hide a fold of it (kind ``too_few_answers``).
    BenchfillError
        A fit did not converge.
    """
    of_items = len(log.items)
    log, guessing = some_items(log, guessing, most_cells, seed)
    fold_of = deal_folds(log, folds, seed)
    report = progress or (lambda fraction, message: None)
    scores: list[ModelScore] = []
    held: list[HeldOut] = []
    steps = len(models) * (folds + 1)
    for place, model in enumerate(models):
        hidden: list[HeldOut] = []
        for fold in range(folds):
            report((place * (folds + 1) + fold) / steps, f"{model}: fold {fold + 1} of {folds}")
            train, test = (_only(log, keep) for keep in (fold_of != fold, fold_of == fold))
            hidden.append(score_held_out(train, test, model, guessing=guessing))
        report((place * (folds + 1) + folds) / steps, f"{model}: all answers")
        fit = fit_item_model(log, model, guessing=guessing)
        found = HeldOut.of(hidden)
        held.append(found)
        scores.append(
            ModelScore(
                model=model,
                log_loss=found.log_loss,
                log_loss_se=_defined(found.se()),
                accuracy=found.accuracy,
                gain=held[0].log_loss - found.log_loss if place else None,
                gain_se=_defined(found.se(held[0])) if place else None,
                bic=-2.0 * fit.log_likelihood + fit.n_parameters * float(np.log(len(log.items))),
                log_likelihood=fit.log_likelihood,
                n_parameters=fit.n_parameters,
            )
        )
    report(1.0, "compared")
    lowest = min(range(len(scores)), key=lambda at: (scores[at].log_loss, at))
    best = next(
        at
        for at in range(len(scores))
        if at == lowest
        or not scores[at].log_loss - scores[lowest].log_loss > DECISIVE * held[lowest].se(held[at])
    )
    return ModelChoice(
        scores=tuple(scores),
        best=scores[best].model,
        lowest_bic=min(scores, key=lambda score: score.bic).model,
        folds=folds,
        attempts=int(held[0].attempts.sum()),
        items=len(log.items),
        of_items=of_items,
    )


def score_held_out(
    train: ResponseLog, test: ResponseLog, model: ItemModel, *, guessing: Array | None = None
) -> HeldOut:
    """Fit to one part of a log and predict another part of the same models and items.

    Raises
    ------
    InputError
        The parts are of different models or items (kind ``bad_log``).
    BenchfillError
        The fit did not converge.
    """
    if (train.models, train.items) != (test.models, test.items):
        raise InputError("The two parts are of different models or items.", kind="bad_log")
    chance = np.clip(fit_item_model(train, model, guessing=guessing).success(), 1e-12, 1.0 - 1e-12)
    wrong = test.attempts - test.correct
    loss = -(test.correct * np.log(chance) + wrong * np.log1p(-chance)).sum(axis=0)
    hits = np.where(chance > 0.5, test.correct, wrong).sum()
    return HeldOut(loss, test.attempts.sum(axis=0).astype(np.float64), float(hits))


def deal_folds(log: ResponseLog, folds: int, seed: int) -> NDArray[np.int64]:
    """The fold of each cell, (models, items), evenly within every item; -1 where nothing was asked.

    Raises
    ------
    InputError
        Fewer than two folds, or no model or item would be left in one (kind ``too_few_answers``).
    """
    if folds < 2:
        raise InputError("A comparison of item models takes at least 2 folds.", kind="too_few_answers")
    generator = np.random.default_rng(seed)
    order = np.where(log.attempts > 0, generator.random(log.attempts.shape), 2.0)
    rank = order.argsort(axis=0).argsort(axis=0) + generator.integers(folds, size=len(log.items))
    fold_of = np.where(log.attempts > 0, rank % folds, -1)
    if (
        not all((fold_of == fold).any() for fold in range(folds))
        or log.attempts.astype(bool).sum() < 4 * folds
    ):
        raise InputError(
            f"The log is too small to hide a {folds}th of its answers from a comparison of item models.",
            kind="too_few_answers",
        )
    return fold_of


def some_items(
    log: ResponseLog, guessing: Array | None, most_cells: int, seed: int
) -> tuple[ResponseLog, Array | None]:
    """A random part of the items with about so many cells (models x items), or all where there are no more.

    Parameters
    ----------
    guessing
        Shape (items,), or None; thinned alike.
    """
    every, most = len(log.items), max(2, most_cells // len(log.models))
    if every <= most:
        return log, guessing
    chosen = np.sort(np.random.default_rng([seed, 1]).choice(every, most, replace=False))
    part = log.select_items([log.items[at] for at in chosen])
    return part, None if guessing is None else guessing[chosen]


def _only(log: ResponseLog, keep: NDArray[np.bool_]) -> ResponseLog:
    return ResponseLog(log.models, log.items, np.where(keep, log.correct, 0), np.where(keep, log.attempts, 0))


def _defined(value: float) -> float | None:
    return value if np.isfinite(value) else None
