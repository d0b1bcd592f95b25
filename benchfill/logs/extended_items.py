"""An item file with further items behind its own, which stay as they are to the byte."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchfill.errors import InputError
from benchfill.item import Item
from benchfill.logs.item_fields import Picker
from benchfill.logs.items import read_items
from benchfill.logs.json_records import JsonNumber, read_json_records
from benchfill.logs.record_template import RecordTemplate, is_licence
from benchfill.logs.text import read_text

__all__ = ["ExtendedItems", "ItemToAdd", "extend_items", "refuse_other_items"]

_BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
_WHOLE = re.compile(r"0|[1-9]\d{0,14}")
_FIRST_OBJECT = re.compile(r"\s*\[(\s*)\{(\s*)")


@dataclass(frozen=True, slots=True)
class ItemToAdd:
    """An item to stand behind those of a file.

    Parameters
    ----------
    parent
        The item of the file that it came from, "" where it came from none.
    like
        The item whose record it is written like, where it has no parent; "" takes the first.
    """

    item: Item
    parent: str
    like: str = ""


@dataclass(frozen=True, slots=True)
class ExtendedItems:
    """The extended file.

    Parameters
    ----------
    content
        Its bytes; the text of the original file stands unchanged in front.
    ids
        Of each added item in the file: its own or, where the file numbers its items, the next number.
    empty
        Columns of the file that are null in the added rows.
    licences
        What the columns that state a licence hold, by column: the distinct values of the parents, sorted.
    """

    content: bytes
    ids: Mapping[str, str]
    empty: tuple[str, ...]
    licences: Mapping[str, tuple[str, ...]]


def extend_items(
    path: Path | str, added: Sequence[ItemToAdd], *, mapping: Mapping[str, str] | None = None
) -> ExtendedItems:
    """Write items behind those of a file, in its own form.

    Parameters
    ----------
    path
        JSON Lines or one JSON array, plain or gzip, as `benchfill.logs.items.read_items` takes it.
    mapping
        As for `read_items`.

    Returns
    -------
    ExtendedItems
        Rows in the order given. Field names and their order are those of the parent's record; line ends, indentation
        and escapes those of the file. Ids never meet those of the file, whatever their case.

    Raises
    ------
    InputError
        The kinds of `read_text` and `read_json_records`.
    """
    name, text = str(path), read_text(path)
    picker = Picker(mapping or {}, name)
    records = [record for _, record in read_json_records(text, name)]
    by_id = {_id_of(picker, record): record for record in records}
    ids = _new_ids([_raw_id(picker, record) for record in records], [each.item.id for each in added])
    template = RecordTemplate(records, picker)
    parents = [by_id[each.parent] for each in added if each.parent in by_id]
    rows = [
        template.record(
            each.item,
            ids[each.item.id],
            by_id.get(each.parent or each.like, records[0]),
            inherits=each.parent in by_id,
        )
        for each in added
    ]
    known = set(picker.names(records[0]).values()) | {"prompt", "key", "instruction_id_list", "kwargs"}
    licences = {
        column: tuple(sorted({str(parent[column]) for parent in parents if parent.get(column) is not None}))
        for column in records[0]
        if is_licence(column)
    }
    return ExtendedItems(
        _joined(Path(path).read_bytes(), text, rows),
        {item: str(written) for item, written in ids.items()},
        tuple(
            column
            for column in records[0]
            if column not in known and rows and all(row.get(column) is None for row in rows)
        ),
        licences,
    )


def refuse_other_items(path: Path, mapping: Mapping[str, str], wanted: Collection[Item]) -> None:
    """Refuse an item file that does not hold exactly these items.

    Raises
    ------
    InputError
        Kind ``other_items``, and those of `read_items`.
    """
    found = {item.id: item for item in read_items(path, mapping=mapping).items}
    expected = {item.id: item for item in wanted}
    differing = sorted(
        name for name in {*found, *expected} if _shown(found.get(name)) != _shown(expected.get(name))
    )
    if differing:
        raise InputError(
            f"{path} does not hold the items of the run: {len(differing)} differ, first {differing[0]!r}.",
            "Name the item file that the run began with: --items FILE (and --map, where its fields were named).",
            kind="other_items",
            path=str(path),
        )


def _shown(item: Item | None) -> object:
    return (
        None if item is None else (item.question, item.answer, item.choices, item.answer_type, item.tolerance)
    )


def _raw_id(picker: Picker, record: Mapping[str, Any]) -> Any:
    fields, _ = picker.pick(record)
    return fields.get("id", record.get("key"))


def _id_of(picker: Picker, record: Mapping[str, Any]) -> str:
    return str(_raw_id(picker, record))


def _new_ids(known: Sequence[Any], added: Sequence[str]) -> dict[str, str | int]:
    """Ids of the added items: numbers go on where all ids of a file are numbers, texts get a suffix when taken."""
    if known and all(isinstance(each, JsonNumber) and _WHOLE.fullmatch(each) for each in known):
        following = 1 + max(int(each) for each in known)
        return {item: following + place for place, item in enumerate(added)}
    taken = {str(each).strip().casefold() for each in known}
    found: dict[str, str | int] = {}
    for item in added:
        written, number = item, 1
        while written.strip().casefold() in taken:
            number += 1
            written = f"{item}-{number}"
        taken.add(written.strip().casefold())
        found[item] = written
    return found


def _joined(raw: bytes, text: str, rows: Sequence[Mapping[str, Any]]) -> bytes:
    packed = raw.startswith(_GZIP)
    plain = gzip.decompress(raw) if packed else raw
    if not rows:
        return raw
    escaped = text.isascii() and re.search(r"\\u[0-9a-fA-F]{4}", text) is not None
    if _FIRST_OBJECT.match(text) and text.rstrip().endswith("]"):
        joined = _array_with(text, rows, escaped=escaped)
    else:
        joined = _lines_with(text, rows, escaped=escaped)
    content = (_BOM if plain.startswith(_BOM) else b"") + joined.encode()
    return gzip.compress(content, mtime=0) if packed else content


def _lines_with(text: str, rows: Sequence[Mapping[str, Any]], *, escaped: bool) -> str:
    end = "\r\n" if "\r\n" in text else "\n"
    first = next(line for line in text.split("\n") if line.strip())
    compact = '": ' not in first
    lines = [_dumped(row, escaped=escaped, compact=compact) for row in rows]
    return text + ("" if text.endswith("\n") else end) + "".join(line + end for line in lines)


def _array_with(text: str, rows: Sequence[Mapping[str, Any]], *, escaped: bool) -> str:
    """Rows before the closing bracket, indented as the first record is."""
    body, close = text[: text.rindex("]")], text[text.rindex("]") :]
    stripped = body.rstrip()
    found = _FIRST_OBJECT.match(text)
    before, inside = (found[1], found[2]) if found else ("", "")
    outer = before.rpartition("\n")[2] if "\n" in before else ""
    inner = inside.rpartition("\n")[2] if "\n" in inside else ""
    step = len(inner) - len(outer) if "\n" in inside else 0
    between = before if "\n" in before else " "
    parts = []
    for row in rows:
        if step > 0:
            lines = _dumped(row, escaped=escaped, indent=inner[:step]).split("\n")
            parts.append(
                ("\r\n" if "\r\n" in text else "\n").join([lines[0], *(outer + line for line in lines[1:])])
            )
        else:
            parts.append(_dumped(row, escaped=escaped, compact='": ' not in text))
    return stripped + "".join(f",{between}{part}" for part in parts) + body[len(stripped) :] + close


def _dumped(
    row: Mapping[str, Any], *, escaped: bool, compact: bool = False, indent: str | None = None
) -> str:
    separators = (",", ":") if compact else (",", ": ") if indent else (", ", ": ")
    return json.dumps(row, ensure_ascii=escaped, allow_nan=False, separators=separators, indent=indent)
