"""The raw body of a chat completion: is it a usable reply, and what does it say.

Read from the bytes, because parsers above drop what is needed here (reasoning text, malformed arguments) or
raise on it. ``<think>`` blocks inside the content stay there: what of a text is the answer is for the grader.
"""

from __future__ import annotations

import email.utils
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from benchfill.errors import CallFailed, EndpointDown, RetryableCall
from benchfill.tools.adjust import change_for
from benchfill.tools.stream_body import assemble, is_stream

__all__ = ["PartRefused", "ReplyBody", "ToolCall", "fault_of", "read_reply", "reported_usage"]

# Of a server's message, for one line of ours.
MESSAGE_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool whose arguments are a JSON object; whether they fit its schema is for the caller."""

    id: str
    name: str
    arguments: dict[str, Any]


class PartRefused(CallFailed):
    """The server refuses a part of the request that a reply can be had without.

    Parameters
    ----------
    change
        What to change, as :func:`benchfill.tools.adjust.change_for` names it.
    """

    def __init__(self, message: str, reason: str, change: str) -> None:
        self.change = change
        super().__init__(message, reason)


@dataclass(frozen=True, slots=True)
class ReplyBody:
    """What a usable body says; tokens are None where the server reported no usage.

    Parameters
    ----------
    model
        The model's name as the server gives it, "" when it gives none.
    """

    content: str
    tool_calls: tuple[ToolCall, ...]
    malformed: tuple[str, ...]
    reasoning: str
    finish_reason: str
    input_tokens: int | None
    output_tokens: int | None
    model: str = ""


def fault_of(endpoint: str, status: int, headers: Mapping[str, str], body: bytes) -> CallFailed | None:
    """What is wrong with a response, None when it is a usable reply.

    Parameters
    ----------
    endpoint
        Name of the endpoint, for the message.

    Returns
    -------
    CallFailed or None
        :class:`RetryableCall` when the same call may be asked again, :class:`PartRefused` when a changed one
        may, :class:`EndpointDown` when no call to this endpoint can succeed, plain :class:`CallFailed` when
        this call cannot.
    """
    if status == 200:
        return _fault_in_200(endpoint, body)
    error = _error(_json(body))
    return _by_status(endpoint, status, error, _retry_after(headers))


def _fault_in_200(endpoint: str, body: bytes) -> CallFailed | None:
    parsed = _json(body)
    if not isinstance(parsed, dict):
        if is_stream(body):
            return RetryableCall(f"{endpoint}: the reply was cut off on its way", "truncated")
        if body.lstrip()[:1] == b"<":
            # A page for people: a proxy that wants a login, or another address than that of the API.
            return CallFailed(f"{endpoint}: the reply is a web page; is the base URL right?", "not_json")
        return RetryableCall(f"{endpoint}: the reply is not JSON; is the base URL right?", "not_json")
    choices = parsed.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    for source in (parsed, first):
        if isinstance(source, dict) and source.get("error"):
            error = _error(source)
            if error.number is not None and 400 <= error.number < 600:
                return _by_status(endpoint, error.number, error, None)
            line = f"{endpoint}: an error in a 200: {error.message or error.name}"
            return RetryableCall(line, error.name or "error_in_200")
    if first is None:
        return RetryableCall(f"{endpoint}: the reply has no choices", "no_choices")
    if not isinstance(first, dict) or not isinstance(first.get("message"), dict):
        return RetryableCall(f"{endpoint}: the reply has no message", "no_message")
    return None


def _by_status(endpoint: str, status: int, error: _Error, after: float | None) -> CallFailed:
    code, message = error.name, error.message
    line = f"{endpoint}: HTTP {status}{f' {code}' if code else ''}{f': {message}' if message else ''}"
    text = f"{code} {message}".lower()
    if status == 401:
        return EndpointDown(line, "bad_key")
    if status == 402 or "insufficient_quota" in text:
        return EndpointDown(line, "no_credit")
    if status == 403:
        # Some gateways answer 403 to a text they will not pass on; that is this call, not the endpoint.
        if "moderation" in text or "flagged" in text:
            return CallFailed(line, "content_filter")
        return EndpointDown(line, "bad_key")
    if status in (400, 404, 422) or status >= 500:
        change = change_for(message, error.param)
        if change == "tools":
            remedy = "set its tool_mode to text or json_schema, or start the server with its tool parser"
            return EndpointDown(f"{line}; {remedy}", "tools_unsupported")
        if change:
            return PartRefused(line, "unsupported_parameter", change)
    if status == 404:
        return EndpointDown(line, "unknown_model" if "model" in text else "not_found")
    if status == 429:
        return RetryableCall(line, "rate_limited", after)
    if status in (408, 409):
        return RetryableCall(line, "timeout" if status == 408 else "conflict", after)
    if status >= 500:
        return RetryableCall(line, "loading" if "loading" in text else "server_error", after)
    if any(sign in text for sign in CONTEXT_SIGNS):
        return CallFailed(line, "context_length_exceeded")
    return CallFailed(line, code or f"http_{status}")


# OpenAI, vLLM, llama.cpp: three names for a prompt that does not fit.
CONTEXT_SIGNS = ("context_length_exceeded", "maximum context length", "exceed_context_size", "context size")


@dataclass(frozen=True, slots=True)
class _Error:
    """An error body: a name for programs, a number, the parameter it is about, and the server's words."""

    name: str = ""
    number: int | None = None
    message: str = ""
    param: str = ""


