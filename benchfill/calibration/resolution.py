"""Is a gap real? What the answers say about the true places of the items around it.

The gap between two estimates is a blurred picture, and for small pools a discrete one, of the gap between true
difficulties. A gap counts as resolved when the posterior probability that no item truly lies in its middle half is
at least 0.95.

The ends of the axis. On the ``minmax`` axis the ends are two estimated difficulties, frozen: the items there have
no gap between them and the end, and their true places lie on either side of it. A gap from 0 to the first item, or
from the last item to 1, arises on other axes, for a subset of items, or in a draw of the true places. It is an
interval like every other: "empty" says that no item lies in its middle half, and nothing about what is outside the
axis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from benchfill.calibration.conditionals import conditionals_of
from benchfill.calibration.fit import Fit
from benchfill.calibration.information import information_at
from benchfill.calibration.measure import Gap
from benchfill.calibration.response_log import ResponseLog
from benchfill.calibration.scale import Scale

__all__ = [
    "ATTEMPTS_LIMIT",
    "RESOLVED",
    "GapResolution",
    "attempts_to_resolve",
    "chance_empty",
    "resolve_gaps",
]

Array = NDArray[np.float64]

RESOLVED = 0.95
ATTEMPTS_LIMIT = 10_000  # attempts of every model at every item that nobody buys
_CELLS = 24  # of a gap, when the widest empty interval inside it is looked for; a multiple of four
_DRAWS = 200


@dataclass(frozen=True, slots=True)
class GapResolution:
    """What is known of one gap; places and widths in z.

    Parameters
    ----------
    lo, hi, width
        The gap.
    p_empty
        Posterior probability that no item truly lies in the middle half of it.
    resolved
        ``p_empty >= 0.95``.
    resolved_lo, resolved_hi, resolved_width
        The widest interval inside the gap (to a 24th of it) that is empty with probability 0.95; None, None and 0
        where there is none.
    attempts_needed
        Attempts of every model at every item that would resolve the gap in about seven of ten logs, were the true
        places the estimated ones; None where it is resolved, or out of reach.
    models_needed
        How many models like these would do it at the present number of attempts; None as above.
    out_of_reach
        Unresolved, and more than ``ATTEMPTS_LIMIT`` attempts would be needed: the pool is blind there.
    """

    lo: float
    hi: float
    width: float
    p_empty: float
    resolved: bool
    resolved_lo: float | None
    resolved_hi: float | None
    resolved_width: float
    attempts_needed: int | None
    models_needed: int | None
    out_of_reach: bool

    @property
    def verdict(self) -> str:
        """One line for a reader."""
        if self.resolved:
            return "resolved"
        if self.out_of_reach:
            return "not resolvable with this design: the pool is blind here"
        return (
            f"not resolvable with this design: about {self.attempts_needed:,} attempts of every model at every item,"
            f" or {self.models_needed:,} models like these, would resolve it"
        )


def chance_empty(
    fit: Fit, log: ResponseLog, scale: Scale, edges: Sequence[Array], *, draws: int = _DRAWS
) -> list[Array]:
    """Probability that no item truly lies between two places, for all pairs of places of each list.

    ``mean over draws of the product over items of P(z_i outside | theta, mu_b, sigma_b, data)``.

    Parameters
    ----------
    edges
        Lists of ascending places in z, shape (m,) each.
    draws
        Of the fit's draws; at 200 the Monte Carlo error of the mean is below 0.01.

    Returns
    -------
    list of Array
        Shape (m, m) each: at [i, j], i < j, the probability that (edges[i], edges[j]) is empty; one elsewhere.
    """
    conditionals = conditionals_of(fit, log, draws=draws)
    size = conditionals.groups.size
    places = [np.array([scale.to_b(float(z)) for z in each]) for each in edges]
    found = [np.zeros((each.size, each.size)) for each in places]
    for given in conditionals:
        below = given.cdf(np.concatenate(places))
        start = 0
        for each, total in zip(places, found, strict=True):
            part = below[:, start : start + each.size]
            start += each.size
            near = part[:, -1] > part[:, 0]
            part, weight = part[near], size[near]
            for i in range(each.size - 1):
                inside = np.minimum(part[:, i + 1 :] - part[:, i : i + 1], 1.0)
                with np.errstate(divide="ignore"):
                    total[i, i + 1 :] += np.exp(np.einsum("g,gj->j", weight, np.log1p(-inside)))
    for total in found:
        total /= len(conditionals)
        total[np.tril_indices(total.shape[0])] = 1.0
    return found


def resolve_gaps(
    fit: Fit, log: ResponseLog, scale: Scale, gaps: Sequence[Gap], *, draws: int = _DRAWS
) -> tuple[GapResolution, ...]:
    """Say of each gap whether it is resolved, and what it would take.

    Parameters
    ----------
    fit, log
        A fit with draws, and the log it was fitted to. With ``mml`` abilities count as known, which claims too much
        where they are not.
    scale
        The frozen axis.
    gaps
        Such as the first of `find_gaps`.

    Returns
    -------
    tuple of GapResolution
        In the order of the gaps.
    """
    if not gaps:
        return ()
    edges = [gap.lo + gap.width * np.arange(_CELLS + 1) / _CELLS for gap in gaps]
    found = chance_empty(fit, log, scale, edges, draws=draws)
    return tuple(
        _resolution(fit, log, scale, gap, edge, empty)
        for gap, edge, empty in zip(gaps, edges, found, strict=True)
    )


def _resolution(
    fit: Fit, log: ResponseLog, scale: Scale, gap: Gap, edge: Array, empty: Array
) -> GapResolution:
    p_empty = float(empty[_CELLS // 4, 3 * _CELLS // 4])
    resolved = p_empty >= RESOLVED
    span, at = 0, 0
    for cells in range(_CELLS, 0, -1):
        chances = np.diagonal(empty, cells)
        if chances.max() >= RESOLVED:
            span, at = cells, int(chances.argmax())
            break
    attempts = None if resolved else attempts_to_resolve(fit, log, scale, gap)
    present = _present_attempts(log)
    return GapResolution(
        lo=gap.lo,
        hi=gap.hi,
        width=gap.width,
        p_empty=p_empty,
        resolved=resolved,
        resolved_lo=float(edge[at]) if span else None,
        resolved_hi=float(edge[at + span]) if span else None,
        resolved_width=float(edge[at + span] - edge[at]) if span else 0.0,
        attempts_needed=attempts,
        models_needed=None if attempts is None else math.ceil(attempts * len(fit.models) / present),
        out_of_reach=not resolved and attempts is None,
    )


def attempts_to_resolve(fit: Fit, log: ResponseLog, scale: Scale, gap: Gap) -> int | None:
    """Attempts of every model at every item after which the gap would be resolved; None beyond the limit.

    An approximation: true places are taken to be the estimated ones, abilities to be known, and posteriors normal
    with precision ``k sum_j I_j(b_i) + 1 / sigma_b^2``. The estimates of the new log scatter around the true places
    as far as their posteriors are wide, so what is asked is that the chance of an empty middle half, averaged over
    that scatter (variance doubled), is 0.95.

    Parameters
    ----------
    gap
        On the axis ``scale``.
    """
    quarter = 0.25 * gap.width
    lo, hi = scale.to_b(gap.lo + quarter), scale.to_b(gap.hi - quarter)
    information = information_at(fit.theta, fit.b, fit.guessing).sum(axis=1)
    prior = float(np.mean(fit.sigma_b_draws)) ** -2

    def is_enough(attempts: int) -> bool:
        sd = np.sqrt(2.0 / (attempts * information + prior))
        inside = ndtr((hi - fit.b) / sd) - ndtr((lo - fit.b) / sd)
        return bool(np.log1p(-np.minimum(inside, 1.0 - 1e-12)).sum() >= math.log(RESOLVED))

    if not is_enough(ATTEMPTS_LIMIT):
        return None
    # Answers that should have been enough were not: more than there are.
    low, high = math.floor(_present_attempts(log)), ATTEMPTS_LIMIT
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def _present_attempts(log: ResponseLog) -> float:
    """Mean attempts of the cells that were asked."""
    return float(log.attempts.sum()) / max(1, int((log.attempts > 0).sum()))
