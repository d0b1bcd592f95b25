"""Where a candidate lies after the attempts so far: posterior, estimate, and whether the pool still answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchfill.calibration.online import ItemPosterior, item_posterior, ml_difficulty
from benchfill.calibration.selection import CandidateView
from benchfill.graph.search import Search
from benchfill.item import Item
from benchfill.memory.records import AttemptRow, Estimate, GapRow

__all__ = ["Measured", "measure", "prior_posterior"]


@dataclass(frozen=True, slots=True)
class Measured:
    """One candidate as it stands.

    Parameters
    ----------
    view
        For the rule that buys attempts.
    estimate
        For the memory.
    answered
        Whether at least half of the models answered at the latest attempt: otherwise more would not be balanced.
    """

    view: CandidateView
    estimate: Estimate
    answered: bool


def measure(search: Search, gap: GapRow, candidate: str, asked: int) -> Measured:
    """Measure a candidate by its first ``asked`` attempts of every model."""
    item = search.pool.item(str(search.pool.candidate(candidate).item))
    if item is None:
        raise LookupError(f"the item of {candidate} is not in the pool")
    rows = search.pool.attempts(item.id, below=asked)
    posterior, counts = _posterior(search, gap, rows, guessing=item.guessing)
    latest = [row for row in rows if row.attempt == asked - 1]
    return Measured(
        view=CandidateView(candidate, posterior, asked),
        estimate=_estimate(search, item, gap, posterior, counts),
        answered=2 * sum(row.outcome != "missing" for row in latest) >= len(search.models),
    )


def prior_posterior(search: Search, gap: GapRow) -> ItemPosterior:
    """What is known of a candidate before any attempt."""
    return _posterior(search, gap, [], guessing=0.0)[0]


def _posterior(
    search: Search, gap: GapRow, rows: Sequence[AttemptRow], *, guessing: float
) -> tuple[ItemPosterior, tuple[list[int], list[int]]]:
    """Posterior and (correct, answered) a model; missing attempts count nowhere."""
    place = {model: index for index, model in enumerate(search.models)}
    correct, answered = [0] * len(place), [0] * len(place)
    for row in rows:
        if row.outcome != "missing":
            answered[place[row.model]] += 1
            correct[place[row.model]] += row.outcome == "correct"
    posterior = item_posterior(
        search.theta_draws,
        np.asarray(correct),
        np.asarray(answered),
        search.scale,
        prior=search.prior(gap),
        guessing=guessing,
    )
    return posterior, (correct, answered)


def _estimate(
    search: Search,
    item: Item,
    gap: GapRow,
    posterior: ItemPosterior,
    counts: tuple[list[int], list[int]],
) -> Estimate:
    correct, answered = counts
    b_ml = ml_difficulty(search.theta, np.asarray(correct), np.asarray(answered), item.guessing)
    return Estimate(
        item=item.id,
        scale=search.scale_id,
        source="online",
        b=search.scale.to_b(posterior.mean),
        b_sd=posterior.sd * search.scale.width,
        z=posterior.mean,
        z_sd=posterior.sd,
        z_lo90=posterior.lo90,
        z_hi90=posterior.hi90,
        attempts=sum(answered),
        b_ml=b_ml,
        expected_deviation=posterior.expected_deviation(gap.target),
    )