def _error(parsed: Any) -> _Error:
    """Read an error body in the shapes servers give it."""
    if not isinstance(parsed, dict):
        return _Error()
    error = parsed.get("error", parsed)
    if not isinstance(error, dict):
        return _Error(message=_one_line(str(error)))
    fields = (error.get("code"), error.get("type"))
    name = next((field for field in fields if isinstance(field, str) and field), "")
    number = next((field for field in fields if isinstance(field, int)), None)
    if name.isdigit():
        name, number = "", int(name)
    name = re.sub(r"[^a-z0-9_.-]+", "_", name.lower()).strip("_")[:60]
    param = error.get("param")
    message = _one_line(str(error.get("message") or error.get("detail") or ""))
    return _Error(name, number, message, param if isinstance(param, str) else "")


def _one_line(text: str) -> str:
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= MESSAGE_CHARACTERS else text[: MESSAGE_CHARACTERS - 3] + "..."


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds the server asks to wait: a number or a date (RFC 9110), or the older ``retry-after-ms``."""
    milliseconds = headers.get("retry-after-ms", "")
    value = headers.get("retry-after", "").strip()
    try:
        if milliseconds:
            return max(0.0, float(milliseconds) / 1000)
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def read_reply(body: bytes) -> ReplyBody:
    """Read a body in which :func:`fault_of` found no fault; never raises on what a server put into it."""
    parsed = _json(body)
    choice = parsed["choices"][0]
    message = choice["message"]
    content = _text(message.get("content"))
    finish = choice.get("finish_reason")
    calls, malformed = _tool_calls(message)
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal and not content and not calls:
        content, finish = refusal, "refusal"
    tokens_in, tokens_out = reported_usage(parsed)
    return ReplyBody(
        content=content,
        tool_calls=calls,
        malformed=malformed,
        reasoning=_text(message.get("reasoning_content")) or _text(message.get("reasoning")),
        # Some servers leave it null on complete replies.
        finish_reason=finish if isinstance(finish, str) and finish else "stop",
        input_tokens=tokens_in,
        output_tokens=tokens_out,
        model=_text(parsed.get("model")),
    )


def reported_usage(parsed: Any) -> tuple[int | None, int | None]:
    """Input and output tokens of a parsed or raw body, None where they are not reported."""
    if isinstance(parsed, bytes):
        parsed = _json(parsed)
    usage = parsed.get("usage") if isinstance(parsed, dict) else None
    if not isinstance(usage, dict):
        return None, None
    counts = [usage.get("prompt_tokens"), usage.get("completion_tokens")]
    known = [n if isinstance(n, int) and not isinstance(n, bool) and n >= 0 else None for n in counts]
    return known[0], known[1]


def _text(content: Any) -> str:
    """Text of a content that is a string, or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [part.get("text") if isinstance(part, dict) else part for part in content]
        return "".join(text for text in texts if isinstance(text, str))
    return ""


def _tool_calls(message: Mapping[str, Any]) -> tuple[tuple[ToolCall, ...], tuple[str, ...]]:
    raw = message.get("tool_calls")
    entries = list(raw) if isinstance(raw, list) else []
    if not entries and isinstance(message.get("function_call"), dict):
        entries = [{"function": message["function_call"]}]
    calls: list[ToolCall] = []
    malformed: list[str] = []
    seen: set[str] = set()
    for number, entry in enumerate(entries):
        function = entry.get("function") if isinstance(entry, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        arguments = _arguments(function.get("arguments")) if isinstance(function, dict) else None
        if not isinstance(name, str) or not name or arguments is None:
            malformed.append(json.dumps(entry if function is None else function, ensure_ascii=False))
            continue
        # The id only ties the tool's answer to its call, so one of ours serves where the server gave none, or
        # the same twice.
        given = entry.get("id")
        identity = given if isinstance(given, str) and given and given not in seen else f"call_{number}"
        seen.add(identity)
        calls.append(ToolCall(identity, name, arguments))
    return tuple(calls), tuple(malformed)


def _arguments(raw: Any) -> dict[str, Any] | None:
    """Arguments as an object: JSON text as specified, or encoded twice or not at all, as some servers do."""
    for _ in range(2):
        if not isinstance(raw, str):
            break
        raw = _json(raw, _unique)
    return raw if isinstance(raw, dict) else None


def _json(text: str | bytes, pairs: Callable[[list[tuple[str, Any]]], dict[str, Any]] | None = None) -> Any:
    if isinstance(text, bytes) and is_stream(text):
        return assemble(text)
    try:
        # strict=False: a raw line feed inside a string loses nothing.
        parsed = json.loads(text, strict=False, object_pairs_hook=pairs)
        if (b"\\ud" if isinstance(text, bytes) else "\\ud") in text.lower():  # type: ignore[operator]
            # Half of a surrogate pair cannot be stored or sent: it becomes "?".
            parsed = json.loads(json.dumps(parsed, ensure_ascii=False).encode("utf-8", "replace"))
        return parsed
    except (ValueError, RecursionError):
        return None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are unique: of two answers neither is the answer."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a key appears twice")
    return fields
