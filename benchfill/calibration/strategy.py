"""How a search decides: strategies, and the one step rule that the graph and the simulations share.

Everything here is a pure function of what is known: candidates as they stand go in, the next step comes out. The
nodes of a run call it over paid answers, the simulations over drawn ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from numpy.typing import ArrayLike

from benchfill.calibration.online import attempts_needed
from benchfill.calibration.scale import Scale
from benchfill.calibration.selection import CandidateView, Decision, Goal, choose_next
from benchfill.errors import InputError

__all__ = ["STRATEGIES", "Adaptive", "Fixed", "GapGoal", "Step", "Strategy", "make_strategy", "next_step"]

STRATEGIES = ("adaptive", "fixed")
# In the end an item within a sixth of the gap's width from its target leaves no part above two thirds of it.
SETTLING = 1 / 6
# Attempts, in units of what an item on target takes, that one success may be expected to cost in the end.
SETTLING_COST = 8
# A candidate that fresh attempts refuse so often is given up.
CONFIRMATIONS = 2


class Strategy(Protocol):
    """Buys attempts for the candidates of one round and says when one of them will do."""

    @property
    def name(self) -> str: ...

    @property
    def confirms(self) -> bool:
        """Whether what it chose is confirmed by fresh attempts (unless the user does without)."""
        ...

    def choose(self, candidates: Sequence[CandidateView], goal: Goal) -> Decision: ...

    def claimed(self, view: CandidateView, target: float) -> float:
        """The deviation from the target (z) that it claims of a candidate."""
        ...


@dataclass(frozen=True, slots=True)
class Adaptive:
    """Attempts in small balanced blocks where they promise most (`choose_next`), until the posterior will do."""

    name: str = "adaptive"
    confirms: bool = True

    def choose(self, candidates: Sequence[CandidateView], goal: Goal) -> Decision:
        return choose_next(candidates, goal)

    def claimed(self, view: CandidateView, target: float) -> float:
        return view.posterior.expected_deviation(target)


@dataclass(frozen=True, slots=True)
class Fixed:
    """The same attempts for every candidate, the nearest estimate taken (arXiv 2610.29927).

    Its claim is the distance of a maximum-likelihood estimate from the target, chosen for being small: it selects
    the luckiest error, so the true deviation is larger. It is here to be compared with.

    Parameters
    ----------
    attempts
        Of every model at every candidate (k).
    tau
        A candidate whose estimate lies this near to the target (z) ends the search.
    """

    attempts: int = 16
    tau: float = 0.01
    name: str = "fixed"
    confirms: bool = False

    def choose(self, candidates: Sequence[CandidateView], goal: Goal) -> Decision:
        ordered = sorted(candidates, key=lambda view: view.id)
        wanted = min(self.attempts, goal.max_attempts)
        for view in ordered:
            if view.attempts < wanted:
                return Decision("ask", view.id, wanted - view.attempts, ())
        met = [view for view in ordered if self.claimed(view, goal.target) <= self.tau]
        out = tuple(view.id for view in ordered if view not in met)
        if not met:
            return Decision("exhausted", None, 0, out)
        best = min(met, key=lambda view: (self.claimed(view, goal.target), view.id))
        return Decision("met", best.id, 0, out)

    def claimed(self, view: CandidateView, target: float) -> float:
        # Without a maximum the estimate lies beyond the axis.
        return 1.0 if view.z_ml is None else abs(view.z_ml - target)


def make_strategy(name: str, *, attempts: int = 16, tau: float = 0.01) -> Strategy:
    """The strategy of that name; ``attempts`` and ``tau`` are those of `Fixed`.

    Raises
    ------
    InputError
        There is none of that name.
    """
    if name == "adaptive":
        return Adaptive()
    if name == "fixed":
        return Fixed(attempts=attempts, tau=tau)
    raise InputError(f"There is no strategy {name!r}.", f"Choose from {', '.join(STRATEGIES)}.")


@dataclass(frozen=True, slots=True)
class GapGoal:
    """A gap as a search sees it.

    Parameters
    ----------
    lo, hi, target
        In z.
    tolerance
        Expected deviation at which a candidate will do, within reach of the attempts.
    """

    lo: float
    hi: float
    target: float
    tolerance: float

    @property
    def near(self) -> float:
        """What is settled for when no fresh candidates come any more."""
        return max(self.tolerance, SETTLING * (self.hi - self.lo))


@dataclass(frozen=True, slots=True)
class Step:
    """What a search does next.

    Parameters
    ----------
    kind
        ``ask``: ``block`` further attempts of every model at the candidate; ``take``: the candidate will do, at
        ``tolerance``; ``next_round``: fresh candidates are wanted; ``give_up``: nothing is left.
    """

    kind: Literal["ask", "take", "next_round", "give_up"]
    candidate: str | None = None
    block: int = 0
    tolerance: float = 0.0


def next_step(
    strategy: Strategy,
    gap: GapGoal,
    candidates: Sequence[CandidateView],
    earlier: Sequence[CandidateView],
    *,
    goal: Goal,
    theta: ArrayLike,
    scale: Scale,
    last_round: bool,
    refused: Sequence[str] = (),
) -> Step:
    """Decide on one step of the search for a gap.

    Parameters
    ----------
    candidates, earlier
        Judged candidates of this round and of the rounds before, as they stand. Those with a suspect key are out.
    goal
        Of this round, with ``tolerance`` the gap's.
    theta
        Abilities in logits (models).
    last_round
        Whether no fresh candidates can be had any more: then the most promising candidate of all rounds is
        measured on until it lies near the target, and if none gets there the closest one is taken whose 90 %
        interval lies inside the gap.
    refused
        Candidates whose confirmation failed, once for each time. They are searched on, but not taken for being the
        closest, and after the second time they are out.

    Returns
    -------
    Step
    """
    failed = Counter(refused)

    def may_do(views: Sequence[CandidateView]) -> list[CandidateView]:
        return [view for view in views if failed[view.id] < CONFIRMATIONS and not view.suspect]

    candidates = may_do(candidates)
    decision = strategy.choose(candidates, goal)
    if decision.kind == "exhausted":
        if not last_round:
            return Step("next_round")
        everyone = [*candidates, *may_do(earlier)]
        near = gap.near
        on_target = attempts_needed(theta, scale.to_b(gap.target), scale, near)
        settled = strategy.choose(
            everyone, goal.widened(near, least_yield=1.0 / (SETTLING_COST * max(1, on_target)))
        )
        if settled.kind == "exhausted":
            return _closest(strategy, gap, [view for view in everyone if not failed[view.id]])
        return _step(settled, near)
    return _step(decision, gap.tolerance)


def _step(decision: Decision, tolerance: float) -> Step:
    if decision.kind == "met":
        return Step("take", decision.candidate, tolerance=tolerance)
    return Step("ask", decision.candidate, decision.block)


def _closest(strategy: Strategy, gap: GapGoal, views: Sequence[CandidateView]) -> Step:
    """The candidate nearest to the target that still shrinks the gap: its 90 % interval lies inside."""
    inside = [
        (strategy.claimed(view, gap.target), view.id)
        for view in views
        if gap.lo < view.posterior.lo90 and view.posterior.hi90 < gap.hi
    ]
    if not inside:
        return Step("give_up")
    deviation, candidate = min(inside)
    return Step("take", candidate, tolerance=max(gap.near, deviation))
