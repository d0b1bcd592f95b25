"""From what a model did to validated calls, and back into the history of the conversation.

Models send numbers for texts, the text "false" for a boolean, JSON inside JSON. Where the meaning is beyond
doubt it is taken; everything else is a ``CallError`` with a text that tells the model what to do. A reply
without structured calls may hold calls as text, in the forms that ``text_calls`` knows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ValidationError

from benchfill.tools.schemas import tool_name
from benchfill.tools.text_calls import calls_in_text

if TYPE_CHECKING:
    from benchfill.tools.reply import Message, Reply

__all__ = ["CallError", "ParsedCall", "assistant_message", "first_call", "parse_calls", "tool_message"]


@dataclass(frozen=True)
class ParsedCall:
    """A call of an offered tool whose arguments fit its schema."""

    id: str
    name: str
    arguments: BaseModel
    sent: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CallError:
    """A call that cannot be carried out.

    Parameters
    ----------
    id
        Id to answer under; empty for a call so damaged that it cannot stand in the history.
    reason
        ``malformed_arguments``: not one JSON object; ``schema_violation``: an object that does not fit;
        ``unknown_tool``: a name that was not offered.
    detail
        What is wrong and what to do, written for the model.
    """

    id: str
    name: str
    reason: Literal["malformed_arguments", "schema_violation", "unknown_tool"]
    detail: str
    sent: Mapping[str, Any] = field(default_factory=dict)


def parse_calls(
    reply: Reply, schemas: Sequence[type[BaseModel]], *, alone: bool = False
) -> list[ParsedCall | CallError]:
    """Validate every tool call of a reply against the schemas that were offered.

    Parameters
    ----------
    reply
        Its ``tool_calls`` come first, in order, then its ``malformed`` ones (without id).
    schemas
        The offered tools.
    alone
        Whether a call written as text counts only when the reply holds nothing else.

    Returns
    -------
    list
        One entry a call, with ids unique within the reply. Nothing is dropped: a tool submitted twice is
        there twice, and by ``first_call`` the first valid one counts.
    """
    by_name = {tool_name(schema): schema for schema in schemas}
    calls: list[ParsedCall | CallError] = []
    used: set[str] = set()
    damaged = len(reply.malformed)
    if not reply.tool_calls and not reply.malformed:
        fields = {name: tuple(schema.model_fields) for name, schema in by_name.items()}
        written, damaged = calls_in_text(reply.content, fields, alone=alone)
        for position, made in enumerate(written):
            calls.append(_parse(f"text-{position}", made.name, made.arguments, by_name))
    for position, call in enumerate(reply.tool_calls):
        call_id = call.id if call.id and call.id not in used else f"{call.id or 'call'}-{position}"
        used.add(call_id)
        calls.append(_parse(call_id, call.name or "", call.arguments, by_name))
    detail = (
        "the arguments were not one complete JSON object; send the call again with every \\ written as \\\\"
    )
    if reply.finish_reason == "length":
        detail = "the call was cut off at the length limit; send it again, shorter"
    calls.extend(CallError("", "", "malformed_arguments", detail) for _ in range(damaged))
    return calls


def first_call(calls: Sequence[ParsedCall | CallError], schema: type[BaseModel]) -> ParsedCall | None:
    """First valid call of one tool, None when there is none. Later ones of the same reply do not count."""
    return next((c for c in calls if isinstance(c, ParsedCall) and isinstance(c.arguments, schema)), None)


def assistant_message(reply: Reply, calls: Sequence[ParsedCall | CallError]) -> Message:
    """Write the model's turn for the history, with calls that are valid JSON only.

    A server that is sent its model's damaged arguments back answers 400 for the rest of the conversation.
    """
    kept = [call for call in calls if call.id]
    message: Message = {"role": "assistant", "content": reply.content}
    if reply.reasoning:
        # Goes out only where the server wants it back.
        message["reasoning_content"] = reply.reasoning
    if kept:
        if not reply.tool_calls:
            # The text was the calls.
            message["content"] = ""
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name or "unknown", "arguments": json.dumps(dict(call.sent))},
            }
            for call in kept
        ]
    elif not reply.content.strip():
        # Several servers refuse an assistant turn that holds neither text nor calls.
        message["content"] = "(a damaged tool call)" if calls else "(no text)"
    return message


def tool_message(call_id: str, content: str) -> Message:
    """Write the result of one call for the history."""
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def _parse(
    call_id: str, name: str, arguments: object, by_name: Mapping[str, type[BaseModel]]
) -> ParsedCall | CallError:
    decoded = _decode(arguments)
    sent = decoded if isinstance(decoded, dict) else {}
    schema = by_name.get(name)
    if schema is None:
        offered = ", ".join(by_name)
        return CallError(call_id, name, "unknown_tool", f"there is no such tool; there are: {offered}", sent)
    if not isinstance(decoded, dict):
        return CallError(
            call_id, name, "malformed_arguments", "the arguments must be one JSON object; send the call again"
        )
    try:
        return ParsedCall(call_id, name, schema.model_validate(_as_meant(decoded, schema)), sent)
    except ValidationError as error:
        return CallError(call_id, name, "schema_violation", _explain(error), sent)


def _decode(arguments: object) -> object:
    """Undo up to two extra layers of JSON around the arguments; refuse repeated keys and trailing text."""
    for _ in range(2):
        if not isinstance(arguments, str):
            break
        try:
            arguments = json.loads(arguments, object_pairs_hook=_unique_keys)
        except (ValueError, RecursionError):
            return None
    return arguments


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is given twice")
    return found


def _as_meant(arguments: Mapping[str, Any], schema: type[BaseModel]) -> dict[str, Any]:
    """Change the type of a value where the schema wants another and the meaning is the same."""
    json_schema = schema.model_json_schema()
    properties = json_schema.get("properties", {})
    definitions = json_schema.get("$defs", {})
    return {key: _convert(value, properties.get(key, {}), definitions) for key, value in arguments.items()}


def _convert(value: Any, wanted: Mapping[str, Any], definitions: Mapping[str, Any]) -> Any:
    if "$ref" in wanted:
        wanted = definitions.get(str(wanted["$ref"]).rpartition("/")[2], {})
    if (
        "anyOf" in wanted
    ):  # an optional value: null stays null, else the first other branch says what is wanted
        if value is None:
            return None
        branches = [branch for branch in wanted["anyOf"] if branch.get("type") != "null"]
        return _convert(value, branches[0], definitions) if branches else value
    kind = wanted.get("type")
    if kind == "string" and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value) if math.isfinite(value) else value
    if "enum" in wanted and isinstance(value, str):
        plain = value.strip().casefold().replace(" ", "_").replace("-", "_")
        same = [option for option in wanted["enum"] if isinstance(option, str) and option.casefold() == plain]
        return same[0] if len(same) == 1 else value
    if kind in ("number", "integer") and isinstance(value, str):
        number = _decode(value.strip())
        return number if isinstance(number, int | float) and not isinstance(number, bool) else value
    if kind == "boolean" and isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().casefold(), value)
    if kind == "array":
        if isinstance(value, str) and value.lstrip().startswith("["):
            value = _decode(value) or value
        if isinstance(value, list):
            return [_convert(entry, wanted.get("items", {}), definitions) for entry in value]
    return value


def _explain(error: ValidationError) -> str:
    """One line a field, without the values sent (they may be long) and without pydantic's addresses."""
    lines = []
    for fault in error.errors(include_url=False, include_input=False)[:6]:
        place = ".".join(str(part) for part in fault["loc"]) or "arguments"
        lines.append(f"{place}: {fault['msg']}")
    return "; ".join(lines)
