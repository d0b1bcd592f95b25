"""Places of items from a file: what ``benchfill diagnose --json`` and ``benchfill export`` write, or a table."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchfill.errors import InputError
from benchfill.logs.json_records import JsonNumber, plain_value, read_json_records
from benchfill.logs.text import Faults, read_text

__all__ = ["DifficultyFile", "merge_difficulties", "read_difficulties"]

_ID_NAMES = ("id", "item_id", "item")


@dataclass(frozen=True, slots=True)
class DifficultyFile:
    """Places of items.

    Parameters
    ----------
    z
        Place of each item on the frozen axis.
    ends
        Difficulties in logits at z = 0 and z = 1; None where the file does not say.
    """

    z: dict[str, float]
    ends: tuple[float, float] | None = None


def read_difficulties(path: Path | str) -> DifficultyFile:
    """Read places of items.

    Parameters
    ----------
    path
        The document of ``diagnose --json``; JSON Lines with ``id`` and ``z`` as ``export`` writes them; or CSV with the
        columns ``item_id`` (or ``id``, ``item``) and ``z``.

    Raises
    ------
    InputError
        Kinds ``no_axis`` (a diagnosis without places), ``bad_place``, ``duplicate_item``, ``no_data``, ``bad_header``,
        and those of `read_text` and `read_json_records`.
    """
    name, text = str(path), read_text(path)
    faults = Faults(name)
    ends: tuple[float, float] | None = None
    if text.lstrip()[:1] in ("{", "["):
        records = read_json_records(text, name)
        if len(records) == 1 and isinstance(records[0][1].get("items"), list):
            document = plain_value(records[0][1])
            ends = _ends(document.get("scale"))
            if ends is None:
                raise InputError(
                    f"{name} is a diagnosis without an axis: it has no places to read.",
                    "Its notes say why; a diagnosis whose fit passed its gate has them.",
                    kind="no_axis",
                    path=name,
                )
            rows = [(1, each) for each in document["items"] if isinstance(each, dict)]
        else:
            rows = [(line, _plain_record(record)) for line, record in records]
            scales = {_ends(record.get("scale")) for _, record in rows} - {None}
            ends = scales.pop() if len(scales) == 1 else None
    else:
        rows = list(_csv_records(text, name))
    z: dict[str, float] = {}
    for line, row in rows:
        found = next((row[key] for key in _ID_NAMES if row.get(key) not in (None, "")), None)
        place = _number(row.get("z"))
        if found is None or place is None:
            faults.add("bad_place", line, f"no {'id' if found is None else 'number z'}")
        elif z.setdefault(str(found), place) != place:
            faults.add("duplicate_item", line, f"a second place of item {found!r}")
    faults.raise_any()
    if not z:
        raise InputError(f"{name} holds no places of items.", kind="no_data", path=name)
    return DifficultyFile(z, ends)


def merge_difficulties(files: list[DifficultyFile]) -> DifficultyFile:
    """Places of several files on one axis, e.g. the original items' and those of an export.

    Raises
    ------
    InputError
        Kind ``two_axes`` when the files name different ends of the axis, ``duplicate_item`` when they place an item
        differently.
    """
    merged: dict[str, float] = {}
    ends: tuple[float, float] | None = None
    for file in files:
        if ends is not None and file.ends is not None and not _same(ends, file.ends):
            raise InputError(
                "The difficulty files are of two axes: their ends differ "
                f"([{ends[0]:.4g}, {ends[1]:.4g}] and [{file.ends[0]:.4g}, {file.ends[1]:.4g}] logits).",
                "Use the diagnosis that the run was made with, or diagnose both with one log.",
                kind="two_axes",
            )
        ends = ends or file.ends
        for item, place in file.z.items():
            if merged.setdefault(item, place) != place:
                raise InputError(f"Two files place item {item!r} differently.", kind="duplicate_item")
    return DifficultyFile(merged, ends)


def _same(first: tuple[float, float], second: tuple[float, float]) -> bool:
    return all(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) for a, b in zip(first, second, strict=True))


def _plain_record(record: dict[str, Any]) -> dict[str, Any]:
    # Ids stay as they are written: 007 and 7 are two items.
    return {
        key: str(value) if key in _ID_NAMES and isinstance(value, JsonNumber) else plain_value(value)
        for key, value in record.items()
    }


def _ends(scale: Any) -> tuple[float, float] | None:
    if not isinstance(scale, dict):
        return None
    lo, hi = (_number(scale.get(name, scale.get(f"{name}_logits"))) for name in ("lo", "hi"))
    return (lo, hi) if lo is not None and hi is not None and lo < hi else None


def _number(value: Any) -> float | None:
    if value is None or isinstance(value, bool | dict | list):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _csv_records(text: str, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        raise InputError(f"{name} is not CSV ({error}).", kind="bad_row", path=name) from error
    header = [field.strip().casefold() for field in rows[0]] if rows else []
    if "z" not in header or not set(_ID_NAMES) & set(header):
        raise InputError(
            f"{name} has no columns item_id and z.",
            "Write the places with: benchfill diagnose LOG --json",
            kind="bad_header",
            path=name,
        )
    for line, row in enumerate(rows[1:], 2):
        if any(field.strip() for field in row):
            yield line, dict(zip(header, row, strict=False))
