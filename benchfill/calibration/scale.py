"""The difficulty axis: two frozen constants that turn logits into z and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import NDArray

from benchfill.errors import InputError

if TYPE_CHECKING:
    from benchfill.calibration.fit import Fit

__all__ = ["Scale", "minmax_scale"]


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
