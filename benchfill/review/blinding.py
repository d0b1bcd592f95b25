"""What a reviewer is shown of an item, and what it is called: nothing that tells where it comes from."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from benchfill.item import Item

__all__ = ["item_hash", "shown_fields"]


def shown_fields(item: Item) -> dict[str, Any]:
    """What is shown of an item, by an allow-list: question, choices and key, their white space made equal.

    A worked solution is left out: originals may have none where new items always do.
    """
    return {
        "question": _plain(item.question),
        "choices": [_plain(choice) for choice in item.choices],
        "key": _plain(item.answer),
    }


def item_hash(item: Item) -> str:
    """Short hash of what is shown (16 hex digits); another text, another hash."""
    text = json.dumps(shown_fields(item), ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _plain(text: str) -> str:
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    return "\n".join(lines).strip()
