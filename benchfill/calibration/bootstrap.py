"""95 % intervals from bootstrap draws of a figure, and figures that are not defined.

A benchmark resampled from itself is noisier than the benchmark: its ranking agrees less with others, and its scores
spread otherwise. The basic interval, ``2 estimate - quantile`` (Davison and Hinkley 1997, section 5.2), takes that
shift off; percentiles would put it on a second time. A mean over items has no such shift, and takes percentiles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Estimate", "basic_interval", "percentile_interval"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95 % interval; all None where it is not defined, and `reason` says why."""

    value: float | None
    lo95: float | None = None
    hi95: float | None = None
    reason: str = ""


def basic_interval(value: float | None, draws: Array, least: float, most: float, reason: str) -> Estimate:
    """The estimate with ``2 value - quantiles``, cut to the range of the figure."""
    if value is None or not np.isfinite(value):
        return Estimate(None, reason=reason)
    found = percentile_interval(value, draws, reason)
    if found.lo95 is None or found.hi95 is None:
        return found
    lo, hi = (float(np.clip(2.0 * value - each, least, most)) for each in (found.hi95, found.lo95))
    return Estimate(value, lo, hi)


def percentile_interval(value: float | None, draws: Array, reason: str) -> Estimate:
    """The estimate with quantiles of the draws; undefined draws are left out."""
    if value is None:
        return Estimate(None, reason=reason)
    known = draws[np.isfinite(draws)]
    if not known.size:
        return Estimate(value)
    lo, hi = np.quantile(known, [0.025, 0.975])
    return Estimate(value, float(lo), float(hi))
