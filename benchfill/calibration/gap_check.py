"""Is a gap there? Asking the original items again whose posteriors reach into it, before anything is written for it.

A gap of the estimates may hold items whose places are only not known well enough. Before a search spends on it, the
items that could lie in its middle half are asked again, in growing blocks, until the gap is resolved
(``p_empty >= 0.95``, see `benchfill.calibration.resolution`) or the estimates themselves have closed it: after every
block the places are worked out anew and the gaps are chosen anew.

Abilities stay frozen, as for a new item: the draws of ``theta, mu_b, sigma_b`` are those of the fit, and given a draw
the old and the new answers to an item are one binomial likelihood. What the new answers would say of the abilities is
not used, so that the axis does not move.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from benchfill.calibration.conditionals import conditionals_of
from benchfill.calibration.difficulty import Difficulties
from benchfill.calibration.fit import Fit
from benchfill.calibration.information import information_at
from benchfill.calibration.measure import Gap
from benchfill.calibration.resolution import RESOLVED
from benchfill.calibration.response_log import ResponseLog
from benchfill.calibration.scale import Scale

__all__ = ["GapLook", "look_at_gaps", "places_after", "questions"]

Array = NDArray[np.float64]

DRAWS = 200
# Items whose posteriors end this many standard deviations before a gap have no part in it.
REACH = 6.0
# What the items that are not asked may leave of the doubt: the other half is left to those that are.
LEFT_ALONE = 0.5 * math.log(RESOLVED)
# Attempts of every model at an item the first time it is asked again; each later block doubles them.
FIRST_BLOCK = 4


@dataclass(frozen=True, slots=True)
class GapLook:
    """One gap as it stands.

    Parameters
    ----------
    gap
        In z.
    p_empty
        Posterior probability that no item truly lies in the middle half of it.
    ask
        The items that could lie there, the likeliest first: as few as leave the others half of the doubt at most.
    attempts
        Further attempts of every model at each of these that would resolve the gap in about seven of ten cases,
        were the true places the estimated ones; 0 where it is resolved, None where no number up to the limit would.
    """

    gap: Gap
    p_empty: float
    ask: tuple[str, ...]
    attempts: int | None

    @property
    def resolved(self) -> bool:
        return self.p_empty >= RESOLVED


def look_at_gaps(
    fit: Fit,
    log: ResponseLog,
    scale: Scale,
    gaps: Sequence[Gap],
    *,
    theta: ArrayLike,
    most: int,
    barred: Collection[str] = (),
) -> tuple[GapLook, ...]:
    """Say of each gap whether it is there, whom to ask again, and how much that would take.

    Parameters
    ----------
    fit
        With the items' places (``b``, ``b_sd``) as they are known now, and the frozen draws.
    log
        All answers, the new ones included.
    theta
        Abilities of the models that can be asked again, logits.
    most
        Further attempts of every model at one item, at most.
    barred
        Items that cannot be asked again.
    """
    near = _near(fit, scale, gaps)
    if not near:
        return tuple(GapLook(gap, 1.0, (), 0) for gap in gaps)
    fit, log = _only(fit, near), log.select_items(near)
    edges = np.array([[gap.lo + 0.25 * gap.width, gap.hi - 0.25 * gap.width] for gap in gaps])
    points = np.array([scale.to_b(float(z)) for z in edges.ravel()])
    conditionals = conditionals_of(fit, log, draws=DRAWS)
    size, of_item = conditionals.groups.size, conditionals.groups.of_item
    empty, inside = np.zeros(len(gaps)), np.zeros((size.size, len(gaps)))
    for given in conditionals:
        below = given.cdf(points)
        part = np.minimum(below[:, 1::2] - below[:, ::2], 1.0)
        inside += part
        with np.errstate(divide="ignore"):
            empty += np.exp(size @ np.log1p(-part))
    empty, inside = empty / len(conditionals), inside / len(conditionals)
    information = information_at(theta, fit.b, fit.guessing).sum(axis=1)
    found = []
    for place, gap in enumerate(gaps):
        chance = np.minimum(inside[of_item, place], 1.0)
        p_empty = float(empty[place])
        asked = np.zeros(0, dtype=np.int64)
        attempts: int | None = 0
        if p_empty < RESOLVED:
            asked = _to_ask(fit.items, chance, barred)
            attempts = _attempts(
                fit, asked, information, float(points[2 * place]), float(points[2 * place + 1]), most
            )
        found.append(GapLook(gap, p_empty, tuple(fit.items[item] for item in asked), attempts))
    return tuple(found)


def _near(fit: Fit, scale: Scale, gaps: Sequence[Gap]) -> list[str]:
    """Items whose posteriors reach into some gap."""
    lo = np.array([scale.to_b(gap.lo) for gap in gaps])
    hi = np.array([scale.to_b(gap.hi) for gap in gaps])
    reach = REACH * fit.b_sd[:, None]
    near = np.flatnonzero(((fit.b[:, None] + reach >= lo) & (fit.b[:, None] - reach <= hi)).any(axis=1))
    return [fit.items[place] for place in near]


def _only(fit: Fit, items: Collection[str]) -> Fit:
    """The fit of these items alone: given the draws, no item knows of another."""
    wanted = set(items)
    at = [place for place, item in enumerate(fit.items) if item in wanted]
    columns = {
        name: getattr(fit, name)[at] for name in ("b", "b_sd", "b_lo90", "b_hi90", "censored", "guessing")
    }
    return replace(fit, items=tuple(fit.items[place] for place in at), **columns)


def _to_ask(items: Sequence[str], chance: Array, barred: Collection[str]) -> NDArray[np.int64]:
    order = sorted(range(len(items)), key=lambda item: (-round(float(chance[item]), 9), items[item]))
    with np.errstate(divide="ignore"):
        doubt = np.log1p(-chance)
    left = float(doubt.sum())
    asked = []
    for item in order:
        if left >= LEFT_ALONE:
            break
        if items[item] not in barred:
            asked.append(item)
            # A place that is certainly inside leaves an infinite doubt, which subtraction would not take away.
            left = float(np.delete(doubt, asked).sum())
    return np.array(asked, dtype=np.int64)


def _attempts(
    fit: Fit, asked: NDArray[np.int64], information: Array, lo: float, hi: float, most: int
) -> int | None:
    """Attempts after which the chance of an empty middle half, over the scatter of the new estimates, is 0.95.

    The rule of `resolution.attempts_to_resolve` for some of the items: places as estimated, abilities known, posteriors
    normal, variance doubled for the scatter.
    """
    if not asked.size:
        return None

    def is_enough(attempts: int) -> bool:
        precision = fit.b_sd**-2.0
        precision[asked] += attempts * information[asked]
        sd = np.sqrt(1.0 / precision)
        sd[asked] *= math.sqrt(2.0)
        inside = ndtr((hi - fit.b) / sd) - ndtr((lo - fit.b) / sd)
        return bool(np.log1p(-np.minimum(inside, 1.0 - 1e-12)).sum() >= math.log(RESOLVED))

    if not is_enough(most):
        return None
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def questions(
    looks: Sequence[GapLook], asked: Mapping[str, int], *, models: int, left: int
) -> dict[str, int]:
    """What to ask next: further attempts of every model by item; empty when there is nothing more to ask.

    Parameters
    ----------
    asked
        Attempts of every model that items were asked again so far.
    models
        How many models are asked.
    left
        Answers that may still be bought. A gap that would take more than its share (what is left, the widest gap first)
        is left as it is: half an answer settles nothing.
    """
    wanted: dict[str, int] = {}
    for look in looks:
        if look.resolved or not look.attempts:
            continue
        cost = look.attempts * len(look.ask) * models
        if cost > left:
            continue
        left -= cost
        for item in look.ask:
            block = min(look.attempts, max(FIRST_BLOCK, asked.get(item, 0)))
            wanted[item] = max(wanted.get(item, 0), block)
    return wanted


def places_after(fit: Fit, log: ResponseLog, items: Collection[str]) -> tuple[tuple[str, ...], Difficulties]:
    """Places (logits) of these items by all answers of the log, abilities frozen.

    Returns
    -------
    items, difficulties
        The items in their order, and what is known of each.
    """
    chosen = _only(fit, items)
    conditionals = conditionals_of(chosen, log.select_items(list(items)), draws=DRAWS)
    return chosen.items, conditionals.difficulties()
