"""Requests as a client sends them, and the sample, for the tests of the worlds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from benchfill.item import Item
from benchfill.tools.schemas import (
    EvaluateExpression,
    LookUpItem,
    SubmitAnswer,
    SubmitItem,
    SubmitVerdict,
    tool_name,
)
from benchfill.worlds.chat import Turn, World, read_request
from benchfill.worlds.simulated import SAMPLE_ITEMS

REWRITER_TOOLS = tuple(map(tool_name, (LookUpItem, EvaluateExpression, SubmitItem)))
BLIND_TOOLS = tuple(map(tool_name, (EvaluateExpression, SubmitAnswer)))
VERDICT_TOOLS = (tool_name(SubmitVerdict),)
PROBLEMS = set(SubmitVerdict.model_json_schema()["properties"]["problems"]["items"]["enum"])


def sample() -> list[Item]:
    lines = SAMPLE_ITEMS.read_text(encoding="utf-8").splitlines()
    return [Item(**json.loads(line)) for line in lines]


def body(
    model: str, messages: Sequence[dict[str, Any]], *, tools: Sequence[str] = (), **fields: Any
) -> bytes:
    offered = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in tools]
    given = {"model": model, "messages": list(messages), **({"tools": offered} if tools else {}), **fields}
    return json.dumps(given).encode()


def ask(
    world: World, model: str, messages: Sequence[dict[str, Any]], *, tools: Sequence[str] = (), **fields: Any
) -> Turn:
    return world.reply(read_request(body(model, messages, tools=tools, **fields), world.models))


def answered(turn: Turn, *results: str) -> list[dict[str, Any]]:
    """A turn as the client stores it, with the results of its calls."""
    calls = [
        {"id": f"c{k}", "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for k, call in enumerate(turn.calls)
    ]
    said = {"role": "assistant", "content": turn.content or None, **({"tool_calls": calls} if calls else {})}
    tool = [{"role": "tool", "tool_call_id": f"c{k}", "content": text} for k, text in enumerate(results)]
    return [said, *tool]
