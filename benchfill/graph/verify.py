"""A finished run once more from its ledger, without a single call: does the same come out?

What a model replied is read again from the ledger, parsed, graded, judged and calibrated anew. The frozen scale is
taken as it was kept, for it is the ruler and not a result of the search; it can be fitted anew as well. What failed
then fails again: failed attempts as the memory has them, failed calls of rewriter and judge as the ledger has them.
"""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchfill.call import StoredCall, StoredReply
from benchfill.errors import BenchfillError, CallFailed
from benchfill.memory.export import accepted_items
from benchfill.memory.ledger import Ledger
from benchfill.memory.pool import Pool
from benchfill.memory.records import AttemptRow
from benchfill.memory.runs import RunFolder

__all__ = ["LedgerMiss", "SealedLedger", "differences", "failed_attempts", "prepare_copy"]

# Tables that a search fills, in an order in which they can be emptied.
SEARCHED = ("confirmations", "judgements", "candidates", "attempts")
# Reasons of missing attempts that are made of a reply, and are made of it again.
OF_A_REPLY = frozenset({"no_answer", "ungraded", "refusal", "content_filter"})


class LedgerMiss(BenchfillError):
    """A call that the run made is not in the ledger: it cannot be verified."""


class SealedLedger:
    """A ledger that gives and takes nothing: what is not in it ends the work.

    Parameters
    ----------
    ledger
        Where the run's calls are kept.
    run
        The run that is verified.
    """

    def __init__(self, ledger: Ledger, run: str) -> None:
        self._ledger, self._run = ledger, run

    def look_up(self, key: str) -> StoredReply:
        """The reply that was kept.

        Raises
        ------
        CallFailed
            The run's call failed.
        LedgerMiss
            The run never made this call, or the ledger is not the one it was made with.
        """
        failure = self._ledger.last_failure(key, self._run)
        stored = self._ledger.look_up(key)
        # Another run may have succeeded later with what failed here.
        if failure is not None and (stored is None or self._ledger.run_of(key) != self._run):
            raise CallFailed(f"failed in the run ({failure[0]})", failure[0])
        if stored is None:
            raise LedgerMiss(
                "A call that this run makes is not in the ledger.",
                "The ledger, the prompts or the version are not those of the run, or the run was changed.",
            )
        return stored

    def commit(self, call: StoredCall) -> bool:
        raise LedgerMiss(f"A call went out while nothing may ({call.tag}).")

    def commit_failure(self, call: StoredCall) -> None:
        raise LedgerMiss(f"A call went out while nothing may ({call.tag}).")


def failed_attempts(pool: Pool) -> dict[tuple[str, str, int], AttemptRow]:
    """Attempts of a run that got no reply, by item, model and number."""
    items = [*pool.items("original"), *pool.items("candidate")]
    rows = [row for item in items for row in pool.attempts(item.id)]
    return {
        (row.item, row.model, row.attempt): row
        for row in rows
        if row.outcome == "missing" and row.reason not in OF_A_REPLY
    }


def prepare_copy(folder: RunFolder, target: Path, *, refit: bool) -> RunFolder:
    """The run as it stood when its scale had just been frozen (before that, with ``refit``), in another folder."""
    copy = RunFolder(target / folder.name)
    copy.path.mkdir(parents=True, mode=0o700)
    if folder.world.is_file():
        copy.world.write_bytes(folder.world.read_bytes())
    source, written = sqlite3.connect(folder.memory), sqlite3.connect(copy.memory)
    try:
        source.backup(written)
        with written:
            for table in SEARCHED:
                written.execute(f"DELETE FROM {table}")  # noqa: S608 - our own names
            written.execute("DELETE FROM estimates WHERE source = 'online' OR ?", (refit,))
            written.execute("DELETE FROM items WHERE origin = 'candidate'")
            written.execute("UPDATE runs SET status = 'prepared', summary = NULL")
            if refit:
                written.execute("DELETE FROM scales")
                written.execute("DELETE FROM gaps")
            # What was never searched stays so.
            written.execute(
                "UPDATE gaps SET status = 'open', accepted = NULL, rounds = 0 "
                "WHERE status NOT IN ('skipped', 'refused')"
            )
    finally:
        source.close()
        written.close()
    return copy


def differences(before: Pool, after: Pool) -> list[str]:
    """What came out differently, in words; nothing when the run is verified."""
    found = []
    parts = (
        ("the plan and the end of gaps", _rows(before.gaps(), "gap"), _rows(after.gaps(), "gap")),
        ("candidates", _rows(before.candidates(), "id"), _rows(after.candidates(), "id")),
        ("judgements", _values(before.judgements()), _values(after.judgements())),
        ("places of items", _values(before.estimates()), _values(after.estimates())),
        ("attempts", _attempts(before), _attempts(after)),
        ("exported items", _rows(accepted_items(before), "id"), _rows(accepted_items(after), "id")),
    )
    for what, old, new in parts:
        names = sorted(
            {name for name in {*old, *new} if old.get(name) != new.get(name)}, key=lambda name: str(name)
        )
        if names:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            found.append(f"{what}: {', '.join(map(str, names[:3]))}{more}")
    return found


def _rows(rows: list[Any], name: str) -> dict[Any, Any]:
    plain = [row if isinstance(row, dict) else dataclasses.asdict(row) for row in rows]
    return {row[name]: row for row in plain}


def _values(rows: Mapping[str, Any]) -> dict[str, Any]:
    return {name: dataclasses.asdict(row) for name, row in rows.items()}


def _attempts(pool: Pool) -> dict[Any, Any]:
    rows = [row for item in pool.items() for row in pool.attempts(item.id)]
    return {f"{row.item} {row.model} {row.attempt}": dataclasses.asdict(row) for row in rows}
