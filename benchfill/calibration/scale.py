"""The difficulty axis: frozen constants that turn logits into z and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from benchfill.errors import InputError

if TYPE_CHECKING:
    from benchfill.calibration.fit import Fit

__all__ = ["SCALES", "FailureScale", "Scale", "failure_scale", "make_scale", "minmax_scale", "pool_scale"]

SCALES = ("minmax", "pool", "failure")
# Mean success of the pool at the ends of the pool's axis.
POOL_EASY, POOL_HARD = 0.98, 0.02


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear axis, frozen once and used unchanged for every later item, draw, subset and refit.

    Parameters
    ----------
    name
        The rule that set the anchors, e.g. ``minmax``.
    lo, hi
        Difficulties in logits that lie at z = 0 and z = 1. A new item may lie outside and keeps its true z.

    Raises
    ------
    InputError
        Kind ``no_variation`` when the anchors are not two different finite numbers in ascending order.
    """

    name: str
    lo: float
    hi: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.lo) and np.isfinite(self.hi) and self.lo < self.hi):
            raise InputError(
                f"The difficulty axis has no extent: its ends are {self.lo:g} and {self.hi:g} logits.",
                "All items look equally difficult in this log; add models or items that differ.",
                kind="no_variation",
            )

    @property
    def width(self) -> float:
        """Length of the axis in logits: one unit of z."""
        return self.hi - self.lo

    @overload
    def to_z(self, b: float) -> float: ...
    @overload
    def to_z(self, b: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def to_z(self, b: float | NDArray[np.float64]) -> float | NDArray[np.float64]:
        """Difficulty in logits to its place z."""
        return (b - self.lo) / self.width

    @overload
    def to_b(self, z: float) -> float: ...
    @overload
    def to_b(self, z: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def to_b(self, z: float | NDArray[np.float64]) -> float | NDArray[np.float64]:
        """Place z to difficulty in logits."""
        return self.lo + z * self.width


def minmax_scale(fit: Fit, items: Sequence[str] | None = None) -> Scale:
    """Axis whose ends are the smallest and largest estimated difficulty (arXiv 2610.29927).

    Parameters
    ----------
    fit
        The calibration of the original benchmark.
    items
        Ids of the items that set the anchors; None takes all items of the fit.

    Returns
    -------
    Scale
        Named ``minmax``.

    Raises
    ------
    InputError
        Kind ``unknown_item`` for an id the fit does not hold, ``no_variation`` when no two of the items
        differ in difficulty.
    """
    b = fit.b
    if items is not None:
        place = {item: index for index, item in enumerate(fit.items)}
        unknown = sorted(set(items) - set(place))
        if unknown:
            raise InputError(
                f"{len(unknown)} item(s) of the axis are not in the fit, first {unknown[0]!r}.",
                kind="unknown_item",
            )
        b = fit.b[[place[item] for item in items]]
    if b.size == 0:
        raise InputError("No items to lay the difficulty axis on.", kind="no_data")
    return Scale(name="minmax", lo=float(b.min()), hi=float(b.max()))


@dataclass(frozen=True, slots=True)
class FailureScale(Scale):
    """The axis of failure: z = 1 - mean over the pool of P(correct | b) for an item without guessing.

    It is curved, so two constants are not enough: the pool's abilities are frozen with it. ``lo`` and ``hi`` are
    the difficulties at z = 0.02 and 0.98, so ``width`` is the logits of these 96 % of the axis.

    Parameters
    ----------
    theta
        Abilities of the pool, logits.
    """

    theta: tuple[float, ...] = ()

    @overload
    def to_z(self, b: float) -> float: ...
    @overload
    def to_z(self, b: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def to_z(self, b: float | NDArray[np.float64]) -> float | NDArray[np.float64]:
        """Difficulty in logits to its place z, strictly between 0 and 1."""
        z = sum(expit(np.asarray(b, dtype=np.float64) - ability) for ability in self.theta) / len(self.theta)
        return float(z) if np.ndim(b) == 0 else np.asarray(z)

    @overload
    def to_b(self, z: float) -> float: ...
    @overload
    def to_b(self, z: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def to_b(self, z: float | NDArray[np.float64]) -> float | NDArray[np.float64]:
        """Place z to difficulty in logits; the ends 0 and 1 lie 30 logits outside the pool."""
        low = np.full(np.shape(z), min(self.theta) - 30.0)
        high = np.full(np.shape(z), max(self.theta) + 30.0)
        for _ in range(60):
            middle = 0.5 * (low + high)
            easier = np.asarray(self.to_z(middle)) < z
            low, high = np.where(easier, middle, low), np.where(easier, high, middle)
        return float(low) if np.ndim(z) == 0 else np.asarray(0.5 * (low + high))


def failure_scale(fit: Fit) -> FailureScale:
    """Axis of failure of the fit's pool, named ``failure``."""
    ends = pool_scale(fit)
    return FailureScale("failure", ends.lo, ends.hi, tuple(fit.theta.tolist()))


def pool_scale(fit: Fit) -> Scale:
    """Axis whose ends are the difficulties at which the pool's mean success is 0.98 and 0.02.

    It depends on the models alone, so items that every model always or never solves do not set it.

    Returns
    -------
    Scale
        Named ``pool``.
    """
    pool = FailureScale("failure", -1.0, 1.0, tuple(fit.theta.tolist()))
    return Scale("pool", pool.to_b(1.0 - POOL_EASY), pool.to_b(1.0 - POOL_HARD))


def make_scale(name: str, fit: Fit) -> Scale:
    """The axis of that name.

    Raises
    ------
    InputError
        There is no such axis, or it has no extent (kind ``no_variation``).
    """
    if name == "minmax":
        return minmax_scale(fit)
    if name == "pool":
        return pool_scale(fit)
    if name == "failure":
        return failure_scale(fit)
    raise InputError(f"There is no axis {name!r}.", f"Choose from {', '.join(SCALES)}.")
