"""How well a rewriter hits its targets, learned from where its items landed.

An item written for the target ``z*`` from a parent at ``z_p`` lands at ``z* + bias + pull * (z_p - z*) + spread``:
a rewriter that changes too little stays near the parent (pull), and one that changes much scatters more. The spread
is a Student t with 4 degrees of freedom whose scale grows with the distance from the parent,
``s(d)^2 = near^2 + (growth * d)^2``. The four numbers are the posterior mode under priors as weak as a few hits:
bias and pull normal around 0, near and growth log-normal around what is assumed of a rewriter nothing is known of.

Each hit is known to a standard error of its own, which is added to its scale; places are those under a flat prior,
since a place drawn to the target by an earlier prior would confirm that prior. The spread that is used is never
narrower than the one observed among the well-measured hits, measurement included.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import stdtr, stdtrit

from benchfill.calibration.online import CandidatePrior, ItemPosterior

__all__ = ["Hit", "KeptDistance", "RewriterRecord", "choose_parents"]

Floats = NDArray[np.float64]

DF = 4.0
# Prior sd of bias (z) and of pull (share of the distance), and of the logarithms of near and growth.
BIAS_SD, PULL_SD, NEAR_SD, GROWTH_SD = 0.05, 0.3, 0.7, 0.7
# Share of the distance from the parent that a rewriter nothing is known of may be off by.
GROWTH = 0.3
# Hits measured to this share of their own scale tell the spread directly.
WELL_MEASURED = 0.7
# From so many well-measured hits on, the observed spread is a floor.
ENOUGH = 4
# A scale of zero would forbid all surprise.
LEAST_SCALE = 0.004
# Distances from the target, in tolerances, that a rewriter may never go below, and how likely it is beforehand that
# there is one; each is as likely as the others.
DISTANCES = (1.0, 1.5, 2.0, 3.0, 4.0)
KEEPS_ONE = 0.25
# Places (z, from the target) at which chances are summed: beyond, nothing is near.
FURTHEST, PLACES = 0.6, 601


@dataclass(frozen=True, slots=True)
class Hit:
    """Where one item landed.

    Parameters
    ----------
    target, parent
        What was aimed at, and where the parent lies (z).
    landed, error
        Mean and standard deviation of the item's place (z) by its answers alone (flat prior).
    """

    target: float
    parent: float
    landed: float
    error: float


@dataclass(frozen=True, slots=True)
class KeptDistance:
    """How likely it is that a rewriter never lands within some distance of its targets.

    Parameters
    ----------
    distances
        In z.
    chances
        One a distance; the rest of 1 is for none.
    """

    distances: tuple[float, ...]
    chances: tuple[float, ...]

    def seen(self, posterior: ItemPosterior, prior: CandidatePrior, target: float) -> ItemPosterior:
        """An item's posterior under ``prior``, in the light of this."""
        off = np.abs(posterior.z - target)
        factor = np.full(off.size, 1.0 - sum(self.chances))
        for distance, chance in zip(self.distances, self.chances, strict=True):
            factor += chance * (off > distance) / (1.0 - prior.chance_within(target, distance))
        weight = posterior.weight * factor
        return ItemPosterior(posterior.z, weight / weight.sum())


