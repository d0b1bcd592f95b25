"""Human reviews of a run: who was given what under which blind id, and what they decided."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from benchfill.memory.pool import Pool

__all__ = ["AssignmentRow", "DecisionRow", "ReviewRound", "Reviews", "RoundKind", "Verdict"]

Verdict = Literal["approve", "reject", "unsure"]
RoundKind = Literal["review", "adjudication"]


@dataclass(frozen=True, slots=True)
class ReviewRound:
    """One export of packets.

    Parameters
    ----------
    originals
        Original items mixed in for each new one.
    key_sha256
        Hash of the sealed key, fixed before anybody reviewed.
    """

    round: int
    kind: RoundKind
    seed: int
    originals: float
    key_sha256: str


@dataclass(frozen=True, slots=True)
class AssignmentRow:
    """One item in the packet of one reviewer; ``item_hash`` is that of the text they were shown."""

    reviewer: str
    blind_id: str
    round: int
    place: int
    item: str
    origin: Literal["original", "candidate"]
    item_hash: str


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """What one reviewer decided on one item.

    Parameters
    ----------
    answer
        Their own answer, ``""`` when they gave none, None where the form did not ask for one.
    agrees
        Whether that answer equals the key; None where there is none or nobody can tell.
    seconds
        Time spent, None where it is not known.
    revision
        1 for a first decision; a reviewer who thought better of it counts on.
    """

    reviewer: str
    blind_id: str
    verdict: Verdict
    answer: str | None = None
    agrees: bool | None = None
    reasons: Sequence[str] = field(default_factory=tuple)
    comment: str = ""
    seconds: float | None = None
    revision: int = 1


Row = TypeVar("Row", ReviewRound, AssignmentRow, DecisionRow)


class Reviews:
    """The review tables of a run's memory."""

    def __init__(self, pool: Pool) -> None:
        self._database = pool.database

    def save_round(self, round_: ReviewRound, assignments: Iterable[AssignmentRow]) -> None:
        """Keep an export whole; the same one again changes nothing."""
        with self._database.transaction():
            self._database.tables["review_rounds"].upsert(dataclasses.asdict(round_), pk="round")
            self._upsert("review_assignments", assignments)

    def save_decisions(self, decisions: Iterable[DecisionRow]) -> None:
        """Keep decisions, each in the place of an earlier one on the same blind id."""
        with self._database.transaction():
            self._upsert("review_decisions", decisions)

    def rounds(self) -> list[ReviewRound]:
        return self._rows(ReviewRound, "review_rounds", "round")

    def assignments(self) -> list[AssignmentRow]:
        """By round, reviewer and place."""
        return self._rows(AssignmentRow, "review_assignments", "round, reviewer, place")

    def decisions(self) -> list[DecisionRow]:
        """By reviewer and blind id."""
        return self._rows(DecisionRow, "review_decisions", "reviewer, blind_id")

    def _upsert(self, table: str, rows: Iterable[AssignmentRow] | Iterable[DecisionRow]) -> None:
        packed = [dataclasses.asdict(row) for row in rows]
        for row in packed:
            if "reasons" in row:
                row["reasons"] = json.dumps(list(row["reasons"]), ensure_ascii=False)
        if packed:
            self._database.tables[table].upsert_all(packed, pk=("reviewer", "blind_id"))

    def _rows(self, kind: type[Row], table: str, order: str) -> list[Row]:
        names = [field_.name for field_ in dataclasses.fields(kind)]
        sql = f"SELECT {', '.join(names)} FROM {table} ORDER BY {order}"  # noqa: S608 - our own constants
        found = []
        for values in self._database.connection.execute(sql):
            row: dict[str, Any] = dict(zip(names, values, strict=True))
            if "reasons" in row:
                row["reasons"] = tuple(json.loads(row["reasons"]))
                row["agrees"] = None if row["agrees"] is None else bool(row["agrees"])
            found.append(kind(**row))
        return found
