"""The diagnosis of one benchmark, as a unit of work where there are several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.diagnosis import diagnose
from benchfill.calibration.response_log import ResponseLog
from benchfill.calibration.subsets import Spread
from benchfill.calibration.targets import Target
from benchfill.errors import InputError

__all__ = ["Asked", "Sampler", "diagnose_one"]

Sampler = Literal["nuts", "laplace", "mml", "full"]


@dataclass(frozen=True)
class Asked:
    """What is asked of one log; its name is "" where it is the only one."""

    log: ResponseLog
    name: str
    engine: Sampler
    seed: int
    guessing: NDArray[np.float64]
    scale: Literal["minmax", "pool", "failure"]
    target: Target
    top: int
    fast: bool
    pool_subsets: bool
    accept_unconverged: bool
    notes: tuple[str, ...]


def diagnose_one(
    asked: Asked, *, progress: Callable[[float, str], None] | None = None, spread: Spread | None = None
) -> dict[str, Any]:
    """Diagnose one log.

    Returns
    -------
    dict
        The document of the diagnosis.

    Raises
    ------
    InputError
        The log cannot be fitted; names it where there are several.
    """
    try:
        result = diagnose(
            asked.log,
            engine=asked.engine,
            seed=asked.seed,
            guessing=asked.guessing,
            scale=asked.scale,
            target=asked.target,
            top=asked.top,
            fast=asked.fast,
            pool_subsets=asked.pool_subsets,
            spread=spread,
            progress=progress,
            accept_unconverged=asked.accept_unconverged,
            notes=asked.notes,
        )
    except InputError as error:
        if not asked.name:
            raise
        raise InputError(f"{asked.name}: {error.message}", error.remedy, kind=error.kind) from error
    return result.document()
