"""The same models before and after, from two logs, and whether their repeats are independent attempts at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.response_log import ResponseLog
from benchfill.errors import InputError

__all__ = ["Pairing", "identical_repeats", "one_attempt_each", "pair_logs", "pooled_log"]


@dataclass(frozen=True, eq=False)
class Pairing:
    """The same models before and after, on the items they were asked on both sides.

    Parameters
    ----------
    models
        Pairs of names, before and after.
    items
        Sorted ids.
    before, after
        The two sides: models in the order of the pairs renamed to their later names, restricted to the items.
    only_before, only_after
        Ids of items that no pair was asked on the other side.
    """

    models: tuple[tuple[str, str], ...]
    items: tuple[str, ...]
    before: ResponseLog
    after: ResponseLog
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]


def pair_logs(
    before: ResponseLog, after: ResponseLog, models: Sequence[tuple[str, str]] | None = None
) -> Pairing:
    """Match two logs.

    Parameters
    ----------
    models
        Pairs of names, before and after. None: the models that both logs name, or the only model of each.

    Raises
    ------
    InputError
        Kind ``no_common_model``, ``unknown_id``, ``bad_pairing`` (a model twice) or ``no_common_item``.
    """
    pairs = sorted(models) if models is not None else _default_pairs(before, after)
    for side in zip(*pairs, strict=True):
        if len(set(side)) < len(side):
            raise InputError("A model stands in two pairs.", kind="bad_pairing")
    first = _side(before, [pair[0] for pair in pairs])
    second = _side(after, [pair[1] for pair in pairs])
    common = sorted(set(first.items) & set(second.items))
    if common:
        left, right = first.select_items(common), second.select_items(common)
        asked: list[bool] = np.any((left.attempts > 0) & (right.attempts > 0), axis=0).tolist()
        common = [item for item, both in zip(common, asked, strict=True) if both]
    if not common:
        raise InputError(
            "No item was asked on both sides.",
            f"The ids must agree; they begin with {first.items[0]!r} and {second.items[0]!r}.",
            kind="no_common_item",
        )
    answered = [
        {item for item, asked in zip(side.items, _asked(side), strict=True) if asked}
        for side in (first, second)
    ]
    return Pairing(
        models=tuple(pairs),
        items=tuple(common),
        before=first.select_items(common),
        after=second.select_items(common),
        only_before=tuple(sorted(answered[0] - set(common))),
        only_after=tuple(sorted(answered[1] - set(common))),
    )


def _default_pairs(before: ResponseLog, after: ResponseLog) -> list[tuple[str, str]]:
    common = sorted(set(before.models) & set(after.models))
    if common:
        return [(name, name) for name in common]
    if len(before.models) == len(after.models) == 1:
        return [(before.models[0], after.models[0])]
    raise InputError(
        "The two logs have no model in common.",
        "Name the model in each: --model NAME-BEFORE=NAME-AFTER.",
        kind="no_common_model",
    )


def _side(log: ResponseLog, names: Sequence[str]) -> ResponseLog:
    """The named models in this order, under names that keep the order."""
    chosen = log.select_models(names)
    rows = [chosen.models.index(name) for name in names]
    labels = tuple(f"{place:09d}" for place in range(len(names)))
    return ResponseLog(labels, log.items, chosen.correct[rows], chosen.attempts[rows])


def pooled_log(pairing: Pairing) -> ResponseLog:
    """Both sides added up: re-dealing does not change it, so that an axis fitted to it leaves the test exact.

    An axis fitted to the answers of one side does not: items that went badly by chance look hard, lie side by
    side, and go better the next time.
    """
    return ResponseLog(
        pairing.after.models,
        pairing.items,
        pairing.before.correct + pairing.after.correct,
        pairing.before.attempts + pairing.after.attempts,
    )


def _asked(log: ResponseLog) -> list[bool]:
    """Whether any model was asked each item."""
    asked: list[bool] = np.any(log.attempts > 0, axis=0).tolist()
    return asked


def one_attempt_each(log: ResponseLog) -> ResponseLog:
    """Repeats of greedy decoding counted once.

    Raises
    ------
    InputError
        Kind ``not_greedy``: repeats of an item differ, so they are no copies.
    """
    mixed = np.argwhere((log.correct > 0) & (log.correct < log.attempts))
    if mixed.size:
        model, item = mixed[0]
        raise InputError(
            f"The repeats of {log.models[model]!r} on item {log.items[item]!r} differ: they are not greedy.",
            "Leave out --greedy.",
            kind="not_greedy",
        )
    return ResponseLog(log.models, log.items, np.minimum(log.correct, 1), np.minimum(log.attempts, 1))


def identical_repeats(log: ResponseLog) -> tuple[int, ...]:
    """Rows of the models whose repeated attempts agree on every item, more often than sampling would make them.

    Independent attempts do agree often where a model is sure. Were an item's success probability drawn from
    Beta(0.2, 0.2), which is as far from undecided as benchmarks come, agreement on all items would have a chance below
    1 %.
    """
    found = []
    for row, (correct, attempts) in enumerate(zip(log.correct, log.attempts, strict=True)):
        repeated = attempts >= 2
        right, asked = correct[repeated], attempts[repeated]
        if not right.any() or (right == asked).all() or ((right > 0) & (right < asked)).any():
            continue
        if _log_chance_of_agreement(asked) < np.log(0.01):
            found.append(row)
    return tuple(found)


def _log_chance_of_agreement(attempts: NDArray[np.int64]) -> float:
    shape = 0.2
    steps = np.arange(int(attempts.max()))
    one_kind = np.concatenate([[0.0], np.cumsum(np.log((shape + steps) / (2 * shape + steps)))])
    return float(np.sum(np.log(2.0) + one_kind[attempts]))
