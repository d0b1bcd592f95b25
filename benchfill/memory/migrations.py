"""Numbered migrations: how a file of an older version becomes one of this version, a step at a time.

A migration that was released is never edited; a change of the schema is a new one at the end of its list.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from benchfill.errors import InputError
from benchfill.memory.database import Database, plain_errors

__all__ = ["LEDGER_MIGRATIONS", "Migration", "apply_migrations"]


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


def _calls(database: Database) -> None:
    # One row a request that reached an endpoint. Bodies are zlib-compressed; headers, and so API keys, are
    # never stored. Tokens are NULL where the server reported no usage, the price where none is configured.
    columns = """
        endpoint TEXT NOT NULL,
        role TEXT NOT NULL,
        model TEXT NOT NULL,
        run TEXT NOT NULL,
        tag TEXT NOT NULL,
        status INTEGER NOT NULL,
        content_type TEXT NOT NULL,
        input_tokens INTEGER,
        output_tokens INTEGER,
        price REAL,
        seconds REAL NOT NULL,
        tries INTEGER NOT NULL,
        request BLOB NOT NULL,
        response BLOB NOT NULL
    """
    # Usable replies, found again by what was asked and the sample tag.
    database.connection.execute(f"CREATE TABLE calls (key TEXT PRIMARY KEY, {columns})")
    # Requests that gave nothing usable: never served, but what they cost is spent.
    database.connection.execute(f"CREATE TABLE failures (key TEXT NOT NULL, {columns}, fault TEXT NOT NULL)")


def _charges(database: Database) -> None:
    # What a request counted for against a budget (as reported, or what was set aside for it), and when it was
    # written, in seconds since 1970. NULL in rows of before.
    for table in ("calls", "failures"):
        for column in ("charged_tokens INTEGER", "charged_cost REAL", "at REAL"):
            database.connection.execute(f"ALTER TABLE {table} ADD COLUMN {column}")
        # A resumed run asks what it has spent; a verified one how its calls failed.
        database.connection.execute(f"CREATE INDEX {table}_by_run ON {table} (run)")
    database.connection.execute("CREATE INDEX failures_by_key ON failures (key)")


def _uses(database: Database) -> None:
    # Runs that were served a call that another one had paid for.
    database.connection.execute(
        "CREATE TABLE uses (key TEXT NOT NULL, run TEXT NOT NULL, PRIMARY KEY (key, run)) WITHOUT ROWID"
    )
    # Who was served the calls of before is not known.
    database.connection.execute("CREATE TABLE uses_since (since REAL NOT NULL)")
    database.connection.execute(
        "INSERT INTO uses_since SELECT CASE WHEN EXISTS (SELECT 1 FROM calls) THEN ? ELSE 0 END",
        (time.time(),),
    )


LEDGER_MIGRATIONS: tuple[Migration, ...] = (
    Migration("calls", _calls),
    Migration("charges", _charges),
    Migration("uses", _uses),
)
