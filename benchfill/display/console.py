"""Consoles and tables that hold whatever the terminal: its width, its encoding, foreign text."""

from __future__ import annotations

from typing import TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = ["make_console", "print_table"]


def make_console(stream: TextIO, *, animated: bool = False) -> Console:
    """A console that never interprets data and never fails for a character its encoding lacks."""
    encoding = (getattr(stream, "encoding", None) or "utf-8").lower()
    reconfigure = getattr(stream, "reconfigure", None)
    if not encoding.startswith("utf") and reconfigure is not None:
        reconfigure(errors="replace")
    return Console(
        file=stream, markup=False, emoji=False, highlight=False, force_interactive=animated or None
    )


def print_table(console: Console, table: Table) -> None:
    """Print a table, or where its words would be broken for lack of columns, each row as a list of its cells."""
    if _least_width(table) <= console.width:
        console.print(table)
        return
    if table.title:
        console.print(Text(str(table.title), style="bold"))
    headers = [str(column.header) for column in table.columns]
    longest = max(len(header) for header in headers)
    for row in zip(*(column.cells for column in table.columns), strict=True):
        for header, cell in zip(headers, row, strict=True):
            value = cell if isinstance(cell, Text) else Text(str(cell))
            console.print(Text.assemble((header.ljust(longest), "dim"), "  ", value), soft_wrap=True)
        console.print()


def _least_width(table: Table) -> int:
    """Columns the table needs so that it breaks between words only, and intervals not at all."""
    total = 1
    for column in table.columns:
        cells = [cell.plain if isinstance(cell, Text) else str(cell) for cell in column.cells]
        whole = cells if column.no_wrap else [word for cell in cells for word in cell.split()]
        total += 2 + max(cell_len(text) for text in (*str(column.header).split(), *whole))
    return total
