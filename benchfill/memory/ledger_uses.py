"""Which run used which call of the ledger, whoever paid for it: what may be thrown away with a run, and its hash."""

from __future__ import annotations

import hashlib

from benchfill.call import StoredCall, StoredReply
from benchfill.memory.database import plain_errors
from benchfill.memory.ledger import Ledger

__all__ = ["NotingLedger", "ledger_digest", "replies_to"]


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

    def look_up(self, key: str) -> StoredReply | None:
        stored = self._ledger.look_up(key)
        if stored is None or self._ledger.run_of(key) == self._run or self._noted(key):
            return stored
        with self._ledger.database.transaction() as connection:
            connection.execute(NOTE, {"key": key, "run": self._run})
        # A call that was thrown away in between was not served.
        return stored if self._noted(key) else None

    def commit(self, call: StoredCall) -> bool:
        return self._ledger.commit(call)

    def commit_failure(self, call: StoredCall) -> None:
        self._ledger.commit_failure(call)

    def _noted(self, key: str) -> bool:
        with plain_errors(self._ledger.path):
            return self._ledger.database.connection.execute(NOTED, (key, self._run)).fetchone() is not None


def ledger_digest(ledger: Ledger, run: str) -> tuple[str, int]:
    """A hash of the replies that a run is made of, and how many they are.

    ``sha256:`` over key and sha256 of the reply of each, by key: every copy of the ledger that gives the run the same
    replies has the same, whatever else is in it.
    """
    digest, count = hashlib.sha256(), 0
    with plain_errors(ledger.path):
        for key, packed in ledger.database.connection.execute(USED, {"run": run}):
            digest.update(f"{key} {hashlib.sha256(ledger.bodies.unpack(packed)).hexdigest()}\n".encode())
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

    return [ledger.bodies.unpack(packed) for _, packed in sorted(rows, key=turn)]


NOTED = "SELECT 1 FROM uses WHERE key = ? AND run = ?"
NOTE = "INSERT OR IGNORE INTO uses SELECT key, :run FROM calls WHERE key = :key"
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
