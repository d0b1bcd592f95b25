"""Which candidate is asked next, and when asking stops.

A candidate is wanted when its posterior expected deviation ``E|z - z*|`` is at most the tolerance. Attempts are
bought in balanced blocks (every model equally often: under realistic misfit an item's answers to the models
nearest the target alone claim more than they know), for the candidate with the highest yield.

Yield: chance of ending wanted over the attempts that finding out is expected to take,

    yield = p / (p * rest + (1 - p) * bad)

with ``p = P(|z - z*| <= 0.9 tol)``; ``rest`` the attempts until the posterior sd s has shrunk to the tolerance,
``n ((s / tol)^2 - 1)``, at least half of the n so far; ``bad`` what a candidate that is off costs until that shows:
the sd halved (3 n), or half of ``rest``, whichever comes first.

A fresh candidate of the next round has a yield too: ``p0`` from the prior, ``rest`` the attempts that an item on
target takes, ``bad`` a sixth of those: a candidate is told to be off at 2.5 times the sd that one on target takes,
whatever that is in attempts. A candidate whose yield is below half of that is out: its next attempt is better spent on
a new one. (Less than 1, because a fresh one also costs rewriting and judging.)

How good is that? For normal posteriors and a prior that is known the best rule of all can be computed (dynamic
programming over the posterior's mean and precision, the price of an attempt set so that a fresh candidate is worth
nothing). With prior sd 3.5 tolerances and a confirmation as long as an item on target takes, it needs 5.2 times the
attempts of one item on target, 2.1 of them for confirmations, at an expected deviation of 0.84 tolerances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from benchfill.calibration.online import ItemPosterior

__all__ = ["CandidateView", "Decision", "Goal", "choose_next", "fresh_yield"]

# A true place within this share of the tolerance lets E|z - z*| come below it once the sd has.
SURELY_WANTED = 0.9
# Share of the attempts on target after which a fresh candidate that is off has shown it.
SHOWN_OFF = 1 / 6
# Share of a fresh candidate's yield below which a candidate is given up.
WORTH_IT = 0.5


@dataclass(frozen=True, slots=True)
class CandidateView:
    """What the rule sees of one candidate.

    Parameters
    ----------
    id
        Breaks ties.
    posterior
        Of its place.
    attempts
        Asked of every model so far.
    z_ml
        Where maximum likelihood puts it; None where there is no maximum (all right, all wrong, none asked).
    suspect
        Whether its key is suspect by its answers (`new_item_fit`).
    """

    id: str
    posterior: ItemPosterior
    attempts: int
    z_ml: float | None = None
    suspect: bool = False


@dataclass(frozen=True, slots=True)
class Goal:
    """What the candidates of one round are measured for.

    Parameters
    ----------
    target, tolerance
        In z.
    models
        Size of the pool.
    least_yield
        A candidate whose yield is below is out (see `fresh_yield`).
    max_attempts
        Of one model at one candidate.
    max_block
        Largest block. Blocks grow by half of what was asked, so that few steps reach a precise posterior.
    """

    target: float
    tolerance: float
    models: int
    least_yield: float
    max_attempts: int
    max_block: int

    def widened(self, tolerance: float, *, least_yield: float) -> Goal:
        """The same at another tolerance."""
        return replace(self, tolerance=tolerance, least_yield=least_yield)


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do.

    Parameters
    ----------
    kind
        ``met``: a candidate is wanted as it stands; ``ask``: buy a block for one; ``exhausted``: all are out.
    candidate
        The id, None when exhausted.
    block
        Further attempts of every model.
    out
        Ids given up, in the order of ids.
    """

    kind: Literal["met", "ask", "exhausted"]
    candidate: str | None
    block: int
    out: tuple[str, ...]


def choose_next(candidates: Sequence[CandidateView], goal: Goal) -> Decision:
    """Decide on the next block of attempts.

    Parameters
    ----------
    candidates
        Those of the round that the judge passed; their order does not matter.
    """
    target, tolerance = goal.target, goal.tolerance
    ordered = sorted(candidates, key=lambda view: view.id)
    deviation = {view.id: view.posterior.expected_deviation(target) for view in ordered}

    def current_yield(view: CandidateView) -> float:
        asked = goal.models * view.attempts
        rest = max(asked * ((view.posterior.sd / tolerance) ** 2 - 1.0), asked / 2)
        chance = view.posterior.chance_within(target, SURELY_WANTED * tolerance)
        return _yield(chance, rest, min(3 * asked, rest / 2))

    yields = {view.id: current_yield(view) for view in ordered}
    met = [view.id for view in ordered if deviation[view.id] <= tolerance]
    out = tuple(
        view.id
        for view in ordered
        if view.id not in met and (view.attempts >= goal.max_attempts or yields[view.id] < goal.least_yield)
    )
    if met:
        return Decision("met", min(met, key=lambda each: (deviation[each], each)), 0, out)
    alive = [view for view in ordered if view.id not in out]
    if not alive:
        return Decision("exhausted", None, 0, out)
    best = max(alive, key=lambda view: yields[view.id])
    block = min(max(1, best.attempts // 2), goal.max_block, goal.max_attempts - best.attempts)
    return Decision("ask", best.id, block, out)


def fresh_yield(prior_chance: float, attempts_on_target: int, models: int) -> float:
    """What a candidate must promise while a fresh one can be had instead.

    Parameters
    ----------
    prior_chance
        ``P(|z - z*| <= tol)`` of a candidate nothing is known of.
    attempts_on_target
        All models together, for an item on target (see `attempts_needed`).
    models
        Size of the pool: nothing is told before every model has answered.

    Returns
    -------
    float
        Chance of success an attempt.
    """
    bad = max(SHOWN_OFF * attempts_on_target, models)
    return WORTH_IT * _yield(prior_chance, attempts_on_target, bad)


def _yield(chance: float, rest: float, bad: float) -> float:
    return chance / (chance * rest + (1.0 - chance) * bad)
