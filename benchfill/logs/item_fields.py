"""Which field of a record is which field of an item, and what a missing one may be called instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchfill.errors import InputError
from benchfill.logs.text import listing

__all__ = ["Picker"]

# Names each field goes by, the first that is present counts.
_NAMES: dict[str, tuple[str, ...]] = {
    "id": ("id", "item_id", "item"),
    "question": ("question",),
    "answer": ("answer", "answerKey"),
    "solution": ("solution",),
    "choices": ("choices", "options"),
    "answer_type": ("answer_type",),
    "tolerance": ("tolerance",),
}
_REQUIRED = ("id", "question", "answer")
# What other sources call them: only ever hinted at, never taken.
_HINTS: dict[str, tuple[str, ...]] = {
    "id": ("docid", "taskid", "questionid", "problemid", "uid", "uniqueid", "idx", "index", "name"),
    "question": ("problem", "prompt", "input", "query", "text"),
    "answer": ("target", "gold", "expected", "expectedanswer", "reference", "label", "key", "output"),
}
_ABSENT = object()


class Picker:
    """Takes the fields of an item out of records.

    Parameters
    ----------
    mapping
        Field of an item to the name in the file, dots for nested objects.
    path
        The file, for messages.

    Raises
    ------
    InputError
        ``usage``: the mapping names a field that items do not have.
    """

    def __init__(self, mapping: Mapping[str, str], path: str) -> None:
        unknown = sorted(set(mapping) - set(_NAMES))
        if unknown:
            raise InputError(f"Items have no field {listing(unknown)}.", f"Fields are {', '.join(_NAMES)}.")
        self._mapping = dict(mapping)
        self._path = path

    def pick(self, record: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Fields that are present, by their item names, and all the others."""
        named = self.names(record)
        fields = {field: _look_up(record, name) for field, name in named.items()}
        used = set(named.values())
        return fields, {name: value for name, value in record.items() if name not in used}

    def names(self, record: Mapping[str, Any]) -> dict[str, str]:
        """What each field that is present is called in a record; dots for nested objects."""
        found: dict[str, str] = {}
        for field, names in _NAMES.items():
            for name in (self._mapping[field],) if field in self._mapping else names:
                if _look_up(record, name) is not _ABSENT:
                    found[field] = name
                    break
        return found

    def missing(self, record: Mapping[str, Any], fields: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Reason and remedy of each required field that is absent, null or empty."""
        problems = []
        near = {field: self._near_name(record, field) for field in _REQUIRED if field not in fields}
        remedy = ""
        if any(near.values()):
            found = {field: name for field, name in near.items() if name}
            options = " ".join(f"--map {field}={name}" for field, name in found.items())
            remedy = f"Near names: {', '.join(found.values())}. If they are meant: {options}"
        for field in _REQUIRED:
            value = fields.get(field, _ABSENT)
            sought = self._mapping.get(field, field)
            if value is _ABSENT:
                problems.append((f"no {sought!r}", remedy))
            elif value is None:
                problems.append((f"{sought!r} is null", ""))
            elif isinstance(value, str) and not value.strip():
                problems.append((f"{sought!r} is empty", ""))
        return problems

    @staticmethod
    def _near_name(record: Mapping[str, Any], field: str) -> str:
        wanted = {_squeeze(name) for name in _NAMES[field]} | set(_HINTS[field])
        for name in record:
            if _squeeze(name) in wanted:
                return name
        for name, value in record.items():
            for inner in value if isinstance(value, dict) else ():
                if _squeeze(inner) in wanted:
                    return f"{name}.{inner}"
        return ""


def _look_up(record: Mapping[str, Any], name: str) -> Any:
    """Value under a name, or under a dotted path of nested objects."""
    if name in record:
        return record[name]
    value: Any = record
    for part in name.split("."):
        if not isinstance(value, dict) or part not in value:
            return _ABSENT
        value = value[part]
    return value


def _squeeze(name: str) -> str:
    return "".join(character for character in name.casefold() if character.isalnum())
