"""How a request is changed for a server that refuses part of it, learned from what the server says.

Servers that speak the same interface refuse different parts of it. What one refuses is left out of every later
request to it; the key of a call stays that of the request as it was meant, so that nothing is paid again when a
later process has to learn the same.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Adjustments", "change_for"]

# Parts of a request that a reply can be had without.
OPTIONAL = (
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "seed",
    "tool_choice",
    "parallel_tool_calls",
    "response_format",
    "reasoning_effort",
    "presence_penalty",
    "frequency_penalty",
    "logprobs",
    "stop",
)
LIMITS = ("max_tokens", "max_completion_tokens")
SEND_REASONING = "send reasoning"
DROP_REASONING = "drop reasoning"

_REFUSED = re.compile(
    r"unsupported|not support|unrecognized|unknown (?:parameter|argument|field|name)|unexpected|extra inputs|"
    r"not permitted|not allowed|only the default|invalid schema|does not accept|cannot be used|is not available"
)
_NO_TOOLS = re.compile(
    r"tools param requires --jinja|does not support (?:tools|function calling|tool calling|tool use)"
    r"|tool(?:s| use| calling) (?:is|are) not supported|requires --enable-auto-tool-choice"
    r"|no endpoints found that support tool use"
)


def change_for(message: str, param: str) -> str:
    """What to change in a request, by what a server said of it.

    Parameters
    ----------
    message
        The server's message.
    param
        The parameter that it names beside the message, "" when none.

    Returns
    -------
    str
        Name of a parameter, one of the two changes to reasoning, ``tools`` when the server has no tools at all, or
        "" when no change helps.
    """
    text = message.lower()
    if _NO_TOOLS.search(text):
        return "tools"
    if "reasoning_content" in text and re.search(r"missing|required|must", text):
        return SEND_REASONING
    if "both content and thinking" in text or (
        "reasoning_content" in text and re.search(r"unexpected|extra|not (?:allowed|permitted)|unrecog", text)
    ):
        return DROP_REASONING
    if not _REFUSED.search(text):
        return ""
    root = param.split(".")[0].split("[")[0]
    named = [name for name in (*LIMITS, *OPTIONAL) if re.search(rf"(?<![a-z_]){name}(?![a-z_])", text)]
    # "Use max_completion_tokens instead" names both: the first one is the one that was refused.
    named.sort(key=lambda name: text.index(name))
    return root if root in (*LIMITS, *OPTIONAL) else next(iter(named), "")


@dataclass(slots=True)
class Adjustments:
    """What one endpoint was found to refuse.

    Parameters
    ----------
    send_reasoning
        Whether the model's reasoning goes back to it with its earlier turns.
    """

    send_reasoning: bool = False
    omitted: set[str] = field(default_factory=set)
    renamed: dict[str, str] = field(default_factory=dict)
    bare_turns: bool = False

    def learn(self, change: str) -> bool:
        """Take a change in; False when it had been made before."""
        before = (self.send_reasoning, frozenset(self.omitted), dict(self.renamed), self.bare_turns)
        if change == SEND_REASONING:
            self.send_reasoning = not self.bare_turns
        elif change == DROP_REASONING:
            self.send_reasoning, self.bare_turns = False, True
        elif change in LIMITS:
            other = LIMITS[1 - LIMITS.index(change)]
            if self.renamed.get(other) == change:
                # Neither name is taken: the limit is left out.
                self.omitted.update(LIMITS)
            self.renamed[change] = other
        elif change in OPTIONAL:
            self.omitted.add(change)
        return before != (self.send_reasoning, frozenset(self.omitted), self.renamed, self.bare_turns)

    def apply(self, body: bytes) -> bytes:
        """The body that goes out for the one that was meant."""
        reasons = b'"reasoning_content"' in body
        if not (self.omitted or self.renamed or self.bare_turns or (reasons and not self.send_reasoning)):
            return body
        parsed: dict[str, Any] = json.loads(body)
        for old, new in self.renamed.items():
            if old in parsed:
                parsed[new] = parsed.pop(old)
        for name in self.omitted:
            parsed.pop(name, None)
        parsed["messages"] = [self._turn(message) for message in parsed.get("messages", ())]
        return json.dumps(parsed, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")

    def _turn(self, message: dict[str, Any]) -> dict[str, Any]:
        if message.get("role") != "assistant":
            return message
        kept = dict(message)
        if not self.send_reasoning:
            kept.pop("reasoning_content", None)
        if self.bare_turns and kept.get("tool_calls"):
            kept["content"] = ""
        return kept
