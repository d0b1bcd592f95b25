"""The tables of one run's memory, as numbered migrations."""

from __future__ import annotations

from benchfill.memory.database import Database
from benchfill.memory.migrations import Migration
from benchfill.memory.search_schema import GAP_CHECKS, ITEM_FITS, KNOWN_HITS, WAVES

__all__ = ["POOL_MIGRATIONS"]

# z, b and their intervals: z on the frozen scale, b in logits, larger is harder.
TABLES = """
CREATE TABLE runs (
    id TEXT PRIMARY KEY,            -- name of the run and of its folder
    seed INTEGER NOT NULL,
    world TEXT NOT NULL,            -- simulated | replay
    world_version TEXT,
    version TEXT NOT NULL,          -- of the package
    settings TEXT NOT NULL,         -- JSON
    request TEXT NOT NULL,          -- JSON: which gaps were asked for
    status TEXT NOT NULL,           -- prepared | running | interrupted | paused | finished
    summary TEXT                    -- JSON of the final summary
);
CREATE TABLE benchmarks (
    id TEXT PRIMARY KEY,            -- fingerprint of items and log
    name TEXT NOT NULL,
    models TEXT NOT NULL,           -- JSON list, sorted
    responses TEXT NOT NULL         -- JSON: {item: [[correct, attempts] a model]}
);
CREATE TABLE items (
    id TEXT PRIMARY KEY,
    origin TEXT NOT NULL,           -- original | candidate
    question TEXT NOT NULL,
    answer TEXT NOT NULL,
    solution TEXT NOT NULL,
    choices TEXT NOT NULL,          -- JSON list
    answer_type TEXT NOT NULL,
    tolerance REAL,
    extra TEXT NOT NULL             -- JSON
);
CREATE TABLE scales (
    id TEXT PRIMARY KEY,            -- one frozen scale a run
    name TEXT NOT NULL,
    lo REAL NOT NULL,               -- logits at z = 0
    hi REAL NOT NULL,               -- logits at z = 1
    engine TEXT NOT NULL,
    seed INTEGER NOT NULL,
    models TEXT NOT NULL,           -- JSON list in the order of theta
    theta TEXT NOT NULL,            -- JSON (models)
    theta_draws TEXT NOT NULL,      -- JSON (draws, models)
    gate TEXT NOT NULL,             -- JSON
    versions TEXT NOT NULL          -- JSON
);
CREATE TABLE estimates (
    item TEXT PRIMARY KEY REFERENCES items(id),
    scale TEXT NOT NULL REFERENCES scales(id),
    source TEXT NOT NULL,           -- offline: fitted with the benchmark; online: on the frozen abilities
    b REAL NOT NULL,
    b_sd REAL NOT NULL,
    z REAL NOT NULL,                -- posterior mean
    z_sd REAL NOT NULL,
    z_lo90 REAL NOT NULL,
    z_hi90 REAL NOT NULL,
    b_ml REAL,                      -- maximum likelihood, null where there is none
    attempts INTEGER NOT NULL,      -- that were answered
    expected_deviation REAL         -- of a candidate from its target
);
CREATE TABLE candidates (
    id TEXT PRIMARY KEY,            -- gap, round and writer: the same when a node runs again
    item TEXT REFERENCES items(id), -- null when nothing usable was submitted
    gap INTEGER NOT NULL,
    round INTEGER NOT NULL,
    writer INTEGER NOT NULL,
    target REAL NOT NULL,
    parent TEXT NOT NULL,
    reference_ids TEXT NOT NULL,    -- JSON list
    rationale TEXT NOT NULL,
    status TEXT NOT NULL,           -- records.CandidateStatus
    reason TEXT NOT NULL,
    refusals TEXT NOT NULL,         -- JSON list of {reason, detail}
    prompt_version TEXT NOT NULL,
    prompt_hashes TEXT NOT NULL,    -- JSON
    rewriter TEXT NOT NULL,         -- model of the role
    calls INTEGER NOT NULL,         -- turns of the rewriter
    judge TEXT NOT NULL
);
CREATE INDEX candidates_by_gap ON candidates (gap, round, writer);
CREATE TABLE judgements (
    candidate TEXT PRIMARY KEY REFERENCES candidates(id),
    status TEXT NOT NULL,           -- accepted | rejected | not_judged
    blind_answer TEXT,
    blind_agrees INTEGER,
    valid INTEGER,
    problems TEXT NOT NULL,         -- JSON list
    reason TEXT NOT NULL,
    calls INTEGER NOT NULL
);
CREATE TABLE attempts (
    item TEXT NOT NULL,
    model TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    outcome TEXT NOT NULL,          -- correct | wrong | missing
    reason TEXT NOT NULL,           -- why it is missing
    extracted TEXT,
    PRIMARY KEY (item, model, attempt)
) WITHOUT ROWID;
CREATE TABLE gaps (
    gap INTEGER PRIMARY KEY,
    lo REAL NOT NULL,
    hi REAL NOT NULL,
    target REAL NOT NULL,
    tolerance REAL NOT NULL,
    expected_attempts INTEGER,
    status TEXT NOT NULL,           -- open | filled | accepted_outside_tolerance | unfilled | skipped | refused
    accepted TEXT,                  -- candidate
    rounds INTEGER NOT NULL
);
"""


