"""Likelihood of one item's difficulty for given abilities.

With ``x = exp(theta - b)`` the 1PL with guessing g is ``P = (g + x) / (1 + x)`` and
``1 - P = (1 - g) / (1 + x)``: it needs one exponential a model and draw, and models asked equally often
share a logarithm.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchfill.errors import InputError

__all__ = ["checked_counts", "log_likelihood"]

Floats = NDArray[np.float64]

# exp(600) is still finite: products of (g + x) are logged before they pass it.
_LOG_LIMIT = 600.0
# Numbers that are multiplied in one go.
_STACKED = 1 << 19


def checked_counts(
    correct: ArrayLike, attempts: ArrayLike, models: int, guessing: float
) -> tuple[Floats, Floats]:
    """Counts of so many models as floats.

    Raises
    ------
    InputError
        Kind ``bad_counts``: another number of models, counts outside ``0 <= correct <= attempts`` or a
        guessing rate outside [0, 1).
    """
    right, asked = (
        np.asarray(correct, dtype=np.float64).ravel(),
        np.asarray(attempts, dtype=np.float64).ravel(),
    )
    if right.size != models or asked.size != models:
        raise InputError(
            f"Counts of {right.size} and {asked.size} models do not fit abilities of {models}.",
            kind="bad_counts",
        )
    if not (np.all(right >= 0.0) and np.all(right <= asked)):
        raise InputError("Right answers lie between 0 and the attempts.", kind="bad_counts")
    if not 0.0 <= guessing < 1.0:
        raise InputError(f"A guessing rate lies in [0, 1), not at {guessing:g}.", kind="bad_counts")
    return right, asked


def log_likelihood(draws: Floats, right: Floats, asked: Floats, b: Floats, guessing: float) -> Floats:
    """Log-likelihood (S, G) of each b (G,) under each draw (S, M) of the abilities, up to a constant."""
    ability, place = np.exp(draws.T), np.exp(-b)
    value = -_log_products(asked, ability, place, 1.0)
    if guessing > 0.0:
        value += _log_products(right, ability, place, guessing)
    else:
        value += (draws @ right)[:, None] - right.sum() * b
    return value


def _log_products(counts: Floats, ability: Floats, place: Floats, offset: float) -> Floats:
    """Sum over models of ``count * log(offset + x)``, shape (S, G); ``x = ability (M, S) * place (G)``."""
    total = np.zeros((ability.shape[1], place.size))
    if not ability.size:
        return total
    largest = offset + float(ability.max() * place.max())
    a_log = int(_LOG_LIMIT / max(1.0, -math.log(offset), math.log(largest)))
    a_log = max(1, min(a_log, _STACKED // max(1, total.size)))
    for count in sorted(set(counts[counts > 0].tolist())):
        models = np.flatnonzero(counts == count)
        for start in range(0, len(models), a_log):
            stack = offset + np.multiply.outer(ability[models[start : start + a_log]], place)
            total += count * np.log(np.multiply.reduce(stack, axis=0))
    return total
