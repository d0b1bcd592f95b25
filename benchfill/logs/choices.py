"""Options of a multiple-choice item, and which of them a key means. A key with two readings is refused."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchfill.logs.json_records import JsonNumber

__all__ = ["KeyFault", "Options", "read_options"]

# "B", "b", "(B)", "B)" and "B." name the second option.
_LETTER = re.compile(r"\(?([A-Za-z])[).]?")
_BLANKS = re.compile(r"\s+")


class KeyFault(ValueError):
    """Options or a key that cannot be used.

    Parameters
    ----------
    kind
        ``ambiguous_key``, ``bad_key`` or ``bad_field``.
    """

    def __init__(self, kind: str, reason: str) -> None:
        self.kind = kind
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class Options:
    """Texts in order, and the labels of the source when it gave some (``A, B, C`` or ``1, 2, 3``)."""

    texts: tuple[str, ...]
    labels: tuple[str, ...] = ()

    @property
    def duplicates(self) -> bool:
        """Whether two options are the same text but for blanks."""
        return len({_BLANKS.sub("", text) for text in self.texts}) < len(self.texts)

    def letter(self, key: str | JsonNumber) -> tuple[str, bool]:
        """Letter of the option that a key means, and whether it was read as a 0-based index.

        Parameters
        ----------
        key
            A label of the source, a letter, an option's text, or the index of an option counted from 0.

        Raises
        ------
        KeyFault
            ``ambiguous_key`` when the readings differ, ``bad_key`` when there is none.
        """
        text = str(key).strip()
        if text in self.labels:
            return string.ascii_uppercase[self.labels.index(text)], False
        named = {index for index, option in enumerate(self.texts) if option.strip() == text}
        readings = set(named)
        match = _LETTER.fullmatch(text)
        if match and not self.labels:
            index = string.ascii_uppercase.index(match[1].upper())
            readings |= {index} if index < len(self.texts) else set()
        counted = text.isascii() and text.isdigit() and not self.labels and int(text) < len(self.texts)
        if counted:
            readings.add(int(text))
        if len(readings) > 1:
            raise KeyFault("ambiguous_key", f"the key {text!r} can mean {self._shown(readings)}")
        if not readings:
            raise KeyFault("bad_key", f"the key {text!r} is none of {len(self.texts)} options")
        (index,) = readings
        return string.ascii_uppercase[index], counted and not named

    def _shown(self, places: set[int]) -> str:
        return " or ".join(
            f"{string.ascii_uppercase[place]} ({self.texts[place]})" for place in sorted(places)
        )


def read_options(value: Any) -> Options:
    """Options from the forms in use: a list of texts, ``{"label": [...], "text": [...]}`` or a list of
    ``{"label", "text"}`` (ARC), or ``{"A": text, "B": text}``.

    Raises
    ------
    KeyFault
        ``bad_field``: another form, an empty or repeated label, fewer than 2 or more than 26 options.
    """
    labels: Sequence[Any] = ()
    if isinstance(value, dict) and set(value) == {"label", "text"}:
        labels, texts = value["label"], value["text"]
    elif isinstance(value, dict):
        labels, texts = list(value), list(value.values())
    elif (
        isinstance(value, list)
        and value
        and all(isinstance(each, dict) and {"label", "text"} <= set(each) for each in value)
    ):
        labels, texts = [each["label"] for each in value], [each["text"] for each in value]
    else:
        texts = value
    if not isinstance(texts, list) or not isinstance(labels, list | tuple):
        raise KeyFault("bad_field", "choices is not a list of texts")
    if not 2 <= len(texts) <= len(string.ascii_uppercase):
        raise KeyFault("bad_field", f"{len(texts)} choices; 2 to 26 are possible")
    if any(not isinstance(each, str) or not each.strip() for each in (*texts, *labels)):
        raise KeyFault("bad_field", "a choice is empty or not text")
    if labels and (len(labels) != len(texts) or len(set(labels)) < len(labels)):
        raise KeyFault("bad_field", "labels and texts of the choices do not match")
    return Options(tuple(str(each) for each in texts), tuple(str(each).strip() for each in labels))
