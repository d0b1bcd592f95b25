"""The wire format of an OpenAI-compatible chat completion: requests checked, replies and errors written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Protocol

from benchfill.worlds.settings import ReplaySettings, SimulatedSettings

__all__ = ["Call", "ChatError", "ChatRequest", "Turn", "World", "encode_error", "encode_turn", "read_request"]

_ROLES = {"system", "developer", "user", "assistant", "tool"}
_CHARACTERS_A_TOKEN = 4
# Replies are a function of the request alone, so the clock stays out of them.
_CREATED = 1_700_000_000


class ChatError(Exception):
    """A request the endpoint refuses, written as OpenAI-style error JSON."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        code: str | None = None,
        param: str | None = None,
        kind: str = "invalid_request_error",
    ) -> None:
        self.message = message
        self.status = status
        self.code = code
        self.param = param
        self.kind = kind
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Call:
    """A call to a tool; ``arguments`` is the JSON text as it goes out, which a world may damage on purpose."""

    name: str
    arguments: str

    @classmethod
    def of(cls, name: str, **arguments: Any) -> Call:
        return cls(name, json.dumps(arguments, ensure_ascii=False))


@dataclass(frozen=True, slots=True)
class Turn:
    """What a model says in one turn: a text, calls, or both."""

    content: str = ""
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A checked request.

    Parameters
    ----------
    model, seed
        As sent; the seed is 0 when the request names none.
    messages
        Dicts with ``role``, ``content`` (always text) and, where given, ``tool_calls`` and ``tool_call_id``.
    tools
        Names of the tools that may be called; empty when ``tool_choice`` is ``none``.
    forced
        A tool the request insists on, "" when the choice is free.
    max_tokens
        Limit of the reply, None when there is none.
    digest
        SHA-256 of the body, hex.
    """

    model: str
    seed: int
    messages: tuple[Mapping[str, Any], ...]
    tools: frozenset[str]
    forced: str
    max_tokens: int | None
    digest: str

    def texts(self, role: str) -> list[str]:
        """Contents of all messages of a role, in order."""
        return [message["content"] for message in self.messages if message["role"] == role]


class World(Protocol):
    """What stands behind the endpoint."""

    @property
    def name(self) -> str: ...

    @property
    def models(self) -> tuple[str, ...]: ...

    @property
    def settings(self) -> SimulatedSettings | ReplaySettings: ...

    def reply(self, request: ChatRequest) -> Turn: ...


def _text(content: Any, where: str, *, may_be_absent: bool) -> str:
    if isinstance(content, str):
        return content
    if content is None and may_be_absent:
        return ""
    if isinstance(content, list) and all(
        isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)
        for part in content
    ):
        return "".join(part["text"] for part in content)
    raise ChatError(f"{where}.content must be a text or a list of text parts", param=f"{where}.content")


def _call_ids(message: Mapping[str, Any], where: str) -> list[str]:
    calls = message.get("tool_calls")
    if calls is None:
        return []
    if message["role"] != "assistant" or not isinstance(calls, list):
        raise ChatError(f"{where}.tool_calls must be a list in an assistant message", param=where)
    ids = []
    for call in calls:
        function = call.get("function") if isinstance(call, dict) else None
        if (
            not isinstance(function, dict)
            or not isinstance(call.get("id"), str)
            or not isinstance(function.get("name"), str)
            or not isinstance(function.get("arguments"), str)
        ):
            raise ChatError(f"{where}.tool_calls need id, function.name and function.arguments", param=where)
        ids.append(call["id"])
    return ids


def _read_messages(value: Any) -> tuple[Mapping[str, Any], ...]:
    if not isinstance(value, list) or not value:
        raise ChatError("'messages' must be a list with at least one message", param="messages")
    out: list[Mapping[str, Any]] = []
    pending: list[str] = []
    for place, message in enumerate(value):
        where = f"messages[{place}]"
        if not isinstance(message, dict) or message.get("role") not in _ROLES:
            raise ChatError(f"{where}.role must be one of {', '.join(sorted(_ROLES))}", param=where)
        if message["role"] == "tool":
            if message.get("tool_call_id") not in pending:
                raise ChatError(f"{where} answers no tool call of the message before it", param=where)
            pending.remove(message["tool_call_id"])
        elif pending:
            raise ChatError(f"{where}: tool call {pending[0]} has not been answered", param=where)
        else:
            pending = _call_ids(message, where)
        absent = message["role"] == "assistant"
        out.append({**message, "content": _text(message.get("content"), where, may_be_absent=absent)})
    if pending:
        raise ChatError(f"tool call {pending[0]} has not been answered", param="messages")
    return tuple(out)


def _read_tools(body: Mapping[str, Any]) -> tuple[frozenset[str], str]:
    names = []
    tools = body.get("tools")
    if tools is not None and not isinstance(tools, list):
        raise ChatError("'tools' must be a list", param="tools")
    for place, tool in enumerate(tools or []):
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise ChatError(f"tools[{place}] needs function.name", param=f"tools[{place}]")
        names.append(function["name"])
    choice = body.get("tool_choice", "auto")
    if choice in ("auto", "required", None):
        return frozenset(names), ""
    if choice == "none":
        return frozenset(), ""
    function = choice.get("function") if isinstance(choice, dict) else None
    if not isinstance(function, dict) or function.get("name") not in names:
        raise ChatError("'tool_choice' must be none, auto, required or one of the tools", param="tool_choice")
    return frozenset(names), function["name"]


def _whole_number(body: Mapping[str, Any], name: str, least: int) -> int | None:
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ChatError(f"'{name}' must be a whole number of at least {least}", param=name)
    return value


def read_request(body: bytes, models: tuple[str, ...]) -> ChatRequest:
    """Check the body of a request.

    Raises
    ------
    ChatError
        The body is no JSON object, names an unknown model, or has a field that cannot be honoured.
    """
    try:
        parsed = json.loads(body)
    except ValueError as error:
        raise ChatError("the body is not JSON") from error
    if not isinstance(parsed, dict):
        raise ChatError("the body must be a JSON object")
    model = parsed.get("model")
    if not isinstance(model, str):
        raise ChatError("'model' must be a text", param="model")
    if model not in models:
        raise ChatError(
            f"the model '{model}' does not exist", status=404, code="model_not_found", param="model"
        )
    if parsed.get("stream"):
        raise ChatError("streaming is not offered", param="stream", code="unsupported_value")
    if parsed.get("n") not in (None, 1):
        raise ChatError("'n' must be 1", param="n", code="unsupported_value")
    temperature = parsed.get("temperature")
    if temperature is not None and (
        not isinstance(temperature, int | float) or isinstance(temperature, bool) or not 0 <= temperature <= 2
    ):
        raise ChatError("'temperature' must be between 0 and 2", param="temperature")
    tools, forced = _read_tools(parsed)
    limit = _whole_number(parsed, "max_completion_tokens", 1) or _whole_number(parsed, "max_tokens", 1)
    return ChatRequest(
        model=model,
        seed=_whole_number(parsed, "seed", 0) or 0,
        messages=_read_messages(parsed.get("messages")),
        tools=tools,
        forced=forced,
        max_tokens=limit,
        digest=sha256(body).hexdigest(),
    )


def _cut(text: str, left: int | None) -> tuple[str, int | None]:
    if left is None:
        return text, None
    return text[:left], left - min(left, len(text))


def encode_turn(request: ChatRequest, turn: Turn) -> bytes:
    """The body of a reply; the same request and turn give the same bytes.

    Tokens are counted as a quarter of the characters. A reply longer than the limit is cut off and says so.
    """
    left = None if request.max_tokens is None else request.max_tokens * _CHARACTERS_A_TOKEN
    written = len(turn.content) + sum(len(call.name) + len(call.arguments) for call in turn.calls)
    cut_off = left is not None and written > left
    content, left = _cut(turn.content, left)
    message: dict[str, Any] = {"role": "assistant", "content": content or None}
    if turn.calls:
        message["tool_calls"] = calls = []
        for place, call in enumerate(turn.calls):
            arguments, left = _cut(call.arguments, left)
            calls.append(
                {
                    "id": f"call_{request.digest[:16]}{place}",
                    "type": "function",
                    "function": {"name": call.name, "arguments": arguments},
                }
            )
    asked = sum(len(message["content"]) for message in request.messages)
    tokens_in = asked // _CHARACTERS_A_TOKEN + 4 * len(request.messages)
    tokens_out = request.max_tokens if cut_off and request.max_tokens else written // _CHARACTERS_A_TOKEN + 1
    reason = "length" if cut_off else "tool_calls" if turn.calls else "stop"
    return json.dumps(
        {
            "id": f"chatcmpl-{request.digest[:24]}",
            "object": "chat.completion",
            "created": _CREATED,
            "model": request.model,
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": reason}],
            "usage": {
                "prompt_tokens": tokens_in,
                "completion_tokens": tokens_out,
                "total_tokens": tokens_in + tokens_out,
            },
        }
    ).encode()


def encode_error(error: ChatError) -> bytes:
    """The body of a refusal."""
    fields = {"message": error.message, "type": error.kind, "param": error.param, "code": error.code}
    return json.dumps({"error": fields}).encode()
