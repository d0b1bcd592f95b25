"""Long response logs: one row an attempt, or one row a cell with counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchfill.errors import InputError
from benchfill.logs.scores import BAD, MISSING, ScoreTable, remedy_for
from benchfill.logs.text import Faults, listing

__all__ = ["ATTEMPT_COLUMNS", "Cells", "LongColumns", "is_long_header", "read_long_rows"]

ITEM_COLUMNS = ("item_id", "item")
ATTEMPT_COLUMNS = ("attempt", "sample", "epoch", "repeat")
# Why an attempt has no score, as ``benchfill answer`` writes it.
REASON_COLUMN = "reason"
_KNOWN = ("model", *ITEM_COLUMNS, "correct", "count", *ATTEMPT_COLUMNS, REASON_COLUMN)
# Whole numbers, also as a spreadsheet writes them (12.0); nine digits of attempts are enough.
_WHOLE = re.compile(r"(\d{1,9})(?:\.0*)?")

# Right answers and attempts by (model, item).
Cells = dict[tuple[str, str], list[int]]


def is_long_header(names: Sequence[str]) -> bool:
    """Whether a header names both sides of a cell, or scores: then it is a long log, complete or not."""
    known = {_plain(name) for name in names}
    return ("model" in known and bool(known & set(ITEM_COLUMNS))) or "correct" in known


@dataclass(frozen=True, slots=True)
class LongColumns:
    """Where the columns of a long log stand; ``count`` is None when a row is one attempt."""

    model: int
    item: int
    correct: int
    count: int | None
    attempts: tuple[int, ...]
    reason: int | None
    width: int

    @classmethod
    def of(cls, header: Sequence[str], path: str) -> LongColumns:
        """Find the columns by name, whatever their order and case.

        Raises
        ------
        InputError
            ``missing_column``, ``unknown_column`` or ``duplicate_column``.
        """
        names = [_plain(name) for name in header]
        while names and not names[-1]:
            names.pop()
        place = {name: index for index, name in enumerate(names)}
        unknown = [name for name in header[: len(names)] if _plain(name) not in _KNOWN]
        twice = [name for name, times in Counter(names).items() if times > 1]
        items = [name for name in ITEM_COLUMNS if name in place]
        if unknown:
            raise InputError(
                f"{path}: unknown column {listing(unknown)}.",
                f"A long log has the columns model, item_id, correct and, where they apply, count or one of "
                f"{', '.join(ATTEMPT_COLUMNS)}; remove or rename the others.",
                kind="unknown_column",
                path=path,
            )
        if twice or len(items) > 1:
            raise InputError(
                f"{path}: the column {listing(twice or items)} stands twice.",
                "Keep one.",
                kind="duplicate_column",
                path=path,
            )
        missing = [name for name in ("model", "correct") if name not in place]
        missing += [] if items else ["item_id"]
        if missing:
            raise InputError(
                f"{path}: the column {listing(missing)} is missing; the file has {listing(names)}.",
                "A long log has the columns model, item_id, correct.",
                kind="missing_column",
                path=path,
            )
        return cls(
            model=place["model"],
            item=place[items[0]],
            correct=place["correct"],
            count=place.get("count"),
            attempts=tuple(place[name] for name in ATTEMPT_COLUMNS if name in place),
            reason=place.get(REASON_COLUMN),
            width=len(names),
        )


def read_long_rows(
    columns: LongColumns, rows: Iterable[tuple[int, Sequence[str]]], table: ScoreTable, faults: Faults
) -> tuple[Cells, list[str]]:
    """Counts a cell, and notes on attempts without a score.

    Parameters
    ----------
    rows
        One-based line and cells of each data row.
    faults
        Takes ``bad_row``, ``missing_field``, ``duplicate_response``, ``not_binary`` and ``bad_count``.
    """
    cells: Cells = {}
    seen: dict[tuple[str, ...], int] = {}
    unscored: Counter[str] = Counter()
    for line, row in rows:
        if len(row) != columns.width and not _fits(row, columns.width):
            faults.add("bad_row", line, f"{len(row)} cells where the header has {columns.width}")
            continue
        model, item = row[columns.model], row[columns.item]
        if not model.strip() or not item.strip():
            faults.add("missing_field", line, "no model" if not model.strip() else "no item")
            continue
        key = (model, item, *(row[index] for index in columns.attempts))
        if key in seen:
            _duplicate(faults, seen[key], line, key, bool(columns.attempts))
            continue
        seen[key] = line
        if columns.count is None:
            code = table[row[columns.correct]]
            counts = (code, 1) if code >= 0 else None
            if code == BAD:
                text = row[columns.correct]
                faults.add("not_binary", line, f"{model!r} on {item!r} has {text!r}", remedy_for(text))
        else:
            counts = _counted(row[columns.correct], row[columns.count], table, faults, line)
        cell = cells.setdefault((model, item), [0, 0])
        if counts is None:
            unscored["" if columns.reason is None else row[columns.reason].strip()] += 1
        else:
            cell[0] += counts[0]
            cell[1] += counts[1]
    return cells, [_without_score(unscored)] if unscored else []


def _without_score(reasons: Counter[str]) -> str:
    named = [f"{reason} {times}" for reason, times in sorted(reasons.items()) if reason]
    why = f" ({', '.join(named)})" if named else ""
    return f"{reasons.total()} row(s) without a score{why}: missing, not wrong."


def _counted(
    correct: str, count: str, table: ScoreTable, faults: Faults, line: int
) -> tuple[int, int] | None:
    """Right answers and attempts of a row with counts; None when the score is missing or at fault."""
    right, asked = _WHOLE.fullmatch(correct.strip()), _WHOLE.fullmatch(count.strip())
    if right is not None and asked is not None and int(right[1]) <= int(asked[1]):
        return int(right[1]), int(asked[1])
    if right is None and asked is not None and table[correct] == MISSING:
        return None
    faults.add(
        "bad_count",
        line,
        f"{correct.strip()!r} right of {count.strip()!r} attempts",
        "Counts are whole numbers with 0 <= correct <= count.",
    )
    return None


def _duplicate(faults: Faults, first: int, line: int, key: tuple[str, ...], repeated: bool) -> None:
    reason = f"model {key[0]!r} has item {key[1]!r}" + (f" attempt {key[2]!r}" if repeated else "") + " twice"
    remedy = "" if repeated else "Number repeats in a column attempt, or give counts in correct and count."
    faults.add("duplicate_response", first, reason, remedy)
    faults.add("duplicate_response", line, reason)


def _fits(row: Sequence[str], width: int) -> bool:
    """A row with empty cells behind the last column is complete."""
    return len(row) > width and not any(cell.strip() for cell in row[width:])


def _plain(name: str) -> str:
    return name.strip().casefold()
