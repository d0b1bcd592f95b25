"""Numbered migrations: how a file of an older version becomes one of this version, a step at a time.

A migration that was released is never edited; a change of the schema is a new one at the end of its list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from benchfill.errors import InputError
from benchfill.memory.database import Database, plain_errors

__all__ = ["Migration", "apply_migrations"]


@dataclass(frozen=True, slots=True)
class Migration:
    """One step.

    Parameters
    ----------
    name
        Stable name; the number is the place in the list, from 1.
    apply
        Makes the change, inside a transaction, through ``database.connection`` or ``database.tables``.
    """

    name: str
    apply: Callable[[Database], object]


def apply_migrations(database: Database, migrations: Sequence[Migration]) -> int:
    """Bring a file up to date; all of it or, on any error, nothing.

    Parameters
    ----------
    database
        An open file: empty, or made by an earlier or this version with the same list.
    migrations
        All migrations of this kind of file, in order.

    Returns
    -------
    int
        How many were applied now.

    Raises
    ------
    InputError
        ``foreign_database``: tables of somebody else's are in the file, or it is another file of ours;
        ``newer_version``: a newer version wrote it. The file is left as it was.
    """
    path = database.path
    # Reading first: a file that is up to date needs no write lock, which a running search may hold.
    if _applied(database, migrations) == len(migrations):
        return 0
    with database.transaction() as connection:
        # Asked again: another process may have been faster between the look and the lock.
        done = _applied(database, migrations)
        connection.execute(
            "CREATE TABLE IF NOT EXISTS migrations "
            "(number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied TEXT NOT NULL)"
        )
        for number, migration in enumerate(migrations[done:], start=done + 1):
            migration.apply(database)
            if not connection.in_transaction:
                raise RuntimeError(f"migration {number} ({migration.name}) of {path} ended its transaction")
            connection.execute(
                "INSERT INTO migrations VALUES (?, ?, ?)",
                (number, migration.name, datetime.now(UTC).isoformat(timespec="seconds")),
            )
    return len(migrations) - done


def _applied(database: Database, migrations: Sequence[Migration]) -> int:
    """How many of these migrations a file has; refuses a file that is not of this kind or is newer."""
    path = database.path
    with plain_errors(path):
        tables = {name for (name,) in database.connection.execute("SELECT name FROM sqlite_master")}
        if not tables:
            return 0
        columns = {row[1] for row in database.connection.execute("PRAGMA table_info(migrations)")}
        ours = {"number", "name"} <= columns
        sql = "SELECT name FROM migrations ORDER BY number"
        names = [name for (name,) in database.connection.execute(sql)] if ours else []
    expected = [migration.name for migration in migrations]
    common = min(len(names), len(expected))
    if not ours or names[:common] != expected[:common]:
        raise InputError(
            f"{path} is a database of another kind.",
            "Move it away, or name another file or folder.",
            kind="foreign_database",
            path=str(path),
        )
    if len(names) > len(expected):
        raise InputError(
            f"{path} was written by a newer version of BenchFill (schema {len(names)}, this version knows "
            f"{len(expected)}).",
            "Upgrade BenchFill.",
            kind="newer_version",
            path=str(path),
        )
    return len(names)
