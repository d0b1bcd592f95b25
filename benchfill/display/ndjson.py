"""Events for programs: one JSON object a line on stdout."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from types import TracebackType
from typing import Any, TextIO

__all__ = ["VERSION", "NdjsonDisplay", "event_line"]

VERSION = 1


def event_line(event: Mapping[str, Any]) -> str:
    """One event as a line of JSON (ASCII, so that no encoding of stdout harms it); undefined is null."""
    return json.dumps({"v": VERSION, **_defined(event)}, allow_nan=False, separators=(",", ":"))


def _defined(value: Any) -> Any:
    # JSON has no NaN or infinity, and a reader must not have to know Python's spelling of them.
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _defined(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_defined(inner) for inner in value]
    return value


class NdjsonDisplay:
    """Writes every event to stdout and flushes it; nothing else is written there."""

    def __init__(self, stdout: TextIO) -> None:
        self._stdout = stdout

    def __enter__(self) -> NdjsonDisplay:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def __call__(self, event: Mapping[str, Any]) -> None:
        self._stdout.write(event_line(event) + "\n")
        self._stdout.flush()
