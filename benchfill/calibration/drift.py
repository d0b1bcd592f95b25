"""Has a model changed since its log was made? Abilities from a few re-asked items, difficulties frozen.

A log that was made elsewhere (another server, another quantisation, another prompt) describes other models than
those that will answer new items. Anchor items tell: a model that answers them as it did in the log has the
ability it had there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, ndtri

from benchfill.calibration.information import information_at
from benchfill.errors import InputError

__all__ = [
    "LEAST_SHIFT",
    "Ability",
    "Shift",
    "ability_of",
    "ability_shifts",
    "choose_anchors",
    "critical_factor",
]

Floats = NDArray[np.float64]

# A smaller shift moves an item's place by less than the axis is read with, however well it is known.
LEAST_SHIFT = 0.3
# Chance that a pool without any drift is stopped.
FALSE_STOPS = 0.05
# Beyond the anchors' difficulties, in logits: a model is right, or wrong, in all but one of 3,000 attempts.
MARGIN = 8.0
# Each grid lies in two cells of the one before: at last the cells are 1e-8 wide.
GRID, REFINEMENTS = 101, 6
# Information about an ability before any anchor, in logits^-2: of a normal of standard deviation 2.
PRIOR_INFORMATION = 0.25


@dataclass(frozen=True, slots=True)
class Ability:
    """An ability and its standard error, in logits."""

    theta: float
    se: float


@dataclass(frozen=True, slots=True)
class Shift:
    """What became of one model's ability.

    Parameters
    ----------
    frozen, now
        The ability of the log and that of the anchors, in logits; ``now`` is None when nothing was answered.
    shift, se
        ``now - frozen`` and its standard error: of the anchors' answers, of the frozen ability and of the
        anchors' difficulties together.
    answered
        Attempts that count.
    drifted
        Whether the shift is beyond its error: see :func:`ability_shifts`.
    """

    model: str
    frozen: float
    now: float | None
    shift: float | None
    se: float | None
    answered: int
    drifted: bool


def ability_of(
    b: ArrayLike, correct: ArrayLike, attempts: ArrayLike, guessing: ArrayLike = 0.0
) -> Ability | None:
    """Weighted likelihood estimate of an ability, difficulties known (Warm 1989, Psychometrika 54).

    The likelihood is weighted by the root of the information, which takes out the first-order bias and keeps the
    estimate finite when all answers are right or all are wrong. For items of one difficulty b without guessing it
    is ``b + log((r + 1/2) / (n - r + 1/2))``.

    Parameters
    ----------
    b, correct, attempts : (I,)
        Difficulties in logits, right answers and attempts.
    guessing
        Shape (I,) or a number: chance of a blind guess.

    Returns
    -------
    Ability or None
        With the error ``1 / sqrt(information)`` at the estimate; None when nothing was answered.
    """
    places, right, asked = (np.asarray(each, dtype=np.float64) for each in (b, correct, attempts))
    chance = np.broadcast_to(np.asarray(guessing, dtype=np.float64), places.shape)
    kept = asked > 0
    if not kept.any():
        return None
    places, right, asked, chance = places[kept], right[kept], asked[kept], chance[kept]

    def information(thetas: Floats) -> Floats:
        return np.asarray(asked @ information_at(thetas, places, chance))

    def weighted(thetas: Floats) -> Floats:
        gap = thetas[:, None] - places
        log_right = np.log(np.maximum(chance + (1.0 - chance) * expit(gap), 1e-300))
        log_wrong = np.log1p(-chance) - np.logaddexp(0.0, gap)
        likelihood = log_right @ right + log_wrong @ (asked - right)
        return np.asarray(likelihood + 0.5 * np.log(np.maximum(information(thetas), 1e-300)))

    # With guessing there may be several maxima: a grid finds the highest, finer ones its place.
    lo, hi = float(places.min()) - MARGIN, float(places.max()) + MARGIN
    for _ in range(REFINEMENTS):
        grid = np.linspace(lo, hi, GRID)
        best = int(np.argmax(weighted(grid)))
        lo, hi = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, GRID - 1)])
    theta = float(grid[best])
    return Ability(theta, float(information(np.array([theta]))[0]) ** -0.5)


def choose_anchors(
    ids: Sequence[str],
    b: ArrayLike,
    theta: ArrayLike,
    *,
    count: int,
    attempts: int,
    guessing: ArrayLike = 0.0,
) -> list[str]:
    """The items that tell most of all abilities together.

    One after the other, each the item that leaves the least mean variance of the abilities (A-optimal): so they
    spread over the difficulties where the models are.

    Parameters
    ----------
    ids, b : (I,)
        Items and their difficulties in logits.
    theta : (M,)
        Abilities in logits.
    count
        Of anchors; fewer when there are fewer items.
    attempts
        Of every model at every anchor.
    guessing
        Shape (I,) or a number.

    Returns
    -------
    list
        Ids, sorted. Ties go to the first id.
    """
    order = np.argsort(np.asarray(ids, dtype=object), kind="stable")
    places = np.asarray(b, dtype=np.float64)[order]
    chance = np.broadcast_to(np.asarray(guessing, dtype=np.float64), places.shape)[order]
    per_item = attempts * information_at(theta, places, chance)
    known = np.full(per_item.shape[1], PRIOR_INFORMATION)
    chosen: list[int] = []
    for _ in range(min(count, len(places))):
        left = np.mean(1.0 / (known + per_item), axis=1)
        left[chosen] = np.inf
        best = int(np.argmin(left))
        chosen.append(best)
        known = known + per_item[best]
    return sorted(str(ids[int(order[index])]) for index in chosen)


def ability_shifts(
    models: Sequence[str],
    theta: ArrayLike,
    theta_sd: ArrayLike,
    b: ArrayLike,
    b_sd: ArrayLike,
    correct: ArrayLike,
    attempts: ArrayLike,
    guessing: ArrayLike = 0.0,
) -> list[Shift]:
    """How far each ability has moved, and whether that is beyond its error.

    A model has drifted when its shift is larger than :data:`LEAST_SHIFT` logits and than ``k`` standard errors,
    with ``k`` such that a pool in which nothing moved is stopped once in twenty times, whatever its size
    (:func:`critical_factor`): two standard errors each would stop two pools of twelve in five.

    Parameters
    ----------
    models, theta, theta_sd : (M,)
        The pool and its frozen abilities, in logits.
    b, b_sd : (I,)
        The anchors' difficulties, in logits.
    correct, attempts : (M, I)
        Their answers now.
    guessing
        Shape (I,) or a number.
    """
    places, spread = np.asarray(b, dtype=np.float64), np.asarray(b_sd, dtype=np.float64)
    chance = np.broadcast_to(np.asarray(guessing, dtype=np.float64), places.shape)
    right, asked = np.asarray(correct), np.asarray(attempts)
    frozen, frozen_sd = np.asarray(theta, dtype=np.float64), np.asarray(theta_sd, dtype=np.float64)
    if right.shape != (len(models), len(places)) or asked.shape != right.shape:
        raise InputError("The answers to the anchors do not fit the models and items.", kind="bad_counts")
    factor = critical_factor(sum(bool(row.any()) for row in asked))
    found = []
    for index, model in enumerate(models):
        now = ability_of(places, right[index], asked[index], chance)
        if now is None:
            found.append(Shift(model, float(frozen[index]), None, None, None, 0, False))
            continue
        # An error of an anchor's difficulty moves the estimate by the anchor's share of the information.
        weight = asked[index] * information_at([now.theta], places, chance)[:, 0]
        weight = weight / weight.sum()
        se = math.sqrt(now.se**2 + float(frozen_sd[index]) ** 2 + float(weight**2 @ spread**2))
        shift = now.theta - float(frozen[index])
        drifted = abs(shift) > LEAST_SHIFT and abs(shift) > factor * se
        found.append(
            Shift(model, float(frozen[index]), now.theta, shift, se, int(asked[index].sum()), bool(drifted))
        )
    return found


def critical_factor(models: int) -> float:
    """Standard errors that the largest of so many independent shifts exceeds once in twenty times (Sidak)."""
    return float(ndtri(1.0 - (1.0 - (1.0 - FALSE_STOPS) ** (1.0 / max(models, 1))) / 2.0))
