"""Worlds of the search benchmarks: pools, benchmarks and rewriters whose every figure is known.

`DrawnWorld`: abilities, difficulties and answers drawn from the model itself, with a rewriter whose aim is set. Real
items with real logged answers are in `search_replay`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.item_likelihood import log_likelihood
from benchfill.calibration.online import CandidatePrior, ItemPosterior, ml_difficulty
from benchfill.calibration.rewriter_record import Hit
from benchfill.calibration.scale import Scale
from benchfill.calibration.search_loop import Counts, Frozen, History, Written
from benchfill.calibration.strategy import GapGoal

Floats = NDArray[np.float64]

# Draws of the abilities a search carries; a run keeps 200.
DRAWS = 24
# Of a cached grid, logits: steps on the axis and far from it, the reach of the fine ones and of all beyond it.
FINE, COARSE, NEAR, FAR = 0.01, 0.08, 1.0, 8.0
# Log density at which a posterior ends; every so many points while it is being located; points at least in the end.
DROP, STRIDE, POINTS = 14.0, 16, 110
# Standard error (z) to which an earlier item of the rewriter was measured before it was given up.
HIT_ERROR = 0.03


@dataclass(frozen=True, eq=False)
class AskedPosterior(ItemPosterior):
    """Remembers what it was asked: every step asks the same of all candidates, of which one has changed."""

    known: dict[tuple[float, float], float] = field(default_factory=dict)

    def expected_deviation(self, target: float) -> float:
        if (target, -1.0) not in self.known:
            self.known[target, -1.0] = super().expected_deviation(target)
        return self.known[target, -1.0]

    def chance_within(self, target: float, tol: float) -> float:
        if (target, tol) not in self.known:
            self.known[target, tol] = super().chance_within(target, tol)
        return self.known[target, tol]


@dataclass(frozen=True)
class CachedFrozen(Frozen):
    """The same posteriors as `item_posterior` gives, in a fifth of the time, where all models answer equally often.

    With n answers a model and R right ones in all, the log-likelihood of b under one draw of the abilities is
    ``right @ theta - R b - n L(b)``, where ``L(b) = sum log(1 + exp(theta - b))`` never changes.
    """

    @cached_property
    def _grid(self) -> tuple[Floats, Floats, Floats]:
        """b (G,), L (S, G) and the widths of the cells around b (G,)."""
        draws = self.theta_draws
        lo, hi = min(self.scale.lo, draws.min()), max(self.scale.hi, draws.max())
        b = np.concatenate(
            [
                np.arange(lo - FAR, self.scale.lo - NEAR, COARSE),
                np.arange(self.scale.lo - NEAR, self.scale.hi + NEAR, FINE),
                np.arange(self.scale.hi + NEAR, hi + FAR, COARSE),
            ]
        )
        logs = -log_likelihood(draws, np.zeros(draws.shape[1]), np.ones(draws.shape[1]), b, 0.0)
        return b, logs, np.gradient(b)

    def posterior(
        self,
        correct: NDArray[np.int64],
        answered: NDArray[np.int64],
        prior: CandidatePrior | None,
        guessing: float,
    ) -> ItemPosterior:
        if guessing or answered.min() != answered.max():
            return super().posterior(correct, answered, prior, guessing)
        b, logs, widths = self._grid
        level, right, asked = (self.theta_draws @ correct)[:, None], correct.sum(), answered[0]

        def density(part: slice) -> Floats:
            at = -right * b[part]
            if prior is not None:
                at += prior.log_density(self.scale.to_z(b[part]))
            value = level + at - asked * logs[:, part]
            return np.asarray(value - value.max(axis=1, keepdims=True))

        near = np.flatnonzero(density(slice(None, None, STRIDE)).max(axis=0) > -DROP)
        first, last = max(near[0] - 1, 0) * STRIDE, min((near[-1] + 1) * STRIDE, b.size - 1)
        part = slice(first, last + 1, max(1, (last - first) // POINTS))
        mass = np.exp(density(part)) * widths[part]
        weight = np.mean(mass / mass.sum(axis=1, keepdims=True), axis=0)
        return AskedPosterior(self.scale.to_z(b[part]), weight / weight.sum())


@dataclass(frozen=True)
class Rewriter:
    """How a drawn rewriter hits: ``z* + bias + pull * (parent - z*) + spread``, spread growing with the distance.

    Parameters
    ----------
    near, growth
        Spread (sd, z) from a parent on target, and its growth with the distance.
    tails
        Degrees of freedom of a Student t spread; 0 is normal.
    copies
        Share of candidates that lie where their parent lies.
    never
        Least distance from the target that it keeps.
    """

    near: float = 0.05
    growth: float = 0.3
    bias: float = 0.0
    pull: float = 0.0
    tails: float = 0.0
    copies: float = 0.0
    never: float = 0.0

    def hit(self, rng: np.random.Generator, target: float, parent: float) -> float:
        way = parent - target
        if rng.random() < self.copies:
            return parent
        step = rng.standard_t(self.tails) if self.tails else rng.normal()
        off = self.bias + self.pull * way + float(np.hypot(self.near, self.growth * way)) * step
        if abs(off) < self.never:
            off = self.never * (1.0 if off >= 0 else -1.0) + off
        return target + off


@dataclass(eq=False)
class DrawnWorld:
    """A pool calibrated on a benchmark, one gap in it, and a rewriter.

    Parameters
    ----------
    models
        Size of the pool; true abilities spread evenly over 5 logits, jittered.
    width
        Of the axis, logits.
    calibration
        Answers of each model the abilities were fitted on: their posterior sd is that of so many answers to items
        spread over the axis.
    misfit
        Sd (logits) of each model's own deviation on each new item.
    known
        Earlier items of the rewriter that its record holds: of earlier gaps, or earlier runs.
    """

    rng: np.random.Generator
    models: int = 12
    width: float = 6.0
    rewriter: Rewriter = Rewriter()
    calibration: int = 240
    misfit: float = 0.0
    gap_width: float = 0.15
    known: int = 0

    def __post_init__(self) -> None:
        rng, models = self.rng, self.models
        spread = np.linspace(-2.5, 2.5, models) + rng.normal(0, 0.2, models)
        self.ability = spread - spread.mean()
        self.scale = Scale("drawn", -self.width / 2, self.width / 2)
        items = np.linspace(self.scale.lo, self.scale.hi, 41)
        chance = 1 / (1 + np.exp(items - self.ability[:, None]))
        sd = 1 / np.sqrt(self.calibration * np.mean(chance * (1 - chance), axis=1))
        theta = self.ability + rng.normal(0, sd)
        draws = theta + rng.normal(0, 1, (DRAWS, models)) * sd
        self.frozen = CachedFrozen(
            self.scale, theta - theta.mean(), draws - draws.mean(axis=1, keepdims=True)
        )
        middle = rng.uniform(0.3, 0.7)
        self.lo, self.hi = middle - self.gap_width / 2, middle + self.gap_width / 2
        self.target = middle
        places = np.concatenate(
            [rng.uniform(0, self.lo, 20), rng.uniform(self.hi, 1, 20), [self.lo, self.hi]]
        )
        self.originals = {f"o{n:02d}": float(z) for n, z in enumerate(places)}
        self.items: dict[str, tuple[float, Floats]] = {}

    def goal(self, tolerance: float) -> GapGoal:
        return GapGoal(self.lo, self.hi, self.target, tolerance)

    def history(self) -> History:
        history = History(dict(self.originals))
        # Of their own stream, so that a search sees the same items whatever is known before it.
        rng = np.random.default_rng([self.known, int(self.target * 1e9)])
        for _ in range(self.known):
            parent = self.target + rng.choice([-1, 1]) * rng.uniform(0, self.gap_width / 2)
            landed = self.rewriter.hit(rng, self.target, parent) + HIT_ERROR * rng.normal()
            history.hits.append(Hit(self.target, parent, landed, HIT_ERROR))
        return history

    def write(self, round: int, parents: Sequence[str], known: dict[str, float]) -> list[Written]:
        written = []
        for writer, parent in enumerate(parents, start=1):
            start = self.items[parent][0] if parent in self.items else known[parent]
            z = self.rewriter.hit(self.rng, self.target, start)
            own = self.misfit * self.rng.normal(size=self.models)
            chance = 1 / (1 + np.exp(self.scale.to_b(z) - self.ability - own))
            name = f"r{round:02d}w{writer}"
            self.items[name] = (self._truth(z, chance), chance)
            written.append(Written(name, parent))
        return written

    def _truth(self, z: float, chance: Floats) -> float:
        """Where the item truly lies: its drawn place, or with misfit the peak of its expected likelihood."""
        if not self.misfit:
            return z
        many = 10**6
        b = ml_difficulty(self.ability, np.round(chance * many), np.full(self.models, many))
        return z if b is None else float(self.scale.to_z(b))

    def answer(self, candidate: str, first: int, stop: int) -> Counts:
        asked = np.full(self.models, stop - first)
        return self.rng.binomial(stop - first, self.items[candidate][1]), asked

    def true_z(self, candidate: str) -> float:
        return self.items[candidate][0]


MISSPECIFIED: dict[str, Rewriter] = {
    "as assumed": Rewriter(),
    "biased by 0.05": Rewriter(bias=0.05),
    "half way back to the parent": Rewriter(pull=0.5),
    "heavy-tailed (t, 2 df)": Rewriter(tails=2.0),
    "precise (0.02)": Rewriter(near=0.02),
    "coarse (0.15)": Rewriter(near=0.15),
    "half copies": Rewriter(copies=0.5),
    "never within 0.04": Rewriter(near=0.02, never=0.04),
}
