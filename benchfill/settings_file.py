"""What is wrong with a setting, in one line that names where it was written: a line of the file, or a variable."""

from __future__ import annotations

import difflib
import os
import tomllib
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from benchfill.errors import InputError

__all__ = ["explained", "line_of"]


def explained(
    error: ValidationError, settings: type[BaseModel], flags: Mapping[str, Any], file: str
) -> InputError:
    """The first fault in one line, with the place where it was written.

    Parameters
    ----------
    settings
        The model that was validated.
    flags
        What was given on the command line.
    file
        Name of the settings file.
    """
    # The value itself is never repeated: it may be a key in the wrong place.
    first = error.errors(include_input=False, include_url=False)[0]
    at: tuple[str | int, ...] = tuple(first.get("ctx", {}).get("at", first["loc"]))
    where = ".".join(str(part + 1) if isinstance(part, int) else part for part in at)
    message = _unknown(at, settings) if first["type"] == "extra_forbidden" else first["msg"]
    variable = "BENCHFILL_" + "__".join(str(part) for part in at if isinstance(part, str)).upper()
    given: Any = flags
    for part in at:
        given = given.get(part) if isinstance(given, Mapping) else None
    named = {name.upper() for name in os.environ}
    in_environment = variable in named or any(variable.startswith(name + "__") for name in named)
    if given is None and not in_environment and Path(file).is_file():
        line = line_of(Path(file).read_text(encoding="utf-8"), at)
        if line is not None:
            return InputError(
                f"{file} line {line}: {where}: {message}.", kind="settings", path=file, lines=(line,)
            )
    return InputError(
        f"Setting {where}: {message}.",
        f"See {file}, the variable {variable} and the flags.",
        kind="settings",
    )


def _unknown(at: Sequence[str | int], settings: type[BaseModel]) -> str:
    if at[-1] == "api_key":
        return "a key never stands in the settings; api_key_env names the variable that holds it"
    section: type[BaseModel] | None = settings
    for part in at[:-1]:
        if section is not None and isinstance(part, str):
            section = _section(section, part)
    known = [] if section is None else list(section.model_fields)
    near = difflib.get_close_matches(str(at[-1]), known, n=1)
    return "there is no such setting" + (f"; the nearest name is {near[0]}" if near else "")


def _section(settings: type[BaseModel], name: str) -> type[BaseModel] | None:
    """The model of a section, also where it is optional or a list."""
    annotation = settings.model_fields[name].annotation
    for kind in (annotation, *typing.get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind
    return None


def line_of(text: str, path: Sequence[str | int]) -> int | None:
    """The line at which a setting begins, or the nearest table around it that is written down.

    Parameters
    ----------
    text
        A TOML document.
    path
        Keys, and zero-based numbers of the entries of arrays, e.g. ``("pool", 0, "temperature")``.

    Returns
    -------
    int or None
        One-based; None when not even the first key of the path is there.
    """
    # The parser of the standard library gives no positions. A prefix of the file in which a key is first seen ends
    # with the last line of its value, which begins after the last shorter prefix that was TOML.
    lines = text.splitlines(keepends=True)
    found: int | None = None
    depth = 0
    begins = 1
    for end in range(1, len(lines) + 1):
        document = _parse("".join(lines[:end]))
        if document is None:
            continue
        while depth < len(path) and _has(document, path[: depth + 1]):
            depth += 1
            found = begins
        if depth == len(path):
            break
        begins = end + 1
    return found


def _parse(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _has(document: Any, path: Sequence[str | int]) -> bool:
    for part in path:
        try:
            document = document[part]
        except (KeyError, IndexError, TypeError):
            return False
    return True
