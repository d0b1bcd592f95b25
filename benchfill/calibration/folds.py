"""Parts of response logs that are hidden from a fit: cells of every model, or whole models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchfill.calibration.model_choice import deal_folds
from benchfill.calibration.response_log import ResponseLog
from benchfill.errors import InputError

__all__ = ["Fold", "hide_cells", "hide_models", "join_logs"]

FEWEST = 3  # models that are left to fit where whole ones are hidden


@dataclass(frozen=True, eq=False)
class Fold:
    """What is known and what is to be foretold, log by log.

    Parameters
    ----------
    known, hidden
        The same models and items in both.
    absent
        Models that the fit must not see; what is known of them serves to place them afterwards.
    """

    known: tuple[ResponseLog, ...]
    hidden: tuple[ResponseLog, ...]
    absent: frozenset[str] = frozenset()


def hide_cells(logs: Sequence[ResponseLog], folds: int, seed: int) -> list[Fold]:
    """Deal the cells of each log to folds, evenly within items.

    Raises
    ------
    InputError
        A log is too small (kind ``too_few_answers``).
    """
    dealt = [deal_folds(log, folds, seed) for log in logs]
    return [
        Fold(
            tuple(_only(log, of != fold) for log, of in zip(logs, dealt, strict=True)),
            tuple(_only(log, of == fold) for log, of in zip(logs, dealt, strict=True)),
        )
        for fold in range(folds)
    ]


def hide_models(logs: Sequence[ResponseLog], folds: int, seed: int) -> list[Fold]:
    """Hide groups of models, the same in every log; a random half of a hidden model's cells places it.

    Raises
    ------
    InputError
        Too few models would be left in a log (kind ``too_few_models``).
    """
    names = sorted({model for log in logs for model in log.models})
    generator = np.random.default_rng([seed, 2])
    group = dict(zip(names, (generator.permutation(len(names)) % folds).tolist(), strict=True))
    halves = [generator.random(log.attempts.shape) < 0.5 for log in logs]
    found = []
    for fold in range(min(folds, len(names))):
        absent = frozenset(name for name in names if group[name] == fold)
        for log in logs:
            if len(set(log.models) - absent) < FEWEST:
                raise InputError(
                    f"Hiding whole models takes {FEWEST} others in every log; one has {len(log.models)} in all.",
                    "Hide cells instead, or ask for more folds.",
                    kind="too_few_models",
                )
        out = [np.array([model in absent for model in log.models])[:, None] for log in logs]
        found.append(
            Fold(
                tuple(_only(log, ~(gone & half)) for log, gone, half in zip(logs, out, halves, strict=True)),
                tuple(_only(log, gone & half) for log, gone, half in zip(logs, out, halves, strict=True)),
                absent,
            )
        )
    return found


def join_logs(logs: Sequence[ResponseLog]) -> tuple[ResponseLog, list[np.ndarray], list[np.ndarray]]:
    """One log of all models and items; a model that a log lacks was not asked there.

    Returns
    -------
    joined, rows, columns
        Where each log's models and items went.
    """
    models = sorted({model for log in logs for model in log.models})
    row = {model: at for at, model in enumerate(models)}
    rows = [np.array([row[model] for model in log.models]) for log in logs]
    ends = np.cumsum([len(log.items) for log in logs])
    columns = [np.arange(end - len(log.items), end) for end, log in zip(ends, logs, strict=True)]
    correct = np.zeros((len(models), int(ends[-1])), dtype=np.int64)
    attempts = np.zeros_like(correct)
    for log, at, to in zip(logs, rows, columns, strict=True):
        correct[np.ix_(at, to)], attempts[np.ix_(at, to)] = log.correct, log.attempts
    digits = len(str(len(logs))), len(str(int(ends[-1])))
    items = tuple(
        f"{place:0{digits[0]}}/{at:0{digits[1]}}" for place, to in enumerate(columns) for at in to.tolist()
    )
    return ResponseLog(tuple(models), items, correct, attempts), rows, columns


def _only(log: ResponseLog, keep: np.ndarray) -> ResponseLog:
    return ResponseLog(log.models, log.items, np.where(keep, log.correct, 0), np.where(keep, log.attempts, 0))
