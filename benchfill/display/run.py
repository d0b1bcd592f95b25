"""Which display shows a run, and the result that stays when it ends."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Literal, Protocol, Self, TextIO

from rich.console import Console
from rich.text import Text

from benchfill.display.console import make_console, print_table
from benchfill.display.live import FullDisplay
from benchfill.display.ndjson import NdjsonDisplay
from benchfill.display.no_answer import print_no_answer
from benchfill.display.plain import PlainDisplay
from benchfill.display.tables import coverage_table, gap_check_line, missing_line, result_table, totals_line
from benchfill.display.text import plain_text

__all__ = ["Display", "Mode", "choose_mode", "make_display", "print_result"]

Mode = Literal["auto", "full", "plain", "json"]


class Display(Protocol):
    """Shows the events of a run between entering and leaving it."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def __call__(self, event: Mapping[str, Any]) -> None: ...


def choose_mode(mode: Mode, stderr: TextIO) -> Literal["full", "plain", "json"]:
    """The mode itself, or for ``auto`` what the terminal can show.

    Full needs a terminal that can move its cursor and write the axis: not a pipe, not ``TERM=dumb``, not an
    encoding without its characters. ``FORCE_COLOR`` asks for colours, never for an animation in a file.
    """
    if mode != "auto":
        return mode
    unicode = (getattr(stderr, "encoding", None) or "").lower().replace("-", "").startswith("utf")
    terminal = stderr.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")
    return "full" if terminal and unicode else "plain"


def make_display(mode: Mode, *, stdout: TextIO, stderr: TextIO) -> Display:
    """A display for a run: events in, progress on `stderr`, the result on `stdout`.

    Parameters
    ----------
    mode
        ``full`` (live picture), ``plain`` (one line an event), ``json`` (NDJSON on `stdout` and nothing
        else), or ``auto`` (full on a terminal, else plain).
    """
    chosen = choose_mode(mode, stderr)
    if chosen == "json":
        return NdjsonDisplay(stdout)
    console = make_console(stderr, animated=chosen == "full")
    shown = FullDisplay(console) if chosen == "full" else PlainDisplay(console)
    return _WithResult(shown, lambda event, world: print_result(make_console(stdout), event, world=world))


def print_result(console: Console, summary: Mapping[str, Any], *, world: str | None = None) -> None:
    """What came of a run: its gaps, the coverage before and after, totals, and the command that exports."""
    # These figures are copied to where nobody sees who answered.
    beside = " (simulated)" if world == "simulated" else ""
    print_table(console, result_table(summary["gaps"], beside))
    print_table(console, coverage_table(summary["before"], summary["after"], summary["oracle"], beside))
    # Summaries of runs of before have none.
    if summary.get("gap_check"):
        console.print(Text(gap_check_line(summary["gap_check"])), soft_wrap=True)
    if "no_answer" in summary:
        print_no_answer(console, summary["no_answer"], axis="z")
    console.print(Text(totals_line(summary["totals"])), soft_wrap=True)
    missing = missing_line(summary.get("missing", {}))
    if missing:
        console.print(Text(missing, style="yellow"), soft_wrap=True)
    console.print(Text(f"export: {plain_text(summary['export'])}"), soft_wrap=True)


class _WithResult:
    """A display of progress, and the result once it has come."""

    def __init__(self, progress: Display, result: Callable[[Mapping[str, Any], str | None], None]) -> None:
        self._progress = progress
        self._result = result
        self._world: str | None = None

    def __enter__(self) -> Self:
        self._progress.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.__exit__(kind, error, trace)

    def __call__(self, event: Mapping[str, Any]) -> None:
        self._progress(event)
        if event["event"] == "run_started":
            self._world = event["world"]
        elif event["event"] == "summary":
            self._result(event, self._world)
