"""Shuffle control: the fit must find no structure where there is none.

The cells of each model are dealt anew over the items it was asked, each model apart, (correct, attempts) staying
together. A model keeps its score and how mixed its cells are; that the same items are hard for all models is gone. Then
the 1PL is fitted again. Two figures are compared with the real log's:

- marginal gain: log likelihood of the 1PL (``mml``, its mode) minus that of the model scores alone (every item alike,
  each model at its own success rate; dealing anew does not change that one), an attempt, in nats;
- held-out gain: the same for cells predicted by a fit to the rest, a fifth at a time: every cell of a small log, one
  fifth of a large one. It must be 0 or less after shuffling.

The spread of b is reported too. After shuffling it goes to 0 only as models grow: the mean of a few mixed cells still
differs from item to item by chance, the more so the more attempts a cell has. The held-out gain knows the difference.
Where attempts differ between the cells of a model, the numbers of attempts move with the answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.grouping import group_items
from benchfill.calibration.mml import find_mode
from benchfill.calibration.model_choice import HeldOut, deal_folds, score_held_out, some_items
from benchfill.calibration.response_log import ResponseLog

__all__ = ["ShuffleControl", "Structure", "shuffle_cells", "shuffle_control"]

Array = NDArray[np.float64]

_FOLDS = 5
_SMALL = 10_000  # cells; up to here one fifth tells too little, and all five are predicted
_MOST_CELLS = 60_000  # models x items; of a larger log a random part of the items serves
_SHUFFLED_LIMIT = 3.0  # standard errors above 0 that a shuffled log may show by chance: there are several
_REAL_LIMIT = 2.0  # and the real one must show


@dataclass(frozen=True, slots=True)
class Structure:
    """What a fit finds in a log.

    Parameters
    ----------
    marginal_gain
        Log likelihood an attempt over the model scores alone, nats.
    held_out_gain, held_out_se
        The same for cells that were not seen, with its standard error over items (None for a single item).
    sigma_b
        Fitted standard deviation of the difficulties, logits.
    spread
        Standard deviation of the estimated difficulties, logits.
    """

    marginal_gain: float
    held_out_gain: float
    held_out_se: float | None
    sigma_b: float
    spread: float


@dataclass(frozen=True, slots=True)
class ShuffleControl:
    """The real log beside shuffled ones.

    Parameters
    ----------
    real, shuffled
        Their structure; one entry a shuffle.
    unequal_attempts
        Whether some model was asked its items unequally often, so that attempts moved with the answers.
    passed
        No shuffled log has a held-out gain more than three standard errors above 0.
    structured
        The real log's held-out gain is more than two standard errors above 0, and above every shuffled one.
    beaten_by
        Held-out gain of the real log minus the largest shuffled one, nats an attempt.
    items, of_items
        Items that were used, and items of the log; fewer where it has more than 60,000 cells.
    """

    real: Structure
    shuffled: tuple[Structure, ...]
    unequal_attempts: bool
    passed: bool
    structured: bool
    beaten_by: float
    items: int
    of_items: int


def shuffle_control(
    log: ResponseLog,
    *,
    guessing: Array | None = None,
    shuffles: int = 3,
    seed: int = 0,
    progress: Callable[[float, str], None] | None = None,
) -> ShuffleControl:
    """Fit the log and shuffled copies of it.

    Parameters
    ----------
    guessing
        Shape (items,), in [0, 1); None is 0 throughout.
    shuffles
        At least one.
    progress
        Called with the fraction done and a short message.

    Raises
    ------
    InputError
        The log is too small to hide a fifth of it (kind ``too_few_answers``).
    BenchfillError
        A fit did not converge.
    """
    of_items = len(log.items)
    log, guessing = some_items(log, guessing, _MOST_CELLS, seed)
    generator = np.random.default_rng(seed)
    report = progress or (lambda fraction, message: None)
    found: list[Structure] = []
    for number in range(shuffles + 1):
        report(number / (shuffles + 1), f"shuffle {number} of {shuffles}" if number else "real answers")
        answers = log if number == 0 else shuffle_cells(log, generator)
        found.append(_structure(answers, guessing, int(generator.integers(2**32))))
    report(1.0, "compared")
    real, shuffled = found[0], tuple(found[1:])
    highest = max(each.held_out_gain for each in shuffled)
    asked = np.where(log.attempts > 0, log.attempts, log.attempts.max(axis=1, keepdims=True))
    return ShuffleControl(
        real=real,
        shuffled=shuffled,
        unequal_attempts=bool((asked != asked.max(axis=1, keepdims=True)).any()),
        passed=not any(_clear(each, _SHUFFLED_LIMIT) for each in shuffled),
        structured=_clear(real, _REAL_LIMIT) and real.held_out_gain > highest,
        beaten_by=real.held_out_gain - highest,
        items=len(log.items),
        of_items=of_items,
    )


def shuffle_cells(log: ResponseLog, generator: np.random.Generator) -> ResponseLog:
    """Deal the cells of each model anew over the items it was asked; missing cells stay where they are."""
    correct, attempts = log.correct.copy(), log.attempts.copy()
    for model in range(len(log.models)):
        places = np.flatnonzero(log.attempts[model])
        dealt = generator.permutation(places)
        correct[model, places], attempts[model, places] = (
            log.correct[model, dealt],
            log.attempts[model, dealt],
        )
    return ResponseLog(log.models, log.items, correct, attempts)


def _clear(structure: Structure, limit: float) -> bool:
    return structure.held_out_gain > limit * (structure.held_out_se or 0.0)


def _structure(log: ResponseLog, guessing: Array | None, seed: int) -> Structure:
    chance = np.zeros(len(log.items)) if guessing is None else guessing
    groups = group_items(log, chance)
    mode = find_mode(groups)
    theta, _, sigma_b = mode.density.split(mode.phi)
    given = mode.density.conditional(mode.phi)
    start = mode.density.nodes.start
    b = np.add.reduceat(given.weight * given.b, start)[groups.of_item]
    # The collapsed density leaves out constants: the prior's sqrt(2 pi), and (1 - g) of every wrong answer.
    wrong = (log.attempts - log.correct).sum(axis=0)
    value = groups.size @ (given.log_z - 0.5 * np.log(2.0 * np.pi)) + groups.solved @ theta
    value += wrong @ np.log1p(-chance)
    everything = np.ones(log.attempts.shape, dtype=np.bool_)
    scores_alone = -float(_by_scores(log, everything, everything).loss.sum())

    fold_of = deal_folds(log, _FOLDS, seed)
    pairs = []
    for fold in range(_FOLDS if log.attempts.size <= _SMALL else 1):
        hidden = fold_of == fold
        shown = (log.attempts > 0) & ~hidden
        train, test = (
            ResponseLog(
                log.models, log.items, np.where(keep, log.correct, 0), np.where(keep, log.attempts, 0)
            )
            for keep in (shown, hidden)
        )
        pairs.append((score_held_out(train, test, "1pl", guessing=guessing), _by_scores(log, shown, hidden)))
    fitted, plain = (HeldOut.of(parts) for parts in zip(*pairs, strict=True))
    se = fitted.se(plain)
    return Structure(
        marginal_gain=float(value - scores_alone) / float(log.attempts.sum()),
        held_out_gain=plain.log_loss - fitted.log_loss,
        held_out_se=se if np.isfinite(se) else None,
        sigma_b=sigma_b,
        spread=float(b.std()),
    )


def _by_scores(log: ResponseLog, train: NDArray[np.bool_], test: NDArray[np.bool_]) -> HeldOut:
    """Predict some cells by the success rate of the model on others, every item alike."""
    right, asked = (np.where(train, each, 0).sum(axis=1) for each in (log.correct, log.attempts))
    # Half a right and half a wrong answer in front keep a perfect score from being certain.
    smooth = 0.0 if train is test else 0.5
    rate = ((right + smooth) / np.maximum(asked + 2.0 * smooth, 1.0))[:, None]
    answers, attempts = np.where(test, log.correct, 0), np.where(test, log.attempts, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.where(answers > 0, -answers * np.log(rate), 0.0)
        loss += np.where(attempts > answers, -(attempts - answers) * np.log1p(-rate), 0.0)
    hits = np.where(rate > 0.5, answers, attempts - answers).sum()
    return HeldOut(loss.sum(axis=0), attempts.sum(axis=0).astype(np.float64), float(hits))
