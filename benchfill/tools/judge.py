"""The judge: answers the question blind, then sees key and solution and hands in a verdict.

Fails closed: an item is accepted only by a readable verdict "valid" without problems AND a blind answer that is
equivalent to the key. A verdict is a call that stands alone: it is never searched for in a text, which may quote
the item.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel

from benchfill.errors import CallFailed
from benchfill.item import Item
from benchfill.tools.expression import evaluate_expression
from benchfill.tools.latex import repair_latex
from benchfill.tools.schemas import EvaluateExpression, SubmitAnswer, SubmitVerdict, tool_name
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
    from benchfill.tools.grading import Grader
    from benchfill.tools.reply import Message, Reply
    from benchfill.tools.sandbox import Sandbox

__all__ = ["Judgement", "judge"]

BLIND_TOOLS = (EvaluateExpression, SubmitAnswer)
VERDICT_TOOLS = (SubmitVerdict,)


@dataclass(frozen=True)
class Judgement:
    """What came of judging one item.

    Parameters
    ----------
    status
        ``not_judged`` when the judge could not be reached or read, or its blind answer not be compared: that is
        no pass.
    blind_agrees
        Whether the blind answer is equivalent to the key; None when there is none or it cannot be said.
    reason
        Stable code: empty when accepted; rejected: ``problems``, ``not_valid``, ``blind_answer_differs``; not
        judged: ``no_answer``, ``no_verdict``, ``unreadable``, ``blind_answer_ungraded``, ``call_failed:<reason>``.
    remark
        The judge's own words, untrusted.
    transcript
        The messages behind the ones the conversation began with.
    """

    status: Literal["accepted", "rejected", "not_judged"]
    blind_answer: str | None
    blind_agrees: bool | None
    valid: bool | None
    problems: tuple[str, ...]
    reason: str
    transcript: list[Message] = field(default_factory=list)
    remark: str = ""


async def judge(
    client: ModelClient,
    blind: list[Message],
    reveal: Message,
    *,
    item: Item,
    grader: Grader,
    sandbox: Sandbox,
    seed: Callable[[int], int],
    tag: str,
    max_turns: int = 8,
) -> Judgement:
    """Judge one item in two phases of one conversation.

    Parameters
    ----------
    blind
        Method and question, without key and solution.
    reveal
        Key and solution; appended only after an answer was handed in.
    seed
        Seed of a turn, counted from 0 through both phases.
    tag
        Sample tag; the turns have ``{tag}/t0``, ``{tag}/t1``, ...
    max_turns
        Replies at most in both phases together, damaged ones included.

    Returns
    -------
    Judgement
        The first valid answer of a reply counts. Verdicts that differ within one reply count as none.
    """
    talk = _Talk(client, list(blind), sandbox, seed, tag, max_turns)
    began = len(blind)
    answer: str | None = None
    agrees: bool | None = None
    try:
        answered = await talk.until(SubmitAnswer, BLIND_TOOLS, None)
        if not isinstance(answered, SubmitAnswer):
            return _not_judged(talk.lack("no_answer"), None, None, talk.history[began:])
        answer = repair_latex(answered.answer).strip()
        grade = await grader.equivalent(item, answer)
        agrees = {"correct": True, "wrong": False}.get(grade.verdict)
        talk.history.append(reveal)
        talk.begin_phase()
        verdict = await talk.until(SubmitVerdict, VERDICT_TOOLS, tool_name(SubmitVerdict))
        if not isinstance(verdict, SubmitVerdict):
            return _not_judged(talk.lack("no_verdict"), answer, agrees, talk.history[began:])
    except CallFailed as error:
        return _not_judged(f"call_failed:{error.reason}", answer, agrees, talk.history[began:])
    status, reason = _decide(verdict, agrees)
    problems = tuple(dict.fromkeys(verdict.problems))
    return Judgement(
        status, answer, agrees, verdict.valid, problems, reason, talk.history[began:], verdict.reason
    )


def _decide(
    verdict: SubmitVerdict, agrees: bool | None
) -> tuple[Literal["accepted", "rejected", "not_judged"], str]:
    if verdict.problems:
        return "rejected", "problems"
    if not verdict.valid:
        return "rejected", "not_valid"
    if agrees is None:
        return "not_judged", "blind_answer_ungraded"
    return ("accepted", "") if agrees else ("rejected", "blind_answer_differs")


def _not_judged(reason: str, answer: str | None, agrees: bool | None, transcript: list[Message]) -> Judgement:
    return Judgement("not_judged", answer, agrees, None, (), reason, transcript)


class _Talk:
    """One conversation with the judge and its budget of turns."""

    def __init__(
        self,
        client: ModelClient,
        history: list[Message],
        sandbox: Sandbox,
        seed: Callable[[int], int],
        tag: str,
        max_turns: int,
    ) -> None:
        self.history = history
        self._client = client
        self._sandbox = sandbox
        self._seed = seed
        self._tag = tag
        self._max_turns = max_turns
        self._turn = 0
        self.begin_phase()

    def begin_phase(self) -> None:
        self._reminded = False
        self._damaged = False

    def lack(self, code: str) -> str:
        """Why a phase ended without its submission."""
        return "unreadable" if self._damaged else code

    async def until(
        self, wanted: type[BaseModel], tools: Sequence[type[BaseModel]], tool_choice: str | None
    ) -> BaseModel | None:
        """Go on until the wanted tool is called; None when the turns or the patience ran out."""
        while self._turn < self._max_turns:
            reply = await self._client.ask(
                self.history,
                tools=tools,
                tool_choice=tool_choice,
                seed=self._seed(self._turn),
                tag=f"{self._tag}/t{self._turn}",
            )
            self._turn += 1
            calls = parse_calls(reply, tools, alone=True)
            self.history.append(assistant_message(reply, calls))
            if not calls:
                if self._reminded:
                    return None
                self._reminded = True
                self.history.append(_reminder(reply, wanted))
                continue
            submitted = _agreed(calls, wanted)
            await self._answer(calls, wanted, submitted)
            if submitted is not None:
                return submitted.arguments
        return None

    async def _answer(
        self, calls: Sequence[ParsedCall | CallError], wanted: type[BaseModel], submitted: ParsedCall | None
    ) -> None:
        """Give every call with an id its tool message, in order."""
        lost: list[str] = []
        over = False
        for call in calls:
            if call is submitted:
                result, over = "noted", True
            elif over:
                result = "not run: your submission was noted before"
            elif isinstance(call, CallError):
                self._damaged = self._damaged or call.reason != "unknown_tool"
                result = f"error: {call.reason}: {call.detail}"
                if not call.id:
                    lost.append(result)
                    continue
            elif isinstance(call.arguments, EvaluateExpression):
                result = await evaluate_expression(self._sandbox, call.arguments.expression)
            elif submitted is None:
                self._damaged = True
                result = f"error: several different calls of {tool_name(wanted)}; call it once"
            else:
                result = "not read: only one submission of a reply counts"
            if call.id:
                self.history.append(tool_message(call.id, result))
        if lost and submitted is None:
            self.history.append({"role": "user", "content": "\n".join(lost)})


def _agreed(calls: Sequence[ParsedCall | CallError], wanted: type[BaseModel]) -> ParsedCall | None:
    """The call that counts: the first; none when verdicts of one reply contradict each other."""
    first = first_call(calls, wanted)
    if first is None or wanted is not SubmitVerdict:
        return first
    verdicts = [call.arguments for call in calls if isinstance(call, ParsedCall)]
    opinions = {(v.valid, frozenset(v.problems)) for v in verdicts if isinstance(v, SubmitVerdict)}
    return first if len(opinions) == 1 else None


def _reminder(reply: Reply, wanted: type[BaseModel]) -> Message:
    cut = "Your reply was cut off at the length limit. " if reply.finish_reason == "length" else ""
    text = f"{cut}Text outside of a tool call is not read. Call {tool_name(wanted)}."
    return {"role": "user", "content": text}
