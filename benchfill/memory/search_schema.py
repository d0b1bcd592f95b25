"""Migrations of a run's memory that belong to the search: what it asked again, and what it knew of its rewriter."""

from __future__ import annotations

from benchfill.memory.database import Database
from benchfill.memory.migrations import Migration

__all__ = ["GAP_CHECKS", "ITEM_FITS", "KNOWN_HITS", "WAVES"]


def _gap_checks(database: Database) -> None:
    # Draws of the difficulties' distribution, beside those of the abilities: JSON (draws), null in files of before.
    database.connection.execute("ALTER TABLE scales ADD COLUMN mu_b_draws TEXT")
    database.connection.execute("ALTER TABLE scales ADD COLUMN sigma_b_draws TEXT")
    # Posterior probability that no item truly lies in the middle half of the gap; null where it was not worked out.
    database.connection.execute("ALTER TABLE gaps ADD COLUMN p_empty REAL")
    # Original items that were asked again: attempts first to stop - 1 of every model, and the place by all answers.
    database.connection.execute("""
        CREATE TABLE rechecks (
            item TEXT PRIMARY KEY REFERENCES items(id),
            first INTEGER NOT NULL,
            stop INTEGER NOT NULL,
            b REAL NOT NULL,
            b_sd REAL NOT NULL,
            z REAL NOT NULL,
            z_sd REAL NOT NULL,
            z_lo90 REAL NOT NULL,
            z_hi90 REAL NOT NULL,
            attempts INTEGER NOT NULL       -- answers of all models, those of the log included
        )""")
    # The check of a run's gaps: one row.
    database.connection.execute("""
        CREATE TABLE gap_checks (
            id TEXT PRIMARY KEY,
            before TEXT NOT NULL,           -- JSON: the gaps as they were first planned
            attempts_limit INTEGER NOT NULL,
            done INTEGER NOT NULL
        )""")


def _known_hits(database: Database) -> None:
    # What earlier runs had learned of this rewriter when this run began (z), never changed afterwards.
    database.connection.execute("""
        CREATE TABLE known_hits (
            run TEXT NOT NULL,
            candidate TEXT NOT NULL,
            target REAL NOT NULL,
            parent REAL NOT NULL,
            landed REAL NOT NULL,
            error REAL NOT NULL,
            PRIMARY KEY (run, candidate)
        )""")


def _item_fits(database: Database) -> None:
    # Of accepted items: posterior-predictive p, misfit beyond chance (logits) beside the median of the benchmark's own
    # items, correlation with the score beside the 5 % quantile of theirs.
    database.connection.execute("""
        CREATE TABLE item_fits (
            item TEXT PRIMARY KEY REFERENCES items(id),
            p REAL NOT NULL,
            residual REAL NOT NULL,
            own_residual REAL NOT NULL,
            correlation REAL,
            own_correlation REAL,
            misfits INTEGER NOT NULL
        )""")


def _waves(database: Database) -> None:
    # Gaps that are searched at the same time do not see each other's items; null before a gap is searched, and in
    # files of before, where each gap saw all earlier ones.
    database.connection.execute("ALTER TABLE gaps ADD COLUMN wave INTEGER")


GAP_CHECKS = Migration("gap_checks", _gap_checks)
KNOWN_HITS = Migration("known_hits", _known_hits)
ITEM_FITS = Migration("item_fits", _item_fits)
WAVES = Migration("waves", _waves)
