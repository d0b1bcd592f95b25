"""Which new items of a run stand as accepted now: by the search, by hand, and by the maintainer's decisions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from benchfill.memory.decisions import MaintainerDecision, decisions_of, standing_decisions
from benchfill.memory.pool import Pool
from benchfill.memory.records import Candidate, GapRow

__all__ = ["StandingItem", "fates", "found_items", "replaced_items", "standing_items"]

FOUND = frozenset({"filled", "accepted_outside_tolerance"})


@dataclass(frozen=True, slots=True)
class StandingItem:
    """A new item that stands.

    Parameters
    ----------
    candidate
        Its lineage.
    gap
        The gap it was made for, None where it was made for none.
    by
        ``search``: it ended a gap; ``hand``: it was edited or added, judged and calibrated; ``maintainer``: it stands
        because that was decided.
    decision
        The maintainer's latest, None where there is none.
    """

    item: str
    candidate: Candidate
    gap: GapRow | None
    by: Literal["search", "hand", "maintainer"]
    decision: MaintainerDecision | None


def found_items(pool: Pool) -> list[StandingItem]:
    """What the search alone accepted, in the order of gaps."""
    ended = {gap.accepted: gap for gap in pool.gaps() if gap.status in FOUND}
    found = [
        StandingItem(each.item, each, ended[each.id], "search", None)
        for each in pool.candidates()
        if each.id in ended and each.item is not None
    ]
    return sorted(found, key=lambda each: each.candidate.gap)


def standing_items(pool: Pool) -> list[StandingItem]:
    """By gap, those of none last; within one by candidate."""
    decisions, gaps = standing_decisions(pool), {gap.gap: gap for gap in pool.gaps()}
    search, hand = pool.candidates(), pool.written_by_hand()
    ended = {gap.accepted for gap in gaps.values() if gap.status in FOUND}
    gone = replaced_items(pool)
    found: dict[str, StandingItem] = {}
    for candidate in (*search, *hand):
        if candidate.item is None or candidate.item in found:
            continue
        decision = decisions.get(candidate.item)
        verdict = None if decision is None else decision.verdict
        by: Literal["search", "hand", "maintainer"]
        if verdict == "reject":
            continue
        if candidate.by_hand and candidate.status == "accepted" and candidate.item not in gone:
            by = "hand"
        elif candidate.id in ended and candidate.item not in gone:
            by = "search"
        elif verdict == "accept" and candidate.item not in gone:
            by = "maintainer"
        else:
            continue
        gap = gaps.get(candidate.gap)
        found[candidate.item] = StandingItem(candidate.item, candidate, gap, by, decision)
    return sorted(found.values(), key=lambda each: (each.gap is None, each.candidate.gap, each.candidate.id))


def replaced_items(pool: Pool) -> dict[str, str]:
    """Items in whose place an edited one stands, with the id of the latest such.

    An item that the maintainer accepted after it was edited stands again, beside what it was edited to.
    """
    edited = {each.item: each.number for each in decisions_of(pool) if each.verdict == "edited"}
    decisions = standing_decisions(pool)
    found = {}
    for candidate in pool.written_by_hand():
        if candidate.replaces is None or candidate.status != "accepted":
            continue
        decision = decisions.get(candidate.replaces)
        back = decision is not None and decision.verdict == "accept"
        if not (back and decision is not None and decision.number > edited.get(str(candidate.item), 0)):
            found[candidate.replaces] = str(candidate.item)
    return found


def fates(pool: Pool) -> dict[str, str]:
    """What people did about new items since they were found, in words, by id; nothing for the others."""
    found = {
        item: f"{decision.verdict}ed by {decision.who}" for item, decision in standing_decisions(pool).items()
    }
    return {**found, **{item: f"replaced by {new}" for item, new in replaced_items(pool).items()}}
