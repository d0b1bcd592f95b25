"""Answers of any design under the 1PL with guessing, and the wide case files."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.response_log import ResponseLog
from tests.calibration.simulated import log_of

Array = NDArray[np.float64]


def answer(theta: Array, b: Array, attempts: object, *, seed: int, guessing: object = 0.0) -> ResponseLog:
    """Binomial answers; attempts broadcast over models x items, guessing over items."""
    asked = np.broadcast_to(np.asarray(attempts), (theta.size, b.size))
    chance = np.asarray(guessing, dtype=np.float64)
    success = chance + (1.0 - chance) / (1.0 + np.exp(b - theta[:, None]))
    return log_of(np.random.default_rng(seed).binomial(asked, success), asked)


def read_case(path: Path) -> ResponseLog:
    """A wide case file with items in rows, read without the product's own reader."""
    with path.open(newline="") as lines:
        header, *rows = list(csv.reader(lines))
    models, items = header[1:], [row[0] for row in rows]
    cells = np.array([row[1:] for row in rows]).T
    by_model, by_item = np.argsort(models), np.argsort(items)
    cells = cells[by_model][:, by_item]
    return ResponseLog(
        tuple(sorted(models)), tuple(sorted(items)), (cells == "1").astype(int), (cells != "").astype(int)
    )
