"""Calls without the interface's tools: the same conversation for servers that have none, or have them broken.

The roles speak in tool calls. In the modes ``json_schema`` and ``text`` their tools are described in the system
message, calls and results become plain turns, and the reply is one JSON object, in the first mode held to a schema
by the server. What comes back is validated by the same code as a call of the interface.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from benchfill.errors import CallFailed, EndpointDown
from benchfill.tools.schemas import tool_name

if TYPE_CHECKING:
    from benchfill.tools.client import ModelClient
    from benchfill.tools.reply import Message

__all__ = ["MODES", "Mode", "probe", "response_format", "written_out"]

Mode = Literal["tools", "json_schema", "text"]
# In the order they are preferred.
MODES: tuple[Mode, ...] = ("tools", "json_schema", "text")

HOW = """\
# How to call a tool

Whenever you are asked to call a tool, reply with exactly one JSON object and nothing else, no code block around it:
{{"tool": "<name>", "arguments": {{...}}}}
One call a reply; its result comes with the next message. The tools:

{tools}"""


def written_out(
    messages: Sequence[Message], tools: Sequence[type[BaseModel]], tool_choice: str | None
) -> list[Message]:
    """The conversation as plain turns, with the tools described in its system message.

    Parameters
    ----------
    tools
        What may be called.
    tool_choice
        Name of the one tool that is wanted; any other value leaves the choice.
    """
    wanted = [tool for tool in tools if tool_name(tool) == tool_choice] or list(tools)
    how = HOW.format(tools="\n\n".join(map(_described, wanted))) if wanted else ""
    names: dict[str, str] = {}
    turns: list[Message] = []
    for message in messages:
        role, content = message["role"], str(message.get("content") or "")
        if role == "assistant":
            calls = message.get("tool_calls") or ()
            names.update({call["id"]: call["function"]["name"] for call in calls})
            content = "\n".join(_as_text(call["function"]) for call in calls) or content
            turn = {"role": role, "content": content}
            if "reasoning_content" in message:
                turn["reasoning_content"] = message["reasoning_content"]
            turns.append(turn)
            continue
        if role == "tool":
            role, content = "user", f"Result of {names.get(message['tool_call_id'], 'the call')}:\n{content}"
        if turns and turns[-1]["role"] == role:
            # Several templates insist on turns that alternate.
            turns[-1] = {"role": role, "content": f"{turns[-1]['content']}\n\n{content}"}
        else:
            turns.append({"role": role, "content": content})
    if how and turns and turns[0]["role"] == "system":
        turns[0] = {"role": "system", "content": f"{turns[0]['content']}\n\n{how}"}
    elif how:
        turns.insert(0, {"role": "system", "content": how})
    return turns


def _described(tool: type[BaseModel]) -> str:
    schema = json.dumps(_bare(tool.model_json_schema()), ensure_ascii=False)
    return f"## {tool_name(tool)}\n{(tool.__doc__ or '').strip()}\nArguments, as a JSON schema: {schema}"


def _as_text(function: Mapping[str, Any]) -> str:
    return json.dumps(
        {"tool": function["name"], "arguments": json.loads(function["arguments"])}, ensure_ascii=False
    )


def response_format(tools: Sequence[type[BaseModel]], tool_choice: str | None) -> dict[str, Any]:
    """The schema of a reply that is one call, in the strict subset that every server takes.

    The root is one object, every property is required and no other allowed, at every depth. Which arguments belong
    to which name a grammar does not say; that is validated behind it.
    """
    wanted = [tool for tool in tools if tool_name(tool) == tool_choice] or list(tools)
    arguments = [_strict(_bare(tool.model_json_schema())) for tool in wanted]
    schema = {
        "type": "object",
        "properties": {
            "tool": {"type": "string", "enum": [tool_name(tool) for tool in wanted]},
            "arguments": arguments[0] if len(arguments) == 1 else {"anyOf": arguments},
        },
        "required": ["tool", "arguments"],
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": "call", "strict": True, "schema": schema}}


def _bare(schema: Any) -> Any:
    """A schema without the titles and defaults that pydantic adds."""
    if isinstance(schema, list):
        return [_bare(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key not in ("title", "default")}
    properties = kept.pop("properties", None)
    plain = {key: _bare(value) for key, value in kept.items()}
    if properties is not None:
        # Names of properties are data, also one that is called "title".
        plain["properties"] = {name: _bare(value) for name, value in properties.items()}
    return plain


def _strict(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    strict = {key: _strict(value) for key, value in schema.items() if key != "description"}
    if "properties" in schema:
        strict["properties"] = {name: _strict(value) for name, value in schema["properties"].items()}
        strict |= {"required": list(schema["properties"]), "additionalProperties": False}
    return strict


class _ReportWord(BaseModel):
    """Report the word you were given."""

    model_config = ConfigDict(title="report_word", strict=True, extra="forbid", frozen=True)

    word: str = Field(description="the word, as it was given")


PROBE: list[Message] = [
    {"role": "system", "content": "You test an interface. Do exactly what you are asked."},
    {"role": "user", "content": "Call report_word with the word: harbour"},
]


async def probe(client: ModelClient) -> Mode:
    """Find out how an endpoint is asked for structured replies, by asking it.

    Returns
    -------
    str
        The first mode in which it reports the word it was given.

    Raises
    ------
    EndpointDown
        The endpoint cannot be used at all: no connection, a bad key, an unknown model.
    CallFailed
        Reason ``no_tool_mode``: it answers, and in no mode as asked.
    """
    from benchfill.tools.tool_calls import first_call, parse_calls

    said = "it gave no such call"
    for mode in MODES:
        try:
            reply = await client.ask(
                PROBE, tools=[_ReportWord], tool_choice="required", seed=0, tag=f"probe/{mode}", mode=mode
            )
        except CallFailed as error:
            if isinstance(error, EndpointDown) and error.reason != "tools_unsupported":
                raise
            said = error.message
            continue
        call = first_call(parse_calls(reply, [_ReportWord]), _ReportWord)
        if call is not None and "harbour" in str(call.sent.get("word")).lower():
            return mode
    raise CallFailed(f"{client.endpoint.name}: no structured reply in any tool mode ({said})", "no_tool_mode")
