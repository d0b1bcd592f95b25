"""Quantile matching: the m of n items whose measure lies closest to a target measure, exactly and fast.

Write ``S_i`` for the number of items kept at or below the i-th distinct place. On the stretch up to the next place the
kept items have the distribution function ``S_i / m``, so that

    W1 = integral |F - G| = constant + sum_i phi_i(S_i),   phi_i(s) = integral over the stretch of |s/m - G(x)| dx.

Each ``phi_i`` is convex, and ``S_i - S_(i-1)`` may be any whole number from 0 to the count of items at the place. A sum
of convex functions of neighbouring whole numbers with bounded differences is minimised exactly by one pass that keeps
the convex function "least cost of all choices up to here, as a function of S_i" as its sorted breakpoints: adding
``phi_i`` inserts breakpoints, allowing the next step shifts those right of the minimum. The choice is the same as that
of the dynamic programme over (item, rank) with the cost of rank k = integral over ((k-1)/m, k/m) of
``|z - F_mu^-1(t)|`` (quantile matching, arXiv 2610.29927), whose table has n m cells.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchfill.calibration.targets import Target, Uniform, distance
from benchfill.errors import InputError

__all__ = ["quantile_matching"]

Array = NDArray[np.float64]


def quantile_matching(z: ArrayLike, m: int, target: Target | None = None) -> tuple[NDArray[np.int64], float]:
    """How many items to keep at each distinct place so that W1 to the target is the smallest possible.

    Parameters
    ----------
    z : (n,)
        Places of the items.
    m
        Number of items to keep, 1 to n.
    target
        None is the uniform measure on [0, 1].

    Returns
    -------
    counts : (distinct places,)
        In ascending order of the places, as of ``numpy.unique(z)``; the sum is m.
    w1 : float
        W1 of the kept items to the target.

    Raises
    ------
    InputError
        Kind ``no_data``, ``not_finite`` or ``bad_keep``.
    """
    sample = np.asarray(z, dtype=np.float64).ravel()
    if not sample.size:
        raise InputError("There are no items to prune.", kind="no_data")
    if not np.isfinite(sample).all():
        raise InputError("The places of the items hold values that are no finite numbers.", kind="not_finite")
    if not 1 <= m <= sample.size:
        raise InputError(f"Cannot keep {m} of {sample.size} items.", kind="bad_keep")
    places, sizes = np.unique(sample, return_counts=True)
    measure = target or Uniform()
    counts = _choose(places, sizes, m, measure)
    return counts, distance(np.repeat(places, counts), measure)


def _choose(places: Array, sizes: NDArray[np.int64], m: int, target: Target) -> NDArray[np.int64]:
    """Counts kept at each place: the pass forward finds where each partial sum is best, the way back decides."""
    breaks, weights, ends = _breakpoints(places, m, target)
    at, weight = breaks.tolist(), weights.tolist()
    # Left of the minimum breakpoints are held as -s, right of it as s - shift, so that allowing one item more moves all
    # of the latter. The infinite ones are the bounds of the sum: 0 below, the number of items seen above.
    left, right = _Side(), _Side()
    shift, begin = 0, 0
    best: list[int] = []
    for size, end in zip(sizes.tolist(), [*ends.tolist(), len(at)], strict=True):
        shift += size
        for index in range(begin, end):
            left.push(-at[index], weight[index])
            left.move(right, weight[index], -shift)
            right.push(at[index] - shift, weight[index])
            right.move(left, weight[index], -shift)
        best.append(-left.nearest)
        begin = end
    sums = [m]
    for size, optimum in zip(reversed(sizes[1:].tolist()), reversed(best[:-1]), strict=True):
        # The cost so far is convex: of the sums that lead to the next, the one nearest to its minimum is best.
        sums.append(min(max(optimum, sums[-1] - size), sums[-1]))
    partial: NDArray[np.int64] = np.array(sums[::-1], dtype=np.int64)
    return np.diff(partial, prepend=np.int64(0))


class _Side:
    """Breakpoints on one side of the minimum of a convex function: a heap, the one nearest to the minimum first.

    Equal keys are one breakpoint: otherwise every split would leave a fragment, and the fragments would be moved to
    and fro, each time all of them.
    """

    def __init__(self) -> None:
        self._keys = [0]
        self._weights = {0: np.inf}

    @property
    def nearest(self) -> int:
        """Key of the breakpoint nearest to the minimum."""
        return self._keys[0]

    def push(self, key: int, weight: float) -> None:
        """Add a breakpoint at which the slope changes by `weight`."""
        if key in self._weights:
            self._weights[key] += weight
        else:
            self._weights[key] = weight
            heapq.heappush(self._keys, key)

    def move(self, other: _Side, weight: float, shift: int) -> None:
        """Move breakpoints of this total weight across the minimum, where `key` becomes `shift - key`."""
        while weight > 0.0:
            key = self._keys[0]
            most = self._weights[key]
            if most > weight:
                self._weights[key] = most - weight
            else:
                heapq.heappop(self._keys)
                del self._weights[key]
            moved = min(weight, most)
            other.push(shift - key, moved)
            weight -= moved


def _breakpoints(places: Array, m: int, target: Target) -> tuple[NDArray[np.int64], Array, NDArray[np.int64]]:
    """Breakpoints of all phi_i as ``sum of weight |s - at|``, and where those of each stretch end.

    The slope of phi_i from s = k-1 to s = k is the cost of rank k at the lower place less that at the upper one. It is
    -width/m for slices of the target below the stretch and +width/m above, so only the slices that reach into
    the stretch are looked at: n + m of them in all.
    """
    edges = np.asarray(target.quantile(np.arange(m + 1) / m), dtype=np.float64)
    slices = np.clip(np.searchsorted(edges, places, side="right"), 1, m)
    lengths = np.diff(slices) + 2
    ends = np.cumsum(lengths)
    stretch = np.repeat(np.arange(lengths.size), lengths)
    # Breakpoint at s = rank - 1 lies between the slopes of that rank and of the one before.
    rank = np.arange(stretch.size) - (ends - lengths)[stretch] + slices[stretch]
    t0, t1 = (rank - 1) / m, np.minimum(rank / m, 1.0)
    lower, upper, outside = places[stretch], places[stretch + 1], (np.diff(places) / m)[stretch]
    within = target.integral_abs(lower, t0, t1) - target.integral_abs(upper, t0, t1)
    slope = np.where(rank > slices[stretch + 1], outside, within)
    before = np.where(rank == slices[stretch], -outside, np.roll(slope, 1))
    weights = (slope - before) / 2.0
    used = weights > 0.0
    return rank[used] - 1, weights[used], np.concatenate([[0], np.cumsum(used)])[ends]