def _first_tables(database: Database) -> None:
    for statement in "\n".join(line.split("--")[0] for line in TABLES.splitlines()).split(";"):
        if statement.strip():
            database.connection.execute(statement)


def _confirmations(database: Database) -> None:
    # Fresh attempts at a chosen candidate: numbers from first to stop - 1, never among those it was chosen by.
    database.connection.execute("""
        CREATE TABLE confirmations (
            candidate TEXT NOT NULL REFERENCES candidates(id),
            first INTEGER NOT NULL,
            stop INTEGER NOT NULL,
            tolerance REAL NOT NULL,
            verdict TEXT NOT NULL,
            z REAL NOT NULL,
            z_sd REAL NOT NULL,
            z_lo90 REAL NOT NULL,
            z_hi90 REAL NOT NULL,
            expected_deviation REAL NOT NULL,
            PRIMARY KEY (candidate, first)
        )""")
    # Whether an estimate's place comes from fresh attempts alone.
    database.connection.execute("ALTER TABLE estimates ADD COLUMN confirmed INTEGER NOT NULL DEFAULT 0")
    # What was expected of a candidate's place when it was written; null before this was kept.
    database.connection.execute("ALTER TABLE candidates ADD COLUMN prior_center REAL")
    database.connection.execute("ALTER TABLE candidates ADD COLUMN prior_scale REAL")


def _reviews(database: Database) -> None:
    # One export of packets, and the hash of the sealed key that says what each blind id was.
    database.connection.execute("""
        CREATE TABLE review_rounds (
            round INTEGER PRIMARY KEY,
            kind TEXT NOT NULL,             -- review | adjudication
            seed INTEGER NOT NULL,
            originals REAL NOT NULL,        -- original items mixed in for each new one
            key_sha256 TEXT NOT NULL
        )""")
    # What each reviewer was given; the text as it was then is told by its hash.
    database.connection.execute("""
        CREATE TABLE review_assignments (
            reviewer TEXT NOT NULL,
            blind_id TEXT NOT NULL,
            round INTEGER NOT NULL REFERENCES review_rounds(round),
            place INTEGER NOT NULL,         -- in the reviewer's own order
            item TEXT NOT NULL REFERENCES items(id),
            origin TEXT NOT NULL,           -- original | candidate
            item_hash TEXT NOT NULL,
            PRIMARY KEY (reviewer, blind_id)
        ) WITHOUT ROWID""")
    database.connection.execute("""
        CREATE TABLE review_decisions (
            reviewer TEXT NOT NULL,
            blind_id TEXT NOT NULL,
            verdict TEXT NOT NULL,          -- approve | reject | unsure
            answer TEXT,                    -- the reviewer's own; null where the form did not ask for one
            agrees INTEGER,                 -- whether it equals the key; null where nobody can tell
            reasons TEXT NOT NULL,          -- JSON list
            comment TEXT NOT NULL,
            seconds REAL,
            revision INTEGER NOT NULL,      -- how often the reviewer had decided on this item
            PRIMARY KEY (reviewer, blind_id),
            FOREIGN KEY (reviewer, blind_id) REFERENCES review_assignments(reviewer, blind_id)
        ) WITHOUT ROWID""")


def _by_hand(database: Database) -> None:
    # What the maintainer decided, in the order it was decided; never overwritten.
    database.connection.execute("""
        CREATE TABLE maintainer_decisions (
            number INTEGER PRIMARY KEY,
            item TEXT NOT NULL REFERENCES items(id),
            verdict TEXT NOT NULL,          -- accept | reject | edited | added
            reason TEXT NOT NULL,
            who TEXT NOT NULL,
            at TEXT NOT NULL                -- UTC, ISO 8601
        )""")
    # Items written by hand are candidates of no round: gap 0, or that of the item they take the place of.
    database.connection.execute("ALTER TABLE candidates ADD COLUMN by_hand TEXT NOT NULL DEFAULT ''")
    database.connection.execute("ALTER TABLE candidates ADD COLUMN replaces TEXT")


def _seen_reviews(database: Database) -> None:
    # What reviewers had made of the item when the maintainer decided: a decision overrules only what it has seen.
    database.connection.execute("ALTER TABLE maintainer_decisions ADD COLUMN review TEXT NOT NULL DEFAULT ''")


POOL_MIGRATIONS: tuple[Migration, ...] = (
    Migration("first_tables", _first_tables),
    Migration("confirmations", _confirmations),
    Migration("reviews", _reviews),
    Migration("by_hand", _by_hand),
    GAP_CHECKS,
    KNOWN_HITS,
    ITEM_FITS,
    Migration("seen_reviews", _seen_reviews),
    WAVES,
)
