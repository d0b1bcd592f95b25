"""The files of a packet, as bytes: a form to fill in (JSONL, CSV), tasks for Label Studio and Argilla, one page of
instructions, and items to compare with."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from benchfill.item import Item
from benchfill.memory.reviews import AssignmentRow
from benchfill.review.argilla import argilla_records, argilla_settings
from benchfill.review.blinding import item_hash, shown_fields
from benchfill.review.label_studio import label_studio_config, label_studio_tasks
from benchfill.review.vocabulary import FORM_FIELDS

__all__ = ["files_hash", "form_rows", "packet_files"]

# A spreadsheet takes a cell that begins with one of these for a formula.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def form_rows(assignments: Sequence[AssignmentRow], items: Mapping[str, Item]) -> list[dict[str, Any]]:
    """The form of one reviewer, in their order; every row has the same fields in the same order.

    Parameters
    ----------
    assignments
        Of one reviewer and round.
    items
        By id.
    """
    rows = []
    for each in sorted(assignments, key=lambda each: each.place):
        item = items[each.item]
        values: dict[str, Any] = {
            "blind_id": each.blind_id,
            "item_hash": item_hash(item),
            "reviewer": each.reviewer,
            **shown_fields(item),
            "answer": "",
            "verdict": "",
            "reasons": [],
            "comment": "",
            "seconds": None,
        }
        rows.append({name: values[name] for name in FORM_FIELDS})
    return rows


def packet_files(rows: Sequence[Mapping[str, Any]], references: Sequence[Item]) -> dict[str, bytes]:
    """Name and content of every file of one reviewer's packet."""
    page = instructions(len(rows))
    return {
        "instructions.md": page.encode(),
        "references.md": _references(references).encode("utf-8", "surrogatepass"),
        "review.jsonl": "".join(_json(row) + "\n" for row in rows).encode("utf-8", "surrogatepass"),
        "review.csv": _sheet(rows),
        "label_studio/config.xml": label_studio_config().encode(),
        "label_studio/tasks.json": _indented(label_studio_tasks(rows)),
        "argilla/settings.json": _indented(argilla_settings(page)),
        "argilla/records.json": _indented(argilla_records(rows)),
    }


def files_hash(content: Mapping[str, bytes]) -> str:
    """SHA-256 of a packet: of its file names and their contents, in the order of names."""
    digest = hashlib.sha256()
    for name in sorted(content):
        digest.update(f"{name}\n{len(content[name])}\n".encode())
        digest.update(content[name])
    return digest.hexdigest()


def instructions(count: int) -> str:
    """The one page for reviewers."""
    text = (files("benchfill.review") / "instructions.md").read_text(encoding="utf-8")
    return text.replace("{count}", str(count))


def _references(items: Sequence[Item]) -> str:
    parts = ["# Items of the benchmark, to compare with\n"]
    for item in items:
        shown = shown_fields(item)
        parts.append(f"---\n\n{shown['question']}\n\nKey: {shown['key']}\n")
    return "\n".join(parts)


def _sheet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """CSV as Excel reads it: byte order mark, CRLF, every cell quoted, no cell that it would take for a formula."""
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerow(FORM_FIELDS)
    for row in rows:
        writer.writerow([_cell(row[name]) for name in FORM_FIELDS])
    return text.getvalue().encode("utf-8-sig", "surrogatepass")


def _cell(value: Any) -> str:
    text = "" if value is None else ";".join(value) if isinstance(value, list) else str(value)
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _indented(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n").encode(
        "utf-8", "surrogatepass"
    )
