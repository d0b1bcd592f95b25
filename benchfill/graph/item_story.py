"""Everything that is known of one item of a run, as one document: where it came from, who said what of it."""

from __future__ import annotations

import dataclasses
import difflib
from collections import Counter
from collections.abc import Mapping
from typing import Any

from benchfill.errors import InputError
from benchfill.graph.gap_report import gap_report
from benchfill.item import Item
from benchfill.memory.accepted import replaced_items, standing_items
from benchfill.memory.decisions import decisions_of, missing_for_acceptance
from benchfill.memory.ledger import Ledger
from benchfill.memory.ledger_uses import replies_to
from benchfill.memory.pool import Pool
from benchfill.memory.records import Candidate, Estimate
from benchfill.review.outcome import review_outcomes
from benchfill.tools.reply_body import read_reply

__all__ = ["item_story", "run_story"]

# A refused submission without an item has no id: it is told by its candidate.
LONGEST_ARGUMENT = 400


def run_story(pool: Pool) -> dict[str, Any]:
    """The gaps of a run and all its candidates, those written by hand last."""
    estimates, gone = pool.estimates(), replaced_items(pool)
    standing = {each.item: each.by for each in standing_items(pool)}
    outcomes = {item: each.outcome for item, each in review_outcomes(pool).items()}
    rows = []
    for candidate in (*pool.candidates(), *pool.written_by_hand()):
        estimate = estimates.get(str(candidate.item))
        rows.append(
            {
                "candidate": candidate.id,
                "item": candidate.item,
                "gap": candidate.gap,
                "round": candidate.round,
                "status": candidate.status,
                "reason": candidate.reason,
                "by_hand": candidate.by_hand,
                "parent": candidate.parent,
                "z_mean": None if estimate is None else estimate.z,
                "z_lo90": None if estimate is None else estimate.z_lo90,
                "z_hi90": None if estimate is None else estimate.z_hi90,
                "expected_deviation": None if estimate is None else estimate.expected_deviation,
                "attempts": None if estimate is None else estimate.attempts,
                "stands": standing.get(str(candidate.item)),
                "replaced_by": gone.get(str(candidate.item)),
                "review": outcomes.get(str(candidate.item)),
            }
        )
    return {"gaps": [gap_report(pool, gap) for gap in pool.gaps()], "candidates": rows}


def item_story(pool: Pool, ledger: Ledger | None, name: str) -> dict[str, Any]:
    """The story of one item.

    Parameters
    ----------
    ledger
        Where the replies of rewriter and judge are; None leaves the tool calls out.
    name
        Id of an item, or of a candidate.

    Raises
    ------
    InputError
        The run knows neither (kind ``unknown_item``).
    """
    candidates = [*pool.candidates(), *pool.written_by_hand()]
    candidate = next((each for each in candidates if name in (each.id, each.item)), None)
    item = pool.item(name if candidate is None else str(candidate.item))
    if candidate is None and item is None:
        raise InputError(
            f"The run has no item or candidate {name}.",
            "`benchfill show RUN` lists them.",
            kind="unknown_item",
        )
    estimate = None if item is None else pool.estimates().get(item.id)
    document: dict[str, Any] = {
        "item": None if item is None else _text(item),
        "origin": "original" if candidate is None else candidate.by_hand or "search",
        "posterior": None if estimate is None else _posterior(pool, estimate),
        "fit": None if item is None else pool.item_fit(item.id),
        "attempts": {} if item is None else _attempts(pool, item.id),
        "children": sorted(
            {str(each.item) for each in candidates if item and each.parent == item.id and each.item}
        ),
    }
    if candidate is None:
        return document
    return {**document, **_of_candidate(pool, ledger, candidate, item, candidates)}


