"""Decisions checked against what was handed out: what counts, what is reported with its line. Nothing is guessed."""

from __future__ import annotations

import dataclasses
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchfill.logs.text import listing
from benchfill.memory.reviews import AssignmentRow, DecisionRow
from benchfill.review.decision_files import FormRow
from benchfill.review.vocabulary import VERDICTS

__all__ = ["Checked", "Fault", "check_decisions"]

# What a spreadsheet makes of ids and answers: numbers, numbers with an exponent, dates.
MANGLED_ID = re.compile(r"[\d.,+\-]+([eE][+\-]?\d+)?|\d+[-/. ]\w{3}([-/. ]\d+)?")
MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
DATE = re.compile(rf"\d{{1,2}}[-. /]{MONTH}([-. /]\d+)?|{MONTH}[-. /]\d+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Fault:
    """Rows that do not count, or not as they stand.

    Parameters
    ----------
    kind
        ``unknown_id``, ``wrong_reviewer``, ``no_reviewer``, ``bad_verdict``, ``stale_review``, ``contradictory``,
        ``double``, ``damaged_answer``, ``bad_seconds``, ``no_answer``.
    harmless
        A note: an empty form, the same decision twice, a decision that counts as it stands.
    """

    kind: str
    path: str
    lines: tuple[int, ...]
    message: str
    harmless: bool = False

    def __str__(self) -> str:
        return f"{self.path}, line{'s' if len(self.lines) > 1 else ''} {listing(self.lines)}: {self.message}"


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of some files.

    Parameters
    ----------
    decisions
        New or changed; their answers are not compared with the keys yet.
    unchanged
        How many were known already.
    faults
        By file and first line.
    """

    decisions: tuple[DecisionRow, ...]
    unchanged: int
    faults: tuple[Fault, ...]


class _Faults:
    """Faults, those of one kind and message of a file together."""

    def __init__(self) -> None:
        self._lines: defaultdict[tuple[str, str, str, bool], list[int]] = defaultdict(list)

    def add(self, kind: str, row: FormRow, message: str, *, harmless: bool = False) -> None:
        self._lines[row.path, kind, message, harmless].append(row.line)

    def all(self) -> tuple[Fault, ...]:
        found = [
            Fault(kind, path, tuple(sorted(set(lines))), message, harmless)
            for (path, kind, message, harmless), lines in self._lines.items()
        ]
        return tuple(sorted(found, key=lambda fault: (fault.path, fault.lines, fault.kind)))


def check_decisions(
    rows: Iterable[FormRow],
    assignments: Sequence[AssignmentRow],
    current: Mapping[str, str],
    stored: Sequence[DecisionRow] = (),
    *,
    replace: bool = False,
) -> Checked:
    """Which decisions count.

    Parameters
    ----------
    rows
        As read.
    assignments
        Everything that was handed out.
    current
        Hash of each item's text as it is now, by item id.
    stored
        Decisions of earlier imports.
    replace
        A decision that differs from an earlier import takes its place instead of being reported.
    """
    faults = _Faults()
    by_id: defaultdict[str, list[AssignmentRow]] = defaultdict(list)
    for assignment in assignments:
        by_id[assignment.blind_id].append(assignment)
    found: defaultdict[tuple[str, str], list[tuple[FormRow, DecisionRow]]] = defaultdict(list)
    for row in rows:
        handed = _assignment(row, by_id, faults)
        if handed is None or not _is_current(row, handed, current, faults):
            continue
        decision = _decision(row, handed, faults)
        if decision is not None:
            found[decision.reviewer, decision.blind_id].append((row, decision))
    earlier = {(each.reviewer, each.blind_id): each for each in stored}
    counted, unchanged = [], 0
    for name in sorted(found):
        one = _one(found[name], faults)
        before = earlier.get(name)
        if one is None:
            continue
        row, decision = one
        if before is None or (decision.revision > before.revision and _differs(decision, before)):
            counted.append(decision)
        elif decision.revision < before.revision or not _differs(decision, before):
            unchanged += 1
        elif replace:
            counted.append(decision)
        else:
            message = f"{decision.reviewer} decided otherwise on {decision.blind_id} in an earlier import (--replace)"
            faults.add("contradictory", row, message)
    return Checked(tuple(counted), unchanged, faults.all())


def _assignment(
    row: FormRow, by_id: Mapping[str, Sequence[AssignmentRow]], faults: _Faults
) -> AssignmentRow | None:
    blind_id, reviewer = _text(row.values.get("blind_id")), _text(row.values.get("reviewer"))
    handed = by_id.get(blind_id, ())
    if not handed:
        if blind_id.casefold() in {each.casefold() for each in by_id} or MANGLED_ID.fullmatch(blind_id):
            hint = "; the id looks damaged by a spreadsheet"
        else:
            hint = "" if blind_id else "; the id is missing"
        faults.add("unknown_id", row, f"no item was handed out as {blind_id!r}{hint}")
        return None
    if not reviewer and len(handed) > 1:
        faults.add("no_reviewer", row, f"whose decision on {blind_id} is it? Several reviewers were given it")
        return None
    mine = [each for each in handed if reviewer in ("", each.reviewer)]
    if not mine:
        faults.add("wrong_reviewer", row, f"{blind_id} was not given to {reviewer!r}")
        return None
    return mine[0]


def _is_current(row: FormRow, handed: AssignmentRow, current: Mapping[str, str], faults: _Faults) -> bool:
    told = _text(row.values.get("item_hash"))
    if told and told != handed.item_hash:
        faults.add("stale_review", row, "the decision is on another text than was handed out (item_hash)")
        return False
    if current.get(handed.item) != handed.item_hash:
        faults.add("stale_review", row, "the item was changed since it was handed out")
        return False
    return True


def _decision(row: FormRow, handed: AssignmentRow, faults: _Faults) -> DecisionRow | None:
    values = row.values
    verdict = next((each for each in VERDICTS if each == _text(values.get("verdict")).casefold()), None)
    if verdict is None:
        given = _text(values.get("verdict"))
        if given:
            faults.add("bad_verdict", row, f"{given!r} is no verdict; approve, reject or unsure is")
        else:
            faults.add("bad_verdict", row, "no verdict yet", harmless=True)
        return None
    answer = None if values.get("answer") is None else _text(values["answer"])
    if answer is not None and row.sheet:
        answer = answer.removeprefix("'")
        if DATE.fullmatch(answer):
            faults.add(
                "damaged_answer", row, f"the answer {answer!r} looks like a date made by a spreadsheet"
            )
            return None
    if answer == "" and verdict == "approve":
        faults.add("no_answer", row, "approved without an answer of one's own", harmless=True)
    revision = _text(values.get("revision"))
    return DecisionRow(
        reviewer=handed.reviewer,
        blind_id=handed.blind_id,
        verdict=verdict,
        answer=answer,
        reasons=_reasons(values.get("reasons")),
        comment=_text(values.get("comment")).removeprefix("'" if row.sheet else ""),
        seconds=_seconds(row, faults),
        revision=int(revision) if revision.isdecimal() and int(revision) > 0 else 1,
    )


def _one(given: Sequence[tuple[FormRow, DecisionRow]], faults: _Faults) -> tuple[FormRow, DecisionRow] | None:
    """The one decision of a reviewer on an item: the last revision; of one revision there may not be two."""
    last = max(decision.revision for _, decision in given)
    latest = [(row, decision) for row, decision in given if decision.revision == last]
    first = latest[0][1]
    if any(_differs(decision, first) for _, decision in latest):
        for row, decision in latest:
            faults.add(
                "contradictory",
                row,
                f"{decision.reviewer} decided differently on {decision.blind_id}; none counts",
            )
        return None
    for row, decision in latest[1:]:
        faults.add("double", row, f"the same decision on {decision.blind_id} once more", harmless=True)
    return latest[0]


def _differs(one: DecisionRow, other: DecisionRow) -> bool:
    """Whether two decisions say different things; time spent and what the grader made of them aside."""
    plain = [dataclasses.replace(each, agrees=None, seconds=None, revision=1) for each in (one, other)]
    return plain[0] != plain[1]


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _reasons(value: Any) -> tuple[str, ...]:
    # Label Studio writes several choices into one cell as JSON.
    text = _text(value).removeprefix('{"choices":')
    parts = value if isinstance(value, list) else re.split(r"[;,|\n]", re.sub(r'[\[\]{}"]', "", text))
    return tuple(dict.fromkeys(text for each in parts if (text := _text(each))))


def _seconds(row: FormRow, faults: _Faults) -> float | None:
    given = row.values.get("seconds", row.values.get("lead_time"))
    if not _text(given):
        return None
    try:
        seconds = float(_text(given).replace(",", "."))
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        faults.add(
            "bad_seconds",
            row,
            f"{_text(given)!r} is no time in seconds; the decision counts without",
            harmless=True,
        )
        return None
    return seconds
