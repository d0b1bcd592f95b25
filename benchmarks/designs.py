"""Simulated response logs with known difficulties, for the scripts that measure truth."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.fit import Fit, fit_1pl
from benchfill.calibration.response_log import ResponseLog

Array = NDArray[np.float64]

DRAWS = (300, 1000)  # of a fit, tried in this order
PLANTED = 0.15  # width of the planted gap, as a share of the difficulties' range


@dataclass(frozen=True)
class Design:
    """One simulated log: its size, the density of difficulties, and the seed."""

    models: int
    items: int
    attempts: int
    density: str
    seed: int

    @property
    def name(self) -> tuple[int, int, int, str]:
        return self.models, self.items, self.attempts, self.density


@dataclass(frozen=True, eq=False)
class Drawn:
    """A log, the true difficulties and the planted gap (lo, hi) in logits, if there is one."""

    log: ResponseLog
    b: Array
    planted: tuple[float, float] | None


def draw(design: Design) -> Drawn:
    """Abilities Normal(0, 1); difficulties of sd about 1.5 from the named density."""
    key = (design.models, design.items, design.attempts, sorted(DENSITIES).index(design.density), design.seed)
    generator = np.random.default_rng(key)
    theta = generator.normal(0.0, 1.0, design.models)
    theta -= theta.mean()
    b, planted = DENSITIES[design.density](generator, design.items)
    correct = generator.binomial(design.attempts, 1.0 / (1.0 + np.exp(b - theta[:, None])))
    models = tuple(f"model-{at:04}" for at in range(design.models))
    items = tuple(f"item-{at:06}" for at in range(design.items))
    return Drawn(ResponseLog(models, items, correct, np.full_like(correct, design.attempts)), b, planted)


def fit_with_draws(log: ResponseLog, seed: int) -> Fit:
    """The fast engine, with more draws where few are too few, and the reliable one where its gate is not passed."""
    for draws in DRAWS if len(log.items) < 300 else (150, *DRAWS):
        fit = fit_1pl(log, engine="laplace", seed=seed, draws=draws)
        if fit.gate.passed:
            return fit
    return fit_1pl(log, engine="nuts", seed=seed)


def in_parallel(
    work: Callable[[Design], dict[str, Any]], designs: list[Design], jobs: int, keep: Path | None = None
) -> Iterator[tuple[Design, dict[str, Any]]]:
    """Results as they come, with a count on stderr. Every process computes on one thread.

    ``keep`` names a file of results, one JSON object a line: what it holds is not computed again, so that a run that
    was stopped goes on.
    """
    known = {} if keep is None or not keep.exists() else dict(map(_read, keep.read_text().splitlines()))
    yield from ((design, known[design]) for design in designs if design in known)
    missing = [design for design in designs if design not in known]
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        waiting = {pool.submit(work, design): design for design in missing}
        for count, done in enumerate(as_completed(waiting), start=1):
            if count % max(1, len(missing) // 100) == 0:
                print(f"{count} of {len(missing)}", file=sys.stderr, flush=True)
            design, found = waiting[done], done.result()
            if keep is not None:
                with keep.open("a") as file:
                    file.write(json.dumps([asdict(design), found]) + "\n")
            yield design, found


def _read(line: str) -> tuple[Design, dict[str, Any]]:
    design, found = json.loads(line)
    return Design(**design), found


def _normal(generator: np.random.Generator, items: int) -> tuple[Array, None]:
    return generator.normal(0.0, 1.5, items), None


def _uniform(generator: np.random.Generator, items: int) -> tuple[Array, None]:
    return generator.uniform(-2.6, 2.6, items), None


def _bimodal(generator: np.random.Generator, items: int) -> tuple[Array, None]:
    return np.where(generator.random(items) < 0.5, -1.3, 1.3) + generator.normal(0.0, 0.7, items), None


def _skew(generator: np.random.Generator, items: int) -> tuple[Array, None]:
    return 1.5 * (generator.gamma(2.0, 1.0, items) - 2.0) / np.sqrt(2.0), None


def _heavy_tailed(generator: np.random.Generator, items: int) -> tuple[Array, None]:
    return 1.5 * generator.standard_t(4.0, items) / np.sqrt(2.0), None


def _clumped(generator: np.random.Generator, items: int) -> tuple[Array, None]:
    centres = generator.uniform(-2.5, 2.5, 6)
    return centres[generator.integers(6, size=items)] + generator.normal(0.0, 0.15, items), None


def _gapped(generator: np.random.Generator, items: int) -> tuple[Array, tuple[float, float]]:
    """Normal, pushed apart at an item between the quartiles: the gap is PLANTED of the range, about 1.2 logits."""
    return _push_apart(generator.normal(0.0, 1.5, items), generator)


def _gapped_narrow(generator: np.random.Generator, items: int) -> tuple[Array, tuple[float, float]]:
    """The same on a narrow axis with all items near: uniform over 4.4 logits, the gap is about 0.8 logits."""
    return _push_apart(generator.uniform(-2.2, 2.2, items), generator)


def _push_apart(b: Array, generator: np.random.Generator) -> tuple[Array, tuple[float, float]]:
    ordered = np.sort(b)
    below = int(generator.integers(b.size // 4, 3 * b.size // 4))
    low, high = float(ordered[below]), float(ordered[below + 1])
    # What is there already counts, so that the gap is exactly this share of the new range.
    push = (PLANTED * (ordered[-1] - ordered[0]) - (high - low)) / (1.0 - PLANTED)
    moved = np.where(b > low, b + max(push, 0.0), b)
    return moved, (low, high + max(push, 0.0))


DENSITIES: dict[str, Callable[[np.random.Generator, int], tuple[Array, tuple[float, float] | None]]] = {
    "normal": _normal,
    "uniform": _uniform,
    "bimodal": _bimodal,
    "skew": _skew,
    "heavy-tailed": _heavy_tailed,
    "clumped": _clumped,
    "gapped": _gapped,
    "gapped-narrow": _gapped_narrow,
}
