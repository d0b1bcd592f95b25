"""Wide response logs: a table of 0 and 1 with models or items in rows, one attempt a cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchfill.logs.scores import BAD, ScoreTable, remedy_for
from benchfill.logs.text import Faults

__all__ = ["Side", "read_wide_rows"]

Side = Literal["models", "items"]


def read_wide_rows(
    header: Sequence[str],
    rows: Iterable[tuple[int, Sequence[str]]],
    side: Side,
    table: ScoreTable,
    faults: Faults,
) -> tuple[list[str], list[str], NDArray[np.int8]]:
    """Ids of the models, ids of the items and the codes of their cells, shape (models, items).

    Parameters
    ----------
    header
        Names of the columns; the first stands over the ids of the rows.
    rows
        One-based line and cells of each data row.
    side
        What the rows are.
    faults
        Takes ``bad_header``, ``bad_row``, ``duplicate_model``, ``duplicate_item`` and ``not_binary``.
    """
    row_kind, column_kind = ("model", "item") if side == "models" else ("item", "model")
    columns = _column_ids(header, column_kind, faults)
    lines: dict[str, int] = {}
    codes: list[NDArray[np.int8]] = []
    for line, row in rows:
        if not any(cell.strip() for cell in row):
            continue
        name, cells = row[0], row[1 : len(columns) + 1]
        if not name.strip():
            faults.add("bad_row", line, f"the {row_kind} has no name")
        elif name in lines:
            reason = f"the {row_kind} {name!r} stands twice"
            faults.add(f"duplicate_{row_kind}", lines[name], reason)
            faults.add(f"duplicate_{row_kind}", line, reason)
        elif len(cells) < len(columns) or any(cell.strip() for cell in row[len(columns) + 1 :]):
            faults.add("bad_row", line, f"{len(row)} cells where the header has {len(columns) + 1}")
        else:
            lines[name] = line
            coded = np.fromiter(map(table.__getitem__, cells), dtype=np.int8, count=len(columns))
            for index in np.flatnonzero(coded == BAD).tolist():
                model, item = (name, columns[index]) if side == "models" else (columns[index], name)
                text = cells[index].strip()
                faults.add("not_binary", line, f"{model!r} on {item!r} has {text!r}", remedy_for(text))
            codes.append(coded)
    matrix = np.array(codes, dtype=np.int8).reshape(len(codes), len(columns))
    return (list(lines), columns, matrix) if side == "models" else (columns, list(lines), matrix.T)


def _column_ids(header: Sequence[str], kind: str, faults: Faults) -> list[str]:
    """Names over the columns; empty ones at the end are a trailing delimiter."""
    names = list(header[1:])
    while names and not names[-1].strip():
        names.pop()
    seen: set[str] = set()
    for place, name in enumerate(names, 2):
        if not name.strip():
            faults.add("bad_header", 1, f"column {place} has no name")
        elif name in seen:
            faults.add(f"duplicate_{kind}", 1, f"the {kind} {name!r} stands twice")
        seen.add(name)
    return names
