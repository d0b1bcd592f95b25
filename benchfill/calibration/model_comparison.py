"""Which item model foretells hidden answers best: every model, for each benchmark by itself and for all together.

Two things can be hidden. Cells: the model and the item are known, their meeting is not. Whole models: the fit never saw
the model, half of its answers place it, the other half is foretold; that is what a benchmark's item parameters are
worth for the next model. Log loss with its standard error over items decides, and of models within two standard errors
of the best the one with the fewest assumptions dropped is taken.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.folds import Fold, hide_cells, hide_models, join_logs
from benchfill.calibration.held_out import Foretold, Scores, score
from benchfill.calibration.item_models import ModelName, fit_by_name
from benchfill.calibration.model_choice import DECISIVE, some_items
from benchfill.calibration.response_log import ResponseLog
from benchfill.errors import BenchfillError, InputError

__all__ = ["Comparison", "Contender", "Scope", "compare_item_models", "foretell"]

Array = NDArray[np.float64]
Progress = Callable[[float, str], None]

Scope = Literal["benchmark", "joint"]
Hide = Literal["cells", "models"]


@dataclass(frozen=True, slots=True)
class Contender:
    """One model in one scope.

    Parameters
    ----------
    model, scope
        ``benchmark``: a fit to each log by itself. ``joint``: one fit to all.
    scores
        Of all hidden answers; None where a fit failed.
    log_loss_se
        Standard error of the log loss, items as the units.
    gain, gain_se
        Log loss of the first contender minus that of this one, on the same answers, and its standard error; None for
        the first.
    by_log
        Scores of each log.
    seconds
        Processor time of all fits and predictions.
    failure
        Why there are no scores; names the benchmark where each is fitted by itself.
    """

    model: ModelName
    scope: Scope
    scores: Scores | None
    log_loss_se: float | None = None
    gain: float | None = None
    gain_se: float | None = None
    by_log: tuple[Scores, ...] = ()
    seconds: float = 0.0
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """All contenders on the same hidden answers.

    Parameters
    ----------
    hide
        ``cells`` or ``models``, or ``split`` where what is hidden was given.
    contenders
        In the order in which they were named; the first is the reference of gains.
    best
        Position of the recommended one, None where every fit failed.
    lowest
        Position of the one with the lowest log loss.
    items, of_items
        Items that took part, and items of all logs.
    """

    hide: str
    contenders: tuple[Contender, ...]
    best: int | None
    lowest: int | None
    items: int
    of_items: int


def compare_item_models(
    logs: Sequence[ResponseLog],
    models: Sequence[ModelName],
    *,
    hide: Hide = "cells",
    hidden: Sequence[ResponseLog] | None = None,
    names: Sequence[str] | None = None,
    guessing: Sequence[Array | None] | None = None,
    scopes: Sequence[Scope] = ("benchmark", "joint"),
    folds: int = 5,
    most_cells: int = 26_000,
    seed: int = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Compare item models on hidden answers.

    Parameters
    ----------
    logs
        One benchmark each.
    models
        Those with fewer assumptions dropped first.
    hide
        What to hide, unless ``hidden`` is given.
    hidden
        Answers to be foretold, log by log, of the same models and items; the whole of ``logs`` is then fitted.
    names
        Of the logs, for errors.
    guessing
        For each log, shape (items,) or None.
    scopes
        ``joint`` is passed over where there is one log.
    folds
        At least 2; whole models are hidden in so many groups.
    most_cells
        Of more cells in all (models x items) a random part of the items takes part; not where ``hidden`` is given.
    seed
        Deals the folds, thins the items, starts the networks.

    Raises
    ------
    InputError
        The logs do not allow it (kinds ``too_few_answers``, ``too_few_models``, ``bad_log``).
    """
    chances = list(guessing) if guessing is not None else [None] * len(logs)
    of_items = sum(len(log.items) for log in logs)
    if hidden is not None:
        if any((a.models, a.items) != (b.models, b.items) for a, b in zip(logs, hidden, strict=True)):
            raise InputError("The two parts are of different models or items.", kind="bad_log")
        parts = [Fold(tuple(logs), tuple(hidden))]
    else:
        cells = sum(log.attempts.size for log in logs)
        thinned = [
            some_items(log, chance, round(most_cells * log.attempts.size / cells), seed)
            for log, chance in zip(logs, chances, strict=True)
        ]
        logs, chances = [log for log, _ in thinned], [chance for _, chance in thinned]
        parts = (hide_cells if hide == "cells" else hide_models)(logs, folds, seed)
    plan = [(model, scope) for model in models for scope in scopes if scope == "benchmark" or len(logs) > 1]
    items = sum(len(log.items) for log in logs)
    found: list[Contender] = []
    losses: list[tuple[Array, Array]] = []
    for place, (model, scope) in enumerate(plan):

        def show(fraction: float, message: str, place: int = place) -> None:
            if progress is not None:
                progress((place + fraction) / len(plan), message)

        started = time.process_time()
        try:
            tables = [
                foretell(fold, model, scope, guessing=chances, names=names, seed=seed, progress=show)
                for fold in parts
            ]
        except BenchfillError as error:
            found.append(Contender(model, scope, None, failure=str(error)))
            losses.append((np.full(items, np.nan), np.ones(items)))
            continue
        seconds = time.process_time() - started
        by_log = [Foretold.joined([table[at] for table in tables]) for at in range(len(logs))]
        every = Foretold.joined(by_log)
        losses.append(every.item_losses(items))
        loss, attempts = losses[-1]
        compared = place > 0 and found[0].scores is not None
        found.append(
            Contender(
                model,
                scope,
                score(every),
                log_loss_se=_se(loss, attempts),
                gain=_mean(*losses[0]) - _mean(loss, attempts) if compared else None,
                gain_se=_se(losses[0][0] - loss, attempts) if compared else None,
                by_log=tuple(score(each) for each in by_log),
                seconds=seconds,
            )
        )
    lowest, best = _choose(found, losses)
    return Comparison("split" if hidden is not None else hide, tuple(found), best, lowest, items, of_items)


