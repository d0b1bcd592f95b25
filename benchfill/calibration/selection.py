"""Which candidate is asked next, and when asking stops.

A candidate is wanted when its posterior expected deviation ``E|z - z*|`` is at most the tolerance. Attempts are
bought in balanced blocks (every model equally often: under realistic misfit an item's answers to the models
nearest the target alone claim more than they know), for the candidate most likely to be wanted.

A candidate is out when
- its chance ``P(|z - z*| <= tol)`` has fallen below a tenth of what its prior gave it. Relative to the prior,
  because the prior itself gives a small tolerance a small chance;
- or its posterior sd is at most 0.6 tol and its expected deviation is still larger than the tolerance: with
  ``E|x| = 0.8 sd`` for a centred normal, more attempts would have to move its mean by what they no longer can;
- or its attempts are used up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from benchfill.calibration.online import ItemPosterior

__all__ = ["CandidateView", "Decision", "choose_next"]

# Share of the prior's chance below which a candidate is given up.
CHANCE_LEFT = 0.1
# Posterior sd, as a share of the tolerance, at which an off-target candidate is settled.
SETTLED = 0.6


@dataclass(frozen=True, slots=True)
class CandidateView:
    """What the rule sees of one candidate.

    Parameters
    ----------
    id
        Breaks ties.
    posterior
        Of its place.
    prior_chance
        ``P(|z - z*| <= tol)`` under its prior.
    attempts
        Asked of every model so far.
    """

    id: str
    posterior: ItemPosterior
    prior_chance: float
    attempts: int


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


def choose_next(
    candidates: Sequence[CandidateView],
    *,
    target: float,
    tolerance: float,
    max_attempts: int,
    max_block: int,
) -> Decision:
    """Decide on the next block of attempts.

    Parameters
    ----------
    candidates
        Those of the round that the judge passed; their order does not matter.
    target, tolerance
        In z.
    max_attempts
        Of one model at one candidate.
    max_block
        Largest block. Blocks grow by half of what was asked, so that few steps reach a precise posterior.
    """
    ordered = sorted(candidates, key=lambda view: view.id)
    deviation = {view.id: view.posterior.expected_deviation(target) for view in ordered}
    chance = {view.id: view.posterior.chance_within(target, tolerance) for view in ordered}

    def is_out(view: CandidateView) -> bool:
        return (
            view.attempts >= max_attempts
            or chance[view.id] < CHANCE_LEFT * view.prior_chance
            or (view.posterior.sd <= SETTLED * tolerance and deviation[view.id] > tolerance)
        )

    met = [view.id for view in ordered if deviation[view.id] <= tolerance]
    out = tuple(view.id for view in ordered if view.id not in met and is_out(view))
    if met:
        return Decision("met", min(met, key=lambda each: (deviation[each], each)), 0, out)
    alive = [view for view in ordered if view.id not in out]
    if not alive:
        return Decision("exhausted", None, 0, out)
    best = max(alive, key=lambda view: chance[view.id])
    block = min(max(1, best.attempts // 2), max_block, max_attempts - best.attempts)
    return Decision("ask", best.id, block, out)
