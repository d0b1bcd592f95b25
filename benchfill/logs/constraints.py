"""Instruction-following items as their data sets and harnesses write them: constraints beside the prompt, no answer."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from typing import Any

from benchfill.logs.json_records import plain_value

__all__ = ["constraint_key", "is_constraint_key", "with_constraints"]

_NAMES, _ARGUMENTS = "instruction_id_list", "kwargs"


def constraint_key(record: Mapping[str, Any]) -> str:
    """The constraints of a record as the key of an item, empty when it has none.

    Arguments that are null are left out: a table has a column for each argument of any constraint.
    """
    if not isinstance(record.get(_NAMES), list) or not isinstance(record.get(_ARGUMENTS), list):
        return ""
    arguments = [
        {name: value for name, value in each.items() if value is not None} if isinstance(each, dict) else {}
        for each in plain_value(record[_ARGUMENTS])
    ]
    return json.dumps({_NAMES: plain_value(record[_NAMES]), _ARGUMENTS: arguments}, ensure_ascii=False)


def is_constraint_key(answer: str) -> bool:
    """Whether a key is written as `constraint_key` writes it."""
    return answer.lstrip().startswith("{") and f'"{_NAMES}"' in answer


def with_constraints(record: dict[str, Any], mapped: Container[str]) -> dict[str, Any]:
    """A record of an item file with its constraints as ``answer``, ``prompt`` as its question and ``key`` as its id.

    Parameters
    ----------
    mapped
        Names in the file that the user has given another meaning to.

    Returns
    -------
    The record itself when it has an answer or no constraints.
    """
    key = "" if "answer" in record else constraint_key(record)
    if not key:
        return record
    made = {name: value for name, value in record.items() if name not in (_NAMES, _ARGUMENTS)}
    made.update(answer=key, answer_type="instructions")
    for name, field in (("prompt", "question"), ("key", "id")):
        if name in made and field not in made and name not in mapped:
            made[field] = made.pop(name)
    return made