def _of_candidate(
    pool: Pool, ledger: Ledger | None, candidate: Candidate, item: Item | None, candidates: list[Candidate]
) -> dict[str, Any]:
    judgement = pool.judgements().get(candidate.id)
    decisions = [] if item is None else decisions_of(pool, item.id)
    review = None if item is None else review_outcomes(pool).get(item.id)
    gap = next((each for each in pool.gaps() if each.gap == candidate.gap), None)
    parent = pool.item(candidate.parent) if candidate.parent else None
    standing = {each.item: each.by for each in standing_items(pool)}
    run = pool.run().id
    return {
        "candidate": {
            "id": candidate.id,
            "status": candidate.status,
            "reason": candidate.reason,
            "stands": None if item is None else standing.get(item.id),
            "replaced_by": None if item is None else replaced_items(pool).get(item.id),
            "missing_for_acceptance": [] if item is None else missing_for_acceptance(pool, item.id),
        },
        "lineage": {
            "gap": candidate.gap or None,
            "gap_lo": None if gap is None else gap.lo,
            "gap_hi": None if gap is None else gap.hi,
            "target": candidate.target,
            "round": candidate.round,
            "writer": candidate.writer,
            "parents": _parents(candidate, candidates),
            "references": list(candidate.reference_ids),
            "replaces": candidate.replaces,
            "rewriter": candidate.rewriter,
            "judge": candidate.judge,
            "prompt_version": candidate.prompt_version,
            "prompt_hashes": dict(candidate.prompt_hashes),
            "rationale": candidate.rationale,
        },
        "difference": [] if item is None or parent is None else _difference(parent, item),
        "refusals": [dict(each) for each in candidate.refusals],
        "tool_calls": {
            role: [] if ledger is None else _calls(ledger, run, f"{role}/{candidate.id}")
            for role in ("rewriter", "judge")
        },
        "judgement": None if judgement is None else dataclasses.asdict(judgement),
        "confirmations": [dataclasses.asdict(each) for each in pool.confirmations(candidate.id)],
        "decisions": [dataclasses.asdict(each) for each in decisions],
        "review": None
        if review is None
        else {
            "outcome": review.outcome,
            "why": review.why,
            "decisions": [dataclasses.asdict(each) for each in (*review.decisions, *review.adjudication)],
            "void": len(review.void),
        },
    }


def _text(item: Item) -> dict[str, Any]:
    return {
        "id": item.id,
        "question": item.question,
        "choices": list(item.choices),
        "answer": item.answer,
        "solution": item.solution,
        "answer_type": item.answer_type,
    }


def _posterior(pool: Pool, estimate: Estimate) -> dict[str, Any]:
    return {
        "source": estimate.source,
        "z": estimate.z,
        "z_sd": estimate.z_sd,
        "z_lo90": estimate.z_lo90,
        "z_hi90": estimate.z_hi90,
        "z_ml": pool.z_ml(estimate),
        "b_logits": estimate.b,
        "expected_deviation": estimate.expected_deviation,
        "attempts": estimate.attempts,
        "confirmed": estimate.confirmed,
    }


def _attempts(pool: Pool, item: str) -> dict[str, dict[str, Any]]:
    """Counts a model; missing ones with their reasons."""
    counts: dict[str, dict[str, Any]] = {}
    for row in pool.attempts(item):
        cell = counts.setdefault(row.model, {"correct": 0, "wrong": 0, "missing": Counter[str]()})
        if row.outcome == "missing":
            cell["missing"][row.reason] += 1
        else:
            cell[row.outcome] += 1
    return {
        model: {**cell, "missing": dict(sorted(cell["missing"].items()))} for model, cell in counts.items()
    }


def _parents(candidate: Candidate, candidates: list[Candidate]) -> list[str]:
    made_from = {str(each.item): each.parent for each in candidates if each.item is not None}
    found, at = [], candidate.parent
    while at and at not in found:
        found.append(at)
        at = made_from.get(at, "")
    return found


def _difference(parent: Item, item: Item) -> list[dict[str, str]]:
    """Words that went and came, by field: ``same``, ``removed`` and ``added`` runs in order."""
    found = []
    for field in ("question", "choices", "answer"):
        before, after = (
            "\n".join(each.choices) if field == "choices" else getattr(each, field) for each in (parent, item)
        )
        if before == after:
            continue
        old, new = before.split(), after.split()
        for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if kind == "equal":
                found.append({"field": field, "kind": "same", "text": " ".join(old[a:b])})
                continue
            if a < b:
                found.append({"field": field, "kind": "removed", "text": " ".join(old[a:b])})
            if c < d:
                found.append({"field": field, "kind": "added", "text": " ".join(new[c:d])})
    return found


def _calls(ledger: Ledger, run: str, tag: str) -> list[dict[str, Any]]:
    """Tool calls of a conversation, turn by turn; a turn without any is told by its text."""
    found: list[dict[str, Any]] = []
    for turn, body in enumerate(replies_to(ledger, run, tag)):
        reply = read_reply(body)
        for call in reply.tool_calls:
            arguments = {name: _short(value) for name, value in call.arguments.items()}
            found.append({"turn": turn, "tool": call.name, "arguments": arguments})
        for text in reply.malformed:
            found.append({"turn": turn, "tool": "", "text": _short(text)})
        if not reply.tool_calls and not reply.malformed:
            found.append({"turn": turn, "tool": "", "text": _short(reply.content)})
    return found


def _short(value: object) -> object:
    if isinstance(value, Mapping | list):
        return value
    return (
        value[:LONGEST_ARGUMENT] + " ..."
        if isinstance(value, str) and len(value) > LONGEST_ARGUMENT
        else value
    )
