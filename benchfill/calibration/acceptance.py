"""The interval of an item that was accepted for lying where it was wanted.

The fresh attempts alone say where a confirmed item lies, but items whose fresh estimate lay far from the target were
refused: what is left has smaller errors than its standard deviation says, and a plain 90 % interval holds the true
place of 95 to 97 of 100 accepted items. The interval that holds 90 is worked out from the rule of acceptance itself.

Before its fresh attempts the item's place z has the posterior ``w(z)`` of all earlier ones. Its fresh estimate is
``z_f ~ Normal(z, s_f)``, independent of them given z. It is accepted when z_f lies in an interval A:

- ``|z_f - z*| <= 2 s_f + tol`` (no surprise), and
- all attempts together leave an expected deviation within the tolerance. Precisions add, ``1/s_p^2 = 1/s_b^2 +
  1/s_f^2``, the pooled mean is ``m_p = s_p^2 (m_b / s_b^2 + z_f / s_f^2)``, and ``E|z - z*| <= tol`` means
  ``|m_p - z*| <= h`` with h from ``E|Normal(h, s_p)| = tol``: again an interval of z_f.

Of items that stood as this one did and are accepted, a share

    c(x) = sum_z w(z) P(|z_f - z| <= x s_f, z_f in A | z) / sum_z w(z) P(z_f in A | z)

lie within x standard deviations of their fresh estimate. ``c(x) = 0.9`` is solved for x, and the interval leaves out
``Phi(-x)`` of the fresh posterior on either side. Without a rule A is the whole line, and x is 1.645. Conditioning on
A for each z apart (a truncated normal, inverted) has the same coverage for every single z, but no finite interval once
z_f lies near an end of A: it would say nothing of half of the items.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from benchfill.calibration.online import ItemPosterior

__all__ = ["SURPRISE", "left_out", "reach"]

# Standard deviations of the fresh estimate that a candidate on target may lie off, beyond the tolerance.
SURPRISE = 2.0
LEVEL = 0.9
# Where x is looked for.
NARROWEST, WIDEST = 0.1, 6.0


def left_out(before: ItemPosterior, fresh_sd: float, *, target: float, tolerance: float) -> float:
    """Share of the fresh posterior outside of the 90 % interval, on either side.

    Parameters
    ----------
    before
        Posterior of all attempts before the fresh ones.
    fresh_sd
        Standard deviation (z) of the fresh posterior.
    target, tolerance
        In z.

    Returns
    -------
    float
        0.05 where acceptance says nothing; mostly more.
    """
    lo, hi = _accepted(before, fresh_sd, target=target, tolerance=tolerance)
    below, above = (lo - before.z) / fresh_sd, (hi - before.z) / fresh_sd
    accepted = float(before.weight @ (ndtr(above) - ndtr(below)))
    if accepted < 1e-9:
        return (1.0 - LEVEL) / 2.0

    def too_many(x: float) -> float:
        held = ndtr(np.minimum(above, x)) - ndtr(np.maximum(below, -x))
        return float(before.weight @ np.maximum(held, 0.0)) / accepted - LEVEL

    if too_many(NARROWEST) >= 0.0 or too_many(WIDEST) <= 0.0:
        return (1.0 - LEVEL) / 2.0
    return float(ndtr(-brentq(too_many, NARROWEST, WIDEST, xtol=1e-4)))


def _accepted(
    before: ItemPosterior, fresh_sd: float, *, target: float, tolerance: float
) -> tuple[float, float]:
    """The fresh estimates with which the item is accepted."""
    surprise = SURPRISE * fresh_sd + tolerance
    lo, hi = target - surprise, target + surprise
    earlier, fresh = before.sd**-2, fresh_sd**-2
    near = reach((earlier + fresh) ** -0.5, tolerance)
    if near is None:
        return lo, hi
    ends = [((target + side * near) * (earlier + fresh) - before.mean * earlier) / fresh for side in (-1, 1)]
    return max(lo, ends[0]), min(hi, ends[1])


def reach(sd: float, tolerance: float) -> float | None:
    """How far from the target a normal's mean may lie for its expected deviation to be within the tolerance.

    None where ``sd * sqrt(2 / pi)``, the least there is, is more than the tolerance.
    """
    if sd * math.sqrt(2.0 / math.pi) >= tolerance:
        return None

    def excess(mean: float) -> float:
        x = mean / sd
        density = math.exp(-x * x / 2.0) / math.sqrt(2.0 * math.pi)
        return sd * (2.0 * density + x * (1.0 - 2.0 * float(ndtr(-x)))) - tolerance

    return float(brentq(excess, 0.0, tolerance, xtol=1e-9 * tolerance))
