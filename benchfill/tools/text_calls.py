"""Tool calls that a server left in the text of a reply.

Servers without a parser for their model hand its calls through as text, in the dialect the model was trained on:
JSON, JSON between ``<tool_call>`` tags (Hermes, Qwen), XML (Qwen3-Coder, MiniMax), or a code block. A call counts
only in one of these forms and outside of the model's reasoning; nothing that looks like arguments is searched for
inside of prose, where it may be a quotation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchfill.tools.grading.cleaning import without_thinking

__all__ = ["TextCall", "calls_in_text"]

# MiniMax M3 writes this in front of every tag.
_MARK = "]<]minimax[>["
_ENVELOPE = re.compile(r"<((?:minimax:)?(?:tool_calls?|function_calls?))>(.*?)</\1>", re.DOTALL)
_OPENING = re.compile(r"<(?:minimax:)?(?:tool_calls?|function_calls?)>|<function=|<invoke name=")
_TAG = re.compile(r"<[a-zA-Z/]")
_QWEN = re.compile(r"<function=([^<>\s]+)\s*>(.*?)</function>", re.DOTALL)
_QWEN_FIELD = re.compile(r"<parameter=([^<>\s]+)\s*>(.*?)</parameter>", re.DOTALL)
_INVOKE = re.compile(r'<invoke name="([^"<>]+)"\s*>(.*?)</invoke>', re.DOTALL)
_INVOKE_FIELD = re.compile(r'<parameter name="([^"<>]+)"\s*>(.*?)</parameter>', re.DOTALL)
_FENCE = re.compile(r"```(?:json|tool_call|tool_code|xml)?[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL)
_NAMES = ("tool", "name", "function", "tool_name")
_ARGUMENTS = ("arguments", "parameters", "args", "input")
# Longer than any call may be, and more tags than any reply needs: within both no text makes the search take long.
_LONGEST = 80_000
_MOST_TAGS = 400


@dataclass(frozen=True, slots=True)
class TextCall:
    """A call found in a text; ``arguments`` is what stood there, an object or a text that may be none."""

    name: str
    arguments: Any


@dataclass(slots=True)
class _Found:
    calls: list[TextCall] = field(default_factory=list)
    damaged: int = 0


def calls_in_text(
    content: str, tools: Mapping[str, Collection[str]], *, alone: bool
) -> tuple[list[TextCall], int]:
    """Calls that a reply holds as text, in order, and how many are damaged beyond reading.

    Parameters
    ----------
    tools
        Names of the offered tools, each with the names of its arguments.
    alone
        Whether calls count only when the reply holds nothing else: the demand on a verdict, for a reply that
        talks may quote one.

    Returns
    -------
    tuple
        Both empty when the reply is text.
    """
    text, _ = without_thinking(content)
    text = text.replace(_MARK, "").strip()
    found, rest = _Found(), text
    if _OPENING.search(text) and (len(text) > _LONGEST or len(_TAG.findall(text)) > _MOST_TAGS):
        return [], 1
    if _OPENING.search(text):
        rest = _ENVELOPE.sub(lambda match: _take(found, match.group(2), tools), rest)
        for dialect in (_QWEN, _INVOKE):
            rest = dialect.sub(lambda match: _take(found, match.group(0), tools), rest)
        # An envelope that was opened and not closed was cut off.
        found.damaged += bool(_OPENING.search(rest))
    elif text.startswith(("{", "[")):
        rest = _take_json(found, text, tools, bare=True)
        found.damaged += bool(rest) and any(f'"{name}"' in rest for name in tools)
    elif (blocks := _FENCE.findall(text)) and len(blocks) == 1:
        left = _take_json(found, blocks[0].strip(), tools, bare=True)
        rest = f"{_FENCE.sub('', text).strip()}{left}"
    if alone and rest.strip():
        return [], found.damaged
    return found.calls, found.damaged


def _take(found: _Found, body: str, tools: Mapping[str, Collection[str]]) -> str:
    """Read the body of one envelope; what replaces it in the text is nothing."""
    body = body.strip()
    functions = _QWEN.findall(body)
    invoked = _INVOKE.findall(body)
    if functions:
        for name, inner in functions:
            _take_fields(found, name, _QWEN_FIELD.findall(inner))
    elif invoked:
        for name, inner in invoked:
            _take_fields(found, name, _invoke_fields(inner, tools.get(name, ())))
    elif _take_json(found, body, tools, bare=False):
        found.damaged += 1
    return ""


def _take_fields(found: _Found, name: str, pairs: list[tuple[str, str]]) -> None:
    # The line breaks around a value only lay it out.
    fields = {key: text.removeprefix("\n").removesuffix("\n") for key, text in pairs}
    if len(fields) < len(pairs):
        found.damaged += 1
    else:
        found.calls.append(TextCall(name, fields))


def _invoke_fields(inner: str, known: Collection[str]) -> list[tuple[str, str]]:
    pairs = _INVOKE_FIELD.findall(inner)
    if not pairs and known:
        pairs = re.findall(rf"<({'|'.join(map(re.escape, known))})>(.*?)</\1>", inner, re.DOTALL)
    return pairs


def _take_json(found: _Found, text: str, tools: Mapping[str, Collection[str]], *, bare: bool) -> str:
    """Read JSON: one call, a list of calls, or one call a line; the text itself when it is none."""
    values = _values(text, by_line=not bare)
    calls = [_call(value, tools, bare=bare) for value in values or ()]
    if not calls or None in calls:
        return text
    found.calls.extend(call for call in calls if call is not None)
    return ""


def _values(text: str, *, by_line: bool) -> list[Any] | None:
    try:
        value = json.loads(text, strict=False, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        lines = [line for line in text.splitlines() if line.strip()]
        if not by_line or len(lines) < 2:
            return None
        read = [_values(line, by_line=False) for line in lines]
        return None if None in read else [value for values in read for value in values or ()]
    return value if isinstance(value, list) else [value]


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a key appears twice")
    return fields


def _call(value: Any, tools: Mapping[str, Collection[str]], *, bare: bool) -> TextCall | None:
    """One object as a call: ``{"tool": name, "arguments": {...}}`` under the names models give these keys."""
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("function"), dict):
        value = value["function"]
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)
    arguments = next((value[key] for key in _ARGUMENTS if key in value), None)
    if name is not None and isinstance(arguments, dict | str):
        return TextCall(name, arguments)
    # Where one tool is all there is, its arguments alone say the same.
    if bare and len(tools) == 1:
        ((only, fields),) = tools.items()
        if value and set(value) <= set(fields):
            return TextCall(only, value)
    return None
