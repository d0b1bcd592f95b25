"""Response logs as users have them: long or wide CSV, JSON Lines, plain or gzip.

Ids are text exactly as written: ``007`` and ``7`` are two items. An empty cell is a missing answer, never a
wrong one, and a score that is not 0 or 1 is refused unless a threshold is named.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.response_log import ResponseLog
from benchfill.errors import InputError
from benchfill.logs.json_records import JsonNumber, read_json_records
from benchfill.logs.long_log import Cells, LongColumns, is_long_header, read_long_rows
from benchfill.logs.scores import ScoreTable
from benchfill.logs.text import Faults, listing, near_duplicate_note, read_text
from benchfill.logs.wide_log import Side, read_wide_rows

__all__ = ["ResponseFile", "parse_responses", "read_responses"]

_DELIMITERS = (",", ";", "\t")
_FIRST_HEADERS: dict[str, Side] = {"model": "models", "item": "items", "item_id": "items"}


@dataclass(frozen=True, slots=True)
class ResponseFile:
    """A log and what a reader of its figures must know about the file.

    Parameters
    ----------
    log
        Models and items sorted by id.
    notes
        What was noticed or read in a way that is not obvious, one sentence each.
    """

    log: ResponseLog
    notes: tuple[str, ...] = ()


def read_responses(
    path: Path | str, *, rows: Literal["models", "items"] | None = None, threshold: float | None = None
) -> ResponseFile:
    """Read a response log.

    Parameters
    ----------
    path
        Long CSV or JSON Lines ``model, item_id, correct, count``, or one row an attempt ``model, item_id
        [, attempt | sample | epoch | repeat], correct``; or wide CSV of 0 and 1 whose first header is ``model``
        (models in rows) or ``item`` / ``item_id`` (items in rows). Delimited by comma, semicolon or tab.
    rows
        What the rows of a wide log are, where its first header does not say it.
    threshold
        Scores strictly between 0 and 1 count as right from here on; None refuses them.

    Raises
    ------
    InputError
        One line that says what, where and what to do; `read_text` and the readers of rows name the kinds.
    """
    return parse_responses(read_text(path), str(path), rows=rows, threshold=threshold)


def parse_responses(
    text: str, name: str, *, rows: Literal["models", "items"] | None = None, threshold: float | None = None
) -> ResponseFile:
    """`read_responses` of a text; ``name`` is what messages call it."""
    if threshold is not None and not 0.0 < threshold <= 1.0:
        raise InputError(f"A threshold lies above 0 and at most at 1, not at {threshold:g}.")
    table, faults = ScoreTable(threshold), Faults(name)
    if text.lstrip()[:1] in ("{", "["):
        cells, notes = _read_json(text, table, faults)
        return _finish(*_arrays(cells), name, [*notes, *table.notes()])
    header, delimiter = _header(text, name)
    body = _csv_rows(text, delimiter, name)
    next(body)
    if is_long_header(header):
        filled = (row for row in body if any(map(str.strip, row[1])))
        cells, notes = read_long_rows(LongColumns.of(header, name), filled, table, faults)
        faults.raise_any()
        return _finish(*_arrays(cells), name, [*notes, *table.notes()])
    side = _side(header, rows, name)
    models, items, codes = read_wide_rows(header, body, side, table, faults)
    faults.raise_any()
    return _finish(
        models, items, (codes == 1).astype(np.int64), (codes >= 0).astype(np.int64), name, table.notes()
    )


def _read_json(text: str, table: ScoreTable, faults: Faults) -> tuple[Cells, list[str]]:
    records = read_json_records(text, faults.path)
    header = sorted({key for _, record in records for key in record})
    columns = LongColumns.of(header, faults.path)
    required = [header[place] for place in (columns.model, columns.item, columns.correct)]
    rows = []
    for line, record in records:
        absent = [key for key in required if key not in record]
        unusable = [key for key, value in record.items() if isinstance(value, list | dict)]
        unusable += [key for key in required[:2] if isinstance(record.get(key), bool)]
        if absent or unusable:
            reason = f"no {absent[0]!r}" if absent else f"{unusable[0]!r} is neither text nor a number"
            faults.add("missing_field" if absent else "bad_field", line, reason)
        else:
            rows.append((line, [_cell(record.get(key)) for key in header]))
    found = read_long_rows(columns, rows, table, faults)
    faults.raise_any()
    return found


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | JsonNumber) else ""


def _header(text: str, path: str) -> tuple[list[str], str]:
    """First row and delimiter: the one that leaves a known name in front, else the one that splits most."""
    if not text.strip():
        raise InputError(f"{path} is empty.", kind="no_data", path=path)
    found: list[tuple[bool, int, list[str], str]] = []
    unreadable: list[InputError] = []
    for delimiter in _DELIMITERS:
        try:
            header = next(_csv_rows(text, delimiter, path))[1]
        except InputError as error:
            # A wide header that is not split is one field, longer than a field may be.
            unreadable.append(error)
            continue
        known = len(header) > 1 and _plain(header[0]) in {*_FIRST_HEADERS, "correct", "count"}
        found.append((known, len(header), header, delimiter))
    if not found:
        raise unreadable[0]
    _, _, header, delimiter = max(found, key=lambda option: option[:2])
    return header, delimiter


def _csv_rows(text: str, delimiter: str, path: str) -> Iterator[tuple[int, list[str]]]:
    """Rows with the one-based line they begin at."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for row in reader:
            yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(
            f"{path}, line {line}: not CSV ({error}).",
            "Check the quotes of this row.",
            kind="bad_row",
            path=path,
            lines=(line,),
        ) from error


