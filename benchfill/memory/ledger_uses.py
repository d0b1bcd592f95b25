"""Which run used which call of the ledger, whoever paid for it: what may be thrown away with a run, and its hash."""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass

from benchfill.call import StoredCall, StoredReply
from benchfill.memory.database import plain_errors
from benchfill.memory.ledger import Ledger

__all__ = ["NotingLedger", "RemovedCalls", "ledger_digest", "remove_calls", "replies_to"]


class NotingLedger:
    """A ledger that notes which calls paid for by others a run was served.

    Parameters
    ----------
    ledger
        Where calls are kept and found.
    run
        The run that asks.
    """

    def __init__(self, ledger: Ledger, run: str) -> None:
        self._ledger, self._run = ledger, run
        self._noted: set[str] = set()

    def look_up(self, key: str) -> StoredReply | None:
        stored = self._ledger.look_up(key)
        if stored is not None and key not in self._noted:
            self._noted.add(key)
            if self._ledger.run_of(key) != self._run:
                with self._ledger.database.transaction() as connection:
                    connection.execute("INSERT OR IGNORE INTO uses VALUES (?, ?)", (key, self._run))
        return stored

    def commit(self, call: StoredCall) -> bool:
        return self._ledger.commit(call)

    def commit_failure(self, call: StoredCall) -> None:
        self._ledger.commit_failure(call)


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


def remove_calls(ledger: Ledger, run: str, *, alone: bool) -> RemovedCalls:
    """Throw the calls away that only this run used.

    Parameters
    ----------
    alone
        Whether there is no other run: then nobody else can have used a call of before uses were noted.
    """
    with ledger.database.transaction() as connection:
        connection.execute("DELETE FROM uses WHERE run = ?", (run,))
        others = connection.execute(
            "SELECT count(*) FROM calls WHERE run = ? AND key IN (SELECT key FROM uses)", (run,)
        ).fetchone()[0]
        before = "" if alone else "AND at >= (SELECT since FROM uses_since)"
        calls = connection.execute(
            f"DELETE FROM calls WHERE run = ? AND key NOT IN (SELECT key FROM uses) {before}",  # noqa: S608
            (run,),
        ).rowcount
        left = connection.execute("SELECT count(*) FROM calls WHERE run = ?", (run,)).fetchone()[0]
        failures = connection.execute("DELETE FROM failures WHERE run = ?", (run,)).rowcount
    return RemovedCalls(calls, failures, int(others), int(left) - int(others))


def ledger_digest(ledger: Ledger, run: str) -> tuple[str, int]:
    """A hash of the replies that a run is made of, and how many they are.

    ``sha256:`` over key and sha256 of the reply of each, by key: every copy of the ledger that gives the run the same
    replies has the same, whatever else is in it.
    """
    digest, count = hashlib.sha256(), 0
    with plain_errors(ledger.path):
        for key, packed in ledger.database.connection.execute(USED, {"run": run}):
            digest.update(f"{key} {hashlib.sha256(zlib.decompress(packed)).hexdigest()}\n".encode())
            count += 1
    return f"sha256:{digest.hexdigest()}", count


def replies_to(ledger: Ledger, run: str, tag: str) -> list[bytes]:
    """Raw replies of a conversation of a run, in the order of its turns.

    Parameters
    ----------
    tag
        Of the conversation, e.g. ``judge/g1r01w2``; its turns are ``judge/g1r01w2/t0`` and so on.
    """
    with plain_errors(ledger.path):
        rows = ledger.database.connection.execute(
            CONVERSATION, {"run": run, "from": f"{tag}/t", "to": f"{tag}/u"}
        ).fetchall()

    def turn(row: tuple[str, bytes]) -> int:
        return int(row[0].rpartition("/t")[2])

    return [zlib.decompress(packed) for _, packed in sorted(rows, key=turn)]


USED = """
    SELECT key, response FROM calls
    WHERE run = :run OR key IN (SELECT key FROM uses WHERE run = :run)
    ORDER BY key
"""
# "u" follows "t" in the order of characters.
CONVERSATION = """
    SELECT tag, response FROM calls
    WHERE (run = :run OR key IN (SELECT key FROM uses WHERE run = :run)) AND tag >= :from AND tag < :to
"""
