"""Matrix products in blocks so small that a BLAS computes each on one thread.

A density is evaluated thousands of times, and a threaded BLAS waits for busy cores longer than one such product
takes. Serial blocks cost the same on a busy machine as on an idle one, and give the same digits whatever the number
of threads.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["inner_product", "product"]

Array = NDArray[np.float64]

_SERIAL = 1 << 18  # multiplications below which OpenBLAS starts no threads
_STACKED = 1 << 20  # numbers of a stack of blocks that is still summed in one go


def product(left: Array, right: Array) -> Array:
    """``left @ right``: shape (n, m) and (m, u) to (n, u)."""
    n, m = left.shape
    rows = min(n, _SERIAL // right.size)
    if n == 1 or rows < 2:  # vectors would be multiplied on several threads
        return np.asarray(np.einsum("nm,mu->nu", left, right))
    found = np.empty((n, right.shape[1]))
    whole = n - n % rows
    np.matmul(left[:whole].reshape(-1, rows, m), right, out=found[:whole].reshape(-1, rows, right.shape[1]))
    if whole < n:
        found[whole:] = product(left[whole:], right)
    return found


def inner_product(left: Array, right: Array) -> Array:
    """``left.T @ right``: shape (n, a) and (n, b) to (a, b)."""
    n, size = left.shape[0], left.shape[1] * right.shape[1]
    rows = min(n, _SERIAL // size)
    if n == 1 or rows < 2:
        return np.asarray(np.einsum("na,nb->ab", left, right))
    found = np.zeros((left.shape[1], right.shape[1]))
    stack = rows * max(1, _STACKED // size)
    for start in range(0, n - n % rows, stack):
        stop = min(start + stack, n - n % rows)
        first, second = (each[start:stop].reshape(-1, rows, each.shape[1]) for each in (left, right))
        found += np.matmul(first.transpose(0, 2, 1), second).sum(axis=0)
    if n % rows:
        found += inner_product(left[n - n % rows :], right[n - n % rows :])
    return found
