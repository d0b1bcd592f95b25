"""Accepted items leave the memory, as JSONL with everything known.

An export holds no clock times, no paths and no made-up run names: the same run gives the same bytes.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchfill.atomic import write_whole
from benchfill.memory.accepted import found_items, standing_items
from benchfill.memory.pool import Pool
from benchfill.memory.records import Candidate, GapRow

__all__ = ["accepted_items", "write_jsonl"]


def accepted_items(pool: Pool, *, by_search_alone: bool = False) -> list[dict[str, Any]]:
    """Each accepted item with its difficulty, lineage, judgement and attempts a model, in the order of gaps.

    Parameters
    ----------
    by_search_alone
        Leave aside what was written by hand and what the maintainer decided.
    """
    scale = pool.scale()
    if scale is None:
        return []
    estimates, judgements = pool.estimates(), pool.judgements()
    found = []
    for standing in found_items(pool) if by_search_alone else standing_items(pool):
        candidate, gap, decision = standing.candidate, standing.gap, standing.decision
        item = pool.item(standing.item)
        if item is None:
            continue
        estimate, judgement = estimates[item.id], judgements[candidate.id]
        found.append(
            {
                "id": item.id,
                "question": item.question,
                "answer": item.answer,
                "solution": item.solution,
                "choices": list(item.choices),
                "answer_type": item.answer_type,
                "z": estimate.z,
                "z_lo90": estimate.z_lo90,
                "z_hi90": estimate.z_hi90,
                "z_ml": pool.z_ml(estimate),
                "b_logits": estimate.b,
                "b_sd_logits": estimate.b_sd,
                "expected_deviation": estimate.expected_deviation,
                "status": gap.status if standing.by == "search" and gap is not None else "accepted",
                "accepted_by": standing.by,
                "by_hand": candidate.by_hand,
                "decision": None if decision is None else dataclasses.asdict(decision),
                "confirmed": estimate.confirmed,
                "fit": pool.item_fit(item.id),
                "scale": {
                    "name": scale.name,
                    "lo_logits": scale.lo,
                    "hi_logits": scale.hi,
                    "engine": scale.engine,
                },
                "gap": None if gap is None else _gap(gap),
                "lineage": _lineage(candidate),
                "judgement": {
                    "status": judgement.status,
                    "blind_answer": judgement.blind_answer,
                    "blind_agrees": judgement.blind_agrees,
                    "valid": judgement.valid,
                    "problems": list(judgement.problems),
                    "reason": judgement.reason,
                },
                "attempts": _attempts(pool, item.id),
            }
        )
    return found


def _gap(gap: GapRow) -> dict[str, float]:
    return {"lo": gap.lo, "hi": gap.hi, "target": gap.target, "tolerance": gap.tolerance}


def _lineage(candidate: Candidate) -> dict[str, Any]:
    return {
        "candidate": candidate.id,
        "parent": candidate.parent,
        "replaces": candidate.replaces,
        "references": list(candidate.reference_ids),
        "target": candidate.target,
        "round": candidate.round,
        "writer": candidate.writer,
        "rewriter": candidate.rewriter,
        "judge": candidate.judge,
        "rationale": candidate.rationale,
        "prompt_version": candidate.prompt_version,
        "prompt_hashes": dict(sorted(candidate.prompt_hashes.items())),
    }


def _attempts(pool: Pool, item: str) -> dict[str, dict[str, Any]]:
    """Counts a model; missing attempts with their reasons, never among the wrong ones."""
    counts: dict[str, dict[str, Any]] = {}
    for row in pool.attempts(item):
        cell = counts.setdefault(row.model, {"correct": 0, "wrong": 0, "missing": {}})
        if row.outcome == "missing":
            cell["missing"] = dict(sorted((Counter(cell["missing"]) + Counter([row.reason])).items()))
        else:
            cell[row.outcome] += 1
    return counts


def write_jsonl(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write one JSON object a line, whole or not at all.

    Raises
    ------
    InputError
        The file cannot be written (kind ``unwritable``).
    """
    text = "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
    write_whole(path, text.encode())
