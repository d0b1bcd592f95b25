"""A file or folder that may be a log: looked at once, parsed once."""

from __future__ import annotations

import gzip
import json
import zlib
from functools import cached_property
from pathlib import Path
from typing import Any

from benchfill.errors import InputError
from benchfill.logs.json_records import JsonNumber
from benchfill.logs.text import Faults, read_text

__all__ = ["Source", "as_object", "decode_json"]

_HEAD = 1 << 16
# Text of logs; anything else in a folder (pictures, code, weights) is not opened.
_SUFFIXES = {".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".gz", ".eval", ".parquet"}

# NaN and Infinity, which Python's writers emit, say nothing: None. Digits stay as written.
_DECODER = json.JSONDecoder(parse_int=JsonNumber, parse_float=JsonNumber, parse_constant=lambda _: None)


def decode_json(text: str) -> Any:
    """One JSON value; numbers as `JsonNumber`, NaN and Infinity as None.

    Raises
    ------
    ValueError, RecursionError
        Not JSON, or nested too deeply.
    """
    return _DECODER.decode(text)


def as_object(value: Any) -> dict[str, Any]:
    """The value if it is a JSON object, else an empty one: what a log lacks is treated like what it leaves out."""
    return value if isinstance(value, dict) else {}


class Source:
    """A path with what is seen of it, each looked up once.

    Parameters
    ----------
    path
        File or folder.
    shown
        How messages call it.
    """

    def __init__(self, path: Path, shown: str | None = None) -> None:
        self.path = path
        self.shown = shown or str(path)

    @property
    def name(self) -> str:
        """File name without the endings ``.gz``, ``.jsonl``, ``.json``."""
        name = self.path.name
        for suffix in (".gz", ".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".eval", ".parquet"):
            name = name.removesuffix(suffix)
        return name

    @cached_property
    def is_folder(self) -> bool:
        return self.path.is_dir()

    @property
    def may_be_log(self) -> bool:
        """Whether the name's ending is one of text, JSON or table."""
        return self.path.suffix.lower() in _SUFFIXES

    @cached_property
    def magic(self) -> bytes:
        """First four bytes; empty for a folder or an unreadable file."""
        return self._start(4)

    @cached_property
    def text(self) -> str:
        """The whole text; `read_text` names what can be wrong with it."""
        return read_text(self.path)

    @cached_property
    def first(self) -> dict[str, Any] | None:
        """The first object: of a JSON Lines text, of an array, or the whole document. None without any."""
        if self.is_folder or self.magic[:2] == b"PK" or self.magic == b"PAR1":
            return None
        head = self._head()
        if not head.lstrip()[:1] or head.lstrip()[0] not in "{[":
            return None
        try:
            value = decode_json(head.lstrip().partition("\n")[0])
        except (ValueError, RecursionError):
            try:
                value = self.document
            except InputError:
                return None
        if isinstance(value, list):
            value = value[0] if value else None
        return value if isinstance(value, dict) else None

    @cached_property
    def document(self) -> Any:
        """The text as one JSON value.

        Raises
        ------
        InputError
            ``bad_json`` with the line, and what `read_text` raises.
        """
        try:
            return decode_json(self.text.strip())
        except RecursionError as error:
            raise InputError(f"{self.shown}: nested too deeply.", kind="bad_json", path=self.shown) from error
        except ValueError as error:
            line = getattr(error, "lineno", 1)
            raise InputError(
                f"{self.shown}, line {line}: not JSON ({getattr(error, 'msg', error)}).",
                "The file may be cut off; copy it again.",
                kind="bad_json",
                path=self.shown,
                lines=(line,),
            ) from error

    @cached_property
    def records(self) -> list[tuple[int, dict[str, Any]]]:
        """Objects with their one-based lines (of an array: numbers).

        Raises
        ------
        InputError
            ``bad_json_line`` with all lines, ``no_data``, and what `document` raises.
        """
        faults = Faults(self.shown)
        if self.text.lstrip().startswith("["):
            values = list(enumerate(self.document, 1))
        else:
            values = []
            for number, line in enumerate(self.text.split("\n"), 1):
                if line.strip():
                    try:
                        values.append((number, decode_json(line.strip())))
                    except (ValueError, RecursionError):
                        faults.add(
                            "bad_json_line", number, "not JSON or cut off", "Each line holds one JSON object."
                        )
        for number, value in values:
            if not isinstance(value, dict):
                faults.add("bad_json_line", number, "not an object", "Each line holds one JSON object.")
        faults.raise_any()
        if not values:
            raise InputError(f"{self.shown} holds no records.", kind="no_data", path=self.shown)
        return values

    def sibling(self, name: str) -> Source:
        """The file of this name beside a file, or in a folder."""
        folder = self.path if self.is_folder else self.path.parent
        return Source(
            folder / name, str(Path(self.shown if self.is_folder else Path(self.shown).parent) / name)
        )

    def _head(self) -> str:
        """The beginning, or the whole text when the first line is longer than that."""
        head = self._start(_HEAD)
        if b"\n" in head or len(head) < _HEAD:
            return head.decode("utf-8-sig", "replace")
        try:
            return self.text
        except InputError:
            return ""

    def _start(self, size: int) -> bytes:
        try:
            with self.path.open("rb") as file:
                start = file.read(size)
            if start.startswith(b"\x1f\x8b") and size > 4:
                with gzip.open(self.path) as packed:
                    return packed.read(size)
        except (OSError, EOFError, zlib.error):
            return b""
        return start
