"""95 % intervals from bootstrap draws of a figure, and figures that are not defined.

A benchmark resampled from itself is noisier than the benchmark: its ranking agrees less with others, and its scores
spread otherwise. Percentiles of such draws put that shift on a second time; the basic interval, ``2 estimate -
percentile`` (Davison and Hinkley 1997, section 5.2), takes it off and is too narrow where there is none. Neither holds
where the other does, so their hull is taken. A mean over items has no shift, and takes percentiles.

Noise does not take a constant off an agreement of rankings but divides it: of normal scores the sine of a right angle
times tau-b is their correlation (Kendall and Gibbons 1990), and noise divides a correlation. The draws show by how much
(draws over estimate); multiplied by it twice, they are where the noise would be none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Estimate", "agreement_interval", "hull_interval", "percentile_interval"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95 % interval; all None where it is not defined, and `reason` says why."""

    value: float | None
    lo95: float | None = None
    hi95: float | None = None
    reason: str = ""


def hull_interval(value: float | None, draws: Array, least: float, most: float, reason: str) -> Estimate:
    """The estimate with the hull of percentiles and ``2 value - percentiles``, cut to the range of the figure."""
    if value is None or not np.isfinite(value):
        return Estimate(None, reason=reason)
    found = percentile_interval(value, draws, reason)
    if found.lo95 is None or found.hi95 is None:
        return found
    lo = min(found.lo95, 2.0 * value - found.hi95)
    hi = max(found.hi95, 2.0 * value - found.lo95)
    return Estimate(value, float(np.clip(lo, least, most)), float(np.clip(hi, least, most)))


def agreement_interval(value: float | None, draws: Array, reason: str) -> Estimate:
    """The hull, of an agreement from -1 to 1, with its upper end where attenuation puts it if that is higher."""
    found = hull_interval(value, draws, -1.0, 1.0, reason)
    if found.value is None or found.hi95 is None:
        return found
    known = draws[np.isfinite(draws)]
    if found.value <= 0.0 or known.mean() <= 0.0:
        return found
    estimate, drawn, hi = np.sin(
        np.pi / 2.0 * np.array([found.value, known.mean(), np.quantile(known, 0.975)])
    )
    without_noise = float(np.arcsin(min(1.0, hi * (estimate / drawn) ** 2)) * 2.0 / np.pi)
    return Estimate(found.value, found.lo95, max(found.hi95, without_noise))


def percentile_interval(value: float | None, draws: Array, reason: str) -> Estimate:
    """The estimate with quantiles of the draws; undefined draws are left out."""
    if value is None:
        return Estimate(None, reason=reason)
    known = draws[np.isfinite(draws)]
    if not known.size:
        return Estimate(value)
    lo, hi = np.quantile(known, [0.025, 0.975])
    return Estimate(value, float(lo), float(hi))
