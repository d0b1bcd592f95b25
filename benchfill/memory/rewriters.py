"""How rewriters hit their targets, across runs: a file beside the runs, so that a run may go and this stays."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from benchfill.memory.database import Database, open_database
from benchfill.memory.migrations import Migration, apply_migrations
from benchfill.memory.records import HitRow

__all__ = ["RewriterMemory"]

# Hits of the latest runs that are handed on: more would hardly narrow what is expected.
MOST_HITS = 400


def _first_tables(database: Database) -> None:
    # Where the items of finished runs landed (z), by what wrote them: rewriter, prompts and benchmark in one hash.
    database.connection.execute("""
        CREATE TABLE hits (
            rewriter TEXT NOT NULL,
            run TEXT NOT NULL,
            candidate TEXT NOT NULL,
            target REAL NOT NULL,
            parent REAL NOT NULL,
            landed REAL NOT NULL,
            error REAL NOT NULL,
            written INTEGER NOT NULL,       -- order of the runs
            PRIMARY KEY (rewriter, run, candidate)
        )""")
    # What a run began with, so that the same command begins with the same again.
    database.connection.execute("""
        CREATE TABLE beginnings (
            command TEXT PRIMARY KEY,       -- hash of rewriter, seed, request and settings
            hits TEXT NOT NULL              -- JSON
        )""")


MIGRATIONS = (Migration("first_tables", _first_tables),)


class RewriterMemory:
    """The file of all rewriters' hits.

    Parameters
    ----------
    path
        Made when absent.
    """

    def __init__(self, path: Path) -> None:
        self.database = open_database(path)
        apply_migrations(self.database, MIGRATIONS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.database.close()

    def begin(self, rewriter: str, command: str) -> list[HitRow]:
        """What a run of this rewriter begins with: hits of runs that have finished, fixed at the first call.

        Parameters
        ----------
        rewriter
            Hash of what writes: another model, prompt or benchmark is another rewriter.
        command
            Hash of everything that makes a run what it is: a repeated run begins as the first one did.
        """
        with self.database.transaction() as connection:
            row = connection.execute("SELECT hits FROM beginnings WHERE command = ?", (command,)).fetchone()
            if row is not None:
                return [HitRow(**each) for each in json.loads(row[0])]
            rows = connection.execute(
                "SELECT run, candidate, target, parent, landed, error FROM hits WHERE rewriter = ? "
                "ORDER BY written DESC, run, candidate LIMIT ?",
                (rewriter, MOST_HITS),
            ).fetchall()
            hits = sorted((HitRow(*each) for each in rows), key=lambda hit: (hit.run, hit.candidate))
            kept = json.dumps([dataclasses.asdict(hit) for hit in hits])
            connection.execute("INSERT INTO beginnings VALUES (?, ?)", (command, kept))
        return hits

    def keep(self, rewriter: str, hits: Sequence[HitRow]) -> None:
        """Keep what a finished run has learned; again changes nothing."""
        with self.database.transaction() as connection:
            last = connection.execute("SELECT coalesce(max(written), 0) FROM hits").fetchone()[0]
            connection.executemany(
                "INSERT INTO hits VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                [(rewriter, *dataclasses.astuple(hit), last + 1) for hit in hits],
            )