def foretell(
    fold: Fold,
    model: ModelName,
    scope: Scope,
    *,
    guessing: Sequence[Array | None],
    seed: int,
    names: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> list[Foretold]:
    """Fit what is known and foretell what is hidden, log by log; items are numbered through all logs.

    Raises
    ------
    BenchfillError
        A fit did not converge; of one log among several it begins with that log's name.
    """
    if scope == "joint":
        known, rows, columns = join_logs(fold.known)
        rates = None
        if any(each is not None for each in guessing):
            rates = np.concatenate(
                [
                    np.zeros(to.size) if each is None else each
                    for each, to in zip(guessing, columns, strict=True)
                ]
            )
        whole = _chances(known, fold.absent, model, rates, seed, progress)
        chances = [whole[np.ix_(at, to)] for at, to in zip(rows, columns, strict=True)]
    else:
        chances = []
        for at, (log, rates) in enumerate(zip(fold.known, guessing, strict=True)):
            try:
                chances.append(_chances(log, fold.absent, model, rates, seed, progress))
            except BenchfillError as error:
                if names is None or len(names) < 2:
                    raise
                raise BenchfillError(f"{names[at]}: {error.message}", error.remedy) from None
    first, found = 0, []
    for log, chance in zip(fold.hidden, chances, strict=True):
        found.append(Foretold.of(chance, log.correct, log.attempts, first=first))
        first += len(log.items)
    return found


def _chances(
    log: ResponseLog,
    absent: frozenset[str],
    model: ModelName,
    guessing: Array | None,
    seed: int,
    progress: Progress | None,
) -> Array:
    """Chance of every cell, (models, items); absent models are placed after the fit."""
    seen = [name for name in log.models if name not in absent]
    part = log.select_models(seen) if len(seen) < len(log.models) else log
    fit = fit_by_name(part, model, guessing=guessing, seed=seed, progress=progress)
    own = dict(zip(part.models, fit.success(), strict=True))
    return np.stack(
        [
            own[name] if name in own else fit.success_of(log.correct[at], log.attempts[at])
            for at, name in enumerate(log.models)
        ]
    )


def _mean(loss: Array, attempts: Array) -> float:
    return float(loss.sum() / attempts.sum())


def _se(loss: Array, attempts: Array) -> float | None:
    """Standard error of a ratio over items, the independent units."""
    asked = attempts > 0
    items = np.count_nonzero(asked)
    if items < 2:
        return None
    off = (loss - attempts * _mean(loss, attempts))[asked]
    se = float(np.sqrt(items / (items - 1.0) * (off @ off)) / attempts.sum())
    return se if np.isfinite(se) else None


def _choose(
    found: Sequence[Contender], losses: Sequence[tuple[Array, Array]]
) -> tuple[int | None, int | None]:
    fitted = [at for at, each in enumerate(found) if each.scores is not None]
    if not fitted:
        return None, None
    lowest = min(fitted, key=lambda at: (_mean(*losses[at]), at))
    for at in fitted:
        difference = losses[at][0] - losses[lowest][0]
        se = _se(difference, losses[lowest][1])
        if at == lowest or se is None or _mean(difference, losses[lowest][1]) <= DECISIVE * se:
            return lowest, at
    return lowest, lowest
