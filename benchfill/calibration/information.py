"""What the pool can see: the information of its answers along the difficulty axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from benchfill.calibration.fit import Fit
from benchfill.calibration.scale import Scale

__all__ = ["PLACING_LIMIT", "PLACING_SD", "InformationCurve", "information_at", "information_curve"]

Array = NDArray[np.float64]

PLACING_SD = 0.025  # of z: what an expected deviation of 0.02 takes
PLACING_LIMIT = 1000  # attempts of every model on one item beyond which a place is out of reach


@dataclass(frozen=True, eq=False)
class InformationCurve:
    """The pool along the axis.

    Parameters
    ----------
    z
        Shape (points,), from 0 to 1.
    information
        Shape (points,). Fisher information about b of one attempt, mean over the models, in logits^-2.
    efficiency
        Shape (points,). The same over 1/4, the most that one answer can tell.
    attempts
        Shape (points,). Attempts of every model that place an item there with a standard deviation of
        ``PLACING_SD``, were abilities known.
    blind
        Stretches (lo, hi) in z where those are more than ``PLACING_LIMIT``: no gap can be examined there.
    """

    z: Array
    information: Array
    efficiency: Array
    attempts: Array
    blind: tuple[tuple[float, float], ...]

    def is_blind(self, z: float) -> bool:
        """Whether an item at z is out of the pool's reach."""
        return any(lo <= z <= hi for lo, hi in self.blind)


def information_at(theta: ArrayLike, b: ArrayLike, guessing: ArrayLike = 0.0) -> Array:
    """Fisher information about b of one attempt of every model: shape (places, models), logits^-2.

    ``((P - g) / (1 - g))^2 (1 - P) / P``, which is ``P (1 - P)`` without guessing (Lord 1980, with slope one).

    Parameters
    ----------
    theta
        Shape (models,), logits.
    b
        Shape (places,), logits.
    guessing
        Shape (places,) or a number.
    """
    gap = np.asarray(theta, dtype=np.float64) - np.asarray(b, dtype=np.float64).reshape(-1, 1)
    able, unable = expit(gap), expit(-gap)
    chance = np.broadcast_to(np.asarray(guessing, dtype=np.float64), (gap.shape[0],))[:, None]
    # (1 - P) / P with P = g + (1 - g) able; able / P tends to one as g vanishes.
    return np.asarray(
        able * able * (1.0 - chance) * unable / np.maximum(chance + (1.0 - chance) * able, 1e-300)
    )


def information_curve(fit: Fit, scale: Scale, *, points: int = 201) -> InformationCurve:
    """Information of the fit's pool along the axis, for items without guessing.

    Parameters
    ----------
    points
        Of the axis, ends included.
    """
    z = np.linspace(0.0, 1.0, points)
    b = np.array([scale.to_b(float(each)) for each in z])
    information = information_at(fit.theta, b).mean(axis=1)
    # dz/db, since a curved axis has no single width.
    slope = np.array([(scale.to_z(float(x) + 1e-4) - scale.to_z(float(x) - 1e-4)) / 2e-4 for x in b])
    attempts = slope**2 / (PLACING_SD**2 * len(fit.models) * np.maximum(information, 1e-300))
    return InformationCurve(
        z, information, 4.0 * information, attempts, _stretches(z, attempts > PLACING_LIMIT)
    )


def _stretches(z: Array, inside: Sequence[bool] | NDArray[np.bool_]) -> tuple[tuple[float, float], ...]:
    """Runs of points inside, as intervals that reach half-way to the next point outside."""
    edges = np.concatenate([[z[0]], 0.5 * (z[1:] + z[:-1]), [z[-1]]])
    change = np.diff(np.concatenate([[0], np.asarray(inside, dtype=np.int64), [0]]))
    first, stop = np.flatnonzero(change == 1), np.flatnonzero(change == -1)
    return tuple((float(edges[a]), float(edges[b])) for a, b in zip(first, stop, strict=True))
