"""Calls that leave the ledger: those of runs that are gone, and of finished runs what verifying them does not need.

What is thrown away was paid for all the same: its sums stay in the totals, as those of rows that are not here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from benchfill.memory.database import plain_errors
from benchfill.memory.ledger import Ledger
from benchfill.memory.ledger_schema import ADD_TO_TOTALS, SUMS_OF

__all__ = [
    "PrunedRun",
    "PruningPlan",
    "RemovedCalls",
    "plan_pruning",
    "prune_calls",
    "remove_calls",
    "shrink_file",
]

TABLES = ("calls", "failures")
# Response logs and doctor's probes are in the ledger too: they have no folder that could be gone.
PAYING_RUNS = """
    SELECT run FROM totals WHERE kept AND run != 'doctor' AND run NOT GLOB 'answer-*'
    UNION SELECT run FROM uses
"""


@dataclass(frozen=True, slots=True)
class PrunedRun:
    """What goes of the calls that one run paid for, and what they cost.

    Parameters
    ----------
    calls, failed
        Usable replies, and requests without one.
    bytes
        Of what goes, as it is packed.
    price
        None where no call has one.
    """

    run: str
    calls: int
    failed: int
    bytes: int
    price: float | None


@dataclass(frozen=True, slots=True)
class PruningPlan:
    """What pruning throws away.

    Parameters
    ----------
    gone
        Calls that go with request and reply, by run: of runs that are gone, and no other run was served them.
    requests
        Calls whose requests go while their replies stay, by run.
    kept_for_others
        Calls of runs that are gone which another run was served: their replies stay.
    kept_unknown
        Calls of such runs of before it was noted who was served what: theirs stay too.
    """

    gone: tuple[PrunedRun, ...]
    requests: tuple[PrunedRun, ...]
    kept_for_others: int
    kept_unknown: int

    @property
    def empty(self) -> bool:
        """Whether nothing goes."""
        return not self.gone and not self.requests


@dataclass(frozen=True, slots=True)
class RemovedCalls:
    """What left the ledger with a run.

    Parameters
    ----------
    calls, failures
        Rows that are gone.
    kept_for_others
        Calls the run paid for that another run was served too.
    kept_unknown
        Calls of before uses were noted: others may have been served them.
    """

    calls: int
    failures: int
    kept_for_others: int
    kept_unknown: int


def plan_pruning(
    ledger: Ledger, *, finished: Collection[str], unfinished: Collection[str], keep_requests: bool = False
) -> PruningPlan:
    """What :func:`prune_calls` would throw away; nothing is changed.

    Parameters
    ----------
    finished
        Runs that can be verified: their replies stay, and so do failures; the requests go, which a run that is
        verified makes again and finds by their hash.
    unfinished
        Runs that can be gone on with: all they made or were served stays as it is.
    keep_requests
        Whether no request goes while its reply stays.
    """
    connection = ledger.database.connection
    with plain_errors(ledger.path):
        _mark(connection, finished, unfinished, keep_requests=keep_requests)
        gone, requests = (
            tuple(PrunedRun(*row) for row in connection.execute(sql)) for sql in (GONE, REQUESTS)
        )
        return PruningPlan(gone, requests, *_kept(connection))


def prune_calls(
    ledger: Ledger, *, finished: Collection[str], unfinished: Collection[str], keep_requests: bool = False
) -> None:
    """Throw away what :func:`plan_pruning` says, all of it or nothing; the file keeps its size."""
    with ledger.database.transaction() as connection:
        _mark(connection, finished, unfinished, keep_requests=keep_requests)
        _throw_away(connection)
        for table in TABLES:
            connection.execute(
                f"UPDATE {table} SET request = x'' WHERE rowid IN (SELECT place FROM temp.unread_{table})"  # noqa: S608
            )


def remove_calls(ledger: Ledger, run: str, *, alone: bool) -> RemovedCalls:
    """Throw the calls away that only this run used.

    Parameters
    ----------
    alone
        Whether there is no other run: then nobody else can have used a call of before uses were noted.
    """
    with ledger.database.transaction() as connection:
        _mark_gone(connection, [run], alone=alone)
        counts = [
            connection.execute(f"SELECT count(*) FROM temp.gone_{table}").fetchone()[0]  # noqa: S608
            for table in TABLES
        ]
        kept = _kept(connection)
        _throw_away(connection)
    return RemovedCalls(counts[0], counts[1], *kept)


def shrink_file(ledger: Ledger) -> None:
    """Give the space of what was thrown away back to the file system; the file is written anew beside itself.

    Raises
    ------
    InputError
        There is no room for the new file (kind ``disk_full``); nothing is lost.
    """
    with plain_errors(ledger.path):
        ledger.database.connection.execute("VACUUM")
        ledger.database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _mark(
    connection: sqlite3.Connection,
    finished: Collection[str],
    unfinished: Collection[str],
    *,
    keep_requests: bool,
) -> None:
    """Which rows go, and of which the requests go, in temporary tables of this connection."""
    known = {*finished, *unfinished}
    paid = connection.execute(PAYING_RUNS)
    _mark_gone(connection, sorted({run for (run,) in paid} - known), alone=not known)
    _fill(connection, "unfinished (run TEXT PRIMARY KEY)", ((run,) for run in unfinished))
    for table in TABLES:
        _fill(connection, f"unread_{table} (place INTEGER PRIMARY KEY)")
        if not keep_requests:
            connection.execute(UNREAD[table])


def _mark_gone(connection: sqlite3.Connection, runs: Iterable[str], *, alone: bool) -> None:
    _fill(connection, "gone_runs (run TEXT PRIMARY KEY)", ((run,) for run in runs))
    for table in TABLES:
        _fill(connection, f"gone_{table} (place INTEGER PRIMARY KEY)")
    connection.execute(GONE_FAILURES)
    connection.execute(GONE_CALLS.format(noted="true" if alone else NOTED_SINCE))


def _fill(connection: sqlite3.Connection, table: str, rows: Iterable[tuple[str]] = ()) -> None:
    name = table.partition(" ")[0]
    connection.execute(f"DROP TABLE IF EXISTS temp.{name}")
    connection.execute(f"CREATE TEMP TABLE {table}")
    connection.executemany(f"INSERT INTO temp.{name} VALUES (?)", rows)  # noqa: S608 - our own names


def _kept(connection: sqlite3.Connection) -> tuple[int, int]:
    """Calls of runs that are gone which stay: for others that were served them, and as it is not known."""
    others, all_kept = connection.execute(KEPT).fetchone()
    return others, all_kept - others


def _throw_away(connection: sqlite3.Connection) -> None:
    """Delete the marked rows; what they cost moves to the totals of what is not here."""
    for table in TABLES:
        connection.execute(
            f"INSERT INTO totals SELECT run, role, model, 0, {SUMS_OF[table]} FROM {table} "  # noqa: S608
            f"WHERE rowid IN (SELECT place FROM temp.gone_{table}) GROUP BY run, role, model {ADD_TO_TOTALS}"
        )
        connection.execute(f"DELETE FROM {table} WHERE rowid IN (SELECT place FROM temp.gone_{table})")  # noqa: S608
    connection.execute("DELETE FROM uses WHERE run IN (SELECT run FROM temp.gone_runs)")
    connection.execute("DELETE FROM totals WHERE kept AND run IN (SELECT run FROM temp.gone_runs)")
    for table in TABLES:
        connection.execute(
            f"INSERT INTO totals SELECT run, role, model, 1, {SUMS_OF[table]} FROM {table} "  # noqa: S608
            f"WHERE run IN (SELECT run FROM temp.gone_runs) GROUP BY run, role, model {ADD_TO_TOTALS}"
        )


GONE_FAILURES = """
    INSERT INTO temp.gone_failures
    SELECT rowid FROM failures WHERE run IN (SELECT run FROM temp.gone_runs)