def _side(header: list[str], rows: Side | None, path: str) -> Side:
    named = _FIRST_HEADERS.get(_plain(header[0]))
    if named is not None and rows is not None and named != rows:
        raise InputError(
            f"{path}: the first column is called {header[0]!r}, so the rows are {named}, not {rows}.",
            kind="unknown_layout",
            path=path,
        )
    side = named or rows
    if side is None:
        raise InputError(
            f"{path}: the first column is called {header[0]!r}, which does not say what the rows are.",
            "Call it model (models in rows) or item (items in rows), or pass --rows models or --rows items;"
            " a long log has the columns model, item_id, correct.",
            kind="unknown_layout",
            path=path,
        )
    return side


def _arrays(cells: Cells) -> tuple[list[str], list[str], NDArray[np.int64], NDArray[np.int64]]:
    models, items = sorted({model for model, _ in cells}), sorted({item for _, item in cells})
    row = {model: index for index, model in enumerate(models)}
    column = {item: index for index, item in enumerate(items)}
    counts = np.zeros((len(models), len(items), 2), dtype=np.int64)
    places = [row[model] for model, _ in cells], [column[item] for _, item in cells]
    if cells:
        counts[places] = list(cells.values())
    return models, items, counts[..., 0], counts[..., 1]


def _finish(
    models: list[str],
    items: list[str],
    correct: NDArray[np.int64],
    attempts: NDArray[np.int64],
    path: str,
    notes: list[str],
) -> ResponseFile:
    """Sort both sides by id and say what is empty or easily confused."""
    if not attempts.any():
        raise InputError(
            f"{path} holds no answers.", "A log has at least one scored row.", kind="no_data", path=path
        )
    by_model = sorted(range(len(models)), key=models.__getitem__)
    by_item = sorted(range(len(items)), key=items.__getitem__)
    log = ResponseLog(
        tuple(models[index] for index in by_model),
        tuple(items[index] for index in by_item),
        correct[np.ix_(by_model, by_item)],
        attempts[np.ix_(by_model, by_item)],
    )
    for what, ids, axis in (("models", log.models, 1), ("items", log.items, 0)):
        notes.append(near_duplicate_note(ids, what))
        silent = [ids[index] for index in np.flatnonzero(~np.any(log.attempts, axis=axis)).tolist()]
        if silent:
            notes.append(f"{len(silent)} {what} without a single answer: {listing(silent)}.")
    return ResponseFile(log, tuple(note for note in notes if note))


def _plain(name: str) -> str:
    return name.strip().casefold()
