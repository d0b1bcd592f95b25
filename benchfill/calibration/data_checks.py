"""Checks of the data that are always made: what makes a response log say less, or something else, than it seems to.

All of them need the counts alone. Rows that occur twice are the reader's matter: a `ResponseLog` has none.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from benchfill.calibration.prefit import rest_scores, success_rates
from benchfill.calibration.response_log import ResponseLog
from benchfill.errors import InputError

__all__ = [
    "DataChecks",
    "ItemCorrelation",
    "RepeatSignature",
    "ResponseGroup",
    "check_data",
    "collapse_repeats",
    "find_repeats",
    "rest_correlations",
]

Array = NDArray[np.float64]

REPEAT_CELLS = 10  # cells of several attempts from which on 'all alike in each of them' says something
_UPPER = 1.6448536269514722  # 95 % quantile of the normal distribution
_FEWEST = 4  # models; Fisher's z has the standard error 1 / sqrt(models - 3)
_TWIN_ITEMS = 10  # common items from which on equal answers of two models are no coincidence to be expected


@dataclass(frozen=True, slots=True)
class RepeatSignature:
    """A model whose attempts agree in every cell that has several.

    Decoded greedily, or with one seed, k repeats are one attempt (pseudo-replication), and intervals that count
    them k times are too narrow. Counts cannot prove it: a model that is certain of every item looks the same.

    Parameters
    ----------
    model
        Its id.
    cells
        Cells with more than one attempt.
    right, wrong
        How many of them are all right, and all wrong; both are positive.
    """

    model: str
    cells: int
    right: int
    wrong: int


@dataclass(frozen=True, slots=True)
class ItemCorrelation:
    """An item's point-biserial correlation with the REST score, and its one-sided upper 95 % bound."""

    item: str
    correlation: float
    upper95: float


@dataclass(frozen=True, slots=True)
class ResponseGroup:
    """Models and items that are linked by answers with each other and with no others."""

    models: tuple[str, ...]
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DataChecks:
    """What was found; every list is empty where there is nothing to say.

    Parameters
    ----------
    always_right_models, always_wrong_models
        Models at 100 % and at 0 %: an artefact, or beyond the benchmark; their abilities are the prior's.
    always_right_items, always_wrong_items
        Items that say nothing about any model.
    repeats
        Models with the signature of identical repeats, by id.
    reversed_items
        Items with an upper 95 % bound below 0, lowest correlation first: weak models solve them, strong ones do
        not. A wrong key is the usual reason.
    correlated_items
        How many items have a correlation at all: those that vary over at least four models.
    twins
        Sets of models with the same counts in every cell, over at least ten items: one model under several names.
    groups
        One, unless the log falls into groups whose scales cannot be compared.
    unanswered_items, silent_models
        Without a single attempt.
    """

    always_right_models: tuple[str, ...]
    always_wrong_models: tuple[str, ...]
    always_right_items: tuple[str, ...]
    always_wrong_items: tuple[str, ...]
    repeats: tuple[RepeatSignature, ...]
    reversed_items: tuple[ItemCorrelation, ...]
    correlated_items: int
    twins: tuple[tuple[str, ...], ...]
    groups: tuple[ResponseGroup, ...]
    unanswered_items: tuple[str, ...]
    silent_models: tuple[str, ...]

    @property
    def connected(self) -> bool:
        """Whether all that was answered hangs together."""
        return len(self.groups) <= 1


def check_data(log: ResponseLog) -> DataChecks:
    """Make all checks."""
    (models_right, models_wrong, silent), (items_right, items_wrong, unanswered) = (
        _extremes(ids, log, axis) for ids, axis in ((log.models, 1), (log.items, 0))
    )
    correlation, upper = rest_correlations(log)
    against = sorted(
        (
            ItemCorrelation(log.items[at], float(correlation[at]), float(upper[at]))
            for at in np.flatnonzero(upper < 0)
        ),
        key=lambda each: (each.correlation, each.item),
    )
    return DataChecks(
        always_right_models=models_right,
        always_wrong_models=models_wrong,
        always_right_items=items_right,
        always_wrong_items=items_wrong,
        repeats=find_repeats(log),
        reversed_items=tuple(against),
        correlated_items=int(np.isfinite(correlation).sum()),
        twins=_twins(log),
        groups=_groups(log),
        unanswered_items=unanswered,
        silent_models=silent,
    )


def find_repeats(log: ResponseLog) -> tuple[RepeatSignature, ...]:
    """Models with several attempts in at least ten cells, of which each is all right or all wrong.

    A model that is always right, or always wrong, has no signature: nothing could differ.
    """
    several = log.attempts > 1
    right = (several & (log.correct == log.attempts)).sum(axis=1)
    wrong = (several & (log.correct == 0)).sum(axis=1)
    cells = several.sum(axis=1)
    found = (cells >= REPEAT_CELLS) & (right + wrong == cells) & (right > 0) & (wrong > 0)
    return tuple(
        RepeatSignature(log.models[at], int(cells[at]), int(right[at]), int(wrong[at]))
        for at in np.flatnonzero(found)
    )


