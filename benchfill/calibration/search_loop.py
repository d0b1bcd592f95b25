"""A search for gaps as a plain loop: the decisions of a run over answers that cost nothing.

The graph of a run and this loop decide by the same functions (`next_step`, `confirm`, `RewriterRecord`); this one
asks a `Source` directly, without endpoints, prompts or a database, so that a search takes a fraction of a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.confirmation import (
    Confirmation,
    confirm,
    confirmation_attempts,
    further_attempts,
)
from benchfill.calibration.new_item_fit import suspect_key
from benchfill.calibration.online import CandidatePrior, ItemPosterior, item_posterior, ml_difficulty
from benchfill.calibration.reach import aim_at
from benchfill.calibration.rewriter_record import Hit, RewriterRecord, choose_parents
from benchfill.calibration.scale import Scale
from benchfill.calibration.selection import CandidateView, Goal, fresh_yield
from benchfill.calibration.strategy import Fixed, GapGoal, Strategy, next_step

__all__ = ["Frozen", "History", "Measured", "Outcome", "Rules", "Source", "Written", "search_gap"]

Ints = NDArray[np.int64]
Counts = tuple[Ints, Ints]


@dataclass(frozen=True)
class Frozen:
    """What never changes in a search: the axis and the pool's abilities ((M,), draws (S, M), logits).

    `lowest_slope` is the bar below which an item's key is suspect (`new_item_fit.lowest_slope`).
    """

    scale: Scale
    theta: NDArray[np.float64]
    theta_draws: NDArray[np.float64]
    lowest_slope: float = 0.0

    def posterior(
        self, correct: Ints, answered: Ints, prior: CandidatePrior | None, guessing: float
    ) -> ItemPosterior:
        """Of an item's place, given right answers and answers (M,)."""
        return item_posterior(self.theta_draws, correct, answered, self.scale, prior=prior, guessing=guessing)


@dataclass(frozen=True, slots=True)
class Rules:
    """Limits of a search, as the settings of a run name them."""

    strategy: Strategy
    candidates: int = 4
    rounds: int = 10
    floor_attempts: int = 1
    max_attempts: int = 256
    max_block: int = 8
    prior_scale: float = 0.15
    confirm: bool = True


@dataclass(frozen=True, slots=True)
class Written:
    """A candidate the judge passed.

    Parameters
    ----------
    id
        Unique in the search.
    parent
        Id of its parent.
    guessing
        Chance of a blind right answer.
    """

    id: str
    parent: str
    guessing: float = 0.0


class Source(Protocol):
    """Where candidates and answers come from."""

    def write(self, round: int, parents: Sequence[str], known: dict[str, float]) -> list[Written]:
        """Candidates of one round from these parents; ``known`` holds the places (z) of all items so far."""
        ...

    def answer(self, candidate: str, first: int, stop: int) -> Counts:
        """Right answers and answers (M,) of the attempts numbered ``first`` to ``stop - 1``."""
        ...


@dataclass(eq=False)
class Measured:
    """A candidate with the answers to it so far."""

    id: str
    target: float
    parent_z: float
    prior: CandidatePrior
    guessing: float
    correct: Ints
    answered: Ints
    asked: int = 0
    dry: bool = False

    def ask(self, source: Source, stop: int) -> Counts:
        """Bring it to ``stop`` attempts of every model; the counts of the new ones."""
        correct, answered = source.answer(self.id, self.asked, stop)
        self.correct, self.answered, self.asked = self.correct + correct, self.answered + answered, stop
        self.dry = 2 * int(np.count_nonzero(answered)) < answered.size
        return correct, answered


