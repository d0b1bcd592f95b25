"""Where a candidate lies after the attempts so far: posterior, estimate, and whether the pool still answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.new_item_fit import new_item_fit
from benchfill.calibration.online import CandidatePrior, ItemPosterior, item_posterior, ml_difficulty
from benchfill.calibration.rewriter_record import Hit, RewriterRecord
from benchfill.calibration.selection import CandidateView
from benchfill.graph.attempts import counted_as
from benchfill.graph.search import Search
from benchfill.item import Item
from benchfill.memory.records import AttemptRow, Candidate, Estimate, GapRow

__all__ = [
    "Counts",
    "Measured",
    "count",
    "estimate_of",
    "hits_before",
    "item_of",
    "measure",
    "prior_of",
    "record_before",
    "still_answered",
]

# Right answers and answers a model, each (models,).
Counts = tuple[NDArray[np.int64], NDArray[np.int64]]


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


def measure(search: Search, gap: GapRow, name: str, asked: int) -> Measured:
    """Measure a candidate by its first ``asked`` attempts of every model."""
    if (name, asked) not in search.measured:
        search.measured[name, asked] = _measure(search, gap, name, asked)
    return Measured(*search.measured[name, asked])


def _measure(search: Search, gap: GapRow, name: str, asked: int) -> tuple[CandidateView, Estimate, bool]:
    candidate = search.pool.candidate(name)
    item = item_of(search, candidate)
    rows = search.pool.attempts(item.id, below=asked)
    counts = count(search, rows)
    posterior = item_posterior(
        search.theta_draws, *counts, search.scale, prior=prior_of(search, candidate), guessing=item.guessing
    )
    estimate = estimate_of(
        search, item, posterior, counts, expected_deviation=posterior.expected_deviation(gap.target)
    )
    z_ml = None if estimate.b_ml is None else float(search.scale.to_z(estimate.b_ml))
    suspect = new_item_fit(search.theta, *counts, item.guessing).suspect_key(search.lowest_slope)
    view = CandidateView(name, posterior, asked, z_ml, suspect)
    return view, estimate, still_answered(search, rows, asked)


def still_answered(search: Search, rows: Sequence[AttemptRow], asked: int) -> bool:
    """Whether at least half of the models answered at the latest of ``asked`` attempts."""
    latest = [row for row in rows if row.attempt == asked - 1]
    answered = [row for row in latest if counted_as(row, search.no_answer) != "missing"]
    return 2 * len(answered) >= len(search.models)


def item_of(search: Search, candidate: Candidate) -> Item:
    """The item a candidate submitted."""
    item = search.pool.item(str(candidate.item))
    if item is None:
        raise LookupError(f"the item of {candidate.id} is not in the pool")
    return item


def prior_of(search: Search, candidate: Candidate) -> CandidatePrior:
    """What was expected of a candidate when it was written."""
    if candidate.prior_center is None or candidate.prior_scale is None:
        return CandidatePrior(candidate.target, search.settings.prior_scale)
    return CandidatePrior(candidate.prior_center, candidate.prior_scale)


def count(search: Search, rows: Sequence[AttemptRow]) -> Counts:
    """Right answers and answers a model; missing attempts count nowhere."""
    place = {model: index for index, model in enumerate(search.models)}
    correct, answered = np.zeros(len(place), dtype=np.int64), np.zeros(len(place), dtype=np.int64)
    for row in rows:
        outcome = counted_as(row, search.no_answer)
        if outcome != "missing":
            answered[place[row.model]] += 1
            correct[place[row.model]] += outcome == "correct"
    return correct, answered


def record_before(search: Search, gap: int, round: int) -> RewriterRecord:
    """Where candidates landed: those of earlier runs that this one began with, and its own of the rounds before."""
    known = [Hit(hit.target, hit.parent, hit.landed, hit.error) for hit in search.pool.known_hits()]
    own = hits_before(search, gap, round).values()
    return RewriterRecord((*known, *own), search.settings.prior_scale)


def hits_before(search: Search, gap: int | None = None, round: int = 1) -> dict[str, Hit]:
    """Where this run's candidates landed, by their answers alone: of all rounds, or of those before one."""
    places = {item: estimate.z for item, estimate in search.pool.estimates().items()}
    hits, attempted = {}, search.pool.attempted()
    for candidate in search.pool.candidates():
        if candidate.item is None or (gap is not None and (candidate.gap, candidate.round) >= (gap, round)):
            continue
        if candidate.status == "rejected":
            # Its key is suspect: not what the rewriter meant to write.
            continue
        landed = _landed(search, candidate, attempted.get(candidate.item, 0))
        if landed is not None and candidate.parent in places:
            hits[candidate.id] = Hit(candidate.target, places[candidate.parent], *landed)
    return hits


def _landed(search: Search, candidate: Candidate, attempts: int) -> tuple[float, float] | None:
    """Mean and sd of a candidate's place under a flat prior; None when it was never asked."""
    if not attempts:
        return None
    key = (candidate.id, attempts)
    if key not in search.landed:
        item, rows = item_of(search, candidate), search.pool.attempts(str(candidate.item))
        alone = item_posterior(search.theta_draws, *count(search, rows), search.scale, guessing=item.guessing)
        search.landed[key] = (alone.mean, alone.sd)
    return search.landed[key]


def estimate_of(
    search: Search,
    item: Item,
    posterior: ItemPosterior,
    counts: Counts,
    *,
    expected_deviation: float,
    attempts: int | None = None,
    confirmed: bool = False,
) -> Estimate:
    """The estimate that the memory keeps; ``attempts`` answered in all where the counts are only some of them."""
    return Estimate(
        item=item.id,
        scale=search.scale_id,
        source="online",
        b=float(search.scale.to_b(posterior.mean)),
        b_sd=posterior.sd * search.scale.width,
        z=posterior.mean,
        z_sd=posterior.sd,
        z_lo90=posterior.lo90,
        z_hi90=posterior.hi90,
        attempts=int(counts[1].sum()) if attempts is None else attempts,
        b_ml=ml_difficulty(search.theta, *counts, item.guessing),
        expected_deviation=expected_deviation,
        confirmed=confirmed,
    )
