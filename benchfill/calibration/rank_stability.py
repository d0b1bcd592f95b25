"""Rank stability: would the order of two models hold if difficulties were spread as the target says?

``D_B`` is the difference of their mean scores on the benchmark, ``D_mu`` that under the target measure mu. Under the
1PL curves never cross, so its own slope certifies nothing. Three figures a pair instead, on the pair's common items:

1. D_mu by reweighting: an item's weight is the mass of mu in its cell of the axis (up to the midpoints to its
   neighbours). Interval by bootstrap over items and attempts, places taken as known;
2. D_mu under the 1PL with a slope a model, the probability that its sign is not that of D_B, and whether the
   curves cross: each lies above the other by at least 0.01 somewhere on the axis. The posterior knows sampling
   noise, not the misfit of that model;
3. the bound of arXiv 2610.29927: with probability 1 - delta the true difference on these items is within
   ``t = sqrt(ln(2/delta)/2 * sum_i (1/k_i + 1/k'_i) / n^2)`` of D_B (Hoeffding; delta divided by the number of
   pairs), and a difference curve of slope at most L changes by at most ``L * DDM`` from the benchmark to mu. So the
   order is guaranteed up to ``L* = (|D_B| - t) / DDM``, which stands beside the 95 % posterior maximum of the slope
   under 2. The bound is sufficient, not necessary.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.fit import Fit
from benchfill.calibration.model_curves import ModelCurves, curves_of
from benchfill.calibration.model_slopes import ItemModelFit
from benchfill.calibration.response_log import ResponseLog
from benchfill.calibration.reweighting import PairWeights, bootstrap_scores
from benchfill.calibration.scale import Scale
from benchfill.calibration.targets import Target, Uniform, distance
from benchfill.errors import InputError

__all__ = ["PairStability", "RankStability", "rank_stability"]

Array = NDArray[np.float64]

POSSIBLE, LIKELY = 0.05, 0.5  # probabilities of the other order
_BOOTSTRAPS = 400
_DRAWS = 400


@dataclass(frozen=True, slots=True)
class PairStability:
    """A pair of models; None is undefined.

    Parameters
    ----------
    stronger, weaker
        By ``d_benchmark``; by id where it is 0.
    items
        Common items, n.
    d_benchmark
        D_B = mean over common items of the difference of success rates, at least 0.
    d_target, d_target_lo95, d_target_hi95
        D_mu by reweighting, with its bootstrap interval.
    d_target_slopes
        D_mu under the model slopes, at their estimates.
    p_reversed
        Posterior probability that it is negative; None where d_benchmark is 0.
    crosses, crosses_at
        Whether each estimated curve lies above the other by at least 0.01 somewhere on the axis, and where they
        cross, in z.
    tolerance
        t of the bound.
    largest_slope
        L*, in score per unit of z; 0 where D_B is within t, None where DDM is 0.
    slope_max95
        95 % posterior quantile of the largest absolute slope of the difference curve on the axis, same unit.
    verdict
        ``guaranteed``: slope_max95 is at most L*. ``likely_reversed``: p_reversed above 0.5.
        ``possibly_reversed``: p_reversed above 0.05, or the bootstrap interval of D_mu reaches below 0.
        ``tied``: d_benchmark is 0. ``kept``: none of these.
    """

    stronger: str
    weaker: str
    items: int
    d_benchmark: float
    d_target: float
    d_target_lo95: float
    d_target_hi95: float
    d_target_slopes: float
    p_reversed: float | None
    crosses: bool
    crosses_at: float | None
    tolerance: float
    largest_slope: float | None
    slope_max95: float
    verdict: str


@dataclass(frozen=True, slots=True)
class RankStability:
    """All pairs that share items.

    Parameters
    ----------
    target
        Name of mu.
    delta
        Probability that any of the bounds fails, all pairs together.
    pairs
        Sorted by p_reversed, highest first, then by ids.
    crossing, reversed_slopes, reversed_target
        Pairs whose curves cross; whose D_mu has the other sign under the model slopes; and by reweighting.
    without_items
        Pairs that share none and are left out.
    """

    target: str
    delta: float
    pairs: tuple[PairStability, ...]
    crossing: int
    reversed_slopes: int
    reversed_target: int
    without_items: int

    def at_risk(self) -> tuple[PairStability, ...]:
        """The pairs whose order is likely or possibly another under the target."""
        return tuple(pair for pair in self.pairs if pair.verdict in ("likely_reversed", "possibly_reversed"))


def rank_stability(
    log: ResponseLog,
    fit: Fit,
    scale: Scale,
    slopes: ItemModelFit,
    *,
    target: Target | None = None,
    delta: float = 0.05,
    seed: int = 0,
) -> RankStability:
    """Compare every pair of models on the benchmark and under the target.

    Parameters
    ----------
    log
        The response log.
    fit
        Its 1PL, which places the items.
    scale
        The frozen axis.
    slopes
        Its fit by ``model_slopes``; its axis is laid on the 1PL's by mean and standard deviation of the items.
    target
        mu on the axis; None is uniform.
    delta
        Inside (0, 1).
    seed
        Of bootstrap and posterior draws.

    Raises
    ------
    InputError
        The fits are not of this log (kind ``bad_log``), or delta is no probability.
    """
    if (log.models, log.items) != (fit.models, fit.items) or (log.models, log.items) != (
        slopes.models,
        slopes.items,
    ):
        raise InputError("The response log is not the one that was fitted.", kind="bad_log")
    if not 0.0 < delta < 1.0:
        raise InputError(f"delta is a probability inside (0, 1), not {delta:g}.")
    measure = target or Uniform()
    z = np.asarray(scale.to_z(fit.b))
    curves = curves_of(slopes, fit, scale, measure, draws=_DRAWS, rng=np.random.default_rng([seed, 1]))
    by_items: dict[bytes, list[tuple[int, int]]] = {}
    asked = log.attempts > 0
    for one, two in combinations(range(len(log.models)), 2):
        by_items.setdefault((asked[one] & asked[two]).tobytes(), []).append((one, two))
    total = sum(len(pairs) for pairs in by_items.values())
    found: list[PairStability] = []
    for number, (key, pairs) in enumerate(by_items.items()):
        common = np.frombuffer(key, dtype=np.bool_)
        if common.any():
            generator = np.random.default_rng([seed, 2, number])
            found += _stabilities(log, common, pairs, z, curves, measure, delta / total, generator)
    found.sort(key=lambda pair: (-(pair.p_reversed or 0.0), pair.stronger, pair.weaker))
    return RankStability(
        target=measure.name,
        delta=delta,
        pairs=tuple(found),
        crossing=sum(pair.crosses for pair in found),
        reversed_slopes=sum(pair.d_target_slopes < 0.0 < pair.d_benchmark for pair in found),
        reversed_target=sum(pair.d_target < 0.0 < pair.d_benchmark for pair in found),
        without_items=total - len(found),
    )


def _stabilities(
    log: ResponseLog,
    common: NDArray[np.bool_],
    pairs: list[tuple[int, int]],
    z: Array,
    curves: ModelCurves,
    target: Target,
    delta: float,
    generator: np.random.Generator,
) -> list[PairStability]:
    """The pairs that share exactly these items."""
    models = sorted({model for pair in pairs for model in pair})
    row = {model: at for at, model in enumerate(models)}
    one, two = (np.array([row[pair[side]] for pair in pairs]) for side in (0, 1))
    attempts, correct = log.attempts[models][:, common], log.correct[models][:, common]
    rates = correct / attempts
    places, count = z[common], int(common.sum())
    weights = PairWeights.of(places, target)
    benchmark, reweighted = rates.mean(axis=1), rates @ weights.of_items()
    # Equal scores summed in another order must tie.
    d_benchmark = np.round(benchmark[one] - benchmark[two], 12)
    sign = np.where(d_benchmark < 0.0, -1.0, 1.0)
    d_target = sign * (reweighted[one] - reweighted[two])
    boot = bootstrap_scores(weights, correct, attempts, draws=_BOOTSTRAPS, generator=generator)
    lo, hi = np.quantile(sign * (boot[:, one] - boot[:, two]), [0.025, 0.975], axis=0)
    noise = (1.0 / attempts).sum(axis=1) / count**2
    t = np.sqrt(0.5 * np.log(2.0 / delta) * (noise[one] + noise[two]))
    ddm = distance(places, target)
    first, second = np.array(models)[one], np.array(models)[two]
    modelled = sign * curves.differences(first, second)
    p_reversed = (sign * curves.difference_draws(first, second) < 0.0).mean(axis=0)
    crossing = curves.crossings(first, second)
    slope = curves.steepest95(first, second)
    found = []
    for at in range(len(pairs)):
        names = log.models[first[at]], log.models[second[at]]
        tied = bool(d_benchmark[at] == 0.0)
        margin = max(abs(float(d_benchmark[at])) - float(t[at]), 0.0)
        largest = margin / ddm if ddm > 0.0 else None
        p = None if tied else float(p_reversed[at])
        found.append(
            PairStability(
                *(names if sign[at] > 0.0 else names[::-1]),
                items=count,
                d_benchmark=abs(float(d_benchmark[at])),
                d_target=float(d_target[at]),
                d_target_lo95=float(lo[at]),
                d_target_hi95=float(hi[at]),
                d_target_slopes=float(modelled[at]),
                p_reversed=p,
                crosses=bool(np.isfinite(crossing[at])),
                crosses_at=float(crossing[at]) if np.isfinite(crossing[at]) else None,
                tolerance=float(t[at]),
                largest_slope=largest,
                slope_max95=float(slope[at]),
                verdict=_verdict(p, float(lo[at]), largest, margin, float(slope[at])),
            )
        )
    return found


def _verdict(p: float | None, lo: float, largest: float | None, margin: float, slope: float) -> str:
    if p is None:
        return "tied"
    if margin > 0.0 and (largest is None or slope <= largest):
        return "guaranteed"
    if p > LIKELY:
        return "likely_reversed"
    return "possibly_reversed" if p > POSSIBLE or lo < 0.0 else "kept"