@dataclass(eq=False)
class History:
    """What a run remembers from gap to gap.

    Parameters
    ----------
    originals
        Places (z) of the benchmark's items.
    children
        Places and posterior sds (z) of all candidates that were measured.
    """

    originals: dict[str, float]
    children: dict[str, tuple[float, float]] = field(default_factory=dict)
    hits: list[Hit] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the search for one gap ended.

    Parameters
    ----------
    status
        ``filled``: within the tolerance; ``outside``: taken at more; ``unfilled``.
    z, lo90, hi90
        What is reported of the item's place; from the fresh attempts alone when it was confirmed.
    claimed
        The deviation from the target that is claimed.
    attempts, fresh
        Answers of all candidates together, and how many of them were spent on confirmations.
    """

    status: Literal["filled", "outside", "unfilled"]
    accepted: str | None
    confirmed: bool
    z: float | None
    lo90: float | None
    hi90: float | None
    claimed: float | None
    attempts: int
    fresh: int
    rounds: int
    candidates: int
    refusals: int


def search_gap(
    source: Source,
    gap: GapGoal,
    rules: Rules,
    frozen: Frozen,
    history: History,
) -> Outcome:
    """Search for one gap to its end.

    Parameters
    ----------
    gap
        With the tolerance asked for; what the attempts cannot reach is widened (`aim_at`).
    history
        Grows by what this search learns.
    """
    aim = aim_at(
        gap.target, gap.tolerance, theta=frozen.theta, scale=frozen.scale, max_attempts=rules.max_attempts
    )
    search = _Search(source, gap, GapGoal(gap.lo, gap.hi, gap.target, aim.tolerance), rules, frozen, history)
    for number in range(1, rules.rounds + 1):
        ended = search.round(number, aim.attempts)
        if ended is not None:
            return ended
    raise AssertionError("the last round ends every search")


class _Search:
    def __init__(
        self,
        source: Source,
        asked_for: GapGoal,
        gap: GapGoal,
        rules: Rules,
        frozen: Frozen,
        history: History,
    ) -> None:
        self.source, self.asked_for, self.gap = source, asked_for, gap
        self.rules, self.frozen, self.history = rules, frozen, history
        self.all: dict[str, Measured] = {}
        self.views: dict[str, CandidateView] = {}
        self.refused: list[str] = []
        self.record = RewriterRecord(())
        self.fresh = 0
        self.number = 0

    def round(self, number: int, on_target: int) -> Outcome | None:
        """One round of candidates; None when another is wanted."""
        self.number = number
        rules, gap = self.rules, self.gap
        record = self.record = RewriterRecord(tuple(self.history.hits), rules.prior_scale)
        places = [(name, z, 0.0, True) for name, z in self.history.originals.items()]
        places += [(name, z, sd, False) for name, (z, sd) in self.history.children.items()]
        parents = choose_parents(record, places, gap.target, gap.tolerance, rules.candidates)
        where = {name: (z, sd) for name, z, sd, _ in places}
        z, sd = np.array([where[parent] for parent in parents]).T
        chance = float(record.promise(gap.target, gap.tolerance, z, sd).max())
        models = self.frozen.theta.size
        current: list[str] = []
        for written in self.source.write(number, parents, {name: z for name, (z, _) in where.items()}):
            nothing = np.zeros(models, dtype=np.int64)
            z, sd = where[written.parent]
            self.all[written.id] = Measured(
                written.id, gap.target, z, record.prior(gap.target, z, sd), written.guessing, nothing, nothing
            )
            self._ask(written.id, rules.floor_attempts)
            current.append(written.id)
        goal = Goal(
            target=gap.target,
            tolerance=gap.tolerance,
            models=models,
            least_yield=fresh_yield(chance, on_target, models),
            max_attempts=rules.max_attempts,
            max_block=rules.max_block,
        )
        ended = self._measure(current, goal)
        for name in current:
            each = self.all[name]
            if self.views[name].suspect:
                # Not what the rewriter meant to write, and nothing to write from.
                del self.history.children[name]
                continue
            alone = self.frozen.posterior(each.correct, each.answered, None, each.guessing)
            self.history.hits.append(Hit(each.target, each.parent_z, alone.mean, alone.sd))
        return ended

    def _measure(self, current: list[str], goal: Goal) -> Outcome | None:
        last = self.number >= self.rules.rounds
        while True:
            step = next_step(
                self.rules.strategy,
                self.gap,
                [self.views[name] for name in current if not self.all[name].dry],
                [view for name, view in self.views.items() if name not in current and not self.all[name].dry],
                goal=goal,
                theta=self.frozen.theta,
                scale=self.frozen.scale,
                last_round=last,
                refused=self.refused,
            )
            if step.kind == "next_round":
                return None
            if step.kind == "give_up" or step.candidate is None:
                return self._outcome(None, None)
            if step.kind == "ask":
                self._ask(step.candidate, self.all[step.candidate].asked + step.block)
                continue
            if not (self.rules.confirm and self.rules.strategy.confirms):
                return self._outcome(step.candidate, None)
            confirmation = self._confirm(step.candidate, step.tolerance)
            if confirmation.verdict == "confirmed":
                return self._outcome(step.candidate, confirmation)
            self.refused.append(step.candidate)

    def _ask(self, name: str, stop: int) -> None:
        each = self.all[name]
        each.ask(self.source, stop)
        self._look(each)

    def _look(self, each: Measured) -> None:
        posterior = self.frozen.posterior(each.correct, each.answered, each.prior, each.guessing)
        counts = (each.correct, each.answered, each.guessing)
        # Nobody else looks at the maximum.
        fixed = isinstance(self.rules.strategy, Fixed)
        b = ml_difficulty(self.frozen.theta, *counts) if fixed else None
        z_ml = None if b is None else self.frozen.scale.to_z(b)
        suspect = suspect_key(self.frozen.theta, *counts, lowest=self.frozen.lowest_slope)
        self.views[each.id] = CandidateView(each.id, posterior, each.asked, z_ml, suspect)
        self.history.children[each.id] = (posterior.mean, posterior.sd)

    def _confirm(self, name: str, tolerance: float) -> Confirmation:
        each, frozen = self.all[name], self.frozen
        block = planned = confirmation_attempts(frozen.theta, self.gap.target, frozen.scale, tolerance)
        correct, answered = np.zeros_like(each.correct), np.zeros_like(each.answered)
        asked = 0
        while True:
            right, known = each.ask(self.source, each.asked + block)
            correct, answered, asked = correct + right, answered + known, asked + block
            found = confirm(
                frozen.theta_draws,
                frozen.scale,
                target=self.gap.target,
                tolerance=tolerance,
                fresh=(correct, answered),
                everything=(each.correct, each.answered),
                prior=each.prior,
                record=self.record,
                guessing=each.guessing,
            )
            self.fresh += int(known.sum())
            settling = tolerance > self.gap.tolerance
            settled = found.settled(asked=asked, planned=planned, dry=each.dry, settling=settling)
            if settled.verdict != "unsettled":
                self._look(each)
                return settled
            block = further_attempts(planned)

    def _outcome(self, name: str | None, confirmation: Confirmation | None) -> Outcome:
        claimed: float | None = None
        place: ItemPosterior | None = None
        if name is not None and confirmation is not None:
            place, claimed = confirmation.fresh, confirmation.expected_deviation
        elif name is not None:
            place = self.views[name].posterior
            claimed = self.rules.strategy.claimed(self.views[name], self.gap.target)
        within = claimed is not None and claimed <= self.asked_for.tolerance
        return Outcome(
            status="unfilled" if name is None else "filled" if within else "outside",
            accepted=name,
            confirmed=confirmation is not None,
            z=None if place is None else place.mean,
            lo90=None if place is None else place.lo90,
            hi90=None if place is None else place.hi90,
            claimed=claimed,
            attempts=sum(int(each.answered.sum()) for each in self.all.values()),
            fresh=self.fresh,
            rounds=self.number,
            candidates=len(self.all),
            refusals=len(self.refused),
        )
