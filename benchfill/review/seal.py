"""The sealed keys of a run, checked: is what each blind id was still what was committed to?"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from benchfill.memory.pool import Pool
from benchfill.memory.reviews import Reviews
from benchfill.review.rounds import key_path

__all__ = ["Seal", "check_seals"]

Seal = Literal["intact", "changed", "missing"]


def check_seals(pool: Pool, run_folder: Path) -> Mapping[int, Seal]:
    """State of the sealed key of each round: the file has its hash, and the run's memory says the same as the file."""
    reviews = Reviews(pool)
    handed: dict[int, set[tuple[str, ...]]] = {}
    for row in reviews.assignments():
        entry = (row.reviewer, row.blind_id, row.item, row.origin, row.item_hash)
        handed.setdefault(row.round, set()).add(entry)
    found: dict[int, Seal] = {}
    for round_ in reviews.rounds():
        path = key_path(run_folder, round_.round)
        if not path.is_file():
            found[round_.round] = "missing"
            continue
        content = path.read_bytes()
        same = hashlib.sha256(content).hexdigest() == round_.key_sha256
        intact = same and _entries(json.loads(content)) == handed.get(round_.round, set())
        found[round_.round] = "intact" if intact else "changed"
    return found


def _entries(key: Mapping[str, Any]) -> set[tuple[str, ...]]:
    return {
        (packet["reviewer"], item["blind_id"], item["item"], item["origin"], item["item_hash"])
        for packet in key["packets"]
        for item in packet["items"]
    }
