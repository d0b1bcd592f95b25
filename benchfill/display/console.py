"""Consoles and tables that hold whatever the terminal: its width, its encoding, foreign text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table
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
    room = console.width - _overhead(table)
    columns = [_cells(column) for column in table.columns]
    whole = [_whole_width(column) for column in table.columns]
    if sum(whole) <= room:
        console.print(table)
        return
    if sum(_width(cells, None) for cells in columns) <= room:
        # As many lines a cell as are needed, and no more; what is left over goes to whoever lacks least.
        lines = 1
        while sum(widths := [_width(cells, lines) for cells in columns]) > room:
            lines += 1
        spare = room - sum(widths)
        for at in sorted(range(len(columns)), key=lambda at: whole[at] - widths[at]):
            more = min(whole[at] - widths[at], spare)
            table.columns[at].width = widths[at] + more
            spare -= more
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


def _whole_width(column: Column) -> int:
    """What a column takes where no cell is broken."""
    cells = [cell.plain if isinstance(cell, Text) else str(cell) for cell in (column.header, *column.cells)]
    return max(cell_len(line) for cell in cells for line in cell.split("\n"))


def _cells(column: Column) -> list[list[int]]:
    """Header and cells of a column, each as the widths of what cannot be broken: words, or the whole of an interval."""
    cells = [cell.plain if isinstance(cell, Text) else str(cell) for cell in (column.header, *column.cells)]
    return [[cell_len(part) for part in ([cell] if column.no_wrap else cell.split())] for cell in cells]


def _width(cells: Sequence[Sequence[int]], lines: int | None) -> int:
    """The least width at which every cell takes at most so many lines (None: however many)."""
    width = max((part for cell in cells for part in cell), default=0)
    while lines is not None and any(_lines(cell, width) > lines for cell in cells):
        width += 1
    return width


def _lines(parts: Sequence[int], width: int) -> int:
    lines, used = 1, -1
    for part in parts:
        if used + 1 + part > width:
            lines, used = lines + 1, part
        else:
            used += 1 + part
    return lines


def _overhead(table: Table) -> int:
    """What padding, dividers and edges take."""
    _, right, _, left = table.padding
    return 1 + len(table.columns) * (left + right + 1)