"""
# Someone who is still there was served the call.
USED_BY_OTHERS = """
    EXISTS (SELECT 1 FROM uses WHERE uses.key = calls.key AND uses.run NOT IN (SELECT run FROM temp.gone_runs))
"""
NOTED_SINCE = "coalesce(at >= (SELECT since FROM uses_since), false)"
GONE_CALLS = f"""
    INSERT INTO temp.gone_calls
    SELECT rowid FROM calls
    WHERE run IN (SELECT run FROM temp.gone_runs) AND NOT {USED_BY_OTHERS} AND {{noted}}
"""  # noqa: S608
KEPT = f"""
    SELECT coalesce(sum({USED_BY_OTHERS}), 0), count(*) FROM calls
    WHERE run IN (SELECT run FROM temp.gone_runs) AND rowid NOT IN (SELECT place FROM temp.gone_calls)
"""  # noqa: S608
# Requests that are kept, neither go with their rows nor belong to a run that is gone on with.
UNREAD = {
    "calls": """
        INSERT INTO temp.unread_calls
        SELECT rowid FROM calls
        WHERE length(request) > 0 AND run NOT IN (SELECT run FROM temp.unfinished)
          AND rowid NOT IN (SELECT place FROM temp.gone_calls)
          AND NOT EXISTS (
              SELECT 1 FROM uses WHERE uses.key = calls.key AND uses.run IN (SELECT run FROM temp.unfinished)
          )
    """,
    "failures": """
        INSERT INTO temp.unread_failures
        SELECT rowid FROM failures
        WHERE length(request) > 0 AND run NOT IN (SELECT run FROM temp.unfinished)
          AND rowid NOT IN (SELECT place FROM temp.gone_failures)
    """,
}
BY_RUN = """
    SELECT run, sum(usable), sum(NOT usable), sum(bytes), sum(price)
    FROM (
        SELECT run, 1 AS usable, {bytes} AS bytes, price
        FROM calls WHERE rowid IN (SELECT place FROM temp.{marked}_calls)
        UNION ALL
        SELECT run, 0, {bytes}, price
        FROM failures WHERE rowid IN (SELECT place FROM temp.{marked}_failures)
    )
    GROUP BY run ORDER BY run
"""
GONE = BY_RUN.format(marked="gone", bytes="length(request) + length(response)")
REQUESTS = BY_RUN.format(marked="unread", bytes="length(request)")
