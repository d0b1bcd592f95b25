"""Files of decisions, whatever they were made with: our forms, sheets as Excel rewrites them, Label Studio, Argilla."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchfill.errors import InputError
from benchfill.logs.json_records import read_json_records
from benchfill.logs.text import read_text
from benchfill.review.argilla import argilla_decisions, is_argilla
from benchfill.review.label_studio import is_label_studio, label_studio_decisions

__all__ = ["DECISIONS_FILE", "FormRow", "read_decision_files"]

# Where the review page keeps what was decided, in the folder of its packet.
DECISIONS_FILE = "decisions.jsonl"
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
NEEDED = {"blind_id", "verdict"}


@dataclass(frozen=True, slots=True)
class FormRow:
    """One row as it was read, nothing interpreted yet.

    Parameters
    ----------
    line
        One-based, of the row's beginning.
    sheet
        Whether it comes from a table that a spreadsheet may have rewritten.
    """

    path: str
    line: int
    values: Mapping[str, Any]
    sheet: bool


def read_decision_files(paths: Iterable[Path]) -> list[FormRow]:
    """Rows of all files, in their order. A folder stands for what the review page saved in it or right below.

    Raises
    ------
    InputError
        A file cannot be read (see `read_text`, `read_json_records`), is a workbook (``workbook``) or has no column
        ``blind_id`` or ``verdict`` (``bad_form``); a folder holds no decisions (``no_data``).
    """
    return [row for path in paths for each in _files(path) for row in _rows(each)]


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted([*path.glob(DECISIONS_FILE), *path.glob(f"*/{DECISIONS_FILE}")])
    if not found:
        raise InputError(
            f"{path} holds no {DECISIONS_FILE}.",
            "Name the files that came back.",
            kind="no_data",
            path=str(path),
        )
    return found


def _rows(path: Path) -> Iterator[FormRow]:
    text = _text(path)
    if not text.lstrip().startswith(("{", "[")):
        yield from _sheet_rows(text, str(path))
        return
    for line, record in read_json_records(text, str(path)):
        if is_label_studio(record):
            rows: Iterable[Mapping[str, Any]] = label_studio_decisions(record)
        elif is_argilla(record):
            rows = argilla_decisions(record)
        else:
            rows = [record]
        for values in rows:
            yield FormRow(str(path), line, values, sheet=False)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as handle:
            start = handle.read(4)
    except OSError:
        return read_text(path)  # which says what is wrong with it
    if start.startswith(b"PK\x03\x04"):
        raise InputError(
            f"{path} is a workbook.", "Save the sheet as CSV UTF-8.", kind="workbook", path=str(path)
        )
    if start.startswith(UTF16_MARKS):
        # What Excel calls Unicode text.
        return path.read_bytes().decode("utf-16", "replace")
    return read_text(path)


def _sheet_rows(text: str, path: str) -> Iterator[FormRow]:
    lines = text.splitlines(keepends=True)
    skipped = 1 if lines and lines[0].lower().startswith("sep=") else 0
    header = lines[skipped] if len(lines) > skipped else ""
    delimiter = max(",;\t", key=header.count)
    reader = csv.reader(io.StringIO("".join(lines[skipped:]), newline=""), delimiter=delimiter)
    try:
        names = [name.strip().casefold() for name in next(reader, [])]
        if not set(names) >= NEEDED:
            raise InputError(
                f"{path}, line 1: a table of decisions has the columns blind_id and verdict.",
                "Give the form that came back, with its first line.",
                kind="bad_form",
                path=path,
                lines=(1,),
            )
        begins = reader.line_num + skipped + 1
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield FormRow(path, begins, dict(zip(names, cells, strict=False)), sheet=True)
            begins = reader.line_num + skipped + 1
    except csv.Error as error:
        raise InputError(
            f"{path}, line {reader.line_num + skipped}: {error}.",
            "Save the sheet as CSV UTF-8.",
            kind="bad_form",
            path=path,
            lines=(reader.line_num + skipped,),
        ) from None
