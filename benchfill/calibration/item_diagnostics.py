"""What the curves say of a benchmark and of its items: six figures each, and items to be looked at.

High guessing means that weak models solve the item about as often as strong ones do: a shortcut, a key that can be
guessed, or texts that were seen in training. Low feasibility means that strong models fail it about as often as weak
ones: an ambiguous question or a wrong key. Both are suspicions. Neither parameter knows why, both are confounded with
everything else by which an item departs from the curve, and few answers leave both where the population's mean is; so
an item is named only where its own posterior says so with `SURE`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.four_parameter import FourParameterFit
from benchfill.calibration.item_curves import ItemCurves

__all__ = [
    "AMBIGUOUS",
    "SHORTCUT",
    "SURE",
    "ItemFigures",
    "Suspect",
    "benchmark_figures",
    "item_figures",
    "suspects",
]

Array = NDArray[np.float64]

SHORTCUT = "shortcut or contamination suspect"
AMBIGUOUS = "ambiguous or wrong key suspect"
SURE = 0.9  # posterior probability from which on an item is named


@dataclass(frozen=True, slots=True)
class ItemFigures:
    """Means over items of a benchmark, or the figures of one item.

    Parameters
    ----------
    difficulty, discrimination, guessing, feasibility
        Parameters of the curve; difficulty in logits.
    headroom
        Locally estimated headroom: the curve's slope at the highest ability of the pool, a logit.
    information
        Fisher information about ability in one answer at the same ability, logits^-2.
    """

    difficulty: float
    discrimination: float
    guessing: float
    feasibility: float
    headroom: float
    information: float


@dataclass(frozen=True, slots=True)
class Suspect:
    """An item to be looked at.

    Parameters
    ----------
    item
        Its id.
    reason
        `SHORTCUT` or `AMBIGUOUS`.
    value
        Its guessing, or its feasibility.
    probability
        Posterior probability that the value is beyond the limit.
    """

    item: str
    reason: str
    value: float
    probability: float


def item_figures(curves: ItemCurves) -> Array:
    """The six figures of every item in the order of `ItemFigures`: shape (items, 6)."""
    top = int(np.lexsort((np.arange(curves.theta.size), -curves.theta))[0])
    theta, slope = curves.theta[top], curves.slope[top]
    return np.column_stack(
        [
            curves.b,
            curves.a,
            curves.c,
            curves.d,
            curves.headroom(theta, slope)[0],
            curves.information(theta, slope)[0],
        ]
    )


def benchmark_figures(curves: ItemCurves, items: NDArray[np.int64] | slice = slice(None)) -> ItemFigures:
    """Means over some items, by default all."""
    return ItemFigures(*item_figures(curves)[items].mean(axis=0).tolist())


def suspects(
    fit: FourParameterFit, *, high_guessing: float = 0.5, low_feasibility: float = 0.5
) -> tuple[Suspect, ...]:
    """Items whose posterior lies beyond a limit with `SURE`, the surest first, ties by id.

    Parameters
    ----------
    high_guessing
        Guessing above it; for multiple choice well above one over the number of options.
    low_feasibility
        Feasibility below it.
    """
    found = []
    for reason, value, chance in (
        (SHORTCUT, fit.c, fit.chance_guessing_exceeds(high_guessing)),
        (AMBIGUOUS, fit.d, fit.chance_feasibility_is_below(low_feasibility)),
    ):
        for at in np.flatnonzero(chance >= SURE).tolist():
            found.append(Suspect(fit.items[at], reason, float(value[at]), float(min(chance[at], 1.0))))
    return tuple(sorted(found, key=lambda each: (each.reason, -each.probability, each.item)))
