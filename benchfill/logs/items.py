"""Item files: JSON Lines or one JSON array, plain or gzip, with the names of fields that users have."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchfill.calibration.response_log import ResponseLog
from benchfill.errors import InputError
from benchfill.item import ANSWER_TYPES, Item, custom_types, is_built_in
from benchfill.logs.answer_types import infer_answer_type
from benchfill.logs.choices import KeyFault, Options, read_options
from benchfill.logs.constraints import with_constraints
from benchfill.logs.item_fields import Picker
from benchfill.logs.json_records import JsonNumber, plain_value, read_json_records
from benchfill.logs.text import Faults, listing, near_duplicate_note, read_text, repair_escapes

__all__ = ["ItemFile", "check_items_cover", "parse_mapping", "read_items"]


@dataclass(frozen=True, slots=True)
class ItemFile:
    """Items sorted by id, and what was noticed or repaired, one sentence each."""

    items: tuple[Item, ...]
    notes: tuple[str, ...] = ()


def read_items(path: Path | str, *, mapping: Mapping[str, str] | None = None) -> ItemFile:
    """Read the items of a benchmark.

    Parameters
    ----------
    path
        Objects with ``id | item_id | item``, ``question``, ``answer`` (or ``answerKey``) and, optionally,
        ``solution``, ``choices``, ``answer_type``, ``tolerance``. Other fields are carried along in ``extra``.
        ``instruction_id_list`` and ``kwargs`` stand for an answer of the type ``instructions``; beside them
        ``prompt`` and ``key`` are question and id.
    mapping
        Field of an item to the name in the file, dots for nested objects, e.g. ``{"question": "doc.problem"}``.

    Returns
    -------
    ItemFile
        Ids and numeric keys as text with the digits of the file.

    Raises
    ------
    InputError
        ``missing_field`` (absent, null or empty; near names are hinted at), ``bad_field``, ``ambiguous_key``,
        ``bad_key``, ``duplicate_item`` and the kinds of `read_text` and `read_json_records`; with all lines.
    """
    name = str(path)
    picker = Picker(mapping or {}, name)
    records = read_json_records(read_text(path), name)
    faults = Faults(name)
    reader = _ItemReader(picker, faults)
    places: dict[str, tuple[int, Item]] = {}
    repeated: list[str] = []
    mapped = frozenset((mapping or {}).values())
    for line, record in records:
        item = reader.read(line, with_constraints(record, mapped))
        if item is None:
            continue
        first = places.setdefault(item.id, (line, item))
        if first[1] is item:
            continue
        if first[1] == item:
            repeated.append(item.id)
        else:
            for place in (first[0], line):
                faults.add("duplicate_item", place, f"two items have the id {item.id!r}", "Ids are unique.")
    faults.raise_any()
    items = tuple(places[each][1] for each in sorted(places))
    notes = reader.notes()
    if repeated:
        notes.append(f"{len(repeated)} exact duplicate(s) left out: {listing(repeated)}.")
    notes.append(near_duplicate_note(places, "items"))
    return ItemFile(items, tuple(note for note in notes if note))


class _ItemReader:
    """Turns records into items; keeps the ids that a note has to name."""

    def __init__(self, picker: Picker, faults: Faults) -> None:
        self._picker = picker
        self._faults = faults
        self._repaired: list[str] = []
        self._duplicate_options: list[str] = []
        self._indexed: list[str] = []

    def read(self, line: int, record: dict[str, Any]) -> Item | None:
        """The item of one record; None when a fault was noted."""
        fields, extra = self._picker.pick(record)
        problems = self._picker.missing(record, fields)
        for reason, remedy in problems:
            self._faults.add("missing_field", line, reason, remedy)
        if problems:
            return None
        try:
            return self._item(fields, extra)
        except KeyFault as error:
            remedy = "Write the letter of the right option." if error.kind == "ambiguous_key" else ""
            self._faults.add(error.kind, line, f"item {str(fields['id'])!r}: {error}", remedy)
            return None

    def notes(self) -> list[str]:
        """Sentences on what was repaired, and on what deserves a look."""
        found = (
            (
                self._repaired,
                "LaTeX damaged by JSON escapes (one backslash where two are needed) repaired in",
            ),
            (self._duplicate_options, "Options that are the same text in"),
            (self._indexed, "Keys read as the index of an option, counted from 0, in"),
        )
        return [f"{text} {listing(ids)}." for ids, text in found if ids]

    def _item(self, fields: dict[str, Any], extra: dict[str, Any]) -> Item:
        name = _text(fields["id"], "id")
        options = read_options(fields["choices"]) if fields.get("choices") not in (None, []) else None
        answer_type, answer = self._key(name, fields, options)
        texts = {
            "question": _text(fields["question"], "question"),
            "answer": answer,
            "solution": "" if fields.get("solution") is None else _text(fields["solution"], "solution"),
        }
        choices = options.texts if options else ()
        repaired = {field: repair_escapes(text) for field, text in texts.items()}
        repaired_choices = tuple(repair_escapes(text) for text in choices)
        if repaired != texts or repaired_choices != choices:
            self._repaired.append(name)
        if options and options.duplicates:
            self._duplicate_options.append(name)
        return Item(
            id=name,
            **repaired,
            choices=repaired_choices,
            answer_type=answer_type,
            tolerance=_tolerance(fields.get("tolerance")),
            extra=plain_value(extra),
        )

    def _key(self, name: str, fields: dict[str, Any], options: Options | None) -> tuple[str, str]:
        stated, key = fields.get("answer_type"), fields["answer"]
        if stated is not None and not (is_built_in(stated) or stated in custom_types()):
            known = ", ".join((*ANSWER_TYPES, *custom_types()))
            raise KeyFault("bad_field", f"answer_type {str(stated)!r} is none of {known}")
        if stated == "instructions" and isinstance(key, dict):
            key = json.dumps(plain_value(key), ensure_ascii=False)
        if options is None:
            if stated in ("mcq", "mcq-multi"):
                raise KeyFault("bad_field", f"answer_type {stated} without choices")
            text = _text(key, "answer")
            return stated or infer_answer_type(text, choices=False), text
        if isinstance(key, list) or stated == "mcq-multi":
            parts = key if isinstance(key, list) else [part for part in str(key).split(",") if part.strip()]
            letters = sorted({options.letter(_text(part, "answer"))[0] for part in parts})
            if not letters:
                raise KeyFault("bad_key", "the key names no option")
            return "mcq-multi", ",".join(letters)
        if stated not in (None, "mcq"):
            return stated, _text(key, "answer")
        letter, indexed = options.letter(_text(key, "answer"))
        if indexed:
            self._indexed.append(name)
        return "mcq", letter


def _text(value: Any, field: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | JsonNumber):
        return str(value)
    kind = "a list" if isinstance(value, list) else "an object" if isinstance(value, dict) else "empty"
    raise KeyFault("bad_field", f"{field} is {kind}; text is needed")


def _tolerance(value: Any) -> float | None:
    if value is None:
        return None
    try:
        number = float(value) if not isinstance(value, bool) else math.nan
    except (TypeError, ValueError):
        number = math.nan
    if not 0.0 <= number < math.inf:
        raise KeyFault("bad_field", f"tolerance is {str(value)!r}; a number from 0 on is needed")
    return number


def parse_mapping(pairs: Iterable[str]) -> dict[str, str]:
    """Mapping of fields from texts such as ``question=doc.problem``.

    Raises
    ------
    InputError
        A text has no ``=``, or a side is empty; `read_items` checks the fields.
    """
    mapping: dict[str, str] = {}
    for pair in pairs:
        field, mark, source = (part.strip() for part in pair.partition("="))
        if not (field and mark and source):
            raise InputError(f"--map {pair!r} is not FIELD=NAME.", "For example: --map question=doc.problem")
        mapping[field] = source
    return mapping


def check_items_cover(items: Sequence[Item], log: ResponseLog) -> tuple[str, ...]:
    """Hold a log against the items it is about.

    Returns
    -------
    tuple of str
        Notes: items of the log that are not in the file, for the caller to leave out, and items nobody was asked.

    Raises
    ------
    InputError
        ``items_not_in_log`` when the log lacks any of the items, which are named.
    """
    wanted, known = {item.id for item in items}, set(log.items)
    absent = sorted(wanted - known)
    if absent:
        shared = len(wanted & known)
        raise InputError(
            f"The response log lacks {len(absent)} of {len(wanted)} items: {listing(absent)}."
            + ("" if shared else f" Its own ids look like {listing(log.items[:2])}."),
            "Use the log of this benchmark, or leave these items out of the file."
            if shared
            else "The ids of both files must agree; --map id=FIELD names another field of the items.",
            kind="items_not_in_log",
        )
    notes = []
    beyond = sorted(known - wanted)
    if beyond:
        notes.append(
            f"{len(beyond)} items of the log are not in the item file and left out: {listing(beyond)}."
        )
    silent = np.flatnonzero(~np.any(log.attempts, axis=0)).tolist()
    unanswered = [log.items[index] for index in silent if log.items[index] in wanted]
    if unanswered:
        notes.append(f"{len(unanswered)} items that no model was asked: {listing(unanswered)}.")
    return tuple(notes)