def collapse_repeats(log: ResponseLog, models: Collection[str]) -> ResponseLog:
    """Count the identical repeats of these models once: one attempt a cell instead of k.

    Parameters
    ----------
    models
        Ids of models whose repeats are known to be no independent attempts.

    Raises
    ------
    InputError
        An id is not in the log (kind ``unknown_id``), or repeats of such a model differ (kind ``repeats_differ``).
    """
    named = log.select_models(models) if models else None
    rows = np.isin(log.models, named.models if named else [])
    mixed = rows[:, None] & (log.correct > 0) & (log.correct < log.attempts)
    if mixed.any():
        model, item = np.argwhere(mixed)[0]
        raise InputError(
            f"The repeats of model {log.models[model]!r} differ on item {log.items[item]!r}:"
            f" {log.correct[model, item]} of {log.attempts[model, item]} are right.",
            "They are attempts of their own; do not declare the model's repeats identical.",
            kind="repeats_differ",
        )
    return ResponseLog(
        log.models,
        log.items,
        np.where(rows[:, None], np.minimum(log.correct, 1), log.correct),
        np.where(rows[:, None], np.minimum(log.attempts, 1), log.attempts),
    )


def rest_correlations(log: ResponseLog) -> tuple[Array, Array]:
    """Point-biserial correlation of each item with the REST score over models, and its upper 95 % bound.

    Pearson's correlation of the cells' success rates with the models' scores without the item; the bound is
    one-sided, by Fisher's z: ``tanh(atanh(r) + 1.645 / sqrt(models - 3))``.

    Returns
    -------
    correlation, upper
        Shape (items,) each; NaN for items that were answered by fewer than four models or do not vary.
    """
    rates = success_rates(log)
    rest = rest_scores(rates)
    both = np.isfinite(rates) & np.isfinite(rest)
    count = both.sum(axis=0)
    one, other = (_centred(values, both) for values in (rates, rest))
    spread = np.sqrt((one * one).sum(axis=0) * (other * other).sum(axis=0))
    defined = (count >= _FEWEST) & (spread > 1e-12)
    correlation = np.full(len(log.items), np.nan)
    correlation[defined] = np.clip((one * other).sum(axis=0)[defined] / spread[defined], -1.0, 1.0)
    inside = np.clip(correlation, -1.0 + 1e-15, 1.0 - 1e-15)
    upper = np.tanh(np.arctanh(inside) + _UPPER / np.sqrt(np.maximum(count - 3.0, 1.0)))
    return correlation, upper


def _centred(values: Array, mask: NDArray[np.bool_]) -> Array:
    mean = np.where(mask, values, 0.0).sum(axis=0) / np.maximum(mask.sum(axis=0), 1)
    return np.asarray(np.where(mask, values - mean, 0.0))


def _extremes(
    ids: tuple[str, ...], log: ResponseLog, axis: int
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Ids that are always right, always wrong, and without an attempt."""
    right, asked = log.correct.sum(axis=axis), log.attempts.sum(axis=axis)

    def named(which: NDArray[np.bool_]) -> tuple[str, ...]:
        return tuple(ids[at] for at in np.flatnonzero(which))

    return named((asked > 0) & (right == asked)), named((asked > 0) & (right == 0)), named(asked == 0)


def _twins(log: ResponseLog) -> tuple[tuple[str, ...], ...]:
    alike: dict[bytes, list[str]] = {}
    for at, model in enumerate(log.models):
        asked = log.attempts[at] > 0
        mixed = 0 < log.correct[at].sum() < log.attempts[at].sum()
        if mixed and asked.sum() >= _TWIN_ITEMS:
            alike.setdefault(log.correct[at].tobytes() + log.attempts[at].tobytes(), []).append(model)
    return tuple(tuple(models) for models in alike.values() if len(models) > 1)


def _groups(log: ResponseLog) -> tuple[ResponseGroup, ...]:
    rows, columns = np.nonzero(log.attempts)
    models, items = log.attempts.shape
    edges = coo_array((np.ones(rows.size), (rows, columns + models)), shape=(models + items, models + items))
    _, label = connected_components(edges, directed=False)
    return tuple(
        ResponseGroup(
            tuple(log.models[at] for at in np.flatnonzero(label[:models] == group)),
            tuple(log.items[at] for at in np.flatnonzero(label[models:] == group)),
        )
        for group in dict.fromkeys(label[rows].tolist())
    )
