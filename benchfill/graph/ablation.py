"""BenchFill beside the fixed batch loop, the paper's baseline and the oracle, on a world that knows the truth.

Methods over the same gaps and seeds:

- ``benchfill``: the search of a run, confirmation included.
- ``fixed``: the same, but k attempts for every candidate, and the first round whose nearest estimate lies within tau
  of the target ends the search (arXiv 2610.29927).
- ``baseline``: as many candidates and attempts as ``benchfill`` took, parents drawn uniformly, no references, attempts
  shared equally, the nearest estimate taken.
- ``oracle``: every item exactly at the middle of its gap.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchfill.calibration.measure import top_k_gap_sum
from benchfill.calibration.online import attempts_needed, item_posterior, ml_difficulty
from benchfill.calibration.search_loop import Frozen, History, Outcome, Rules, search_gap
from benchfill.calibration.strategy import Adaptive, Fixed, GapGoal
from benchfill.graph.direct import DirectSource, answers_of
from benchfill.item import Item
from benchfill.prompts.render import PromptBook
from benchfill.settings import SearchSettings
from benchfill.worlds.server import make_world

__all__ = ["METHODS", "Ablation", "MethodSummary", "SearchRecord", "run_seed", "summarise_methods"]

METHODS = ("benchfill", "fixed", "baseline", "oracle")
# Rounds of uniform parents that are written at most to reach a number of candidates: some are refused or rejected.
MOST_BASELINE_ROUNDS = 200


@dataclass(frozen=True, slots=True)
class SearchRecord:
    """One gap searched by one method under one seed; places and deviations in z."""

    method: str
    seed: int
    gap: int
    status: str
    true_z: float | None
    true_deviation: float | None
    claimed_deviation: float | None
    covered: bool | None
    attempts: int
    bound: int
    candidates: int
    wrong_key: bool


@dataclass(frozen=True)
class Ablation:
    """Everything one seed needs; plain values, so that it can be sent to another process.

    Parameters
    ----------
    config
        Of the world.
    places
        z of the benchmark's items by id.
    gaps
        To be searched, each with its own tolerance.
    fixed_attempts, fixed_tau
        k and tau of the fixed batch loop.
    """

    config: dict[str, Any]
    items: tuple[Item, ...]
    places: dict[str, float]
    models: tuple[str, ...]
    frozen: Frozen
    gaps: tuple[GapGoal, ...]
    settings: SearchSettings
    fixed_attempts: int = 16
    fixed_tau: float = 0.01

    def run_seed(self, seed: int, methods: Sequence[str] = METHODS) -> list[SearchRecord]:
        """All gaps by all methods under one seed."""
        found: list[SearchRecord] = []
        if "benchfill" in methods or "baseline" in methods:
            found += self._searched("benchfill", self._rules(Adaptive()), seed)
        if "fixed" in methods:
            fixed = Fixed(self.fixed_attempts, self.fixed_tau)
            found += self._searched("fixed", self._rules(fixed), seed)
        if "baseline" in methods:
            budgets = [each for each in found if each.method == "benchfill"]
            found += [self._baseline(seed, record) for record in budgets]
        if "oracle" in methods:
            found += [self._oracle(seed, number) for number in range(1, len(self.gaps) + 1)]
        return [each for each in found if each.method in methods]

    def _rules(self, strategy: Adaptive | Fixed) -> Rules:
        given = self.settings
        return Rules(
            strategy,
            candidates=given.candidates,
            rounds=given.rounds,
            floor_attempts=given.floor_attempts,
            max_attempts=given.max_attempts,
            max_block=given.max_block,
            prior_scale=given.prior_scale,
            confirm=given.confirm,
        )

    def _source(self, seed: int, number: int, *, references: int) -> DirectSource:
        world = make_world(self.config)
        return DirectSource(
            world=world,
            answers=answers_of(world),
            prompts=PromptBook(self.settings.prompts),
            originals={item.id: item for item in self.items},
            models=self.models,
            seed=seed,
            gap=number,
            target=self.gaps[number - 1].target,
            references=references,
        )

    def _searched(self, method: str, rules: Rules, seed: int) -> Iterator[SearchRecord]:
        for number, gap in enumerate(self.gaps, start=1):
            source = self._source(seed, number, references=self.settings.references)
            # Each gap from the benchmark alone: searches that know of each other would not be independent.
            end = search_gap(source, gap, rules, self.frozen, History(dict(self.places)))
            yield self._record(method, seed, number, source, end)

    def _record(
        self, method: str, seed: int, number: int, source: DirectSource, end: Outcome
    ) -> SearchRecord:
        return self._told(
            method, seed, number, source, end.accepted, status=end.status, claimed=end.claimed,
            interval=(end.lo90, end.hi90), attempts=end.attempts, candidates=end.candidates,
        )  # fmt: skip

    def _told(
        self,
        method: str,
        seed: int,
        number: int,
        source: DirectSource,
        accepted: str | None,
        *,
        status: str,
        claimed: float | None,
        interval: tuple[float | None, float | None],
        attempts: int,
        candidates: int,
    ) -> SearchRecord:
        """The record of a search, with what is true of its item."""
        true = covered = None
        wrong = False
        if accepted is not None:
            item = source.item(accepted)
            true = source.answers.true_place(item, self.frozen, self.models)
            wrong = not source.answers.key_is_right(item)
            lo, hi = interval
            covered = lo is not None and hi is not None and lo <= true <= hi
        return SearchRecord(
            method=method,
            seed=seed,
            gap=number,
            status=status,
            true_z=true,
            true_deviation=None if true is None else abs(true - self.gaps[number - 1].target),
            claimed_deviation=claimed,
            covered=covered,
            attempts=attempts,
            bound=self._bound(number),
            candidates=candidates,
            wrong_key=wrong,
        )

    def _bound(self, number: int) -> int:
        gap = self.gaps[number - 1]
        frozen = self.frozen
        return attempts_needed(frozen.theta, frozen.scale.to_b(gap.target), frozen.scale, gap.tolerance)

    def _baseline(self, seed: int, budget: SearchRecord) -> SearchRecord:
        """As many candidates and attempts, parents drawn uniformly from the benchmark, nothing learned."""
        source = self._source(seed, budget.gap, references=0)
        rng = np.random.default_rng([seed, budget.gap])
        names, target = sorted(self.places), self.gaps[budget.gap - 1].target
        written: list[str] = []
        for round in range(1, MOST_BASELINE_ROUNDS + 1):
            if len(written) >= max(1, budget.candidates):
                break
            parents = [names[rng.integers(len(names))] for _ in range(self.settings.candidates)]
            written += [each.id for each in source.write(round, parents, self.places)]
        written = written[: max(1, budget.candidates)]
        each = max(1, round_half(budget.attempts / (len(self.models) * max(1, len(written)))))
        best: tuple[float, str, float, float] | None = None
        attempts = 0
        for name in written:
            right, known = source.answer(name, 0, each)
            attempts += int(known.sum())
            b = ml_difficulty(self.frozen.theta, right, known, source.item(name).guessing)
            off = 1.0 if b is None else abs(float(self.frozen.scale.to_z(b)) - target)
            if best is None or (off, name) < best[:2]:
                posterior = item_posterior(
                    self.frozen.theta_draws, right, known, self.frozen.scale,
                    guessing=source.item(name).guessing,
                )  # fmt: skip
                best = (off, name, posterior.lo90, posterior.hi90)
        return self._told(
            "baseline", seed, budget.gap, source, None if best is None else best[1],
            status="unfilled" if best is None else "outside",
            claimed=None if best is None else best[0],
            interval=(None, None) if best is None else best[2:],
            attempts=attempts, candidates=len(written),
        )  # fmt: skip

    def _oracle(self, seed: int, number: int) -> SearchRecord:
        gap = self.gaps[number - 1]
        middle = (gap.lo + gap.hi) / 2
        return SearchRecord(
            method="oracle", seed=seed, gap=number, status="filled", true_z=middle,
            true_deviation=abs(middle - gap.target), claimed_deviation=0.0, covered=True, attempts=0,
            bound=self._bound(number), candidates=0, wrong_key=False,
        )  # fmt: skip


def round_half(value: float) -> int:
    """Nearest whole number, halves up."""
    return math.floor(value + 0.5)


def run_seed(ablation: Ablation, seed: int) -> list[SearchRecord]:
    """One seed of an ablation, as a unit of work."""
    return ablation.run_seed(seed)


@dataclass(frozen=True, slots=True)
class MethodSummary:
    """What the records of one method say.

    Parameters
    ----------
    searches, met
        How many, and how many of them ended within the tolerance that was asked for, by their own claim.
    reduction
        1 - (top-3 gap sum after) / (before), every taken item at its TRUE place; mean over seeds.
    true_deviation, claimed_deviation, coverage90
        Means over the searches that took an item: distance of the true place from the target, what was claimed of
        it, and how often the 90 % interval held the true place.
    attempts, attempts_over_bound
        Means over all searches of everything asked, confirmations included, and of its ratio to the least that can
        tell an item on target to the tolerance (Cramer-Rao).
    wrong_keys
        Taken items whose key is wrong.
    """

    searches: int
    met: int
    reduction: float
    reduction_se: float | None
    true_deviation: float | None
    true_deviation_se: float | None
    claimed_deviation: float | None
    coverage90: float | None
    attempts: float
    attempts_over_bound: float
    wrong_keys: int


def summarise_methods(places: Sequence[float], records: Sequence[SearchRecord]) -> dict[str, MethodSummary]:
    """Figures of every method, in the order of `METHODS`."""
    return {
        method: _summary(places, [each for each in records if each.method == method])
        for method in METHODS
        if any(each.method == method for each in records)
    }


def _summary(places: Sequence[float], records: Sequence[SearchRecord]) -> MethodSummary:
    before = top_k_gap_sum(list(places), 3)
    reductions = []
    for seed in sorted({each.seed for each in records}):
        added = [each.true_z for each in records if each.seed == seed and each.true_z is not None]
        reductions.append(1.0 - float(top_k_gap_sum([*places, *added], 3)) / float(before))
    taken = [each for each in records if each.true_deviation is not None]
    off = [each.true_deviation for each in taken if each.true_deviation is not None]
    claims = [each.claimed_deviation for each in taken if each.claimed_deviation is not None]
    return MethodSummary(
        searches=len(records),
        met=sum(each.status == "filled" for each in records),
        reduction=float(np.mean(reductions)),
        reduction_se=_standard_error(reductions),
        true_deviation=_mean(off),
        true_deviation_se=_standard_error(off),
        claimed_deviation=_mean(claims),
        coverage90=_mean([float(bool(each.covered)) for each in taken]),
        attempts=float(np.mean([each.attempts for each in records])),
        attempts_over_bound=float(np.mean([each.attempts / max(1, each.bound) for each in records])),
        wrong_keys=sum(each.wrong_key for each in taken),
    )


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _standard_error(values: Sequence[float]) -> float | None:
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else None
