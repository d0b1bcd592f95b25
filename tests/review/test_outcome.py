"""What becomes of an item: the rule, case by case, and that another text voids what was said of the old one."""

from __future__ import annotations

import dataclasses

import pytest

from benchfill.memory.pool import Pool
from benchfill.memory.reviews import AssignmentRow, DecisionRow, ReviewRound, Reviews
from benchfill.review.blinding import item_hash
from benchfill.review.outcome import review_outcomes
from benchfill.review.record import review_record

NEW = "bf-040"
A, R, U = "approve", "reject", "unsure"


def hand_out(pool: Pool, reviewers: list[str], third: list[str], item: str = NEW) -> Reviews:
    reviews = Reviews(pool)
    found = pool.item(item)
    assert found is not None
    for number, kind, names in ((1, "review", reviewers), (2, "adjudication", third)):
        rows = [
            AssignmentRow(name, f"{name}x{item}", number, 0, item, "candidate", item_hash(found))
            for name in names
        ]
        if rows:
            reviews.save_round(ReviewRound(number, kind, 1, 1.0, "0"), rows)  # type: ignore[arg-type]
    return reviews


def decide(reviews: Reviews, said: dict[str, tuple[str, str | None, bool | None]]) -> None:
    reviews.save_decisions(
        DecisionRow(name, f"{name}x{NEW}", verdict, answer, agrees)  # type: ignore[arg-type]
        for name, (verdict, answer, agrees) in said.items()
    )


@pytest.mark.parametrize(
    ("said", "third", "outcome"),
    [
        ({}, {}, "unreviewed"),
        ({"r1": (A, "5", True)}, {}, "unreviewed"),
        ({"r1": (R, "5", True)}, {}, "unreviewed"),
        ({"r1": (A, "5", True), "r2": (A, "5", True)}, {}, "accepted"),
        ({"r1": (A, None, None), "r2": (A, None, None)}, {}, "accepted"),
        ({"r1": (A, "5", True), "r2": (A, "6", False)}, {}, "disputed"),
        ({"r1": (A, "5", True), "r2": (A, "x^?", None)}, {}, "disputed"),
        ({"r1": (A, "5", True), "r2": (A, "", None)}, {}, "disputed"),
        ({"r1": (R, "6", False), "r2": (R, "5", True)}, {}, "rejected"),
        ({"r1": (A, "5", True), "r2": (R, "6", False)}, {}, "disputed"),
        ({"r1": (A, "5", True), "r2": (U, "", None)}, {}, "disputed"),
        ({"r1": (U, "", None), "r2": (U, "", None)}, {}, "disputed"),
        ({"r1": (A, "5", True), "r2": (R, "6", False)}, {"a1": (A, "5", True)}, "accepted"),
        ({"r1": (A, "5", True), "r2": (R, "6", False)}, {"a1": (A, "6", False)}, "disputed"),
        ({"r1": (A, "5", True), "r2": (R, "6", False)}, {"a1": (R, "6", False)}, "rejected"),
        ({"r1": (A, "5", True), "r2": (R, "6", False)}, {"a1": (U, "", None)}, "disputed"),
        (
            {"r1": (A, "5", True), "r2": (R, "6", False)},
            {"a1": (A, "5", True), "a2": (R, "6", False)},
            "disputed",
        ),
        (
            {"r1": (A, "5", True), "r2": (R, "6", False)},
            {"a1": (A, "5", True), "a2": (R, "6", False), "a3": (R, "6", False)},
            "rejected",
        ),
    ],
)
def test_the_rule(pool: Pool, said: dict, third: dict, outcome: str) -> None:  # type: ignore[type-arg]
    reviews = hand_out(pool, ["r1", "r2"], sorted(third))
    decide(reviews, {**said, **third})
    assert review_outcomes(pool)[NEW].outcome == outcome


def test_an_adjudication_under_way_decides_nothing_yet(pool: Pool) -> None:
    reviews = hand_out(pool, ["r1", "r2"], ["a1", "a2", "a3"])
    decide(reviews, {"r1": (A, "5", True), "r2": (R, "6", False), "a1": (A, "5", True)})
    found = review_outcomes(pool)[NEW]
    assert (found.outcome, found.waiting) == ("disputed", ("a2", "a3"))
    assert "under way" in found.why


def test_items_that_nobody_was_given_are_unreviewed(pool: Pool) -> None:
    found = review_outcomes(pool)
    assert {name: each.outcome for name, each in found.items()} == {
        f"bf-{n:03}": "unreviewed" for n in (40, 41, 42, 43)
    }


def test_another_text_voids_the_decisions_on_the_old_one(pool: Pool) -> None:
    reviews = hand_out(pool, ["r1", "r2"], [])
    decide(reviews, {"r1": (A, "1640", True), "r2": (A, "1640", True)})
    assert review_outcomes(pool)[NEW].outcome == "accepted"
    item = pool.item(NEW)
    assert item is not None
    changed = dataclasses.replace(item, question=item.question + " ")
    candidate = next(each for each in pool.candidates() if each.item == NEW)
    pool.save_candidate(candidate, changed)
    assert review_outcomes(pool)[NEW].outcome == "accepted", "blanks at the end are no other text"
    pool.save_candidate(candidate, dataclasses.replace(item, answer="1641"))
    found = review_outcomes(pool)[NEW]
    assert (found.outcome, len(found.void), found.decisions) == ("unreviewed", 2, ())
    assert found.why == "its text was changed since"


def test_the_record_counts_false_alarms_and_time(pool: Pool) -> None:
    reviews = Reviews(pool)
    rows = [AssignmentRow("r1", f"x{n}", 1, n, f"o{n:03}", "original", "h") for n in range(2, 7)]
    reviews.save_round(ReviewRound(1, "review", 1, 1.0, "0"), rows)
    reviews.save_decisions(
        [
            DecisionRow("r1", "x2", "reject", "7", False, ("key_wrong",), "", 30.0),
            DecisionRow("r1", "x3", "approve", "12", True, (), "", 10.0),
            DecisionRow("r1", "x4", "unsure", "", None, (), "", None),
        ]
    )
    one = review_record(pool).reviewers[0]
    assert (one.assigned, one.decided, one.approve, one.reject, one.unsure) == (5, 3, 1, 1, 1)
    assert (one.originals, one.false_alarms, one.originals_missed) == (3, 1, 1)
    assert one.false_alarm_rate == pytest.approx(1 / 3)
    assert (one.timed, one.seconds_median, one.seconds_total) == (2, 20.0, 40.0)
