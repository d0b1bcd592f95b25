"""Where in a TOML file a setting stands, so that a message can name its line."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any

__all__ = ["line_of"]


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
