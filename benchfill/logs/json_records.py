"""Strict JSON records: one object a line, or one array of objects. Numbers keep the digits they were written with."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from benchfill.errors import InputError
from benchfill.logs.text import Faults

__all__ = ["JsonNumber", "Record", "plain_value", "read_json_records"]

# Deeper structures are no record of an item or an answer, and would end in a RecursionError elsewhere.
_MAX_DEPTH = 64
_SURROGATE = re.compile("[\ud800-\udfff]")
_BLANKS = re.compile(r"[ \t\r\n]*")

Record = tuple[int, dict[str, Any]]


class JsonNumber(str):
    """A number of a JSON text, as written: no digit is lost and ``5.0`` stays ``5.0``."""

    __slots__ = ()


class _NotJson(ValueError):
    """NaN, Infinity or a key that stands twice: Python would read it, JSON does not know it."""


def _refuse_constant(name: str) -> NoReturn:
    raise _NotJson(f"{name} is no JSON")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        twice = next(key for index, (key, _) in enumerate(pairs) if key in dict(pairs[:index]))
        raise _NotJson(f"the key {twice!r} stands twice in one object")
    return record


_DECODER = json.JSONDecoder(
    parse_int=JsonNumber,
    parse_float=JsonNumber,
    parse_constant=_refuse_constant,
    object_pairs_hook=_unique_keys,
)


def read_json_records(text: str, path: str) -> list[Record]:
    """Records of a JSON Lines text or of one JSON array, with one-based lines.

    Returns
    -------
    list of (line, object)
        Numbers as `JsonNumber`.

    Raises
    ------
    InputError
        ``no_data``; ``not_json`` (NaN, Infinity, a key twice), ``bad_json_line`` (not an object, cut, glued, not
        JSON, nested too deeply) or ``bad_text`` (half of a surrogate pair), with all their lines.
    """
    if not text.strip():
        raise InputError(f"{path} is empty.", kind="no_data", path=path)
    faults = Faults(path)
    values = _array_values(text, faults) if _is_array(text) else _line_values(text, faults)
    records: list[Record] = []
    for line, value in values:
        if not isinstance(value, dict):
            faults.add("bad_json_line", line, f"{_kind_of(value)} instead of an object", _REMEDY)
            continue
        fault = _content_fault(value)
        if fault is not None:
            faults.add(fault[0], line, fault[1])
            continue
        records.append((line, value))
    faults.raise_any()
    if not records:
        raise InputError(f"{path} holds no records.", kind="no_data", path=path)
    return records


def plain_value(value: Any) -> Any:
    """A decoded value with plain numbers; one that a float cannot hold stays text."""
    if isinstance(value, JsonNumber):
        if value.lstrip("-").isdigit():
            return int(value) if len(value) < 4000 else str(value)
        number = float(value)
        return str(value) if number in (float("inf"), float("-inf")) else number
    if isinstance(value, dict):
        return {key: plain_value(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain_value(each) for each in value]
    return value


_REMEDY = "Each line holds one JSON object."


def _is_array(text: str) -> bool:
    """A text that begins with a bracket is an array, unless its first line is complete and others follow."""
    body = text.strip()
    if not body.startswith("["):
        return False
    first, _, rest = body.partition("\n")
    try:
        _DECODER.decode(first)
    except (ValueError, RecursionError):
        return True
    return not rest.strip()


def _line_values(text: str, faults: Faults) -> list[tuple[int, Any]]:
    lines = text.split("\n")
    if lines[0].strip() == "{":
        # One object written over several lines.
        lines = [text.replace("\n", " ")]
    last = max(number for number, line in enumerate(lines, 1) if line.strip())
    values = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            values.append((number, _DECODER.decode(line)))
        except RecursionError:
            faults.add("bad_json_line", number, "nested too deeply")
        except json.JSONDecodeError as error:
            reason = _explain(line.strip(), error, is_last=number == last)
            faults.add("bad_json_line", number, reason, _REMEDY)
        except _NotJson as error:
            faults.add("not_json", number, str(error), "Write null for a value that is not there.")
    return values


def _array_values(text: str, faults: Faults) -> list[tuple[int, Any]]:
    values: list[tuple[int, Any]] = []
    position = text.index("[") + 1
    line, counted = 1, 0
    try:
        while True:
            position = _skip_blanks(text, position)
            line += text.count("\n", counted, position)
            counted = position
            if text.startswith("]", position) and not values:
                position += 1
                break
            value, position = _DECODER.raw_decode(text, position)
            values.append((line, value))
            position = _skip_blanks(text, position)
            mark = text[position : position + 1]
            if mark not in (",", "]"):
                raise json.JSONDecodeError("Expecting ',' or ']'", text, position)
            position += 1
            if mark == "]":
                break
        if _skip_blanks(text, position) < len(text):
            raise json.JSONDecodeError("Text after the end of the array", text, position)
    except RecursionError:
        faults.add("bad_json_line", line, "nested too deeply")
    except json.JSONDecodeError as error:
        faults.add("bad_json_line", error.lineno, f"the JSON array breaks off: {error.msg}")
    except _NotJson as error:
        faults.add("not_json", line, str(error), "Write null for a value that is not there.")
    return values


def _skip_blanks(text: str, position: int) -> int:
    match = _BLANKS.match(text, position)
    return match.end() if match else position


def _explain(line: str, error: json.JSONDecodeError, *, is_last: bool) -> str:
    rest = line[error.pos :].strip() if error.msg == "Extra data" else ""
    if rest == ",":
        return "a comma behind the object"
    if rest.startswith("{"):
        return "two objects on one line"
    if line.startswith("{'"):
        return "a Python dict, not JSON"
    if is_last and line.startswith("{") and not line.endswith("}"):
        return "the last record is cut off"
    return f"not JSON ({error.msg.lower()} at character {error.pos + 1})"


def _content_fault(record: dict[str, Any]) -> tuple[str, str] | None:
    """Kind and reason of what a decoder lets pass but nothing downstream can hold."""
    stack: list[tuple[Any, int]] = [(record, 1)]
    while stack:
        value, depth = stack.pop()
        if depth > _MAX_DEPTH:
            return "bad_json_line", "nested too deeply"
        if isinstance(value, str):
            if _SURROGATE.search(value):
                return "bad_text", "half of a surrogate pair, which is no character"
        elif isinstance(value, dict):
            stack.extend((each, depth + 1) for pair in value.items() for each in pair)
        elif isinstance(value, list):
            stack.extend((each, depth + 1) for each in value)
    return None


def _kind_of(value: object) -> str:
    if isinstance(value, JsonNumber):
        return "a number"
    names = {str: "text", list: "an array", bool: "true or false"}
    return names.get(type(value), "null")
