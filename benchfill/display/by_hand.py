"""What became of items written by hand."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from rich import box
from rich.table import Table
from rich.text import Text

from benchfill.display.console import make_console, print_table
from benchfill.display.tables import STATUS_STYLE
from benchfill.display.text import interval, number, plain_text

if TYPE_CHECKING:
    from benchfill.graph.by_hand import HandResult, HandWritten

__all__ = ["print_results", "result_line"]


def result_line(written: HandWritten, result: HandResult) -> str:
    """One line an item, as it is settled."""
    name = plain_text(result.item or written.item.id)
    why = f": {plain_text(result.reason)}" if result.reason else ""
    return f"{name} {result.status.replace('_', ' ')}{why}"


def print_results(results: Sequence[HandResult], stream: TextIO | None = None) -> None:
    """A row an item on stdout."""
    table = Table(box=box.SIMPLE_HEAD)
    for header in ("item", "z", "90% interval", "attempts", "status"):
        table.add_column(header, overflow="fold", no_wrap="90%" in header)
    for result in results:
        table.add_row(
            plain_text(result.item or "-"),
            number(result.z),
            interval(result.z_lo90, result.z_hi90) or "-",
            f"{result.attempts:,}",
            Text(result.status.replace("_", " "), style=STATUS_STYLE.get(result.status, "")),
        )
    print_table(make_console(stream or sys.stdout), table)