@dataclass(frozen=True)
class RewriterRecord:
    """A rewriter's hits, and what they say of its next item.

    Parameters
    ----------
    hits
        In any order.
    assumed_scale
        Scale (z) of the Student t of a rewriter nothing is known of.
    """

    hits: tuple[Hit, ...]
    assumed_scale: float = 0.15

    @cached_property
    def _mode(self) -> tuple[float, float, float, float]:
        """Bias, pull, near, growth."""
        start = np.array([0.0, 0.0, math.log(self.assumed_scale), math.log(GROWTH)])
        if not self.hits:
            return 0.0, 0.0, self.assumed_scale, GROWTH
        way, off, error = self._columns()

        spread = np.array([BIAS_SD, PULL_SD, NEAR_SD, GROWTH_SD])

        def loss(x: Floats) -> tuple[float, Floats]:
            near2, grown2 = math.exp(2 * x[2]), math.exp(2 * x[3]) * way**2
            variance = near2 + grown2 + error**2
            miss = off - x[0] - x[1] * way
            pull = (DF + 1) * miss / (DF * variance + miss * miss)
            apart = (x - start) / spread
            fit = np.sum(np.log(variance) / 2 + (DF + 1) / 2 * np.log1p(miss * miss / variance / DF))
            wider = (1.0 - pull * miss) / variance
            slope = np.array([-pull.sum(), -pull @ way, near2 * wider.sum(), wider @ grown2])
            return float(fit + apart @ apart / 2), slope + apart / spread

        x = minimize(loss, start, method="L-BFGS-B", jac=True).x
        return float(x[0]), float(x[1]), math.exp(x[2]), math.exp(x[3])

    def _columns(self) -> tuple[Floats, Floats, Floats]:
        """Way from target to parent, miss, standard error: in one order, whatever order the hits came in."""
        rows = sorted((hit.parent - hit.target, hit.landed - hit.target, hit.error) for hit in self.hits)
        way, off, error = np.array(rows).T
        return way, off, error

    @cached_property
    def _misses(self) -> tuple[Floats, Floats]:
        """Distance from the parent and size of the miss, of the well-measured hits by distance."""
        bias, pull, near, growth = self._mode
        way, off, error = self._columns()
        well = error <= WELL_MEASURED * np.sqrt(near**2 + (growth * way) ** 2)
        order = np.argsort(np.abs(way[well]), kind="stable")
        return np.abs(way[well])[order], np.abs(off - bias - pull * way)[well][order]

    def _observed(self, distance: Floats) -> Floats:
        """Scale of a t as wide, in its central half and nine tenths, as the misses from parents no further off.

        At least the nearer half of them; 0 while there are too few to tell.
        """
        if len(self.hits) < ENOUGH:
            return np.zeros(distance.shape)
        away, misses = self._misses
        if len(misses) < ENOUGH:
            return np.zeros(distance.shape)
        within = np.searchsorted(away, distance, side="right")
        within = np.maximum(within, max((len(misses) + 1) // 2, ENOUGH))
        for count in np.unique(within).tolist():
            if count not in self._spreads:
                half, nine = np.quantile(misses[:count], [0.5, 0.9]) / stdtrit(DF, [0.75, 0.95])
                self._spreads[count] = float(max(half, nine))
        return np.array([self._spreads[count] for count in within.tolist()])

    @cached_property
    def _spreads(self) -> dict[int, float]:
        """What `_observed` found, by how many misses it looked at."""
        return {}

    def prior(self, target: float, parent: float, parent_sd: float = 0.0) -> CandidatePrior:
        """Prior of an item written for ``target`` from a parent at ``parent`` (z), known to ``parent_sd``."""
        center, scale = self._where(target, np.array([parent]), np.array([parent_sd]))
        return CandidatePrior(float(center[0]), float(scale[0]), DF)

    def _where(self, target: float, parent: Floats, parent_sd: Floats) -> tuple[Floats, Floats]:
        """Centers and scales of the priors of items written from these parents."""
        bias, pull, near, growth = self._mode
        way = parent - target
        learned = np.sqrt(near**2 + growth**2 * (way**2 + parent_sd**2))
        scale = np.maximum(learned, np.maximum(LEAST_SCALE, self._observed(np.abs(way))))
        return target + bias + pull * way, np.maximum(scale, abs(pull) * parent_sd)

    def kept(self, tolerance: float) -> KeptDistance:
        """What the hits say of distances that it never goes below.

        Parameters
        ----------
        tolerance
            Deviation (z) that is wanted; the distances are multiples of it.
        """
        distances = np.array(DISTANCES) * tolerance
        if not self.hits:
            return KeptDistance(tuple(distances.tolist()), (0.0,) * len(DISTANCES))
        way, landed, error = self._columns()
        bias, pull, near, growth = self._mode
        off = np.linspace(-FURTHEST, FURTHEST, PLACES)
        scale = np.sqrt(near**2 + (growth * way) ** 2)[:, None]
        step = (off - (bias + pull * way)[:, None]) / scale
        expected = -(DF + 1) / 2 * np.log1p(step * step / DF)
        measured = expected - ((off - landed[:, None]) / error[:, None]) ** 2 / 2
        within = (np.abs(off)[:, None] <= distances).astype(np.float64)

        def chance(log_density: Floats) -> Floats:
            density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
            share = density @ within / density.sum(axis=1, keepdims=True)
            return np.asarray(np.minimum(share, 1.0 - 1e-9))

        told = np.sum(np.log1p(-chance(measured)) - np.log1p(-chance(expected)), axis=0)
        weight = KEEPS_ONE / len(DISTANCES) * np.exp(np.minimum(told, 700.0))
        weight /= weight.sum() + 1.0 - KEEPS_ONE
        return KeptDistance(tuple(distances.tolist()), tuple(weight.tolist()))

    def promise(self, target: float, tolerance: float, parent: Floats, parent_sd: Floats) -> Floats:
        """Chance (parents,) that an item written from each lies within the tolerance of the target; z."""
        center, scale = self._where(target, parent, parent_sd)
        ends = (np.array([[-tolerance], [tolerance]]) + target - center) / scale
        below, above = stdtr(DF, ends)
        return np.asarray(above - below)


def choose_parents(
    record: RewriterRecord,
    places: Sequence[tuple[str, float, float, bool]],
    target: float,
    tolerance: float,
    count: int,
) -> list[str]:
    """The parents whose rewrites are likeliest to land within the tolerance of the target.

    Parameters
    ----------
    places
        ``(id, z, sd, original)`` of everything that may be rewritten. The sd of an original counts as 0: it is
        what the axis is made of.
    count
        How many, all different where there are enough. At least every fourth is an original item, so that a
        search does not drift off in the descendants of one parent.

    Returns
    -------
    list
        Ids, the most promising first; ties by nearness, then id.
    """
    if not places:
        return []

    z, sd = np.array([place[1:3] for place in places]).T
    # Rounded: what differs by less is a tie.
    promise = np.round(record.promise(target, tolerance, z, sd), 9)
    away = np.abs(z - target) + 0.8 * sd
    names = [place[0] for place in places]
    ranked = [name for *_, name in sorted(zip((-promise).tolist(), away.tolist(), names, strict=True))]
    originals = {name for name, _, _, original in places if original}
    wanted = [name for name in ranked if name in originals][: max(1, count // 4)]
    others = (name for name in ranked if name not in wanted)
    taken = {*wanted, *itertools.islice(others, count - len(wanted))}
    chosen = [name for name in ranked if name in taken]
    return [chosen[index % len(chosen)] for index in range(count)]
