"""Formats in the order in which they are tried, and those that installed packages bring."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import entry_points

from benchfill.errors import InputError
from benchfill.logs.harness.evaleval import EvalEval
from benchfill.logs.harness.evalplus import EvalPlus
from benchfill.logs.harness.evalscope import EvalScope, EvalScopeV0
from benchfill.logs.harness.exported import Exported
from benchfill.logs.harness.helm import Helm
from benchfill.logs.harness.inspect_ai import InspectAi
from benchfill.logs.harness.livecodebench import LiveCodeBench
from benchfill.logs.harness.lm_eval import LmEval
from benchfill.logs.harness.opencompass import OpenCompass
from benchfill.logs.harness.parquet import Parquet
from benchfill.logs.harness.record import LogFormat
from benchfill.logs.harness.source import Source
from benchfill.logs.harness.swebench import SweBench
from benchfill.logs.harness.tabular import ItemFileFormat, Table

__all__ = ["ENTRY_POINT_GROUP", "detect_format", "known_formats", "named_format"]

ENTRY_POINT_GROUP = "benchfill.log_formats"

_BUILT_IN: tuple[LogFormat, ...] = (
    Exported(),
    Helm(),
    InspectAi(),
    LmEval(),
    EvalScope(),
    EvalScopeV0(),
    SweBench(),
    EvalPlus(),
    LiveCodeBench(),
    OpenCompass(),
    EvalEval(),
    Parquet(),
    ItemFileFormat(),
    Table(),
)


def known_formats() -> tuple[tuple[LogFormat, ...], tuple[str, ...]]:
    """Formats, those of other packages first, and a note on each entry point that cannot be used.

    An entry point names an object of the shape of `LogFormat`, or a class that makes one.
    """
    taken = {each.name for each in _BUILT_IN}
    plugged: list[LogFormat] = []
    notes: list[str] = []
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda each: each.name):
        try:
            loaded = point.load()
            found = loaded() if isinstance(loaded, type) else loaded
        except Exception as error:
            notes.append(f"The log format {point.name!r} could not be loaded: {type(error).__name__}.")
            continue
        if not isinstance(found, LogFormat) or found.name in taken:
            notes.append(f"The log format {point.name!r} is not used: no LogFormat, or its name is taken.")
            continue
        taken.add(found.name)
        plugged.append(found)
    return (*plugged, *_BUILT_IN), tuple(notes)


def named_format(name: str, formats: Sequence[LogFormat]) -> LogFormat:
    """The format that ``--format`` names.

    Raises
    ------
    InputError
        ``unknown_format``, with the names there are.
    """
    for each in formats:
        if each.name == name:
            return each
    raise InputError(
        f"There is no log format {name!r}.",
        f"Formats are {', '.join(each.name for each in formats)}.",
        kind="unknown_format",
    )


def detect_format(source: Source, formats: Sequence[LogFormat]) -> LogFormat | None:
    """The first format that claims a file or folder."""
    return next((each for each in formats if each.detect(source)), None)
