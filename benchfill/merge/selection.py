"""Which new items are merged: what stands as accepted and what reviewers found of it, by one rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchfill.errors import InputError
from benchfill.item import Item
from benchfill.memory.decisions import standing_decisions
from benchfill.memory.export import accepted_items
from benchfill.memory.pool import Pool
from benchfill.memory.records import AttemptRow
from benchfill.review.outcome import ItemReview
from benchfill.review.record import ReviewRecord, review_record

__all__ = ["MergedItem", "Selection", "choose_items", "counted_attempts"]


@dataclass(frozen=True, slots=True)
class MergedItem:
    """One item that is merged.

    Parameters
    ----------
    exported
        What ``benchfill export`` says of it.
    review
        What reviewers made of it.
    basis
        ``reviewed``; ``maintainer``, accepted by them against the reviewers; or ``unreviewed``.
    """

    item: Item
    exported: Mapping[str, Any]
    review: ItemReview
    basis: str


@dataclass(frozen=True, slots=True)
class Selection:
    """What is merged and what is not.

    Parameters
    ----------
    left_out
        Reason of each accepted or rejected item that stays away, by id.
    record
        The reviews of the run.
    """

    items: tuple[MergedItem, ...]
    left_out: Mapping[str, str]
    record: ReviewRecord


def choose_items(pool: Pool, *, unreviewed: bool) -> Selection:
    """Items that reviewers accepted, or the maintainer against them.

    Parameters
    ----------
    unreviewed
        Take also those whose review is not complete. What reviewers rejected or dispute stays away, unless the
        maintainer has accepted it knowing that.

    Raises
    ------
    InputError
        Nothing is left (kind ``nothing_to_merge``).
    """
    record = review_record(pool)
    chosen, left_out = [], {}
    for name, decision in standing_decisions(pool).items():
        if decision.verdict == "reject":
            left_out[name] = f"rejected by {decision.who}: {decision.reason}"
    for row in accepted_items(pool):
        item, review = pool.item(row["id"]), record.items[row["id"]]
        if item is None:
            continue
        taken = row["decision"] or {}
        overruled = taken.get("verdict") == "accept" and taken["review"] == review.outcome
        if review.outcome == "accepted":
            basis = "reviewed"
        elif overruled and review.outcome in ("rejected", "disputed"):
            basis = "maintainer"
        elif unreviewed and review.outcome == "unreviewed":
            basis = "unreviewed"
        else:
            earlier = ", after it was accepted" if taken.get("verdict") == "accept" else ""
            left_out[item.id] = f"{review.outcome}: {review.why}{earlier}"
            continue
        chosen.append(MergedItem(item, row, review, basis))
    if not chosen:
        reasons = "; ".join(f"{item} {why}" for item, why in sorted(left_out.items())[:3])
        raise InputError(
            f"Nothing can be merged: {reasons or 'the run has no accepted item'}.",
            "`benchfill review status` says what is missing. --unreviewed merges what nobody has reviewed, and the "
            "data card says so."
            if left_out
            else "`benchfill show` lists what the run has found.",
            kind="nothing_to_merge",
        )
    return Selection(tuple(chosen), dict(sorted(left_out.items())), record)


def counted_attempts(pool: Pool, item: MergedItem) -> list[AttemptRow]:
    """Attempts that go into the response log.

    Of an item that was confirmed these are the fresh ones alone: those it was chosen by flatter it. Of an item written
    by hand nothing was chosen, so all of them.
    """
    candidate = item.exported["lineage"]["candidate"]
    spans = [(each.first, each.stop) for each in pool.confirmations(candidate) if each.verdict == "confirmed"]
    rows = pool.attempts(item.item.id)
    if not spans:
        return rows
    first, stop = spans[-1]
    return [row for row in rows if first <= row.attempt < stop]
