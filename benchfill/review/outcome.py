"""What becomes of an item under review: one rule, applied to the decisions on its text as it is now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from benchfill.memory.accepted import standing_items
from benchfill.memory.pool import Pool
from benchfill.memory.reviews import AssignmentRow, DecisionRow, Reviews, RoundKind
from benchfill.review.blinding import item_hash

__all__ = ["ItemReview", "Outcome", "backed", "first_rule", "review_outcomes"]

Outcome = Literal["accepted", "rejected", "disputed", "unreviewed"]


@dataclass(frozen=True, slots=True)
class ItemReview:
    """One item and what reviewers made of it.

    Parameters
    ----------
    outcome, why
        What became of it, and why in a few words.
    decisions, adjudication
        On the text as it is now, by reviewer.
    waiting
        Reviewers who were given this text and have not decided.
    void
        Decisions on an earlier text: they count for nothing.
    """

    item: str
    item_hash: str
    outcome: Outcome
    why: str
    decisions: tuple[DecisionRow, ...] = ()
    adjudication: tuple[DecisionRow, ...] = ()
    waiting: tuple[str, ...] = ()
    void: tuple[DecisionRow, ...] = ()


def backed(decision: DecisionRow) -> bool:
    """Whether a decision approves, and the reviewer's own answer equals the key (or was never asked for)."""
    return decision.verdict == "approve" and (decision.answer is None or decision.agrees is True)


def review_outcomes(pool: Pool) -> dict[str, ItemReview]:
    """Every new item of a run that stands as accepted, by id, with its outcome.

    ``accepted``: all approve and their own answers equal the key, or the majority of the adjudication does.
    ``rejected``: all reject, or the majority of the adjudication. ``disputed``: anything else that is decided.
    ``unreviewed``: not handed out, or a reviewer has not decided yet.
    """
    reviews = Reviews(pool)
    kinds = {round_.round: round_.kind for round_ in reviews.rounds()}
    decided = {(decision.reviewer, decision.blind_id): decision for decision in reviews.decisions()}
    handed: dict[str, list[AssignmentRow]] = {}
    for assignment in reviews.assignments():
        handed.setdefault(assignment.item, []).append(assignment)
    found = {}
    for name in sorted({each.item for each in standing_items(pool)}):
        item = pool.item(name)
        if item is not None:
            found[name] = _outcome(name, item_hash(item), handed.get(name, []), kinds, decided)
    return found


def _outcome(
    item: str,
    current: str,
    handed: Sequence[AssignmentRow],
    kinds: Mapping[int, RoundKind],
    decided: Mapping[tuple[str, str], DecisionRow],
) -> ItemReview:
    by_kind: dict[RoundKind, list[DecisionRow]] = {"review": [], "adjudication": []}
    void: list[DecisionRow] = []
    waiting: list[AssignmentRow] = []
    for assignment in handed:
        decision = decided.get((assignment.reviewer, assignment.blind_id))
        if assignment.item_hash != current:
            void += [] if decision is None else [decision]
        elif decision is None:
            waiting.append(assignment)
        else:
            by_kind[kinds[assignment.round]].append(decision)
    first, third = tuple(by_kind["review"]), tuple(by_kind["adjudication"])
    open_first = [each for each in waiting if kinds[each.round] == "review"]
    if not first and not waiting:
        outcome: Outcome = "unreviewed"
        why = "its text was changed since" if void else "not handed out"
    elif open_first:
        outcome, why = "unreviewed", f"{len(first)} of {len(first) + len(open_first)} decisions"
    else:
        outcome, why = first_rule(first)
        if outcome == "disputed" and waiting:
            why = f"{why}; adjudication under way"
        elif outcome == "disputed" and third:
            outcome, why = _majority(third)
    return ItemReview(
        item,
        current,
        outcome,
        why,
        decisions=first,
        adjudication=third,
        waiting=tuple(each.reviewer for each in waiting),
        void=tuple(void),
    )


def first_rule(decisions: Sequence[DecisionRow]) -> tuple[Outcome, str]:
    """What the decisions of all reviewers of one text make of it, before any adjudication, and why."""
    verdicts = {decision.verdict for decision in decisions}
    if verdicts == {"approve"}:
        if all(backed(decision) for decision in decisions):
            return "accepted", "all approve"
        return "disputed", "all approve, but not every reviewer's own answer equals the key"
    if verdicts == {"reject"}:
        return "rejected", "all reject"
    return "disputed", "unsure" if verdicts == {"unsure"} else "reviewers differ"


def _majority(decisions: Sequence[DecisionRow]) -> tuple[Outcome, str]:
    approve = sum(backed(decision) for decision in decisions)
    reject = sum(decision.verdict == "reject" for decision in decisions)
    if 2 * approve > len(decisions):
        return "accepted", "adjudication approves"
    if 2 * reject > len(decisions):
        return "rejected", "adjudication rejects"
    return "disputed", "adjudication undecided"
