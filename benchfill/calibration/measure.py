"""A benchmark as an empirical measure over difficulty: its distance to a target measure, and its gaps.

Definitions follow "Your Benchmark Is an Empirical Measure Over Difficulty" (arXiv 2610.29927). All
positions are z, the frozen difficulty axis on which 0 and 1 are the ends of the original benchmark.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchfill.errors import InputError

__all__ = ["Gap", "ddm", "find_gaps", "max_gap", "top_k_gap_sum", "wasserstein"]

# Widths that agree to this many digits are one width: the smaller lower end then comes first.
_TIE_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Gap:
    """An interval of the axis without an item.

    Parameters
    ----------
    lo, hi
        Neighbouring items, or the ends 0 and 1 of the axis, in z.
    width
        ``hi - lo``.
    target
        The midpoint: one item placed there reduces the gap the most.
    """

    lo: float
    hi: float
    width: float
    target: float


def _finite_sample(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Sorted finite values of a non-empty one-dimensional sample."""
    sample = np.sort(np.asarray(values, dtype=np.float64).ravel())
    if sample.size == 0:
        raise InputError(f"{name} holds no values.", kind="no_data")
    if not np.isfinite(sample).all():
        raise InputError(f"{name} holds values that are not finite numbers.", kind="not_finite")
    return sample


def wasserstein(a: ArrayLike, b: ArrayLike) -> float:
    """1-Wasserstein distance of two samples, exact, sizes may differ.

    Parameters
    ----------
    a : (n,), b : (m,)
        The samples, in any order and any common unit, which is also the unit of the result.

    Returns
    -------
    float
        The integral of ``|F_a - F_b|`` over the real line.

    Raises
    ------
    InputError
        Kind ``no_data`` for an empty sample, ``not_finite`` for NaN or infinity.
    """
    first, second = _finite_sample(a, "The first sample"), _finite_sample(b, "The second sample")
    steps = np.sort(np.concatenate([first, second]))
    cdf_first = np.searchsorted(first, steps[:-1], side="right") / first.size
    cdf_second = np.searchsorted(second, steps[:-1], side="right") / second.size
    return float(np.sum(np.abs(cdf_first - cdf_second) * np.diff(steps)))


def ddm(z: ArrayLike, target: ArrayLike | None = None) -> float:
    """Difficulty distribution measure: W1 of the items' places to the target measure.

    Parameters
    ----------
    z : (n,)
        Places of the items. Values outside [0, 1] are kept as they are.
    target : (m,), optional
        A sample of the target measure; None is the uniform measure on [0, 1].

    Returns
    -------
    float
        W1 in z. Against the uniform measure it is the closed form of ``integral |F^-1(t) - t| dt``,
        which equals the integral of ``|F - G|`` over the real line.

    Raises
    ------
    InputError
        Kind ``no_data`` or ``not_finite``.
    """
    if target is not None:
        return wasserstein(z, target)
    places = _finite_sample(z, "The benchmark")
    levels = np.arange(places.size + 1) / places.size
    upper, lower = levels[1:] - places, levels[:-1] - places
    # x|x|/2 is the antiderivative of |x|: each item is moved over its own slice of the unit interval.
    return float(np.sum(upper * np.abs(upper) - lower * np.abs(lower)) / 2.0)


def _gap_edges(z: ArrayLike) -> NDArray[np.float64]:
    places = np.clip(_finite_sample(z, "The benchmark"), 0.0, 1.0)
    return np.concatenate([[0.0], places, [1.0]])


def find_gaps(z: ArrayLike) -> list[Gap]:
    """Gaps between neighbouring items and to the ends of the axis, widest first.

    Parameters
    ----------
    z : (n,)
        Places of the items, clipped to [0, 1].

    Returns
    -------
    list of Gap
        Sorted by width descending, ties by the lower end. Items at one place have no gap between them.

    Raises
    ------
    InputError
        Kind ``no_data`` or ``not_finite``.
    """
    edges = _gap_edges(z)
    lows, highs = edges[:-1], edges[1:]
    gaps = [
        Gap(lo=lo, hi=hi, width=hi - lo, target=(lo + hi) / 2.0)
        for lo, hi in zip(lows.tolist(), highs.tolist(), strict=True)
        if hi > lo
    ]
    return sorted(gaps, key=lambda gap: (-round(gap.width, _TIE_DIGITS), gap.lo))


def max_gap(z: ArrayLike) -> float:
    """Widest gap, in z: ``max_j (z_(j+1) - z_(j))`` with ``z_(0) = 0`` and ``z_(n+1) = 1``."""
    return float(np.max(np.diff(_gap_edges(z))))


def top_k_gap_sum(z: ArrayLike, k: int) -> float:
    """Sum of the k widest gaps, in z; of all gaps when there are fewer than k."""
    widths = np.sort(np.diff(_gap_edges(z)))[::-1]
    return float(np.sum(widths[:k]))
