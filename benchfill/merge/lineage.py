"""Where the added items of a benchmark came from, over all the merges it went through: one row an item."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchfill.errors import InputError
from benchfill.memory.pool import Pool
from benchfill.merge.selection import MergedItem, Selection

__all__ = ["earlier_rows", "lineage_lines", "parents_of"]


def earlier_rows(path: Path | None, known: set[str]) -> list[dict[str, Any]]:
    """Rows of earlier merges on items that the benchmark still has, as they were written.

    Raises
    ------
    InputError
        A line is no row of a lineage (kind ``bad_json_line``).
    """
    if path is None:
        return []
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            item, generation = str(row["id"]), int(row["generation"])
            _ = row["root"], row["run"], row["basis"]
        except (ValueError, KeyError, TypeError):
            raise InputError(
                f"{path.name}, line {number}: no row of a lineage.",
                "It stands beside the item file as a merge wrote it; put it back, or take it away.",
                kind="bad_json_line",
                path=path.name,
                lines=(number,),
            ) from None
        if item in known:
            rows.append({**row, "id": item, "generation": generation})
    return rows


def parents_of(pool: Pool, item: str) -> list[str]:
    """Ancestors of a new item: its parent, the parent of that, and so on to an item of the benchmark."""
    made_from = {
        str(each.item): each.parent
        for each in (*pool.candidates(), *pool.written_by_hand())
        if each.item is not None
    }
    found: list[str] = []
    at = item
    while at in made_from and made_from[at] and made_from[at] not in found:
        at = made_from[at]
        found.append(at)
    return found


def lineage_lines(
    pool: Pool, selection: Selection, ids: Mapping[str, str], earlier: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Rows of earlier merges as they are, and one for every item that is merged now."""
    generation = 1 + max((row["generation"] for row in earlier), default=0)
    roots = {row["id"]: row["root"] for row in earlier}
    run = pool.run()
    new = [_row(pool, merged, ids, generation, roots) for merged in selection.items]
    return [*earlier, *({**row, "run": run.id, "seed": run.seed, "version": run.version} for row in new)]


def _row(
    pool: Pool, merged: MergedItem, ids: Mapping[str, str], generation: int, roots: Mapping[str, str]
) -> dict[str, Any]:
    exported = merged.exported
    lineage = exported["lineage"]
    # Parents that are merged too are told by their id in the file.
    parents = [ids.get(each, each) for each in parents_of(pool, merged.item.id)]
    root = parents[-1] if parents else ""
    return {
        "v": 1,
        "id": ids[merged.item.id],
        "item": merged.item.id,
        "generation": generation,
        "parents": parents,
        "root": roots.get(root, root),
        "by_hand": exported["by_hand"],
        "replaces": lineage["replaces"],
        "target": lineage["target"],
        "rewriter": lineage["rewriter"],
        "judge": lineage["judge"],
        "prompt_version": lineage["prompt_version"],
        "prompt_hashes": lineage["prompt_hashes"],
        "z": exported["z"],
        "z_lo90": exported["z_lo90"],
        "z_hi90": exported["z_hi90"],
        "scale": exported["scale"],
        "confirmed": exported["confirmed"],
        "basis": merged.basis,
        "review": {"outcome": merged.review.outcome, "why": merged.review.why},
        "solution": merged.item.solution,
    }
