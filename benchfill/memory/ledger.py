"""The ledger: every paid reply of every run, found again by what was asked, so that nothing is paid twice."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from benchfill.call import StoredCall, StoredReply
from benchfill.memory.bodies import Bodies
from benchfill.memory.database import open_database, plain_errors
from benchfill.memory.ledger_schema import LEDGER_MIGRATIONS
from benchfill.memory.ledger_statements import (
    CHARGED,
    EXPORT_ORDER,
    EXPORT_ROW,
    EXPORTED,
    INSERT_CALL,
    INSERT_FAILURE,
    LAST_FAILURE,
    LOOK_UP,
    MEAN_USAGE,
    RUN_OF,
    SPEND,
)
from benchfill.memory.migrations import apply_migrations

__all__ = ["FreshLedger", "Ledger", "MeanUsage", "Spend"]

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
    pruned
        Whether these are calls that were thrown away: their money is spent all the same.
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
    pruned: bool = False


@dataclass(frozen=True, slots=True)
class MeanUsage:
    """What one call of a role to a model takes on average, over usable replies with reported usage.

    Parameters
    ----------
    calls, tasks
        How many there are, and how many conversations they began.
    """

    role: str
    model: str
    calls: int
    tasks: int
    input_tokens: float
    output_tokens: float


class Ledger:
    """One file for all runs; several processes and threads may use it at once.

    Parameters
    ----------
    path
        The file, created when absent.
    alone
        Nobody else may have it open meanwhile; not waited for.

    Raises
    ------
    InputError
        The file cannot be used: see :func:`benchfill.memory.database.open_database`.
    """

    def __init__(self, path: Path, *, alone: bool = False) -> None:
        self.path = path
        self.database = open_database(path, busy_seconds=1.0, alone=True) if alone else open_database(path)
        try:
            apply_migrations(self.database, LEDGER_MIGRATIONS)
        except BaseException:
            self.database.close()
            raise
        self.bodies = Bodies(path, self.database.connection)

    def look_up(self, key: str) -> StoredReply | None:
        """The usable reply that was paid for under this key, None when there is none."""
        with plain_errors(self.path):
            row = self.database.connection.execute(LOOK_UP, (key,)).fetchone()
        return None if row is None else StoredReply(row[0], row[1], self.bodies.unpack(row[2]))

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
        row = (*self._common(call), self.bodies.pack(call.response))
        with self.database.transaction() as connection:
            if connection.execute(INSERT_CALL, row).rowcount:
                return True
            self._insert_failure(connection, call, "duplicate")
            return False

    def commit_failure(self, call: StoredCall) -> None:
        """Note a request that gave nothing usable: what it cost counts, it is never served."""
        with self.database.transaction() as connection:
            self._insert_failure(connection, call, call.fault)

    def spend(self, run: str | None = None, *, pruned: bool = False) -> list[Spend]:
        """What was spent, by run, role and model (sorted); replies served from the ledger cost nothing.

        Parameters
        ----------
        pruned
            Also what was spent on calls that were thrown away since, in rows of its own.
        """
        with plain_errors(self.path):
            rows = self.database.connection.execute(SPEND, {"run": run, "pruned": pruned}).fetchall()
        return [dataclasses.replace(Spend(*row), pruned=bool(row[-1])) for row in rows]

    def charged(self, run: str) -> tuple[int, int, float | None]:
        """Calls, tokens and cost (None without prices) that count against the budget of a run."""
        with plain_errors(self.path):
            row = self.database.connection.execute(CHARGED, (run,)).fetchone()
        return int(row[0]), int(row[1]), row[2]

    def mean_usage(self) -> list[MeanUsage]:
        """Mean tokens of a call, by role and model (sorted), over all runs."""
        with plain_errors(self.path):
            rows = self.database.connection.execute(MEAN_USAGE).fetchall()
        return [MeanUsage(*row) for row in rows]

    def last_failure(self, key: str, run: str) -> tuple[str, StoredReply] | None:
        """Fault and reply of a run's last failed try of a call; None when none failed by itself."""
        with plain_errors(self.path):
            row = self.database.connection.execute(LAST_FAILURE, (key, run)).fetchone()
        return None if row is None else (row[0], StoredReply(row[1], row[2], self.bodies.unpack(row[3])))

    def run_of(self, key: str) -> str | None:
        """The run that paid for the usable reply under this key."""
        with plain_errors(self.path):
            row = self.database.connection.execute(RUN_OF, (key,)).fetchone()
        return None if row is None else str(row[0])

    def export(self, run: str | None = None) -> Iterator[dict[str, Any]]:
        """Every request as it was sent and every reply as it came, failures included, oldest first.

        Headers are not kept, so no API key is among it. A body that was thrown away is None.
        """
        where, connection = "" if run is None else "WHERE run = :run", self.database.connection
        with plain_errors(self.path):
            for *_, failed, place in connection.execute(EXPORT_ORDER.format(where=where), {"run": run}):
                # Gone in between where another process throws a run away.
                for row in connection.execute(EXPORT_ROW[failed], (place,)):
                    request, response = (self.bodies.unpack(packed) for packed in row[-2:])
                    record = dict(zip(EXPORTED, row[:-2], strict=True))
                    yield {"v": 1, **record, "request": json.loads(request or b"null"), **_shown(response)}

    def close(self) -> None:
        self.database.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _insert_failure(self, connection: sqlite3.Connection, call: StoredCall, fault: str) -> None:
        response = self.bodies.pack(call.response[:FAILURE_BYTES])
        connection.execute(INSERT_FAILURE, (*self._common(call), response, fault))

    def _common(self, call: StoredCall) -> tuple[object, ...]:
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
            call.charged_tokens,
            call.charged_cost,
            time.time(),
            self.bodies.pack(call.request),
        )


class FreshLedger:
    """A ledger that finds again only what this very run paid for (``--fresh``).

    Parameters
    ----------
    ledger
        Where calls are kept, under keys that no other run has.
    run
        The run; resumed, it finds its own calls again.
    """

    def __init__(self, ledger: Ledger, run: str) -> None:
        self._ledger, self._run = ledger, run

    def look_up(self, key: str) -> StoredReply | None:
        return self._ledger.look_up(self.own_key(key))

    def commit(self, call: StoredCall) -> bool:
        return self._ledger.commit(dataclasses.replace(call, key=self.own_key(call.key)))

    def commit_failure(self, call: StoredCall) -> None:
        self._ledger.commit_failure(dataclasses.replace(call, key=self.own_key(call.key)))

    def own_key(self, key: str) -> str:
        """The key under which this run keeps a call."""
        return hashlib.sha256(f"{self._run}\x1f{key}".encode()).hexdigest()


def _shown(body: bytes) -> dict[str, Any]:
    """A reply as text, or in base64 where it is none."""
    try:
        return {"response": body.decode()}
    except UnicodeDecodeError:
        import base64

        return {"response_base64": base64.b64encode(body).decode()}
