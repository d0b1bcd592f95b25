"""The rewriter: a tool-calling conversation that ends in one submitted item, or says why it did not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchfill.errors import CallFailed
from benchfill.item import Item
from benchfill.tools.expression import evaluate_expression
from benchfill.tools.latex import repair_latex
from benchfill.tools.schemas import EvaluateExpression, LookUpItem, SubmitItem
from benchfill.tools.tool_calls import (
    CallError,
    ParsedCall,
    assistant_message,
    first_call,
    parse_calls,
    tool_message,
)

if TYPE_CHECKING:
    from benchfill.tools.client import ModelClient
    from benchfill.tools.reply import Message, Reply
    from benchfill.tools.sandbox import Sandbox

__all__ = ["Refusal", "RewriteResult", "Submission", "rewrite"]

TOOLS = (LookUpItem, EvaluateExpression, SubmitItem)
REMINDER = (
    "There was no tool call in your reply. Work on with the tools, and hand the finished item in with submit_item; "
    "text outside of a tool call is not read."
)
CUT_OFF = (
    "Your reply was cut off at the length limit. Be brief, and hand the finished item in with submit_item."
)


@dataclass(frozen=True)
class Submission:
    """A rewritten item as it was handed in, with LaTeX damaged by JSON escapes repaired."""

    question: str
    answer: str
    solution: str
    choices: tuple[str, ...]
    rationale: str

    def item(self, item_id: str, parent: Item) -> Item:
        """The submission as an item: answer type and tolerance are those of its parent."""
        return Item(
            id=item_id,
            question=self.question,
            answer=self.answer,
            solution=self.solution,
            choices=self.choices,
            answer_type=parent.answer_type,
            tolerance=parent.tolerance,
        )


@dataclass(frozen=True)
class Refusal:
    """Why a submission was not taken: a stable code for programs, a detail for the model."""

    submission: Submission | None
    reason: str
    detail: str


@dataclass(frozen=True)
class RewriteResult:
    """How a rewrite ended.

    Parameters
    ----------
    failure
        Empty when something was submitted, else ``no_submission`` (text only, or the turns ran out),
        ``refused`` (every submission was refused), ``unreadable`` (no submission, and damaged calls),
        ``call_failed:<reason>``.
    turns
        Replies of the model that were read.
    transcript
        The messages behind the ones the conversation began with.
    """

    submission: Submission | None
    failure: str
    refusals: tuple[Refusal, ...]
    turns: int
    transcript: list[Message]


async def rewrite(
    client: ModelClient,
    messages: Sequence[Message],
    *,
    look_up: Callable[[str], str],
    sandbox: Sandbox,
    screen: Callable[[Submission], Awaitable[Refusal | None]],
    seed: Callable[[int], int],
    tag: str,
    max_turns: int = 6,
    max_refusals: int = 2,
) -> RewriteResult:
    """Let a model rewrite an item with its tools.

    Parameters
    ----------
    messages
        Method and task.
    look_up
        Text of an item by the id the model gives, or a text that says there is none.
    screen
        Checks a submission before anything is paid for; None when it may pass.
    seed
        Seed of a turn, counted from 0.
    tag
        Sample tag; the turns have ``{tag}/t0``, ``{tag}/t1``, ...
    max_turns
        Replies at most, damaged ones included.
    max_refusals
        How often a refused submission goes back to the model; the next refused one ends the rewrite.

    Returns
    -------
    RewriteResult
        In a reply with several submissions the first valid one counts. A reply without a call is reminded
        once. A call that failed ends the rewrite and is no verdict on the model.
    """
    work = _Conversation(list(messages), look_up=look_up, sandbox=sandbox, screen=screen)
    began = len(work.history)

    def ended(failure: str, turns: int, submission: Submission | None = None) -> RewriteResult:
        return RewriteResult(submission, failure, tuple(work.refusals), turns, work.history[began:])

    for turn in range(max_turns):
        try:
            reply = await client.ask(work.history, tools=TOOLS, seed=seed(turn), tag=f"{tag}/t{turn}")
        except CallFailed as error:
            return ended(f"call_failed:{error.reason}", turn)
        calls = parse_calls(reply, TOOLS)
        if not calls and work.reminded:
            work.history.append(assistant_message(reply, calls))
            return ended(work.failure(), turn + 1)
        submission = await work.take(reply, calls)
        if submission is not None:
            return ended("", turn + 1, submission)
        if len(work.refusals) > max_refusals:
            return ended("refused", turn + 1)
    return ended(work.failure(), max_turns)


@dataclass
class _Conversation:
    """History and bookkeeping of one rewrite."""

    history: list[Message]
    look_up: Callable[[str], str]
    sandbox: Sandbox
    screen: Callable[[Submission], Awaitable[Refusal | None]]
    refusals: list[Refusal] = field(default_factory=list)
    reminded: bool = False
    damaged: bool = False

    def failure(self) -> str:
        if self.refusals:
            return "refused"
        return "unreadable" if self.damaged else "no_submission"

    async def take(self, reply: Reply, calls: Sequence[ParsedCall | CallError]) -> Submission | None:
        """Carry out the calls of one reply; every one with an id gets its tool message, in order."""
        self.history.append(assistant_message(reply, calls))
        if not calls:
            self.reminded = True
            text = CUT_OFF if reply.finish_reason == "length" else REMINDER
            self.history.append({"role": "user", "content": text})
            return None
        counted = first_call(calls, SubmitItem)
        taken: Submission | None = None
        lost: list[str] = []
        for call in calls:
            if taken is not None:
                result = "not run: the item was submitted before"
            elif isinstance(call, CallError):
                self.damaged = self.damaged or call.reason != "unknown_tool"
                result = f"error: {call.reason}: {call.detail}"
                if not call.id:
                    lost.append(result)
                    continue
            elif call is counted:
                taken, result = await self._submitted(call)
            else:
                result = await self._helped(call)
            if call.id:
                self.history.append(tool_message(call.id, result))
        if lost and taken is None:
            self.history.append({"role": "user", "content": "\n".join(lost)})
        return taken

    async def _submitted(self, call: ParsedCall) -> tuple[Submission | None, str]:
        submission = _submission(call)
        refusal = await self.screen(submission)
        if refusal is None:
            return submission, "submitted"
        self.refusals.append(refusal)
        return None, f"refused: {refusal.reason}: {refusal.detail}"

    async def _helped(self, call: ParsedCall) -> str:
        match call.arguments:
            case LookUpItem(id=item_id):
                return self.look_up(item_id)
            case EvaluateExpression(expression=expression):
                return await evaluate_expression(self.sandbox, expression)
        return "not read: only the first submission of a reply counts"


def _submission(call: ParsedCall) -> Submission:
    sent = call.arguments
    assert isinstance(sent, SubmitItem)  # noqa: S101 - narrows the type; first_call chose by it
    return Submission(
        question=repair_latex(sent.question).strip(" \n"),
        answer=repair_latex(sent.answer).strip(" \n"),
        solution=repair_latex(sent.solution).strip(" \n"),
        choices=tuple(repair_latex(choice).strip(" \n") for choice in sent.choices or ()),
        rationale=repair_latex(sent.rationale).strip(" \n"),
    )
