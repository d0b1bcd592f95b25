"""A model asked as the last resort of grading, only where the comparison itself could not tell.

The verdict stands in a tool call, never in a text, which may quote the response. A model that cannot tell, contradicts
itself or cannot be reached changes nothing: the attempt stays ungraded.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from benchfill.errors import CallFailed
from benchfill.item import Item
from benchfill.tools.grading.cleaning import without_thinking
from benchfill.tools.grading.verdicts import Grade
from benchfill.tools.schemas import SubmitGrade, tool_name
from benchfill.tools.tool_calls import ParsedCall, assistant_message, parse_calls

if TYPE_CHECKING:
    from benchfill.tools.client import ModelClient
    from benchfill.tools.reply import Message, Reply

__all__ = ["LastResort", "ask_grader", "shown_response"]

# Grades a response, given the item, the response, the model and the number of the attempt; None where it cannot tell.
LastResort = Callable[[Item, str, str, int], Awaitable[Grade | None]]

TURNS = 2
# Answers stand at the end of a response.
LONGEST_RESPONSE = 8_000
_REMINDER = "Text outside of a tool call is not read. Call submit_grade, once."


def shown_response(response: str) -> str:
    """The end of a response outside of its reasoning, as the grader is shown it."""
    return without_thinking(response)[0][-LONGEST_RESPONSE:]


async def ask_grader(
    client: ModelClient, messages: Sequence[Message], *, seed: Callable[[int], int], tag: str
) -> Grade | None:
    """Let a model grade one response.

    Parameters
    ----------
    messages
        Method, item with its key, and the response.
    seed
        Seed of a turn, counted from 0.
    tag
        Sample tag; the turns have ``{tag}/t0`` and ``{tag}/t1``.

    Returns
    -------
    The grade, with ``llm_grader:`` and the model's name as its reason; None when the model cannot tell, when its
    calls contradict each other, when there are none after a reminder, or when it could not be reached.
    """
    history = list(messages)
    for turn in range(TURNS):
        try:
            reply = await client.ask(
                history,
                tools=(SubmitGrade,),
                tool_choice=tool_name(SubmitGrade),
                seed=seed(turn),
                tag=f"{tag}/t{turn}",
            )
        except CallFailed:
            return None
        given = _given(reply)
        if given:
            return _grade(given, client.endpoint.model)
        history += [assistant_message(reply, []), {"role": "user", "content": _REMINDER}]
    return None


def _given(reply: Reply) -> list[SubmitGrade]:
    calls = parse_calls(reply, (SubmitGrade,), alone=True)
    arguments = [call.arguments for call in calls if isinstance(call, ParsedCall)]
    return [each for each in arguments if isinstance(each, SubmitGrade)]


def _grade(given: Sequence[SubmitGrade], model: str) -> Grade | None:
    verdicts = {each.verdict for each in given}
    first = given[0]
    if len(verdicts) > 1 or first.verdict == "cannot_tell":
        return None
    return Grade(first.verdict, first.answer or None, f"llm_grader:{model}")
