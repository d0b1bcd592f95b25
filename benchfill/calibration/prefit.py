"""Checks before any fit: does the log tell items and models apart, and do they agree on an order?

Names and thresholds are those of arXiv 2610.29927; it gives no formulas, the definitions are ours.

- item information rate: share of items whose success rate over the pool lies strictly inside (0, 1);
- model information rate: share of models whose success rate lies strictly inside (0.02, 0.98);
- item inversion rate: mean over items of the share, among pairs of models that are not tied on the item and are
  ordered by their REST score (without the item), in which the weaker one has the higher success rate;
- model inversion rate: the same with the roles exchanged, items ordered by their success among the other models.

Success rates are means of the cells' rates, missing cells left out. An item or a model without such a pair has no
rate and does not count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.response_log import ResponseLog

__all__ = ["Offender", "PrefitCheck", "discordance", "prefit_checks", "rest_scores", "success_rates"]

Array = NDArray[np.float64]

INFORMATION_WANTED = 0.3  # arXiv 2610.29927, as the next
INVERSION_LIMIT = 0.3
MODEL_LOWEST, MODEL_HIGHEST = 0.02, 0.98
_TIE_DIGITS = 12  # scores that agree so far are tied: what differs beyond is rounding of their sums


@dataclass(frozen=True, slots=True)
class Offender:
    """An item or a model on the wrong side of a check, with its own figure."""

    id: str
    value: float


@dataclass(frozen=True, slots=True)
class PrefitCheck:
    """One check.

    Parameters
    ----------
    name
        ``item_information``, ``model_information``, ``item_inversion`` or ``model_inversion``.
    value
        The rate, in [0, 1]; None where no item (model) has one.
    limit, at_least
        The rate wants to be at least (``at_least``) or at most the limit.
    passed
        None where the rate is undefined.
    offenders
        Worst first, ties by id. For information: constant items (their success rate) or extreme models (theirs).
        For inversion: those whose own rate is above the limit.
    """

    name: str
    value: float | None
    limit: float
    at_least: bool
    passed: bool | None
    offenders: tuple[Offender, ...]


def success_rates(log: ResponseLog) -> Array:
    """Share of right attempts of each cell: shape (models, items), NaN where there was none."""
    return np.asarray(np.where(log.attempts > 0, log.correct / np.maximum(log.attempts, 1), np.nan))


def rest_scores(rates: Array) -> Array:
    """Score of each model without the item: shape (models, items), NaN where the cell or the rest is missing.

    Parameters
    ----------
    rates
        Shape (models, items), as `success_rates`. Its transpose gives each item's success without the model.
    """
    asked = np.isfinite(rates)
    others = asked.sum(axis=1, keepdims=True) - 1
    total = np.where(asked, rates, 0.0).sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        rest = (total - rates) / np.maximum(others, 1)
    return np.asarray(np.round(np.where(others > 0, rest, np.nan), _TIE_DIGITS))


def prefit_checks(log: ResponseLog) -> tuple[PrefitCheck, ...]:
    """The four checks, in the order of the module's text.

    Time grows as ``n log n`` in the number of items and of models on each of the other side.
    """
    rates = success_rates(log)
    asked = np.isfinite(rates)
    item_rate, model_rate = (
        np.where(asked, rates, 0.0).sum(axis=axis) / np.maximum(asked.sum(axis=axis), 1) for axis in (0, 1)
    )
    seen_items, seen_models = np.asarray(asked.any(axis=0)), np.asarray(asked.any(axis=1))
    return (
        _information(
            "item_information", log.items, item_rate, seen_items, (item_rate > 0.0) & (item_rate < 1.0)
        ),
        _information(
            "model_information",
            log.models,
            model_rate,
            seen_models,
            (model_rate > MODEL_LOWEST) & (model_rate < MODEL_HIGHEST),
        ),
        _inversion("item_inversion", log.items, _inversion_rates(rates.T, rest_scores(rates).T)),
        _inversion("model_inversion", log.models, _inversion_rates(rates, rest_scores(rates.T).T)),
    )


def discordance(order: Array, value: Array) -> tuple[int, int]:
    """Pairs that order and value put in opposite orders, and pairs that neither ties.

    Inversions are counted while merging sorted halves, all blocks of one length at once: O(n log^2 n).

    Parameters
    ----------
    order, value
        Shape (n,), finite.
    """
    n = order.size
    both = np.lexsort((value, order))
    _, rank = np.unique(value[both], return_inverse=True)
    _, place = np.unique(order[both], return_inverse=True)
    _, tied = np.unique(place.astype(np.int64) * n + rank, return_counts=True)
    pairs = _pairs(n) - _pairs(np.bincount(place)) - _pairs(np.bincount(rank)) + _pairs(tied)
    inversions, width = 0, 1
    position = np.arange(n)
    current = rank.astype(np.int64)
    while width < n:
        block = position // (2 * width)
        right = (position // width) % 2 == 1
        key = block * n + current
        left_keys = key[~right]  # sorted: blocks ascend, and so does each sorted half
        # For every value of a right half: values of its left half that are larger.
        ends = np.searchsorted(left_keys, (block[right] + 1) * n)
        inversions += int((ends - np.searchsorted(left_keys, key[right], side="right")).sum())
        current = np.sort(key) - block * n
        width *= 2
    return inversions, int(pairs)


def _pairs(counts: int | NDArray[np.int64]) -> int:
    counts = np.asarray(counts, dtype=np.int64)
    return int((counts * (counts - 1) // 2).sum())


def _inversion_rates(rates: Array, order: Array) -> Array:
    """Inversion rate of each row over its columns: shape (rows,), NaN where no pair is ordered and untied."""
    found = np.full(rates.shape[0], np.nan)
    usable = np.isfinite(rates) & np.isfinite(order)
    alike: dict[bytes, float] = {}  # rows repeat often: 41,871 items of 12 models have 4,096 patterns at most
    for row, mask in enumerate(usable):
        value, ordered = rates[row, mask], order[row, mask]
        key = value.tobytes() + ordered.tobytes()
        if key not in alike:
            inverted, pairs = discordance(ordered, value) if value.size > 1 else (0, 0)
            alike[key] = inverted / pairs if pairs else np.nan
        found[row] = alike[key]
    return found


def _information(
    name: str, ids: tuple[str, ...], rate: Array, seen: NDArray[np.bool_], informative: NDArray[np.bool_]
) -> PrefitCheck:
    value = float(informative[seen].mean()) if seen.any() else None
    offenders = [Offender(ids[at], float(rate[at])) for at in np.flatnonzero(seen & ~informative)]
    return PrefitCheck(
        name,
        value,
        INFORMATION_WANTED,
        True,
        None if value is None else value >= INFORMATION_WANTED,
        tuple(sorted(offenders, key=lambda each: (-abs(each.value - 0.5), each.id))),
    )


def _inversion(name: str, ids: tuple[str, ...], rates: Array) -> PrefitCheck:
    defined = np.isfinite(rates)
    value = float(rates[defined].mean()) if defined.any() else None
    offenders = [Offender(ids[at], float(rates[at])) for at in np.flatnonzero(rates > INVERSION_LIMIT)]
    return PrefitCheck(
        name,
        value,
        INVERSION_LIMIT,
        False,
        None if value is None else value <= INVERSION_LIMIT,
        tuple(sorted(offenders, key=lambda each: (-each.value, each.id))),
    )
