"""A respondent: one attempt of one model at one item, correct, wrong, or missing with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from benchfill.errors import CallFailed, EndpointDown
from benchfill.item import Item

if TYPE_CHECKING:
    from benchfill.tools.client import ModelClient
    from benchfill.tools.grading import Grader
    from benchfill.tools.llm_grader import LastResort
    from benchfill.tools.reply import Message

__all__ = ["Attempt", "ask_respondent"]


@dataclass(frozen=True)
class Attempt:
    """Outcome of one attempt.

    Parameters
    ----------
    outcome
        ``missing`` is neither right nor wrong and enters no likelihood.
    reason
        Empty for an attempt that was graded by comparison, ``llm_grader:<model>`` where the last resort of grading
        decided; of a missing one ``no_answer`` (finished or cut off without one), ``ungraded`` (the
        comparison could not be made), ``refusal``, ``content_filter``, ``context_cut`` (the server cut the
        question down without a word), or the reason of the failed call.
    extracted
        The answer as it was read, None where there was none.
    down
        Whether no call to this model can succeed any more.
    """

    model: str
    attempt: int
    outcome: Literal["correct", "wrong", "missing"]
    reason: str
    extracted: str | None
    down: bool = False


async def ask_respondent(
    client: ModelClient,
    messages: Sequence[Message],
    *,
    item: Item,
    grader: Grader,
    seed: int,
    tag: str,
    attempt: int,
    last_resort: LastResort | None = None,
) -> Attempt:
    """Ask one model once and grade what it replied; its reasoning text is never graded.

    Parameters
    ----------
    messages
        What the respondent is given.
    item
        The item, with its key.
    seed, tag, attempt
        Seed, sample tag and number of this attempt.
    last_resort
        Asked where the grader cannot tell; None leaves the attempt missing.

    Returns
    -------
    Attempt
        Never ``wrong`` for a failure of the infrastructure, a reply cut off or one without an answer.
    """
    model = client.endpoint.name

    def missing(reason: str, extracted: str | None = None) -> Attempt:
        return Attempt(model, attempt, "missing", reason, extracted)

    try:
        reply = await client.ask(messages, seed=seed, tag=tag)
    except CallFailed as error:
        return Attempt(model, attempt, "missing", error.reason, None, isinstance(error, EndpointDown))
    if reply.context_cut:
        return missing("context_cut")
    if reply.finish_reason == "length":
        # What was written so far may hold a number, but not the answer the model was going to give.
        return missing("no_answer")
    if reply.finish_reason in {"refusal", "content_filter"}:
        return missing(reply.finish_reason)
    grade = await grader.grade(item, reply.content, finish_reason=reply.finish_reason)
    reason = ""
    if grade.verdict == "ungraded" and last_resort is not None:
        decided = await last_resort(item, reply.content, model, attempt)
        if decided is not None:
            grade, reason = decided, decided.reason
    if grade.verdict in {"no_answer", "ungraded"}:
        return missing(grade.verdict, grade.extracted)
    outcome: Literal["correct", "wrong"] = "correct" if grade.verdict == "correct" else "wrong"
    return Attempt(model, attempt, outcome, reason, grade.extracted)
