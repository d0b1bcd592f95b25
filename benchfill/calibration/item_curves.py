"""Item response curves of up to four parameters: success, its slope, and what an answer tells about ability.

    P(theta) = c + (d - c) sigmoid(a (theta - b))

with discrimination a, difficulty b (logits), guessing c and feasibility d (Barton and Lord 1981); the 2PL has c = 0 and
d = 1, the 1PL a = 1 as well. A slope a model multiplies a. The two figures of an item that Zhou et al. (2025,
"Lost in Benchmarks?") read off the curve:

    locally estimated headroom   P'(theta)                        at the highest ability of the pool
    Fisher information           P'(theta)^2 / (P (1 - P))        at the same ability
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

__all__ = ["ItemCurves"]

Array = NDArray[np.float64]

_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class ItemCurves:
    """Point estimates of a fitted item model, whichever it is.

    Parameters
    ----------
    models, items
        Ids in the order of the arrays.
    theta
        Shape (models,). Abilities, logits.
    slope
        Shape (models,). Factor of a model on every item's discrimination; ones where the model has none.
    b, a, c, d
        Shape (items,). Difficulty in logits, discrimination, guessing, feasibility.
    """

    models: tuple[str, ...]
    items: tuple[str, ...]
    theta: Array
    slope: Array
    b: Array
    a: Array
    c: Array
    d: Array

    def success(self, theta: ArrayLike, slope: ArrayLike = 1.0) -> Array:
        """Chance of success at abilities: shape (abilities, items).

        Parameters
        ----------
        theta
            Shape (abilities,) or a number, logits.
        slope
            Shape (abilities,) or a number: the model's own slope (`slope`), where the model is one of these.
        """
        able, _, _ = self._able(theta, slope)
        return np.asarray(self.c + (self.d - self.c) * able)

    def headroom(self, theta: ArrayLike, slope: ArrayLike = 1.0) -> Array:
        """Derivative of success by ability, a logit: shape (abilities, items)."""
        able, unable, factor = self._able(theta, slope)
        return np.asarray((self.d - self.c) * factor * able * unable)

    def information(self, theta: ArrayLike, slope: ArrayLike = 1.0) -> Array:
        """Fisher information about the ability in one answer, logits^-2: shape (abilities, items)."""
        able, unable, factor = self._able(theta, slope)
        rise = (self.d - self.c) * factor * able * unable
        right = self.c + (self.d - self.c) * able
        wrong = (1.0 - self.d) + (self.d - self.c) * unable
        return np.asarray(rise / np.maximum(right, _TINY) * (rise / np.maximum(wrong, _TINY)))

    def _able(self, theta: ArrayLike, slope: ArrayLike) -> tuple[Array, Array, Array]:
        place = np.atleast_1d(np.asarray(theta, dtype=np.float64))[:, None]
        factor = np.broadcast_to(np.asarray(slope, dtype=np.float64), place.shape[:1])[:, None] * self.a
        logit = factor * (place - self.b)
        return expit(logit), expit(-logit), factor
