"""Pruning a benchmark: keep the items whose measure lies closest to a target, and say what that does to the models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from benchfill.calibration.measure import max_gap
from benchfill.calibration.quantile_matching import quantile_matching
from benchfill.calibration.ranking import mean_success, pair_signs, tau_of_signs
from benchfill.calibration.response_log import ResponseLog
from benchfill.calibration.targets import Target, Uniform, distance
from benchfill.errors import InputError

__all__ = ["Pruning", "kept_count", "order_agreement", "prune"]


@dataclass(frozen=True, slots=True)
class Pruning:
    """A benchmark before and after pruning, on the same frozen axis.

    Parameters
    ----------
    kept
        Ids of the kept items, sorted.
    n_before, n_after
        Numbers of items.
    ddm_before, ddm_after
        W1 to the target, in z.
    max_gap_before, max_gap_after
        In z. Items are only taken away, so the second is never smaller.
    tau
        Kendall tau-b of the models' mean success before and after; None where it is undefined (fewer than two models,
        or all of them tied) or no log was given.
    reversed_pairs
        Pairs of models whose order is strictly reversed; None without a log.
    """

    kept: tuple[str, ...]
    n_before: int
    n_after: int
    ddm_before: float
    ddm_after: float
    max_gap_before: float
    max_gap_after: float
    tau: float | None
    reversed_pairs: int | None


def kept_count(keep: float, n: int) -> int:
    """Number of items to keep, from a number of items (1 or more) or a share (below 1), of ``n``.

    Raises
    ------
    InputError
        Kind ``bad_keep``: not a whole number from 1 to n, nor a share that leaves at least one item.
    """
    if 0.0 < keep < 1.0:
        # Half of 5 is 3: a share is rounded half up, never to the even neighbour.
        count = int(np.floor(keep * n + 0.5))
        if count:
            return count
        raise InputError(
            f"{keep:g} of {n} items is less than one item.", "Keep a larger share.", kind="bad_keep"
        )
    if 1.0 <= keep <= n and float(keep).is_integer():
        return int(keep)
    raise InputError(
        f"Cannot keep {keep:g} of {n} items.",
        f"Name a whole number from 1 to {n}, or a share between 0 and 1.",
        kind="bad_keep",
    )


def prune(
    ids: Sequence[str],
    z: ArrayLike,
    keep: float,
    *,
    target: Target | None = None,
    log: ResponseLog | None = None,
) -> Pruning:
    """Keep the items whose measure lies closest to the target.

    Parameters
    ----------
    ids, z : (n,)
        The items and their places. Of items at one place, those kept are spread evenly through their sorted ids.
    keep
        A number of items, or a share below 1; see `kept_count`.
    target
        None is the uniform measure on [0, 1].
    log
        Answers to these items, for the order of the models before and after.

    Raises
    ------
    InputError
        Kind ``no_data``, ``not_finite``, ``bad_keep`` or ``unknown_id`` (an item that the log lacks).
    """
    sample = np.asarray(z, dtype=np.float64).ravel()
    m = kept_count(keep, sample.size)
    counts, after = quantile_matching(sample, m, target)
    order = sorted(range(sample.size), key=lambda index: (sample[index], ids[index]))
    chosen: list[int] = []
    start = 0
    for size, count in zip(np.unique(sample, return_counts=True)[1].tolist(), counts.tolist(), strict=True):
        # Ids are often in the order of topics: the first ones would be all of one kind.
        chosen.extend(order[start + (2 * rank + 1) * size // (2 * count)] for rank in range(count))
        start += size
    kept = tuple(sorted(ids[index] for index in chosen))
    agreement = (None, None) if log is None else order_agreement(log.select_items(ids), kept)
    return Pruning(
        kept=kept,
        n_before=sample.size,
        n_after=m,
        ddm_before=distance(sample, target or Uniform()),
        ddm_after=after,
        max_gap_before=max_gap(sample),
        max_gap_after=max_gap(sample[chosen]),
        tau=agreement[0],
        reversed_pairs=agreement[1],
    )


def order_agreement(log: ResponseLog, kept: Sequence[str]) -> tuple[float | None, int]:
    """Kendall tau-b of the models' mean success on all items and on the kept ones, and the strictly reversed pairs.

    A model's mean success is the mean over the items it was asked of its success rate on each; models that were asked
    nothing on one side are left out.
    """
    full, part = mean_success(log), mean_success(log.select_items(kept))
    known = np.isfinite(full) & np.isfinite(part)
    first, second = pair_signs(full[known]), pair_signs(part[known])
    tau = float(tau_of_signs(first, second))
    return tau if np.isfinite(tau) else None, int(np.count_nonzero(first * second < 0))
