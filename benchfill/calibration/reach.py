"""What the pool can tell at a place: the tolerance within reach of the attempts, said before any is spent."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from benchfill.calibration.online import attempts_needed, pool_information
from benchfill.calibration.scale import Scale

__all__ = ["Aim", "aim_at"]


@dataclass(frozen=True, slots=True)
class Aim:
    """What a search for one gap works towards.

    Parameters
    ----------
    tolerance
        Expected deviation (z) at which a candidate is taken: the one asked for, or what the attempt limit allows
        where that is more. Then the item is accepted outside of the tolerance.
    attempts
        All models together, for an item on target.
    needed
        Attempts of every model at one item that the tolerance asked for would take (Cramer-Rao, no prior).
    efficiency
        The pool's mean information at the target over that of a model whose ability equals the difficulty.
    """

    tolerance: float
    attempts: int
    needed: int
    efficiency: float


def aim_at(target: float, tolerance: float, *, theta: ArrayLike, scale: Scale, max_attempts: int) -> Aim:
    """The tolerance that can be met within the limit of attempts: attempts grow with its inverse square.

    Parameters
    ----------
    target, tolerance
        In z.
    theta
        Abilities in logits (models).
    max_attempts
        Of one model at one candidate.
    """
    models = np.size(theta)
    b = scale.to_b(target)
    needed = attempts_needed(theta, b, scale, tolerance)
    limit = max_attempts * models
    return Aim(
        tolerance=tolerance * max(1.0, (needed / limit) ** 0.5),
        attempts=min(needed, limit),
        needed=math.ceil(needed / models),
        efficiency=4.0 * pool_information(theta, b),
    )
