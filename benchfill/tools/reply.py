"""What a model replied, as the roles read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchfill.tools.reply_body import ReplyBody, ToolCall

__all__ = ["Message", "Reply", "reply_of"]

# OpenAI chat message: role, content, tool_calls, tool_call_id.
Message = dict[str, Any]

CHARACTERS_A_TOKEN = 6


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model replied.

    Parameters
    ----------
    tool_calls
        Calls whose arguments are JSON objects.
    malformed
        Calls that are none, as text.
    reasoning
        The server's separate reasoning text; never graded.
    input_tokens, output_tokens
        0 when the server reported no usage.
    from_ledger, key
        Whether the reply was paid for earlier, and its key in the ledger.
    context_cut
        Whether the server seems to have cut the prompt to its context without a word: then it answers to something
        else than what was asked.
    """

    content: str
    tool_calls: tuple[ToolCall, ...]
    malformed: tuple[str, ...]
    reasoning: str
    finish_reason: str
    input_tokens: int
    output_tokens: int
    from_ledger: bool
    key: str
    context_cut: bool = False


def reply_of(body: ReplyBody, messages: Sequence[Message], *, from_ledger: bool, key: str) -> Reply:
    """The reply in a usable body; tokens that the server did not report count as 0."""
    return Reply(
        content=body.content,
        tool_calls=body.tool_calls,
        malformed=body.malformed,
        reasoning=body.reasoning,
        finish_reason=body.finish_reason,
        input_tokens=body.input_tokens or 0,
        output_tokens=body.output_tokens or 0,
        from_ledger=from_ledger,
        key=key,
        context_cut=_context_cut(messages, body),
    )


def _context_cut(messages: Sequence[Message], body: ReplyBody) -> bool:
    """Whether a reply ends exactly at a usual size of a context and read far fewer tokens than were sent."""
    total = (body.input_tokens or 0) + (body.output_tokens or 0)
    usual = total >= 2048 and total & (total - 1) == 0
    # English takes about four characters a token, other scripts fewer: six are beyond doubt.
    sent = sum(len(str(message.get("content") or "")) for message in messages)
    return usual and sent > CHARACTERS_A_TOKEN * (body.input_tokens or 0)
