"""A case of grading as users write it: reference, response, answer type, choices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchfill.errors import InputError
from benchfill.item import ANSWER_TYPES, Item, custom_types, is_built_in
from benchfill.tools.grading.kinds import infer_answer_type
from benchfill.tools.grading.shuffle import shown_item

__all__ = ["read_case"]


def read_case(record: Mapping[str, Any], path: str, line: int) -> tuple[Item, str, str]:
    """Item, response and finish reason of one case.

    Parameters
    ----------
    record
        ``reference`` (text, number, or a list: accepted answers, or for several right options all letters),
        ``response``, optional ``id`` (else the line), ``answer_type`` (else by the form of the reference),
        ``choices`` (list, or letter to text), ``tolerance``, ``finish_reason`` and ``shown_order``.
    path, line
        Where it stands, for messages.

    Raises
    ------
    InputError
        ``missing_field`` or ``bad_field``.
    """

    def fail(message: str, kind: str = "bad_field") -> InputError:
        return InputError(f"{path}, line {line}: {message}", kind=kind, path=path, lines=(line,))

    for field in ("reference", "response"):
        if record.get(field) is None:
            raise fail(f"the case has no {field}.", "missing_field")
    if not isinstance(record["response"], str):
        raise fail("response is not text.")
    references = record["reference"] if isinstance(record["reference"], list) else [record["reference"]]
    keys = [str(reference) for reference in references]
    choices = _choices(record.get("choices"))
    if choices is None:
        raise fail("choices are neither a list nor letters with texts.")
    if not keys or any(isinstance(reference, dict | list) for reference in references):
        raise fail("reference is neither an answer nor a list of answers.")
    answer_type = record.get("answer_type") or infer_answer_type(keys[0], choices)
    if not is_built_in(answer_type) and answer_type not in custom_types():
        known = ", ".join((*ANSWER_TYPES, *custom_types()))
        raise fail(f"there is no answer type {answer_type!r} ({known}).")
    several = answer_type == "mcq-multi"
    item = Item(
        id=str(record.get("id", line)),
        question="",
        answer=",".join(keys) if several else keys[0],
        choices=choices,
        answer_type=answer_type,
        tolerance=_tolerance(record.get("tolerance"), fail),
        extra={} if several else {"accepted_answers": tuple(keys[1:])},
    )
    order = record.get("shown_order")
    if order:
        try:
            item = shown_item(item, [int(place) for place in order])
        except (ValueError, TypeError) as error:
            raise fail(f"{error}.") from error
    return item, record["response"], str(record.get("finish_reason") or "stop")


def _choices(raw: Any) -> tuple[str, ...] | None:
    if raw is None:
        return ()
    if isinstance(raw, dict):
        letters = sorted(raw)
        in_order = letters == [chr(65 + index) for index in range(len(letters))]
        return tuple(str(raw[letter]) for letter in letters) if in_order else None
    return tuple(str(choice) for choice in raw) if isinstance(raw, list) else None


def _tolerance(raw: Any, fail: Any) -> float | None:
    if raw is None:
        return None
    try:
        tolerance = float(raw)
    except (TypeError, ValueError):
        tolerance = -1.0
    if not 0 <= tolerance < 1:
        raise fail(f"tolerance {raw!r} is no relative tolerance.")
    return tolerance
