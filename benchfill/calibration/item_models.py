"""Every item model under one name each, fitted alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.four_parameter import fit_four_parameter
from benchfill.calibration.item_curves import ItemCurves
from benchfill.calibration.model_slopes import fit_item_model
from benchfill.calibration.neural import fit_neural
from benchfill.calibration.response_log import ResponseLog
from benchfill.errors import InputError

__all__ = ["MODEL_NAMES", "FittedItemModel", "ModelName", "fit_by_name"]

Array = NDArray[np.float64]

ModelName = Literal["1pl", "model_slopes", "2pl", "4pl", "4pl_slopes", "neural"]
MODEL_NAMES: tuple[ModelName, ...] = get_args(ModelName)  # the fewer assumptions dropped, the earlier


class FittedItemModel(Protocol):
    """What every fit can say."""

    def success(self) -> Array:
        """Chance of success of every cell, asked or not: shape (models, items)."""
        ...

    def success_of(self, correct: NDArray[np.int64], attempts: NDArray[np.int64]) -> Array:
        """Chance of success on every item of a model the fit never saw, placed by its counts: shape (items,)."""
        ...

    def curves(self) -> ItemCurves:
        """Point estimates as curves."""
        ...


def fit_by_name(
    log: ResponseLog,
    model: ModelName,
    *,
    guessing: Array | None = None,
    seed: int = 0,
    progress: Callable[[float, str], None] | None = None,
) -> FittedItemModel:
    """Fit one of `MODEL_NAMES`.

    Parameters
    ----------
    guessing
        Shape (items,), in [0, 1): given to the models that do not estimate it.
    seed
        Of the networks; the other fits draw nothing.

    Raises
    ------
    InputError
        There is no such model.
    BenchfillError
        The fit did not converge.
    """
    if model == "neural":
        return fit_neural(log, seed=seed, progress=progress)
    if model in ("4pl", "4pl_slopes"):
        return fit_four_parameter(log, model_slopes=model == "4pl_slopes")
    if model in ("1pl", "model_slopes", "2pl"):
        return fit_item_model(log, model, guessing=guessing)
    raise InputError(f"There is no item model {model!r}.", f"Choose from {', '.join(MODEL_NAMES)}.")
