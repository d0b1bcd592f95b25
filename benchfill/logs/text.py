"""Text of a user's file, and the faults found in it, collected so that one line names them all."""

from __future__ import annotations

import gzip
import re
import unicodedata
import zlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from benchfill.errors import InputError

__all__ = ["Faults", "listing", "near_duplicate_note", "read_text", "repair_escapes"]

_GZIP_MAGIC = b"\x1f\x8b"
# How many places, ids or reasons one line of text names.
_NAMED = 5
# Form feed and backspace before a letter are no text. Tab and carriage return are: only known commands count.
_ESCAPE_DAMAGE = re.compile(
    r"[\f\b](?=[A-Za-z])"
    r"|\t(?=(?:imes|heta|ext|extbf|frac|au|riangle|herefore|ilde|binom)(?![A-Za-z]))"
    r"|\r(?=(?:ight|ightarrow|ho|angle|floor|ceil)(?![A-Za-z]))"
)
_ESCAPES = {"\f": "\\f", "\b": "\\b", "\t": "\\t", "\r": "\\r"}


def read_text(path: Path | str) -> str:
    """Text of a file: UTF-8 with or without byte order mark, plain or gzip (seen by content, not by name).

    Raises
    ------
    InputError
        Kind ``missing_file``, ``is_folder``, ``unreadable``, ``corrupt_archive`` (gzip cut or damaged),
        ``bad_encoding`` (not UTF-8, with the line) or ``bad_text`` (NUL characters).
    """
    name = str(path)
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"There is no file {name}.", kind="missing_file", path=name) from error
    except IsADirectoryError as error:
        raise InputError(f"{name} is a folder; a file is needed.", kind="is_folder", path=name) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a usable file name"
        raise InputError(f"{name} cannot be read: {reason}.", kind="unreadable", path=name) from error
    if data.startswith(_GZIP_MAGIC):
        try:
            data = gzip.decompress(data)
        except (EOFError, OSError, zlib.error) as error:
            raise InputError(
                f"{name} is a gzip archive that is cut or damaged.",
                "Copy or download it again.",
                kind="corrupt_archive",
                path=name,
            ) from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{name}, line {line}: byte 0x{data[error.start]:02x} is not UTF-8 text.",
            "Save the file as UTF-8.",
            kind="bad_encoding",
            path=name,
            lines=(line,),
        ) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(
            f"{name}, line {line}: the text holds NUL characters.",
            "Save the file as UTF-8.",
            kind="bad_text",
            path=name,
            lines=(line,),
        )
    return text


@dataclass
class Faults:
    """Faults of one file, by kind, in the order in which the kinds were met."""

    path: str
    remedies: dict[str, str] = field(default_factory=dict)
    _found: defaultdict[str, list[tuple[int, str]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, kind: str, line: int, reason: str, remedy: str = "") -> None:
        """Note one fault at a one-based line; of several remedies of a kind the first is shown."""
        self._found[kind].append((line, reason))
        if remedy:
            self.remedies.setdefault(kind, remedy)

    def raise_any(self) -> None:
        """Raise the first kind of fault, with all its lines.

        Raises
        ------
        InputError
            When any fault was added.
        """
        for kind, found in self._found.items():
            places = sorted(found, key=lambda place: place[0])
            lines = tuple(dict.fromkeys(line for line, _ in places))
            reasons = list(dict.fromkeys(reason for _, reason in places))
            shown = "; ".join(reasons[:_NAMED]) + ("; ..." if len(reasons) > _NAMED else "")
            raise InputError(
                f"{self.path}, line{'s' if len(lines) > 1 else ''} {listing(lines)}: {shown}.",
                self.remedies.get(kind, ""),
                kind=kind,
                path=self.path,
                lines=lines,
            )


def listing(values: Iterable[object]) -> str:
    """The first few values and how many there are besides; text in quotes, line breaks escaped."""
    every = list(values)
    shown = ", ".join(repr(value) if isinstance(value, str) else str(value) for value in every[:_NAMED])
    return shown + (f" and {len(every) - _NAMED} more" if len(every) > _NAMED else "")


def near_duplicate_note(ids: Iterable[str], what: str) -> str:
    """A note on ids that differ only by case, surrounding blanks or Unicode form; empty when there are none."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for each in ids:
        groups[unicodedata.normalize("NFKC", each).strip().casefold()].append(each)
    near = [sorted(group) for group in groups.values() if len(group) > 1]
    if not near:
        return ""
    named = listing(each for group in sorted(near) for each in group)
    return f"Ids of {what} that differ only by case or blanks are kept apart: {named}."


def repair_escapes(text: str) -> str:
    r"""Restore LaTeX commands that were written with one backslash in JSON: form feed + ``rac`` is ``\frac``."""
    return _ESCAPE_DAMAGE.sub(lambda match: _ESCAPES[match.group(0)], text)
