"""Items written by hand: screened, judged and calibrated like any candidate, but chosen by nobody's luck.

No attempt at such an item was used to choose it, so all of them say where it lies: its place comes from a flat prior,
as that of a confirmed candidate does, and it needs no confirmation.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from benchfill.calibration.confirmation import confirmation_attempts, further_attempts
from benchfill.calibration.new_item_fit import new_item_fit
from benchfill.calibration.online import ItemPosterior, item_posterior
from benchfill.errors import InputError
from benchfill.graph.answer import go_on_without, pause_if_nobody_answers
from benchfill.graph.item_like import item_like
from benchfill.graph.judge import judge_candidate
from benchfill.graph.measuring import count, estimate_of, still_answered
from benchfill.graph.plan import LARGEST_TOLERANCE
from benchfill.graph.remember import SUSPECT, keep_fit
from benchfill.graph.rewrite import item_id_of
from benchfill.graph.search import Search
from benchfill.item import Item
from benchfill.memory.accepted import replaced_items
from benchfill.memory.decisions import decide
from benchfill.memory.records import AttemptRow, Candidate, CandidateStatus
from benchfill.tools.rewriter import Refusal, Submission
from benchfill.tools.screening import Screen

__all__ = ["HandResult", "HandWritten", "take_in"]

# Fresh attempts at most, in units of those planned at first: as a confirmation may take.
FURTHER = 2


@dataclass(frozen=True, slots=True)
class HandWritten:
    """An item as somebody wrote it.

    Parameters
    ----------
    item
        Its text, key and type; its id counts for nothing.
    replaces
        The new item of the run in whose place it is meant to stand, None for an item of its own.
    """

    item: Item
    replaces: str | None = None


@dataclass(frozen=True, slots=True)
class HandResult:
    """What became of it.

    Parameters
    ----------
    item
        Its id in the run, "" when it was refused before it got one.
    status
        ``accepted``: it stands; ``refused`` by the screening; ``rejected`` by the judge or because its key is suspect;
        ``not_judged``; ``dropped``: nobody could answer it.
    """

    item: str
    status: CandidateStatus
    reason: str
    z: float | None = None
    z_lo90: float | None = None
    z_hi90: float | None = None
    attempts: int = 0


async def take_in(search: Search, written: HandWritten, *, who: str, reason: str) -> HandResult:
    """Screen, judge and calibrate one item written by hand, and keep what came of it.

    Parameters
    ----------
    who, reason
        Go into the maintainer's history.

    Raises
    ------
    InputError
        The item it replaces is none of the run's new ones (kind ``unknown_item``), or the benchmark has no item of its
        type to hold it against (kind ``wrong_type``).
    RunPaused, BudgetSpent
        What was paid for is in the ledger: the same command goes on there.
    """
    replaced = None if written.replaces is None else _replaced(search, written.replaces)
    like = (
        item_like(search.pool.items("original"), written.item)
        if replaced is None
        else _origin(search, replaced)
    )
    submission = _submission(written.item)
    refusal = await _screened(search, submission, like, written.replaces)
    if refusal is not None:
        return HandResult("", "refused", f"{refusal.reason}: {refusal.detail}")
    item = submission.item(item_id_of(submission), like)
    candidate = _kept(search, item, replaced, who=who, reason=reason)
    judgement = await judge_candidate(search, candidate)
    candidate = search.pool.candidate(candidate.id)
    if judgement.status != "accepted":
        return HandResult(item.id, candidate.status, candidate.reason)
    return await _calibrated(search, candidate, item)


def _submission(item: Item) -> Submission:
    return Submission(item.question.strip(), item.answer.strip(), item.solution.strip(), item.choices, "")


def _replaced(search: Search, item: str) -> Candidate:
    for candidate in (*search.pool.written_by_hand(), *search.pool.candidates()):
        if candidate.item == item:
            return candidate
    known = search.pool.item(item)
    raise InputError(
        f"{item} is an item of the original benchmark." if known else f"The run has no new item {item}.",
        "Only new items are edited; `benchfill show RUN` lists them.",
        kind="unknown_item",
    )


def _origin(search: Search, candidate: Candidate) -> Item:
    """The original item at the end of a candidate's line."""
    parents = {
        str(each.item): each.parent for each in (*search.pool.candidates(), *search.pool.written_by_hand())
    }
    originals = {item.id: item for item in search.pool.items("original")}
    at = str(candidate.item)
    while at not in originals:
        if not parents.get(at):
            item = search.pool.item(str(candidate.item))
            if item is None:
                raise LookupError(f"the item of {candidate.id} is not in the pool")
            return item_like(list(originals.values()), item)
        at = parents[at]
    return originals[at]


