"""Modes of many small integrands at once, by Fisher scoring with a step length of each integrand's own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["find_modes"]

Array = NDArray[np.float64]
Rows = slice | NDArray[np.int64]
Local = Callable[[Array, Rows], tuple[Array, Array, Array]]

_STEPS = 60
_PROMISE = 1e-4  # of log integrand, in a step: less does not move a node by a hundredth of its sd


def find_modes(local: Local, start: Array, longest: Array) -> tuple[Array, Array]:
    """Modes, shape (patterns, dimensions), and Cholesky factors of the inverse curvatures there.

    A step length grows after a step uphill and shrinks instead of one downhill.

    Parameters
    ----------
    local
        Maps places (rows, dimensions) of the integrands ``rows`` to the log integrands, their gradients, and their
        expected curvatures, which are positive definite.
    start
        Shape (patterns, dimensions).
    longest
        Shape (dimensions,). Longest step.
    """
    x, length = start.copy(), np.ones(start.shape[0])
    height, push, curvature = local(x, slice(None))
    active = np.arange(start.shape[0])
    for _ in range(_STEPS):
        step = np.linalg.solve(curvature[active], push[active][:, :, None])[:, :, 0]
        promise = np.einsum("gd,gd->g", step, push[active])
        active, step = active[promise > _PROMISE], step[promise > _PROMISE]
        if not active.size:
            break
        there = x[active] + length[active, None] * np.clip(step, -longest, longest)
        found = local(there, active)
        up = found[0] >= height[active]
        better = active[up]
        x[better], height[better], push[better], curvature[better] = there[up], *(each[up] for each in found)
        length[active] = np.where(up, np.minimum(1.0, 2.0 * length[active]), 0.3 * length[active])
    return x, np.linalg.cholesky(np.linalg.inv(curvature))
