"""What a run's memory holds of one gap: read out, put into another memory, or forgotten; and a memory without it."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchfill.item import Item
from benchfill.memory.pool import Pool
from benchfill.memory.rows import ITEM_COLUMNS, item_of_row

__all__ = ["GapRows", "accepted_item", "forget_search", "rows_of_gap", "snapshot", "take_over"]

# Rows by table, each with its column names.
GapRows = Mapping[str, Sequence[Mapping[str, Any]]]

_CANDIDATES = "SELECT id FROM candidates WHERE gap = :gap AND by_hand = ''"
_ITEMS = "SELECT item FROM candidates WHERE gap = :gap AND by_hand = '' AND item IS NOT NULL"
# What a search writes, in an order in which it can be put in; in the other order it can be taken out.
SEARCHED: Mapping[str, str] = {
    "items": f"id IN ({_ITEMS})",
    "candidates": f"id IN ({_CANDIDATES})",
    "estimates": f"item IN ({_ITEMS})",
    "attempts": f"item IN ({_ITEMS})",
    "judgements": f"candidate IN ({_CANDIDATES})",
    "confirmations": f"candidate IN ({_CANDIDATES})",
    "item_fits": f"item IN ({_ITEMS})",
}
# What a search needs nothing of: people's decisions.
OF_PEOPLE = ("review_decisions", "review_assignments", "review_rounds", "maintainer_decisions")


def rows_of_gap(pool: Pool, gap: int) -> dict[str, list[dict[str, Any]]]:
    """Everything a search wrote about one gap, the gap itself included."""
    wanted = {**SEARCHED, "gaps": "gap = :gap"}
    return {table: _rows(pool.database.connection, table, where, gap) for table, where in wanted.items()}


def accepted_item(rows: GapRows) -> Item | None:
    """The item that a search accepted for its gap."""
    names = [row["item"] for row in rows["candidates"] if row["status"] == "accepted"]
    return next(
        (item_of_row([row[name] for name in ITEM_COLUMNS]) for row in rows["items"] if row["id"] in names),
        None,
    )


def take_over(pool: Pool, rows: GapRows) -> None:
    """Put rows of a gap in the place of what is there of it, all or none of them."""
    with pool.database.transaction() as connection:
        for gap in rows["gaps"]:
            _forget(connection, gap["gap"])
            connection.execute("DELETE FROM gaps WHERE gap = ?", (gap["gap"],))
        for table, each in rows.items():
            for row in each:
                names, places = ", ".join(row), ", ".join("?" * len(row))
                connection.execute(
                    f"INSERT INTO {table} ({names}) VALUES ({places})",  # noqa: S608 - our own names
                    list(row.values()),
                )


def forget_search(pool: Pool, gap: int) -> None:
    """Take everything out that a search wrote about a gap. Replies stay in the ledger, so nothing is lost."""
    with pool.database.transaction() as connection:
        _forget(connection, gap)


def snapshot(pool: Pool, hidden: Collection[int], folder: Path) -> bytes:
    """The memory as a worker needs it: without what was searched in some gaps, and without what people decided.

    Parameters
    ----------
    hidden
        Numbers of gaps.
    folder
        For a copy that is deleted again.
    """
    path = folder / "snapshot.sqlite"
    path.unlink(missing_ok=True)
    pool.database.connection.execute("VACUUM INTO ?", (str(path),))
    copy = sqlite3.connect(path, isolation_level=None)
    try:
        copy.execute("BEGIN")
        for gap in sorted(hidden):
            _forget(copy, gap)
        for table in OF_PEOPLE:
            copy.execute(f"DELETE FROM {table}")  # noqa: S608 - our own names
        copy.execute("COMMIT")
        copy.execute("VACUUM")
    finally:
        copy.close()
    content = path.read_bytes()
    path.unlink()
    return content


def _forget(connection: sqlite3.Connection, gap: int) -> None:
    wanted = {"gap": gap}
    items = [item for (item,) in connection.execute(_ITEMS, wanted)]
    for table in ("confirmations", "judgements"):
        connection.execute(f"DELETE FROM {table} WHERE candidate IN ({_CANDIDATES})", wanted)  # noqa: S608
    connection.execute("DELETE FROM candidates WHERE gap = :gap AND by_hand = ''", wanted)
    for item in items:
        # Another gap may have come upon the very same text.
        if connection.execute("SELECT 1 FROM candidates WHERE item = ?", (item,)).fetchone() is None:
            for table in ("item_fits", "attempts", "estimates"):
                connection.execute(f"DELETE FROM {table} WHERE item = ?", (item,))  # noqa: S608
            connection.execute("DELETE FROM items WHERE id = ? AND origin = 'candidate'", (item,))
    connection.execute(
        "UPDATE gaps SET status = 'open', accepted = NULL, rounds = 0 WHERE gap = :gap "
        "AND status NOT IN ('skipped', 'refused')",
        wanted,
    )


def _rows(connection: sqlite3.Connection, table: str, where: str, gap: int) -> list[dict[str, Any]]:
    found = connection.execute(f"SELECT * FROM {table} WHERE {where}", {"gap": gap})  # noqa: S608 - our own names
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found]
