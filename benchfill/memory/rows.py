"""Rows as SQLite keeps them: JSON in some columns, 0 and 1 for what is true or false."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from benchfill.item import Item
from benchfill.memory.records import (
    AttemptRow,
    Candidate,
    ConfirmationRow,
    Estimate,
    GapCheckRow,
    GapRow,
    HitRow,
    ItemFitRow,
    JudgementRow,
    RecheckRow,
    RunRow,
    ScaleRow,
)

__all__ = [
    "ITEM_COLUMNS",
    "KEYS",
    "Row",
    "item_of_row",
    "json_text",
    "pack_row",
    "row_of_item",
    "unpack_rows",
]

Row = TypeVar(
    "Row", RunRow, ScaleRow, Estimate, Candidate, JudgementRow, AttemptRow, ConfirmationRow, GapRow, RecheckRow,
    GapCheckRow, HitRow, ItemFitRow,
)  # fmt: skip

# Columns that hold JSON, by table: the rest are plain values.
JSON_COLUMNS: Mapping[str, frozenset[str]] = {
    "runs": frozenset({"settings", "request", "summary"}),
    "scales": frozenset(
        {"models", "theta", "theta_draws", "mu_b_draws", "sigma_b_draws", "gate", "versions"}
    ),
    "candidates": frozenset({"reference_ids", "refusals", "prompt_hashes"}),
    "judgements": frozenset({"problems"}),
    "gap_checks": frozenset({"before"}),
}
KEYS: Mapping[str, tuple[str, ...]] = {
    "runs": ("id",),
    "scales": ("id",),
    "estimates": ("item",),
    "candidates": ("id",),
    "judgements": ("candidate",),
    "attempts": ("item", "model", "attempt"),
    "confirmations": ("candidate", "first"),
    "gaps": ("gap",),
    "rechecks": ("item",),
    "gap_checks": ("id",),
    "known_hits": ("run", "candidate"),
    "item_fits": ("item",),
}
# Columns that hold true or false (or, for a judgement, nothing).
BOOLEANS: Mapping[str, tuple[str, ...]] = {
    "judgements": ("blind_agrees", "valid"),
    "estimates": ("confirmed",),
    "gap_checks": ("done",),
    "item_fits": ("misfits",),
}


def json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def pack_row(table: str, row: Row) -> dict[str, Any]:
    packed: dict[str, Any] = {}
    for field in dataclasses.fields(row):
        value = getattr(row, field.name)
        if field.name in JSON_COLUMNS.get(table, frozenset()):
            # Rows are frozen but may carry tuples and mappings of any kind.
            value = None if value is None else json_text(_plain(value))
        packed[field.name] = value
    return packed


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value


def unpack_rows(
    table: str, kind: type[Row], names: Sequence[str], rows: Iterable[Sequence[Any]]
) -> list[Row]:
    """Rows as they were packed, their values in the order of ``names``, which is that of the fields."""
    readers: dict[str, Callable[[Any], Any]] = {
        **dict.fromkeys(JSON_COLUMNS.get(table, frozenset()), json.loads),
        **dict.fromkeys(BOOLEANS.get(table, ()), bool),
    }
    odd = [(place, readers[name]) for place, name in enumerate(names) if name in readers]

    def whole(row: Sequence[Any]) -> list[Any]:
        values = list(row)
        for place, read in odd:
            if values[place] is not None:
                values[place] = read(values[place])
        return values

    return [kind(*whole(row)) for row in rows] if odd else [kind(*row) for row in rows]


# In the order in which `item_of_row` reads them.
ITEM_COLUMNS = ("id", "question", "answer", "solution", "choices", "answer_type", "tolerance", "extra")


def row_of_item(item: Item, origin: str) -> dict[str, Any]:
    packed = {name: getattr(item, name) for name in ITEM_COLUMNS}
    return {
        **packed,
        "origin": origin,
        "choices": json_text(list(item.choices)),
        "extra": json_text(dict(item.extra)),
    }


def item_of_row(row: Sequence[Any]) -> Item:
    return Item(
        id=row[0],
        question=row[1],
        answer=row[2],
        solution=row[3],
        # Most have neither, and a parser called for nothing costs more than the row.
        choices=() if row[4] == "[]" else tuple(json.loads(row[4])),
        answer_type=row[5],
        tolerance=row[6],
        extra={} if row[7] == "{}" else json.loads(row[7]),
    )
