"""Items that came with a log have no file of their own: one is made, in the fields that BenchFill reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from benchfill.item import Item
from benchfill.memory.source import Source

__all__ = ["plain_source"]

FIELDS = ("solution", "choices", "tolerance")


def plain_source(items: Sequence[Item], folder: Path) -> Source:
    """An item file of these items, made in a folder for the while."""
    used = [field for field in FIELDS if any(getattr(item, field) for item in items)]
    path = folder / "items.jsonl"
    with path.open("w", encoding="utf-8") as handle:
        for item in items:
            row = {
                "id": item.id,
                "question": item.question,
                "answer": item.answer,
                "answer_type": item.answer_type,
            }
            row |= {field: getattr(item, field) for field in used}
            handle.write(json.dumps({**row, **item.extra}, ensure_ascii=False) + "\n")
    return Source(path, "items.jsonl", {})
