"""How many attempts a search for one gap is likely to take, said before any is spent.

The least that can tell one item on target to the tolerance (Cramer-Rao, `attempts_needed`) is the unit. A search asks
the item it takes about twice as much, once to choose and once to confirm it, asks some candidates in vain to confirm
them, and most of the others until they are known to be off. In simulated searches the sum of it is 5 to 7 units on
axes of 4, 6 and 8 logits, for pools of 6, 12 and 30 models and rewriters from precise to coarse, and it varies from
search to search by how soon a candidate lands: nine of ten take more than 2.5 units, nine of ten less than 12.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from benchfill.calibration.online import attempts_needed
from benchfill.calibration.scale import Scale
from benchfill.calibration.strategy import Fixed, Strategy

__all__ = ["Forecast", "forecast_search", "usual_range"]

# Of one item on target: the mean of simulated searches, and their 10 % and 90 % quantiles.
USUAL, LOW, HIGH = 6.0, 2.5, 12.0
# Share of it that is left without confirmations.
UNCONFIRMED = 0.6
# Candidates that batches of a fixed size try until an estimate lies as near as they want.
TRIED = 9


@dataclass(frozen=True, slots=True)
class Forecast:
    """Attempts of all models together; one search in ten takes less than ``low``, one in ten more than ``high``."""

    expected: int
    low: int
    high: int


def forecast_search(
    strategy: Strategy, *, theta: ArrayLike, target: float, scale: Scale, tolerance: float, confirm: bool
) -> Forecast:
    """Attempts that a search for one gap will take.

    Parameters
    ----------
    theta
        Abilities in logits (models).
    target, tolerance
        In z; the tolerance is one within reach.
    confirm
        Whether the item is confirmed by fresh attempts.

    Raises
    ------
    InputError
        Kind ``usage`` when the tolerance is not positive.
    """
    if isinstance(strategy, Fixed):
        unit = strategy.attempts * np.size(theta) * TRIED / USUAL
    else:
        share = 1.0 if confirm and strategy.confirms else UNCONFIRMED
        unit = share * attempts_needed(theta, scale.to_b(target), scale, tolerance)
    expected = round(unit * USUAL)
    return Forecast(expected, *usual_range(expected))


def usual_range(expected: int) -> tuple[int, int]:
    """What eight of ten searches stay between, given the attempts that are expected."""
    return round(expected * LOW / USUAL), round(expected * HIGH / USUAL)
