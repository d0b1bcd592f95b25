"""The ledger: every paid reply of every run, found again by what was asked, so that nothing is paid twice."""

from __future__ import annotations

import sqlite3
import zlib
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from benchfill.call import StoredCall, StoredReply
from benchfill.memory.database import open_database, plain_errors
from benchfill.memory.migrations import LEDGER_MIGRATIONS, apply_migrations

__all__ = ["Ledger", "Spend"]

# Fast, and on JSON within a fifth of the best ratio.
COMPRESSION = 1
# A failure is kept for audit and for what it cost; an error page of megabytes helps nobody.
FAILURE_BYTES = 8192


@dataclass(frozen=True, slots=True)
class Spend:
    """What one role spent on one model in one run.

    Parameters
    ----------
    calls, failed
        Requests with a usable reply, and without one.
    input_tokens, output_tokens
        As reported, failures included.
    price
        Sum over the calls that have a price; None when none has.
    unpriced, unmetered
        Requests without a price, and without reported usage: what the sums do not know of.
    seconds
        Sum of the waiting for replies.
    """

    run: str
    role: str
    model: str
    calls: int
    failed: int
    input_tokens: int
    output_tokens: int
    price: float | None
    unpriced: int
    unmetered: int
    seconds: float


class Ledger:
    """One file for all runs; several processes and threads may use it at once.

    Parameters
    ----------
    path
        The file, created when absent.

    Raises
    ------
    InputError
        The file cannot be used: see :func:`benchfill.memory.database.open_database`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database = open_database(path)
        try:
            apply_migrations(self._database, LEDGER_MIGRATIONS)
        except BaseException:
            self._database.close()
            raise

    def look_up(self, key: str) -> StoredReply | None:
        """The usable reply that was paid for under this key, None when there is none."""
        with plain_errors(self.path):
            row = self._database.connection.execute(
                "SELECT status, content_type, response FROM calls WHERE key = ?", (key,)
            ).fetchone()
        return None if row is None else StoredReply(row[0], row[1], zlib.decompress(row[2]))

    def commit(self, call: StoredCall) -> bool:
        """Keep a usable reply; on return it survives the death of this process.

        Returns
        -------
        bool
            False when another process committed the same key first: then its reply is the one that counts,
            this one is kept as a failure named ``duplicate``, because it was paid for all the same.
        """
        if call.fault:
            raise ValueError(f"a reply with the fault {call.fault!r} must not be served again")
        row = (*_common(call), _packed(call.response))
        with self._database.transaction() as connection:
            if connection.execute(INSERT_CALL, row).rowcount:
                return True
            self._insert_failure(connection, call, "duplicate")
            return False

    def commit_failure(self, call: StoredCall) -> None:
        """Note a request that gave nothing usable: what it cost counts, it is never served."""
        with self._database.transaction() as connection:
            self._insert_failure(connection, call, call.fault)

    def spend(self, run: str | None = None) -> list[Spend]:
        """What was spent, by run, role and model (sorted); replies served from the ledger cost nothing."""
        with plain_errors(self.path):
            rows = self._database.connection.execute(SPEND, {"run": run}).fetchall()
        return [Spend(*row) for row in rows]

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @staticmethod
    def _insert_failure(connection: sqlite3.Connection, call: StoredCall, fault: str) -> None:
        response = _packed(call.response[:FAILURE_BYTES])
        connection.execute(INSERT_FAILURE, (*_common(call), response, fault))


def _packed(body: bytes) -> bytes:
    return zlib.compress(body, COMPRESSION)


def _common(call: StoredCall) -> tuple[object, ...]:
    return (
        call.key,
        call.endpoint,
        call.role,
        call.model,
        call.run,
        call.tag,
        call.status,
        call.content_type,
        call.input_tokens,
        call.output_tokens,
        call.price,
        call.seconds,
        call.tries,
        _packed(call.request),
    )


INSERT_CALL = """
    INSERT OR IGNORE INTO calls
    (key, endpoint, role, model, run, tag, status, content_type,
     input_tokens, output_tokens, price, seconds, tries, request, response)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
INSERT_FAILURE = """
    INSERT INTO failures
    (key, endpoint, role, model, run, tag, status, content_type,
     input_tokens, output_tokens, price, seconds, tries, request, response, fault)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
SPEND = """
    SELECT run, role, model, sum(usable), sum(1 - usable),
           coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0), sum(price),
           sum(price IS NULL), sum(output_tokens IS NULL), sum(seconds)
    FROM (
        SELECT run, role, model, input_tokens, output_tokens, price, seconds, 1 AS usable FROM calls
        UNION ALL
        SELECT run, role, model, input_tokens, output_tokens, price, seconds, 0 AS usable FROM failures
    )
    WHERE :run IS NULL OR run = :run
    GROUP BY run, role, model
    ORDER BY run, role, model
"""
