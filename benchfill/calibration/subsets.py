"""How much of the axis is the choice of models? Refits on halves of the pool.

With many attempts posterior intervals shrink to nothing, while the models are still these models, and the 1PL is still
only nearly true. Halves of the pool, refitted, show what another pool of the kind would have said. Leaving half of
the models out (a delete-half jackknife, Shao and Wu 1989) gives the standard error of a figure of the whole pool
directly: the root of the mean squared deviation of the halves, as the factor (n - d) / d is one at d = n / 2.
A bootstrap would double models, which is pseudo-replication.

Halves come in pairs that together are the pool. A half has a zero and, where models differ in slope, a unit of its
own: its difficulties are laid on the frozen axis by the items that neither calls censored, so that their mean and
spread are those of the whole pool (mean-sigma linking, Kolen and Brennan 2014, chapter 4), each item weighing as much
as the pool can see of it: the noisy places of items that hardly anyone solves must not set the unit.

Linking holds mean and spread of the items, and DDM with them: what is left of its movement is that of the shape. So
every figure is also taken on the axis that the half would have made itself by the same rule, which is what another
pool would have published.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.conditionals import conditionals_of
from benchfill.calibration.figures import item_sets
from benchfill.calibration.fit import Fit, fit_1pl
from benchfill.calibration.information import information_at
from benchfill.calibration.measure import Gap, max_gap, top_k_gap_sum
from benchfill.calibration.response_log import ResponseLog
from benchfill.calibration.scale import Scale, make_scale
from benchfill.calibration.targets import Target, Uniform, distance
from benchfill.errors import BenchfillError, InputError

__all__ = ["LEAST_MODELS", "GapStability", "PoolDependence", "Spread", "SubsetFigure", "pool_dependence"]

Array = NDArray[np.float64]


class Spread(Protocol):
    """Runs a top-level function on each of many arguments, and gives the results in their order."""

    def __call__(self, work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], /) -> list[Any]: ...


LEAST_MODELS = 6
_NORMAL_95 = 1.6448536269514722
_TOP = 5
_DRAWS = 400  # item sets of the posterior intervals of gaps' widths


@dataclass(frozen=True, slots=True)
class SubsetFigure:
    """A figure of the whole pool, and how it moves with the pool, in z.

    Parameters
    ----------
    whole
        Of the whole pool's point estimates.
    sd
        Delete-half standard error.
    lo90, hi90
        ``whole -+ 1.645 sd``, widths and distances not below 0.
    halves_median
        Of the halves: a half sees less, so it may differ from the whole for no other reason.
    """

    whole: float
    sd: float
    lo90: float
    hi90: float
    halves_median: float


@dataclass(frozen=True, slots=True)
class GapStability:
    """A gap under the halves.

    Parameters
    ----------
    lo, hi
        The gap, in z.
    width
        From the item below it to the item above it (or the end of the axis).
    posterior_lo90, posterior_hi90
        The same width under the posterior of the whole pool, for comparison; None under ``mml``.
    stays_empty
        Share of the halves that place no item in its middle half.
    """

    lo: float
    hi: float
    width: SubsetFigure
    posterior_lo90: float | None
    posterior_hi90: float | None
    stays_empty: float


@dataclass(frozen=True, eq=False)
class PoolDependence:
    """What the choice of models does.

    Parameters
    ----------
    engine
        Of the refits.
    subsets
        Halves refitted.
    z, z_sd, z_lo90, z_hi90
        Shape (items,). Place under the whole pool, delete-half standard error, interval; NaN where fewer than half of
        the halves asked the item.
    ddm, max_gap, top5_sum
        The figures, of halves laid on the frozen axis.
    own_ddm, own_max_gap, own_top5_sum
        The figures, of each half on an axis of its own, made by the rule of the frozen one.
    gaps
        In the order given.
    posterior_sd
        Shape (items,). Of z by the whole fit's posterior, for comparison; NaN under ``mml``.
    wider
        ``pool`` or ``posterior``: whose intervals of z are wider, by the median over items; None under ``mml``.
    """

    engine: str
    subsets: int
    z: Array
    z_sd: Array
    z_lo90: Array
    z_hi90: Array
    ddm: SubsetFigure
    max_gap: SubsetFigure
    top5_sum: SubsetFigure
    own_ddm: SubsetFigure
    own_max_gap: SubsetFigure
    own_top5_sum: SubsetFigure
    gaps: tuple[GapStability, ...]
    posterior_sd: Array
    wider: Literal["pool", "posterior"] | None


def pool_dependence(
    fit: Fit,
    log: ResponseLog,
    scale: Scale,
    gaps: Sequence[Gap] = (),
    *,
    target: Target | None = None,
    engine: Literal["laplace", "mml"] = "mml",
    subsets: int = 20,
    seed: int = 0,
    spread: Spread | None = None,
    progress: Callable[[float, str], None] | None = None,
) -> PoolDependence:
    """Refit on delete-half subsets of the models and report how far everything moves.

    Parameters
    ----------
    fit, log
        The fit of the whole pool and its log.
    scale
        The frozen axis.
    gaps
        Such as the first of `find_gaps`.
    target
        Of DDM; None is uniform.
    engine
        Of the refits; only their difficulties are used, so ``mml`` serves.
    subsets
        Rounded up to an even number. A half on which nothing can be fitted is left out.
    seed
        Same seed, same halves.
    spread
        Does the refits, elsewhere and several at once as a rule; None does one after the other here.

    Raises
    ------
    InputError
        Fewer than ``LEAST_MODELS`` models (kind ``too_few_models``), or hardly a half can be fitted.
    """
    if len(log.models) < LEAST_MODELS:
        raise InputError(
            f"Halves of a pool need at least {LEAST_MODELS} models, the log has {len(log.models)}.",
            kind="too_few_models",
        )
    measure = Uniform() if target is None else target
    whole = np.asarray(scale.to_z(fit.b))
    halves, own = [], []
    chosen = _halves(log.models, subsets, seed)
    parts = [(fit, log.select_models(half), scale, engine, seed) for half in chosen]
    if spread is not None:
        refits = spread(_refit, parts)
    else:
        refits = []
        for at, part in enumerate(parts):
            if progress is not None:
                progress(at / len(parts), f"half {at + 1} of {len(parts)}")
            refits.append(_refit(*part))
    for found in refits:
        if found is not None:
            halves.append(found[0])
            own.append(found[1])
    if len(halves) < max(2, len(chosen) // 2):
        raise InputError(
            f"Only {len(halves)} of {len(chosen)} halves of the pool can be fitted on their own.",
            "The models or their answers are too few for this.",
            kind="too_few_models",
        )
    table = np.array(halves)
    known = (~np.isnan(table)).mean(axis=0) >= 0.5
    z_sd = np.full(whole.size, np.nan)
    z_sd[known] = np.sqrt(np.nanmean((table[:, known] - whole[known]) ** 2, axis=0))
    # An item that a half never asked stays where the whole pool has it.
    filled = list(np.where(np.isnan(table), whole, table))
    posterior_sd = _z_sd(fit, scale)
    both = ~np.isnan(posterior_sd) & known
    wider: Literal["pool", "posterior"] | None = None
    if both.any():
        wider = "pool" if np.median(z_sd[both]) > np.median(posterior_sd[both]) else "posterior"
    return PoolDependence(
        engine=engine,
        subsets=len(halves),
        z=whole,
        z_sd=z_sd,
        z_lo90=whole - _NORMAL_95 * z_sd,
        z_hi90=whole + _NORMAL_95 * z_sd,
        **_figures(whole, filled, measure, ""),
        **_figures(whole, own, measure, "own_"),
        gaps=_gaps(fit, log, scale, gaps, whole, np.array(filled), seed),
        posterior_sd=posterior_sd,
        wider=wider,
    )


def _halves(models: tuple[str, ...], subsets: int, seed: int) -> list[list[str]]:
    """Random halves and what they leave, by turns; of an odd number each in turn is the larger."""
    generator = np.random.default_rng(seed)
    found = []
    for pair in range((subsets + 1) // 2):
        order = generator.permutation(len(models))
        cut = (len(models) + pair % 2) // 2
        found += [[models[at] for at in order[:cut]], [models[at] for at in order[cut:]]]
    return found


def _refit(
    fit: Fit, half: ResponseLog, scale: Scale, engine: Literal["laplace", "mml"], seed: int
) -> tuple[Array, Array] | None:
    """Places by a half of the pool: (items,) on the frozen axis, NaN where it was not asked; those asked on its own.

    None where the half cannot be fitted.
    """
    asked = half.attempts.sum(axis=0) > 0
    if not asked.any():
        return None
    part = half.select_items([name for name, each in zip(half.items, asked, strict=True) if each])
    try:
        again = fit_1pl(part, engine=engine, guessing=fit.guessing[asked], seed=seed)
        own = np.asarray(make_scale(scale.name, again).to_z(again.b))
    except BenchfillError:
        return None
    anchors = ~fit.censored[asked] & ~again.censored
    mine, theirs = fit.b[asked][anchors], again.b[anchors]
    if anchors.sum() < 2 or not theirs.std() > 0.0:
        return None
    weight = information_at(fit.theta, mine, fit.guessing[asked][anchors]).sum(axis=1)
    weight /= weight.sum()
    centre, other = float(weight @ mine), float(weight @ theirs)
    unit = np.sqrt((weight @ (mine - centre) ** 2) / (weight @ (theirs - other) ** 2))
    linked = np.full(len(half.items), np.nan)
    linked[asked] = centre + unit * (again.b - other)
    return np.asarray(scale.to_z(linked)), own


def _figures(whole: Array, halves: Sequence[Array], target: Target, prefix: str) -> dict[str, SubsetFigure]:
    def figure(of: Callable[[Array], float]) -> SubsetFigure:
        return _figure(of(whole), [of(z) for z in halves])

    return {
        f"{prefix}ddm": figure(lambda z: distance(z, target)),
        f"{prefix}max_gap": figure(max_gap),
        f"{prefix}top5_sum": figure(lambda z: top_k_gap_sum(z, _TOP)),
    }


def _figure(whole: float, halves: Sequence[float]) -> SubsetFigure:
    values = np.array(halves)
    # About their own mean: a half is blunter than the whole, which is no matter of which half it is.
    sd = float(values.std(ddof=1))
    low, high = max(0.0, whole - _NORMAL_95 * sd), whole + _NORMAL_95 * sd
    return SubsetFigure(whole, sd, low, high, float(np.median(values)))


def _gaps(
    fit: Fit,
    log: ResponseLog,
    scale: Scale,
    gaps: Sequence[Gap],
    whole: Array,
    halves: Array,
    seed: int,
) -> tuple[GapStability, ...]:
    preview = len(fit.theta_draws) < 2
    sets: list[Array] = []
    if gaps and not preview:
        given = conditionals_of(fit, log, draws=_DRAWS)
        sets = [np.asarray(scale.to_z(b)) for b in item_sets(given, _DRAWS, seed)]
    found = []
    for gap in gaps:
        # The neighbours are those of the whole pool; places outside the axis count as its ends.
        below = np.where(whole <= gap.lo + 1e-9, whole, -np.inf)
        above = np.where(whole >= gap.hi - 1e-9, whole, np.inf)

        def width(z: Array, below: Array = below, above: Array = above) -> float:
            low = float(z[below.argmax()]) if np.isfinite(below).any() else 0.0
            high = float(z[above.argmin()]) if np.isfinite(above).any() else 1.0
            return float(np.clip(high, 0.0, 1.0) - np.clip(low, 0.0, 1.0))

        inner_lo, inner_hi = gap.lo + 0.25 * gap.width, gap.hi - 0.25 * gap.width
        empty = ~((halves > inner_lo) & (halves < inner_hi)).any(axis=1)
        lo, hi = np.quantile([max(0.0, width(z)) for z in sets], [0.05, 0.95]) if sets else (None, None)
        found.append(
            GapStability(
                lo=gap.lo,
                hi=gap.hi,
                width=_figure(gap.width, [width(z) for z in halves]),
                posterior_lo90=None if lo is None else float(lo),
                posterior_hi90=None if hi is None else float(hi),
                stays_empty=float(empty.mean()),
            )
        )
    return tuple(found)


def _z_sd(fit: Fit, scale: Scale) -> Array:
    """Posterior standard deviation of z, by the slope of the axis: shape (items,)."""
    slope = (np.asarray(scale.to_z(fit.b + 1e-4)) - np.asarray(scale.to_z(fit.b - 1e-4))) / 2e-4
    return np.asarray(fit.b_sd * slope)
