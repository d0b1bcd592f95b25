"""The figures of a benchmark, of the estimates and of the true items.

Estimates are blurred and shrunken pictures of the true difficulties, so a figure of the estimates is not an estimate
of the figure: with one attempt a model the Max Gap of the point estimates lies outside its own posterior interval.
Both are reported: the point figure, as the source paper defines it, and the posterior of the figure of the true item
set, over draws of all difficulties together whose density's shape is learned too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.conditionals import Conditionals, conditionals_of
from benchfill.calibration.fit import Fit
from benchfill.calibration.measure import max_gap, top_k_gap_sum
from benchfill.calibration.response_log import ResponseLog
from benchfill.calibration.scale import Scale, pool_scale
from benchfill.calibration.shape import shaped_draws
from benchfill.calibration.targets import Target, Uniform, distance

__all__ = [
    "GAP_LIMIT",
    "SHAPE_LIMIT",
    "BenchmarkFigures",
    "Figure",
    "FigureSet",
    "benchmark_figures",
    "item_sets",
    "typical_sd",
]

Array = NDArray[np.float64]

_TOP = 5
_DRAWS = 400
_NO_GAP = 1e-9
SHAPE_LIMIT = 0.1
GAP_LIMIT = 0.5


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure, in z.

    Parameters
    ----------
    point
        Of the point estimates.
    median, lo90, hi90
        Posterior of the figure of the true item set.
    """

    point: float
    median: float
    lo90: float
    hi90: float


@dataclass(frozen=True, slots=True)
class FigureSet:
    """The figures of one set of items on one axis.

    Parameters
    ----------
    items
        ``all`` or ``uncensored``.
    n_items
        How many those are.
    scale
        Name of the axis.
    target
        Name of the target of ``ddm``.
    ddm, max_gap, top5_sum
        Distance to the target, widest gap, sum of the five widest. Places outside [0, 1] are kept for the first and
        clipped for the others.
    """

    items: str
    n_items: int
    scale: str
    target: str
    ddm: Figure
    max_gap: Figure
    top5_sum: Figure


@dataclass(frozen=True, slots=True)
class BenchmarkFigures:
    """What a report shows.

    Parameters
    ----------
    sets
        All items on the frozen axis; without the censored ones on the same axis; all items on the ``pool`` axis,
        whose anchors no censored item can set. A set without items is left out.
    n_censored
        Items that every model always or never solved.
    draws
        Of the posterior; 1 under ``mml``, where abilities count as known and the intervals are too narrow.
    blur
        Median over the uncensored items of the posterior sd of b over sigma_b.
    gap_blur
        Median posterior sd of the uncensored items, in z, over the posterior median of the Max Gap.
    shape_dependent
        ``blur > SHAPE_LIMIT or gap_blur > GAP_LIMIT``: the intervals hold where difficulties follow a normal
        distribution, and depend on that. The second condition is met by many well measured items, whose neighbours
        are nearer than their own uncertainty.
    """

    sets: tuple[FigureSet, ...]
    n_censored: int
    draws: int
    blur: float
    gap_blur: float
    shape_dependent: bool


def benchmark_figures(
    fit: Fit,
    log: ResponseLog,
    scale: Scale,
    *,
    target: Target | None = None,
    draws: int = _DRAWS,
    seed: int = 0,
) -> BenchmarkFigures:
    """Figures of the point estimates, and posterior median and 90 % interval of those of the true item set.

    Parameters
    ----------
    fit, log
        A fit and the log it was fitted to.
    scale
        The frozen axis.
    target
        None is uniform.
    draws
        Item sets, each under another of the fit's draws; under ``mml`` all under its estimate.
    seed
        Same seed, same figures.
    """
    measure = Uniform() if target is None else target
    every = np.ones(len(fit.items), dtype=bool)
    plans = [("all", every, scale), ("uncensored", ~fit.censored, scale)]
    if scale.name != "pool":
        plans.append(("all", every, pool_scale(fit)))
    plans = [plan for plan in plans if plan[1].any()]
    conditionals = conditionals_of(fit, log, draws=draws)
    sampled = np.array(
        [
            [_figures(b[chosen], axis, measure) for _, chosen, axis in plans]
            for b in item_sets(conditionals, draws, seed)
        ]
    )
    sets = []
    for at, (items, chosen, axis) in enumerate(plans):
        point = _figures(fit.b[chosen], axis, measure)
        lo, median, hi = np.quantile(sampled[:, at], [0.05, 0.5, 0.95], axis=0)
        figures = [Figure(*map(float, each)) for each in zip(point, median, lo, hi, strict=True)]
        sets.append(FigureSet(items, int(chosen.sum()), axis.name, measure.name, *figures))
    sd, sigma_b = typical_sd(fit, conditionals)
    blur, gap_blur = sd / sigma_b, sd / scale.width / max(sets[0].max_gap.median, _NO_GAP)
    dependent = blur > SHAPE_LIMIT or gap_blur > GAP_LIMIT
    return BenchmarkFigures(
        tuple(sets), int(fit.censored.sum()), len(conditionals), blur, gap_blur, dependent
    )


def item_sets(conditionals: Conditionals, draws: int, seed: int) -> Iterator[Array]:
    """Draws of the true difficulties of all items under a learned shape: shape (items,) each, logits."""
    generator = np.random.default_rng(seed)
    for given in shaped_draws(conditionals, draws, generator):
        yield given.draw(generator)


def typical_sd(fit: Fit, conditionals: Conditionals) -> tuple[float, float]:
    """Median over the uncensored items, over all where none is, of the posterior sd of b; and sigma_b. Logits."""
    given = next(iter(conditionals))
    chosen = fit.censored if fit.censored.all() else ~fit.censored
    return float(np.median(given.sd()[chosen])), given.sigma_b


def _figures(b: Array, axis: Scale, target: Target) -> tuple[float, float, float]:
    z = np.asarray(axis.to_z(np.sort(b)))  # sorted once: sorting what is sorted is cheap
    return distance(z, target), max_gap(z), top_k_gap_sum(z, _TOP)
