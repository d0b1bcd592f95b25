"""What the maintainer of a benchmark decided about its items: a history that only grows."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from benchfill.errors import InputError
from benchfill.memory.pool import Pool

__all__ = [
    "MaintainerDecision",
    "decide",
    "decisions_of",
    "missing_for_acceptance",
    "note_review",
    "standing_decisions",
]

MaintainerVerdict = Literal["accept", "reject", "edited", "added"]
OVERRIDES = ("accept", "reject")


@dataclass(frozen=True, slots=True)
class MaintainerDecision:
    """One entry of the history.

    Parameters
    ----------
    verdict
        ``accept`` and ``reject`` override search and review; ``edited`` and ``added`` say where an item came from.
    at
        UTC, ISO 8601.
    review
        What reviewers had made of the item by then, "" where nothing was known: it overrules only that.
    """

    number: int
    item: str
    verdict: MaintainerVerdict
    reason: str
    who: str
    at: str
    review: str = ""


def decide(pool: Pool, item: str, verdict: MaintainerVerdict, *, reason: str, who: str) -> MaintainerDecision:
    """Append one decision.

    Raises
    ------
    InputError
        No reason or nobody who gives it (kind ``no_reason``); for ``accept`` and ``reject``: the run has no such new
        item (kind ``unknown_item``); for ``accept``: it was never judged or calibrated (kind ``not_ready``).
    """
    if not reason.strip() or not who.strip():
        raise InputError(
            "A decision needs a reason, and somebody who takes it.",
            "Say why: --reason TEXT.",
            kind="no_reason",
        )
    if verdict in OVERRIDES:
        _refuse_unknown(pool, item)
    missing = missing_for_acceptance(pool, item) if verdict == "accept" else []
    if missing:
        raise InputError(
            f"{item} cannot be accepted: {' and '.join(missing)}.",
            f"`benchfill edit {item}` has a text screened, judged and calibrated.",
            kind="not_ready",
        )
    at = datetime.now(UTC).isoformat(timespec="seconds")
    with pool.database.transaction() as connection:
        number = connection.execute(
            "INSERT INTO maintainer_decisions (item, verdict, reason, who, at) VALUES (?, ?, ?, ?, ?)",
            (item, verdict, reason.strip(), who.strip(), at),
        ).lastrowid
    return MaintainerDecision(int(number or 0), item, verdict, reason.strip(), who.strip(), at)


def note_review(pool: Pool, decision: MaintainerDecision, outcome: str) -> MaintainerDecision:
    """Keep with a decision what reviewers had made of its item when it was taken."""
    with pool.database.transaction() as connection:
        connection.execute(
            "UPDATE maintainer_decisions SET review = ? WHERE number = ?", (outcome, decision.number)
        )
    return dataclasses.replace(decision, review=outcome)


def decisions_of(pool: Pool, item: str | None = None) -> list[MaintainerDecision]:
    """The history, oldest first; of one item or of all."""
    where, values = ("", ()) if item is None else (" WHERE item = ?", (item,))
    rows = pool.database.connection.execute(
        f"SELECT number, item, verdict, reason, who, at, review FROM maintainer_decisions{where} ORDER BY number",  # noqa: S608
        values,
    )
    return [MaintainerDecision(*row) for row in rows]


def standing_decisions(pool: Pool) -> dict[str, MaintainerDecision]:
    """The latest ``accept`` or ``reject`` of each item that has one."""
    return {each.item: each for each in decisions_of(pool) if each.verdict in OVERRIDES}


def missing_for_acceptance(pool: Pool, item: str) -> list[str]:
    """What an item lacks to be accepted, in words; empty when it was judged sound and calibrated."""
    judgements = pool.judgements()
    verdicts = [judgements[name].status for name in _candidates_of(pool, item) if name in judgements]
    missing = []
    if not verdicts or set(verdicts) == {"not_judged"}:
        missing.append("it was never judged")
    elif "accepted" not in verdicts:
        missing.append("the judge rejected it")
    estimate = pool.estimates().get(item)
    if estimate is None or estimate.source != "online" or not estimate.attempts:
        missing.append("it was never calibrated")
    return missing


def _candidates_of(pool: Pool, item: str) -> Sequence[str]:
    return [each.id for each in (*pool.candidates(), *pool.written_by_hand()) if each.item == item]


def _refuse_unknown(pool: Pool, item: str) -> None:
    if _candidates_of(pool, item):
        return
    known = pool.item(item)
    raise InputError(
        f"{item} is an item of the original benchmark." if known else f"The run has no new item {item}.",
        "`benchfill show RUN` lists the new ones.",
        kind="unknown_item",
    )
