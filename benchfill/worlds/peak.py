"""The difficulty at which the expected log-likelihood of an item's answers is largest, abilities frozen."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["likelihood_peak"]

_GRID = 400
_REACH = 30.0


def _sigmoid(x: float) -> float:
    if x >= 0:
        return 1.0 / (1.0 + math.exp(-x))
    return math.exp(x) / (1.0 + math.exp(x))


def _root(theta: Sequence[float], rates: Sequence[float], weights: Sequence[float]) -> float:
    """Root of the falling function ``sum w (sigmoid(theta - b) - rate)``: Newton steps kept in a bracket."""
    low, high = min(theta) - _REACH, max(theta) + _REACH
    b = sum(theta) / len(theta)
    while high - low > 1e-10:
        excess = slope = 0.0
        for t, p, w in zip(theta, rates, weights, strict=True):
            chance = _sigmoid(t - b)
            excess += w * (chance - p)
            slope += w * chance * (1.0 - chance)
        if excess > 0:
            low = b
        else:
            high = b
        step = excess / slope if slope > 0 else math.inf
        if abs(step) < 1e-12:
            break
        b = b + step if low < b + step < high else 0.5 * (low + high)
    return b


def _guessed_peak(
    theta: Sequence[float], rates: Sequence[float], weights: Sequence[float], g: float
) -> float:
    """Maximum with a chance ``g`` of guessing right: a grid, then golden section (the curve need not be concave)."""

    def value(b: float) -> float:
        total = 0.0
        for t, p, w in zip(theta, rates, weights, strict=True):
            chance = min(max(g + (1.0 - g) * _sigmoid(t - b), 1e-300), 1.0 - 1e-16)
            total += w * (p * math.log(chance) + (1.0 - p) * math.log1p(-chance))
        return total

    low, high = min(theta) - _REACH / 2, max(theta) + _REACH / 2
    width = (high - low) / _GRID
    best = max(range(_GRID + 1), key=lambda k: (value(low + k * width), -k))
    if best in (0, _GRID):
        return -math.inf if best == 0 else math.inf
    left, right = low + (best - 1) * width, low + (best + 1) * width
    ratio = (math.sqrt(5.0) - 1.0) / 2.0
    while right - left > 1e-9:
        inner, outer = right - ratio * (right - left), left + ratio * (right - left)
        if value(inner) > value(outer):
            right = outer
        else:
            left = inner
    return 0.5 * (left + right)


def likelihood_peak(
    theta: Sequence[float],
    rates: Sequence[float],
    weights: Sequence[float] | None = None,
    guessing: float = 0.0,
) -> float:
    """Difficulty b that maximises ``sum_j w_j (p_j log P_j + (1 - p_j) log(1 - P_j))``.

    ``P_j = g + (1 - g) sigmoid(theta_j - b)`` (1PL, science of the measurement model).

    Parameters
    ----------
    theta
        Frozen abilities, logits.
    rates
        Chances of success p_j.
    weights
        Weights w_j, e.g. attempts; all 1 by default.
    guessing
        Chance g of a blind right answer.

    Returns
    -------
    float
        Logits; ``-inf`` where everything is right, ``inf`` where the rates are no better than guessing.

    Raises
    ------
    ValueError
        The sequences are empty or of different lengths.
    """
    if not theta or len(theta) != len(rates):
        raise ValueError("theta and rates must be equally long and not empty")
    used = [1.0] * len(theta) if weights is None else list(weights)
    if all(p == 1.0 for p, w in zip(rates, used, strict=True) if w > 0):
        return -math.inf
    if guessing > 0.0:
        return _guessed_peak(theta, rates, used, guessing)
    if all(p == 0.0 for p, w in zip(rates, used, strict=True) if w > 0):
        return math.inf
    return _root(theta, rates, used)
