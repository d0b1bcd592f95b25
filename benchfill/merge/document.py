"""The data card as one JSON document: what was added, by whom, how it was measured and reviewed, and what it does."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import benchfill
from benchfill.logs.extended_items import ExtendedItems
from benchfill.memory.pool import Pool
from benchfill.merge.response_logs import MergedLogs
from benchfill.merge.selection import MergedItem, Selection, counted_attempts
from benchfill.settings import Settings

__all__ = ["CARD_VERSION", "card_document"]

CARD_VERSION = 1


def card_document(
    pool: Pool,
    selection: Selection,
    extended: ExtendedItems,
    logs: MergedLogs,
    *,
    effects: Mapping[str, Any],
    lineage: Sequence[Mapping[str, Any]],
    ledger: tuple[str, int],
    source: Mapping[str, Any],
    licence: str | None,
    unreviewed: bool,
) -> dict[str, Any]:
    """Plain values; undefined is None.

    Parameters
    ----------
    lineage
        Rows of this and of earlier merges.
    ledger
        Hash of the replies the run is made of, and their number.
    source
        ``name``, ``sha256`` and ``n_items`` of the item file.
    licence
        As the user states it; None takes what the file says of the parents.
    """
    run, scale, stored = pool.run(), pool.scale(), pool.benchmark()
    if scale is None or stored is None:
        raise LookupError("the run has no scale")
    generation = max(row["generation"] for row in lineage)
    rows = {row["id"]: row for row in lineage if row["generation"] == generation}
    items = [
        _item(pool, merged, extended.ids[merged.item.id], rows[extended.ids[merged.item.id]])
        for merged in selection.items
    ]
    stated = sorted({value for values in extended.licences.values() for value in values})
    return {
        "v": CARD_VERSION,
        "name": stored[1],
        "generation": generation,
        "simulated": run.world == "simulated",
        "source": dict(source),
        "unreviewed_merged": unreviewed and any(merged.basis == "unreviewed" for merged in selection.items),
        "items": items,
        "left_out": dict(selection.left_out),
        "earlier_generations": [
            {name: row[name] for name in ("id", "generation", "run", "root", "basis")}
            for row in lineage
            if row["generation"] < generation
        ],
        "licence": {
            "stated": licence or (stated[0] if len(stated) == 1 else None),
            "of_parents": stated,
            "columns": sorted(extended.licences),
        },
        "columns_left_empty": list(extended.empty),
        "reviews": _reviews(selection),
        "models": _models(pool, items),
        "scale": {"name": scale.name, "lo_logits": scale.lo, "hi_logits": scale.hi, "engine": scale.engine},
        "effects": dict(effects),
        "asked_again": list(logs.asked_again),
        "run": {
            "name": run.id,
            "seed": run.seed,
            "world": run.world or None,
            "world_version": run.world_version,
            "version": run.version,
            "versions": dict(scale.versions),
            "benchmark_fingerprint": stored[0],
        },
        "ledger": {"digest": ledger[0], "replies": ledger[1]},
        "made_with": f"benchfill {benchfill.__version__}",
    }


def _item(pool: Pool, merged: MergedItem, written: str, lineage: Mapping[str, Any]) -> dict[str, Any]:
    row, counted = merged.exported, counted_attempts(pool, merged)
    every = pool.attempts(merged.item.id)
    text = "\x1f".join((merged.item.question, *merged.item.choices, merged.item.answer))
    return {
        "id": written,
        "item": merged.item.id,
        "sha256": hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        "parents": lineage["parents"],
        "root": lineage["root"],
        "gap": row["gap"],
        "target": row["lineage"]["target"] if row["gap"] is not None else None,
        "z": row["z"],
        "z_lo90": row["z_lo90"],
        "z_hi90": row["z_hi90"],
        "z_ml": row["z_ml"],
        "expected_deviation": row["expected_deviation"],
        "confirmed": row["confirmed"],
        "fit": row["fit"],
        "status": row["status"],
        "accepted_by": row["accepted_by"],
        "by_hand": row["by_hand"],
        "decision": row["decision"],
        "basis": merged.basis,
        "rewriter": row["lineage"]["rewriter"],
        "judge": row["lineage"]["judge"],
        "prompt_version": row["lineage"]["prompt_version"],
        "prompt_hashes": row["lineage"]["prompt_hashes"],
        "judgement": row["judgement"],
        "attempts": row["attempts"],
        "attempts_in_all": sum(each.outcome != "missing" for each in every),
        "attempts_in_log": sum(each.outcome != "missing" for each in counted),
        "review": _review(merged),
    }


def _review(merged: MergedItem) -> dict[str, Any]:
    def plain(decisions: Sequence[Any]) -> list[dict[str, Any]]:
        return [
            {
                "reviewer": each.reviewer,
                "verdict": each.verdict,
                "agrees": each.agrees,
                "reasons": list(each.reasons),
                "seconds": each.seconds,
            }
            for each in decisions
        ]

    return {
        "outcome": merged.review.outcome,
        "why": merged.review.why,
        "decisions": plain(merged.review.decisions),
        "adjudication": plain(merged.review.adjudication),
    }


def _reviews(selection: Selection) -> dict[str, Any]:
    record = selection.record
    outcomes = [each.outcome for each in record.items.values()]
    return {
        "outcomes": {
            name: outcomes.count(name) for name in ("accepted", "rejected", "disputed", "unreviewed")
        },
        "agreement": {name: dataclasses.asdict(each) for name, each in record.agreement.items()},
        "reviewers": [dataclasses.asdict(each) for each in record.reviewers],
        "sealed_keys": [
            {"round": each.round, "kind": each.kind, "seed": each.seed, "sha256": each.key_sha256}
            for each in record.rounds
        ],
    }


def _models(pool: Pool, items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Who wrote, judged and answered, without where they are reached."""
    settings = Settings.model_validate(dict(pool.run().settings))
    names = {entry.in_log: entry.model for entry in settings.pool}
    answered = sorted({model for item in items for model in item["attempts"]})
    return {
        "rewriter": sorted({item["rewriter"] for item in items if item["rewriter"]}),
        "judge": sorted({item["judge"] for item in items}),
        "pool": [{"name": model, "model": names.get(model, model)} for model in answered],
    }
