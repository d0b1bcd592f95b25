"""The reviews of a run as one record: outcomes, agreement, and how each reviewer did on the original items."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from benchfill.memory.pool import Pool
from benchfill.memory.reviews import AssignmentRow, DecisionRow, ReviewRound, Reviews
from benchfill.review.agreement import Agreement, agreement, wilson90
from benchfill.review.outcome import ItemReview, review_outcomes

__all__ = ["ReviewRecord", "ReviewerRecord", "review_record"]


@dataclass(frozen=True, slots=True)
class ReviewerRecord:
    """One reviewer.

    Parameters
    ----------
    assigned, decided
        Items, original ones included.
    originals
        Original items decided on; ``false_alarms`` of them were rejected, on ``originals_missed`` their own answer
        was not the key.
    seconds_median, seconds_total
        Time an item and in all, over the ``timed`` decisions whose time is known.
    """

    reviewer: str
    kind: str
    assigned: int
    decided: int
    approve: int
    reject: int
    unsure: int
    originals: int
    false_alarms: int
    false_alarm_rate: float | None
    false_alarm_rate_lo90: float | None
    false_alarm_rate_hi90: float | None
    originals_missed: int
    timed: int
    seconds_median: float | None
    seconds_total: float | None


@dataclass(frozen=True, slots=True)
class ReviewRecord:
    """Everything that is known of a run's reviews.

    Parameters
    ----------
    items
        Outcome of every accepted item of the run, by id.
    agreement
        Of the reviewers (adjudication apart): on ``all`` items, on the ``new`` and on the ``original`` ones.
    """

    items: Mapping[str, ItemReview]
    agreement: Mapping[str, Agreement]
    reviewers: tuple[ReviewerRecord, ...]
    rounds: tuple[ReviewRound, ...]


def review_record(pool: Pool) -> ReviewRecord:
    """The record of a run, as far as it was reviewed."""
    reviews = Reviews(pool)
    rounds = {round_.round: round_ for round_ in reviews.rounds()}
    decided = {(each.reviewer, each.blind_id): each for each in reviews.decisions()}
    handed: dict[str, list[AssignmentRow]] = {}
    verdicts: dict[str, dict[str, dict[str, str]]] = {"all": {}, "new": {}, "original": {}}
    for row in reviews.assignments():
        handed.setdefault(row.reviewer, []).append(row)
        decision = decided.get((row.reviewer, row.blind_id))
        if decision is None or rounds[row.round].kind == "adjudication":
            continue
        # An item under another text is another item.
        name = f"{row.item} {row.item_hash}"
        for group in ("all", "original" if row.origin == "original" else "new"):
            verdicts[group].setdefault(name, {})[row.reviewer] = decision.verdict
    return ReviewRecord(
        items=review_outcomes(pool),
        agreement={group: agreement(table, seed=pool.run().seed) for group, table in verdicts.items()},
        reviewers=tuple(
            _reviewer(name, rounds[rows[0].round].kind, rows, decided)
            for name, rows in sorted(handed.items())
        ),
        rounds=tuple(rounds.values()),
    )


def _reviewer(
    name: str, kind: str, rows: Iterable[AssignmentRow], decided: Mapping[tuple[str, str], DecisionRow]
) -> ReviewerRecord:
    assigned = list(rows)
    pairs = [(row, decided[key]) for row in assigned if (key := (row.reviewer, row.blind_id)) in decided]
    given = [decision.verdict for _, decision in pairs]
    originals = [decision for row, decision in pairs if row.origin == "original"]
    alarms = sum(decision.verdict == "reject" for decision in originals)
    lo, hi = wilson90(alarms, len(originals))
    seconds = [decision.seconds for _, decision in pairs if decision.seconds is not None]
    return ReviewerRecord(
        name,
        kind,
        assigned=len(assigned),
        decided=len(pairs),
        approve=given.count("approve"),
        reject=given.count("reject"),
        unsure=given.count("unsure"),
        originals=len(originals),
        false_alarms=alarms,
        false_alarm_rate=alarms / len(originals) if originals else None,
        false_alarm_rate_lo90=lo,
        false_alarm_rate_hi90=hi,
        originals_missed=sum(decision.agrees is False for decision in originals),
        timed=len(seconds),
        seconds_median=statistics.median(seconds) if seconds else None,
        seconds_total=sum(seconds) if seconds else None,
    )