async def _screened(
    search: Search, submission: Submission, like: Item, replaces: str | None
) -> Refusal | None:
    """As a rewrite is screened; the text it takes the place of, and what that replaced, may be alike."""
    line = {replaces, item_id_of(submission)}
    before = replaced_items(search.pool)
    line |= {old for old, new in before.items() if new in line}
    pool = [item for item in search.pool.items() if item.id not in line]
    screen = Screen(pool, threshold=search.settings.near_duplicate, grader=search.grader)
    return await screen.check(submission, like)


def _kept(search: Search, item: Item, replaced: Candidate | None, *, who: str, reason: str) -> Candidate:
    """The candidate of an item written by hand; the same one when it is taken in again."""
    known = search.pool.written_by_hand()
    number = next((each.writer for each in known if each.item == item.id), len(known) + 1)
    by_hand: Literal["edited", "added"] = "added" if replaced is None else "edited"
    candidate = Candidate(
        id=f"h{number}",
        item=item.id,
        gap=0 if replaced is None else replaced.gap,
        round=0,
        writer=number,
        target=0.0 if replaced is None else replaced.target,
        parent="" if replaced is None else str(replaced.item),
        reference_ids=[],
        status="submitted",
        rewriter="",
        judge=search.judge.endpoint.model,
        prompt_version=search.prompts.version,
        prompt_hashes=search.prompts.hashes(),
        by_hand=by_hand,
        replaces=None if replaced is None else str(replaced.item),
    )
    search.pool.save_candidate(candidate, item)
    if all(each.item != item.id for each in known):
        decide(search.pool, item.id, by_hand, reason=reason, who=who)
    return candidate


async def _calibrated(search: Search, candidate: Candidate, item: Item) -> HandResult:
    gap = next((each for each in search.pool.gaps() if each.gap == candidate.gap), None)
    tolerance = search.settings.tolerance or LARGEST_TOLERANCE if gap is None else gap.tolerance
    asked, planned = 0, search.settings.max_block
    while True:
        await _ask(search, item, asked, planned)
        asked = planned
        rows = search.pool.attempts(item.id)
        counts = count(search, rows)
        if not counts[1].any():
            return _settled(search, candidate, "dropped", "nobody could answer it", None, rows)
        posterior = item_posterior(search.theta_draws, *counts, search.scale, guessing=item.guessing)
        middle = float(np.clip(posterior.mean, 0.0, 1.0))
        wanted = confirmation_attempts(search.theta, middle, search.scale, tolerance)
        planned = _next(asked, wanted, search.settings.max_attempts, posterior, tolerance)
        if planned == asked or not still_answered(search, rows, asked):
            break
    target = posterior.mean if gap is None else candidate.target
    estimate = estimate_of(
        search,
        item,
        posterior,
        counts,
        expected_deviation=posterior.expected_deviation(target),
        attempts=int(counts[1].sum()),
        confirmed=True,
    )
    search.pool.save_estimates([estimate])
    candidate = dataclasses.replace(candidate, target=target)
    suspect = new_item_fit(search.theta, *counts, item.guessing).suspect_key(search.lowest_slope)
    status: CandidateStatus = "rejected" if suspect else "accepted"
    if not suspect:
        keep_fit(search, candidate)
    return _settled(search, candidate, status, SUSPECT if suspect else "", posterior, rows)


def _next(asked: int, wanted: int, limit: int, posterior: ItemPosterior, tolerance: float) -> int:
    """Attempts of every model to go to; ``asked`` when it is enough, or more would not be worth it."""
    if asked < wanted:
        return min(wanted, limit)
    enough = posterior.expected_deviation(posterior.mean) <= tolerance or asked >= FURTHER * wanted
    return asked if enough else min(asked + further_attempts(wanted), limit)


async def _ask(search: Search, item: Item, first: int, stop: int) -> None:
    known = {(row.model, row.attempt) for row in search.pool.attempts(item.id)}
    before = set(search.panel.down)
    rows: list[AttemptRow] = await asyncio.gather(
        *(
            search.panel.ask(item, model, attempt)
            for attempt in range(first, stop)
            for model in search.models
            if (model, attempt) not in known
        )
    )
    go_on_without(search, before)
    pause_if_nobody_answers(search, rows)
    search.pool.save_attempts(rows)


def _settled(
    search: Search,
    candidate: Candidate,
    status: CandidateStatus,
    reason: str,
    posterior: ItemPosterior | None,
    rows: Sequence[AttemptRow],
) -> HandResult:
    search.pool.save_candidate(dataclasses.replace(candidate, status=status, reason=reason))
    answered = sum(row.outcome != "missing" for row in rows)
    if posterior is None:
        return HandResult(str(candidate.item), status, reason, attempts=answered)
    return HandResult(
        str(candidate.item), status, reason, posterior.mean, posterior.lo90, posterior.hi90, answered
    )
