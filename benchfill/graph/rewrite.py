"""Node, one a writer: rewrite a parent to the target difficulty, in a loop of tool calls."""

from __future__ import annotations

import hashlib
from typing import Any

from langgraph.runtime import Runtime

from benchfill.graph.search import Search, to_prompt_scale
from benchfill.graph.state import CandidateTask
from benchfill.item import Item
from benchfill.memory.records import Candidate, CandidateStatus, Estimate
from benchfill.prompts.render import PromptItem, show_item
from benchfill.tools.client import derive_seed
from benchfill.tools.rewriter import RewriteResult, Submission
from benchfill.tools.rewriter import rewrite as rewrite_item
from benchfill.tools.screening import Screen

__all__ = ["candidate_id", "item_id_of", "rewrite"]

# Earlier attempts shown to a writer: the measured ones nearest to the target (all of a search with the default
# rounds), so that none is written again, and the latest refused ones.
SHOWN_MEASURED, SHOWN_REFUSED = 40, 8


def candidate_id(gap: int, round: int, writer: int) -> str:
    return f"g{gap}r{round:02d}w{writer}"


async def rewrite(state: CandidateTask, runtime: Runtime[Search]) -> dict[str, Any]:
    """Let the rewriter write one candidate; keep it, or why there is none."""
    search, task = runtime.context, state
    gap = search.pool.gap(task["gap"])
    name = candidate_id(task["gap"], task["round"], task["writer"])
    parent = search.pool.item(task["parent"])
    if parent is None:
        raise LookupError(f"parent {task['parent']} is not in the pool")
    estimates = search.pool.estimates()
    known, earlier = _pool_before(search, task, estimates)
    messages = search.prompts.rewrite(
        target=to_prompt_scale(gap.target),
        parent=search.prompt_item(parent, estimates.get(parent.id)),
        references=[search.prompt_item(known[item], estimates.get(item)) for item in task["references"]],
        earlier=earlier,
        writer=task["writer"],
        writers=search.settings.candidates,
        round=task["round"],
        nonce=search.nonce("rewrite", name),
    )
    screen = Screen(list(known.values()), threshold=search.settings.near_duplicate, grader=search.grader)

    def look_up(item_id: str) -> str:
        item = known.get(item_id)
        if item is None:
            return f"There is no item {item_id!r}. Use an id of the parent or of a reference."
        shown = search.prompt_item(item, estimates.get(item_id))
        return show_item(shown, nonce=search.nonce("look up", name, item_id))

    result = await rewrite_item(
        search.rewriter,
        messages,
        look_up=look_up,
        sandbox=search.sandbox,
        screen=lambda submission: screen.check(submission, parent),
        seed=lambda turn: derive_seed(search.seed, "rewriter", name, search.rewriter.endpoint.model, turn),
        tag=f"rewriter/{name}",
        max_turns=search.settings.max_turns,
        max_refusals=search.settings.max_refusals,
    )
    _keep(search, task, name, parent, result, gap.target)
    return {"written": [name]}


def _pool_before(
    search: Search, task: CandidateTask, estimates: dict[str, Estimate]
) -> tuple[dict[str, Item], list[PromptItem]]:
    """Items known before this round, and what earlier rounds of this gap produced.

    Candidates of this very round are left out: when the node runs again after a kill, some are there already.
    """
    known = {item.id: item for item in search.pool.items("original")}
    measured: list[tuple[float, PromptItem]] = []
    refused: list[PromptItem] = []
    for candidate in search.pool.candidates():
        if candidate.item is None or (candidate.gap, candidate.round) >= (task["gap"], task["round"]):
            continue
        item = search.pool.item(candidate.item)
        if item is None:
            continue
        known[item.id] = item
        if candidate.gap != task["gap"]:
            continue
        estimate, target = estimates.get(item.id), to_prompt_scale(candidate.target)
        if estimate is None:
            refused.append(PromptItem(item, round=candidate.round, target=target, refused=candidate.status))
            continue
        shown = search.prompt_item(item, estimate)
        measured.append(
            (
                abs(estimate.z - candidate.target),
                PromptItem(item, shown.difficulty, shown.lo, shown.hi, candidate.round, target),
            )
        )
    nearest = sorted(measured, key=lambda pair: (pair[0], pair[1].item.id))[:SHOWN_MEASURED]
    return known, [*(shown for _, shown in nearest), *refused[-SHOWN_REFUSED:]]


def _keep(
    search: Search, task: CandidateTask, name: str, parent: Item, result: RewriteResult, target: float
) -> None:
    submission = result.submission
    item = None if submission is None else submission.item(item_id_of(submission), parent)
    status: CandidateStatus = (
        "submitted" if item is not None else "refused" if result.refusals else "no_submission"
    )
    candidate = Candidate(
        id=name,
        item=None if item is None else item.id,
        gap=task["gap"],
        round=task["round"],
        writer=task["writer"],
        target=target,
        parent=parent.id,
        reference_ids=task["references"],
        status=status,
        rewriter=search.rewriter.endpoint.model,
        judge=search.judge.endpoint.model,
        prompt_version=search.prompts.version,
        prompt_hashes=search.prompts.hashes(),
        rationale="" if submission is None else submission.rationale,
        reason=result.failure,
        calls=result.turns,
        prior_center=task["prior"][0],
        prior_scale=task["prior"][1],
        refusals=[{"reason": refusal.reason, "detail": refusal.detail} for refusal in result.refusals],
    )
    search.pool.save_candidate(candidate, item)
    search.emit(
        "candidate",
        gap=task["gap"],
        round=task["round"],
        candidate=name,
        status=status,
        reason=result.failure,
    )


def item_id_of(submission: Submission) -> str:
    """The same text is the same item, in every run."""
    text = "\x1f".join((submission.question, *submission.choices, submission.answer))
    return "bf-" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
