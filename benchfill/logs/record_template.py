"""A new item as a record of an existing item file: its field names, its forms of keys and options, its own columns."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from benchfill.item import Item
from benchfill.logs.choices import read_options
from benchfill.logs.constraints import constraint_key
from benchfill.logs.item_fields import Picker
from benchfill.logs.json_records import JsonNumber, plain_value

__all__ = ["RecordTemplate", "is_licence"]

_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")
_LICENCE = re.compile(r"(?i)(?:.*[._-])?licen[cs]e(?:[._-].*)?")
_INSTRUCTIONS = ("instruction_id_list", "kwargs")


def is_licence(name: str) -> bool:
    """Whether a column states a licence."""
    return _LICENCE.fullmatch(name) is not None


class RecordTemplate:
    """Writes new items as the records of a file are written.

    Parameters
    ----------
    records
        All records of the file.
    picker
        As the file was read.

    Notes
    -----
    A column that is no field of an item keeps its value where all records share one, and that of the parent where it
    states a licence. Any other is null: what is true of one item is not known of another.
    """

    def __init__(self, records: Sequence[Mapping[str, Any]], picker: Picker) -> None:
        self._picker = picker
        first = records[0]
        self._shared = {
            name: value
            for name, value in first.items()
            if len(records) > 1 and all(name in each and each[name] == value for each in records)
        }

    def record(
        self, item: Item, written_id: str | int, parent: Mapping[str, Any], *, inherits: bool = True
    ) -> dict[str, Any]:
        """The record of one item.

        Parameters
        ----------
        written_id
            Its id in the file.
        parent
            The record of the original item it came from, or is written like.
        inherits
            Whether it came from that item, so that the licence of its record holds for it.
        """
        named = self._picker.names(parent)
        values: dict[str, Any] = {"id": written_id, "question": item.question, "solution": item.solution}
        values |= {"answer_type": item.answer_type, "tolerance": item.tolerance}
        constraints = {}
        if "answer" not in named and constraint_key(parent):
            constraints = json.loads(item.answer)
            named = {field: name for field, name in named.items() if field != "answer"}
            for name, field in (("prompt", "question"), ("key", "id")):
                if name in parent and field not in named:
                    named[field] = name
        if "choices" in named:
            values["choices"] = _options_like(_at(parent, named["choices"]), item.choices)
        if "answer" in named:
            options = _at(parent, named["choices"]) if named.get("choices") else None
            values["answer"] = _key_like(_at(parent, named["answer"]), item, options, values.get("choices"))
        by_name = {name: values.get(field) for field, name in named.items()}
        by_name |= {name: constraints[name] for name in _INSTRUCTIONS if name in constraints}
        return {name: self._value(name, value, by_name, inherits) for name, value in parent.items()}

    def _value(self, name: str, of_parent: Any, by_name: Mapping[str, Any], inherits: bool) -> Any:
        if name not in by_name and name in self._shared and not _below(name, by_name):
            return plain_value(of_parent)
        return _nested_value(name, of_parent, by_name, inherits)


def _nested_value(name: str, of_parent: Any, by_name: Mapping[str, Any], inherits: bool) -> Any:
    """The value of a column: a field of the item, a licence it inherits, an object that holds such, or nothing."""
    if name in by_name:
        return by_name[name]
    below = _below(name, by_name)
    if below and isinstance(of_parent, dict):
        return {each: _nested_value(each, value, below, inherits) for each, value in of_parent.items()}
    return plain_value(of_parent) if inherits and is_licence(name) else None


def _below(name: str, by_name: Mapping[str, Any]) -> dict[str, Any]:
    """Fields that lie in the object of this name, by what they are called in it."""
    return {path[len(name) + 1 :]: value for path, value in by_name.items() if path.startswith(f"{name}.")}


def _at(record: Mapping[str, Any], name: str) -> Any:
    if name in record:
        return record[name]
    value: Any = record
    for part in name.split("."):
        value = value[part]
    return value


def _options_like(example: Any, texts: Sequence[str]) -> Any:
    """Options in the form of an example; the screening keeps their number that of the parent."""
    if isinstance(example, dict) and set(example) == {"label", "text"}:
        return {"label": list(example["label"])[: len(texts)], "text": list(texts)}
    if isinstance(example, dict):
        return dict(zip(example, texts, strict=False))
    if isinstance(example, list) and example and isinstance(example[0], dict):
        return [{**each, "text": text} for each, text in zip(example, texts, strict=False)]
    return list(texts) if texts else example


def _key_like(example: Any, item: Item, example_options: Any, options: Any) -> Any:
    """A key in the form of an example: a letter, a label, an index or an option's text; a number or text."""
    if not item.choices or item.answer_type not in ("mcq", "mcq-multi"):
        if isinstance(example, JsonNumber) and str(_number(item.answer)) == item.answer:
            return _number(item.answer)
        if isinstance(example, bool) and item.answer in ("true", "false"):
            return item.answer == "true"
        return item.answer
    letters = item.answer.split(",")
    examples = example if isinstance(example, list) else [example]
    keys = [_one_key(examples[0], letter, example_options, options) for letter in letters]
    if isinstance(example, list):
        return keys
    return keys[0] if len(keys) == 1 else ",".join(str(key) for key in keys)


def _number(text: str) -> int | float | None:
    """The number a text writes; None where it is none, or one of more digits than are kept."""
    if not _NUMBER.fullmatch(text):
        return None
    return float(text) if "." in text else int(text)


def _one_key(example: Any, letter: str, example_options: Any, options: Any) -> Any:
    of_example, of_item, place = read_options(example_options), read_options(options), ord(letter) - ord("A")
    if of_example.labels:
        return of_item.labels[place] if str(example).strip() in of_example.labels else of_item.texts[place]
    if of_example.letter(str(example))[1]:
        return place if isinstance(example, JsonNumber) else str(place)
    if any(str(example).strip() == text.strip() for text in of_example.texts):
        return of_item.texts[place]
    return letter
