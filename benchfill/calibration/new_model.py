"""A model that a fit never saw: placed by some of its answers, the items' places integrated out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

__all__ = ["chances_of_new_model"]

Array = NDArray[np.float64]

_EDGE = 1e-12


def chances_of_new_model(
    chances: Callable[[Array, NDArray[np.int64]], Array],
    pool: Array,
    of_item: NDArray[np.int64],
    correct: NDArray[np.int64],
    attempts: NDArray[np.int64],
) -> Array:
    """Chance of success on every item, shape (items,).

    Given the parameters of the fitted models, items are independent, so that the new model's likelihood is a product
    over items of the chances with each item integrated over its posterior. Its parameters are the mode under a normal
    prior with the mean of the pool's and three times its sd.

    Parameters
    ----------
    chances
        Maps the model's parameters (features,) and rows of patterns to the patterns' posterior mean chances.
    pool
        Shape (models, features). The fitted models' parameters.
    of_item
        Shape (items,). Pattern of each item.
    correct, attempts
        Shape (items,). The new model's counts; attempts may be 0.
    """
    rows, back = np.unique(of_item[attempts > 0], return_inverse=True)
    right = np.bincount(back, weights=correct[attempts > 0], minlength=rows.size)
    wrong = np.bincount(back, weights=(attempts - correct)[attempts > 0], minlength=rows.size)
    centre = pool.mean(axis=0)
    spread = 3.0 * np.maximum(pool.std(axis=0), 0.1)

    def cost(u: Array) -> float:
        chance = np.clip(chances(centre + spread * u, rows), _EDGE, 1.0 - _EDGE)
        return float(0.5 * u @ u - right @ np.log(chance) - wrong @ np.log1p(-chance))

    found = minimize(
        cost, np.zeros(centre.size), method="Nelder-Mead", options={"xatol": 1e-3, "fatol": 1e-3}
    )
    return np.asarray(chances(centre + spread * found.x, np.arange(of_item.max() + 1))[of_item])
