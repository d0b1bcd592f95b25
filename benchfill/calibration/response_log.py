"""A response log: how often each model answered each item, and how often it was right."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from benchfill.errors import InputError

__all__ = ["ResponseLog"]


@dataclass(frozen=True, eq=False)
class ResponseLog:
    """Counts of a models x items table, both sides sorted by id.

    Parameters
    ----------
    models, items
        Ids, sorted and without duplicates.
    correct, attempts
        Shape (models, items), integers with ``0 <= correct <= attempts``. ``attempts == 0`` means that the
        item was never asked: missing, not wrong.

    Raises
    ------
    InputError
        Shapes, order or counts are impossible (kind ``bad_log``).
    """

    models: tuple[str, ...]
    items: tuple[str, ...]
    correct: NDArray[np.int64]
    attempts: NDArray[np.int64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "models", tuple(self.models))
        object.__setattr__(self, "items", tuple(self.items))
        for side, ids in (("models", self.models), ("items", self.items)):
            if not ids:
                raise InputError(f"The response log has no {side}.", kind="bad_log")
            if any(not isinstance(each, str) for each in ids):
                raise InputError(f"The ids of the {side} of a response log are text.", kind="bad_log")
            if any(left >= right for left, right in pairwise(ids)):
                raise InputError(f"The {side} of a response log are sorted by id, each once.", kind="bad_log")
        for name in ("correct", "attempts"):
            object.__setattr__(self, name, self._counts(name))
        wrong = np.argwhere((self.correct < 0) | (self.correct > self.attempts))
        if wrong.size:
            model, item = wrong[0]
            raise InputError(
                f"Model {self.models[model]!r} has {self.correct[model, item]} of"
                f" {self.attempts[model, item]} attempts right on item {self.items[item]!r}: impossible.",
                kind="bad_log",
            )

    def _counts(self, name: str) -> NDArray[np.int64]:
        given = np.asarray(getattr(self, name))
        expected = (len(self.models), len(self.items))
        if given.shape != expected:
            raise InputError(f"{name} has shape {given.shape}, the log needs {expected}.", kind="bad_log")
        whole = given.astype(np.int64) if np.isfinite(given).all() else np.zeros(expected, dtype=np.int64)
        if not np.array_equal(whole, given):
            raise InputError(f"{name} holds values that are not whole numbers.", kind="bad_log")
        whole.setflags(write=False)
        return whole

    def select_models(self, ids: Collection[str]) -> ResponseLog:
        """The same log with these models only.

        Raises
        ------
        InputError
            An id is not in the log (kind ``unknown_id``) or nothing is left.
        """
        rows = _positions(self.models, ids, "model")
        return ResponseLog(
            tuple(self.models[row] for row in rows), self.items, self.correct[rows], self.attempts[rows]
        )

    def select_items(self, ids: Collection[str]) -> ResponseLog:
        """The same log with these items only.

        Raises
        ------
        InputError
            An id is not in the log (kind ``unknown_id``) or nothing is left.
        """
        columns = _positions(self.items, ids, "item")
        return ResponseLog(
            self.models,
            tuple(self.items[column] for column in columns),
            self.correct[:, columns],
            self.attempts[:, columns],
        )


def _positions(known: Sequence[str], wanted: Collection[str], side: str) -> list[int]:
    unknown = sorted(set(wanted) - set(known))
    if unknown:
        named = ", ".join(repr(each) for each in unknown[:5]) + (" ..." if len(unknown) > 5 else "")
        raise InputError(f"The response log has no {side} {named}.", kind="unknown_id")
    chosen = set(wanted)
    return [position for position, each in enumerate(known) if each in chosen]
