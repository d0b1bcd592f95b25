"""Node: the judge solves each candidate blind, then verifies its key."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

from langgraph.runtime import Runtime

from benchfill.errors import RunPaused
from benchfill.graph.search import Search
from benchfill.graph.state import SearchState
from benchfill.item import Item
from benchfill.memory.records import Candidate, CandidateStatus, JudgementRow
from benchfill.tools.client import derive_seed
from benchfill.tools.judge import Judgement
from benchfill.tools.judge import judge as judge_item

__all__ = ["judge", "judge_candidate"]

STATUS: dict[str, CandidateStatus] = {
    "accepted": "calibrating",
    "rejected": "rejected",
    "not_judged": "not_judged",
}


async def judge(state: SearchState, runtime: Runtime[Search]) -> dict[str, Any]:
    """Judge what was written; the accepted ones are planned for their floor of attempts."""
    search = runtime.context
    candidates = [search.pool.candidate(name) for name in state["written"]]
    _pause_if_down(search, "the rewriter", [candidate.reason for candidate in candidates])
    fresh, seen = [], set()
    for candidate in candidates:
        if candidate.item is None:
            continue
        if candidate.item in seen:
            _set(search, candidate, "refused", "near_duplicate of another writer's in this round")
            continue
        seen.add(candidate.item)
        fresh.append(candidate)
    verdicts = await asyncio.gather(*(judge_candidate(search, candidate) for candidate in fresh))
    _pause_if_down(search, "the judge", [verdict.reason for verdict in verdicts])
    floor = search.settings.floor_attempts
    passed = [
        candidate.id
        for candidate, verdict in zip(fresh, verdicts, strict=True)
        if verdict.status == "accepted"
    ]
    return {"plan": dict.fromkeys(passed, floor)}


def _pause_if_down(search: Search, who: str, reasons: list[str]) -> None:
    """Rounds that nobody answers find nothing: better to wait than to use them up."""
    if reasons and all(reason.startswith("call_failed") for reason in reasons):
        raise RunPaused(
            f"No usable reply came from {who} ({reasons[0]}).",
            f"When the endpoint is back: benchfill resume {search.run}",
        )


async def judge_candidate(search: Search, candidate: Candidate) -> Judgement:
    """Judge one candidate and keep the verdict."""
    item = search.pool.item(str(candidate.item))
    if item is None:
        raise LookupError(f"the item of {candidate.id} is not in the pool")
    nonce = search.nonce("judge", candidate.id)
    shown = _without_key(item)
    model = search.judge.endpoint.model
    result = await judge_item(
        search.judge,
        search.prompts.judge_blind(shown, nonce=nonce),
        search.prompts.judge_reveal(item, nonce=nonce),
        item=item,
        grader=search.grader,
        sandbox=search.sandbox,
        seed=lambda turn: derive_seed(search.seed, "judge", item.id, model, turn),
        tag=f"judge/{candidate.id}",
    )
    search.pool.save_judgement(
        JudgementRow(
            candidate=candidate.id,
            status=result.status,
            blind_answer=result.blind_answer,
            blind_agrees=result.blind_agrees,
            valid=result.valid,
            problems=list(result.problems),
            reason=result.reason,
            calls=sum(message["role"] == "assistant" for message in result.transcript),
        )
    )
    reason = "" if result.status == "accepted" else (", ".join(result.problems) or result.reason)
    _set(search, candidate, STATUS[result.status], reason)
    return result


def _without_key(item: Item) -> Item:
    """What the blind judge may see: no key and no solution, even if a prompt file of the user's names them."""
    return dataclasses.replace(item, answer="", solution="")


def _set(search: Search, candidate: Candidate, status: CandidateStatus, reason: str) -> None:
    search.pool.save_candidate(dataclasses.replace(candidate, status=status, reason=reason))
    search.emit(
        "candidate",
        gap=candidate.gap,
        round=candidate.round,
        candidate=candidate.id,
        status=status,
        reason=reason,
    )
