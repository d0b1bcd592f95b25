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
    """Print a table, or where its words would be broken for lack of columns, each row as a list of its cells.

    A table that does not fit in one line a row gives way where words end: no column is narrower than its longest word.
    """
    least, natural = _widths(table)
    spare = console.width - sum(least) - _overhead(table)
    if spare >= 0:
        # Whoever lacks least is served first, so that as few columns as can be have cells of several lines.
        for column, low, high in sorted(
            zip(table.columns, least, natural, strict=True), key=lambda c: c[2] - c[1]
        ):
            column.width = low + min(high - low, spare)
            spare -= column.width - low
        console.print(table)
        return
    if table.title:
        console.print(Text(str(table.title), style="bold"))
    headers = [str(column.header) for column in table.columns]
    longest = max(len(header) for header in headers)
    for row in _whole_rows(table):
        for header, value in zip(headers, row, strict=True):
            if value.plain:
                console.print(Text.assemble((header.ljust(longest), "dim"), "  ", value), soft_wrap=True)
        console.print()


def _whole_rows(table: Table) -> list[list[Text]]:
    """Rows that can stand alone: without a name of its own a row is about that above it, with its own or with more."""
    rows: list[list[Text]] = []
    for row in zip(*(column.cells for column in table.columns), strict=True):
        cells = [cell if isinstance(cell, Text) else Text(str(cell)) for cell in row]
        if rows and len(cells) > 1 and not cells[0].plain and not cells[1].plain:
            rows[-1] = [
                Text(" ").join(each for each in pair if each.plain)
                for pair in zip(rows[-1], cells, strict=True)
            ]
        elif rows and not cells[0].plain:
            rows.append([rows[-1][0], *cells[1:]])
        else:
            rows.append(cells)
    return rows


def _widths(table: Table) -> tuple[list[int], list[int]]:
    """What each column needs where cells break between words only (intervals not at all), and where they do not."""
    least, natural = [], []
    for column in table.columns:
        cells = [
            cell.plain if isinstance(cell, Text) else str(cell) for cell in (column.header, *column.cells)
        ]
        whole = cells if column.no_wrap else [word for cell in cells for word in cell.split()]
        least.append(max(map(cell_len, whole), default=0))
        natural.append(max(cell_len(line) for cell in cells for line in cell.split("\n")))
    return least, natural


def _overhead(table: Table) -> int:
    """What padding, dividers and edges take."""
    _, right, _, left = table.padding
    return 1 + len(table.columns) * (left + right + 1)
