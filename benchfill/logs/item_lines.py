"""The lines of an item file as they stand there, so that a part of a benchmark is written byte for byte."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from benchfill.atomic import write_whole
from benchfill.errors import InputError
from benchfill.logs.item_fields import Picker
from benchfill.logs.json_records import read_json_records
from benchfill.logs.text import Faults, read_text

__all__ = ["read_item_ids", "select_item_lines", "write_lines"]


def select_item_lines(
    path: Path | str, ids: Collection[str], *, mapping: Mapping[str, str] | None = None
) -> list[str]:
    """Lines of these items in the order of the file, unchanged; of exact duplicates the first.

    Parameters
    ----------
    path
        JSON Lines that `benchfill.logs.items.read_items` accepts.
    ids
        Items to keep.
    mapping
        As for `read_items`.

    Raises
    ------
    InputError
        Kind ``not_json_lines`` for a JSON array, and those of `read_text` and `read_json_records`.
    """
    name, text = str(path), read_text(path)
    lines = text.split("\n")
    records = read_json_records(text, name)
    if text.lstrip().startswith("[") or lines[0].strip() == "{":
        raise InputError(
            f"{name} is not JSON Lines, so its items have no lines to copy.",
            "Write one object a line, or take the ids with --out-ids.",
            kind="not_json_lines",
            path=name,
        )
    picker = Picker(mapping or {}, name)
    wanted = set(ids)
    kept = []
    for line, record in records:
        found = str(picker.pick(record)[0].get("id"))
        if found in wanted:
            wanted.remove(found)
            kept.append(lines[line - 1])
    return kept


def write_lines(path: Path, lines: Collection[str]) -> None:
    """Write lines, each ended by a newline, whole or not at all.

    Raises
    ------
    InputError
        The file cannot be written (kind ``unwritable``).
    """
    write_whole(path, "".join(f"{line}\n" for line in lines).encode())


def read_item_ids(named: str) -> tuple[str, ...]:
    """Ids from a comma-separated list, or from a file: one id a line, or JSON Lines with ``id``.

    Raises
    ------
    InputError
        Kind ``no_data``, ``missing_field``, and those of `read_text` and `read_json_records`.
    """
    if not Path(named).is_file():
        ids = [each.strip() for each in named.split(",")]
    else:
        text = read_text(named)
        if text.lstrip()[:1] in ("{", "["):
            picker = Picker({}, named)
            records = read_json_records(text, named)
            fields = [(line, picker.pick(record)[0].get("id")) for line, record in records]
            faults = Faults(named)
            for line, found in fields:
                if not isinstance(found, str):
                    faults.add("missing_field", line, "no id")
            faults.raise_any()
            ids = [str(found) for _, found in fields]
        else:
            ids = [line.strip() for line in text.splitlines()]
    distinct = tuple(dict.fromkeys(each for each in ids if each))
    if not distinct:
        raise InputError(
            f"{named!r} names no items.", "Name ids with commas between them, or a file.", kind="no_data"
        )
    return distinct
