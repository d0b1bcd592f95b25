"""The tables of the ledger, as numbered migrations."""

from __future__ import annotations

import time

from benchfill.memory.bodies import dictionary_file, zstd
from benchfill.memory.database import Database
from benchfill.memory.migrations import Migration

__all__ = ["ADD_TO_TOTALS", "LEDGER_MIGRATIONS", "SUMS_OF"]


def _calls(database: Database) -> None:
    # One row a request that reached an endpoint. Bodies are compressed; headers, and so API keys, are
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


# Sums over the rows of one of the two tables; rows of before the charge was kept count as reported. A conversation
# begins with its turn 0, what has no turns is one by itself, and a probe is no work of its role.
SUMS = """
    sum({usable}), sum(NOT {usable}),
    coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0), sum(price),
    sum(price IS NULL), sum(output_tokens IS NULL), sum(seconds),
    sum(coalesce(charged_tokens, coalesce(input_tokens, 0) + coalesce(output_tokens, 0))),
    sum(coalesce(charged_cost, price)),
    sum({work}), coalesce(sum(CASE WHEN {work} THEN input_tokens END), 0),
    coalesce(sum(CASE WHEN {work} THEN output_tokens END), 0),
    sum({work} AND (tag GLOB '*/t0' OR tag NOT GLOB '*/t[0-9]*'))
"""
WORK = "(input_tokens IS NOT NULL AND output_tokens IS NOT NULL AND tag NOT LIKE 'probe/%')"
SUMS_OF = {"calls": SUMS.format(usable="1", work=WORK), "failures": SUMS.format(usable="0", work="0")}
SUMMED = ("run", "role", "model", "tag", "input_tokens", "output_tokens", "price", "seconds", "charged_tokens",
          "charged_cost")  # fmt: skip
ADD_TO_TOTALS = """
    ON CONFLICT (run, role, model, kept) DO UPDATE SET
        calls = calls + excluded.calls,
        failed = failed + excluded.failed,
        input_tokens = input_tokens + excluded.input_tokens,
        output_tokens = output_tokens + excluded.output_tokens,
        price = CASE WHEN excluded.price IS NULL THEN price ELSE coalesce(price, 0) + excluded.price END,
        unpriced = unpriced + excluded.unpriced,
        unmetered = unmetered + excluded.unmetered,
        seconds = seconds + excluded.seconds,
        charged_tokens = charged_tokens + excluded.charged_tokens,
        charged_cost = CASE WHEN excluded.charged_cost IS NULL THEN charged_cost
                            ELSE coalesce(charged_cost, 0) + excluded.charged_cost END,
        metered = metered + excluded.metered,
        metered_input = metered_input + excluded.metered_input,
        metered_output = metered_output + excluded.metered_output,
        tasks = tasks + excluded.tasks
"""


def _totals(database: Database) -> None:
    # What was spent by run, role and model, kept by triggers in the transaction of every call: a million rows need not
    # be read to sum them. kept = 1: of the rows that are here; 0: of rows that were thrown away, whose money is spent
    # all the same.
    database.connection.execute("""
        CREATE TABLE totals (
            run TEXT NOT NULL,
            role TEXT NOT NULL,
            model TEXT NOT NULL,
            kept INTEGER NOT NULL,
            calls INTEGER NOT NULL,
            failed INTEGER NOT NULL,
            input_tokens INTEGER NOT NULL,
            output_tokens INTEGER NOT NULL,
            price REAL,                         -- NULL where no row has one
            unpriced INTEGER NOT NULL,
            unmetered INTEGER NOT NULL,
            seconds REAL NOT NULL,
            charged_tokens INTEGER NOT NULL,
            charged_cost REAL,
            metered INTEGER NOT NULL,           -- usable replies with usage, probes aside
            metered_input INTEGER NOT NULL,
            metered_output INTEGER NOT NULL,
            tasks INTEGER NOT NULL,             -- conversations they began
            PRIMARY KEY (run, role, model, kept)
        ) WITHOUT ROWID""")
    row = ", ".join(f"NEW.{name} AS {name}" for name in SUMMED)
    for table, sums in SUMS_OF.items():
        database.connection.execute(
            f"INSERT INTO totals SELECT run, role, model, 1, {sums} FROM {table} "  # noqa: S608
            f"WHERE true GROUP BY run, role, model {ADD_TO_TOTALS}"
        )
        database.connection.execute(
            f"CREATE TRIGGER {table}_summed AFTER INSERT ON {table} BEGIN "  # noqa: S608
            f"INSERT INTO totals SELECT run, role, model, 1, {sums} FROM (SELECT {row}) "
            f"WHERE true GROUP BY run, role, model {ADD_TO_TOTALS}; END"
        )
    # Turns of a conversation are read by run and tag; the runs that a call served by run.
    database.connection.execute("DROP INDEX calls_by_run")
    database.connection.execute("CREATE INDEX calls_by_tag ON calls (run, tag)")
    database.connection.execute("CREATE INDEX uses_by_run ON uses (run, key)")


def _dictionary_1(database: Database) -> None:
    # What bodies are packed against (see bodies.py). Rows of before stay as they are.
    database.connection.execute(
        "CREATE TABLE dictionaries (number INTEGER PRIMARY KEY, id INTEGER NOT NULL UNIQUE, content BLOB NOT NULL)"
    )
    content = dictionary_file(1).read_bytes()
    database.connection.execute(
        "INSERT INTO dictionaries VALUES (1, ?, ?)", (zstd.ZstdDict(content).dict_id, content)
    )


LEDGER_MIGRATIONS: tuple[Migration, ...] = (
    Migration("calls", _calls),
    Migration("charges", _charges),
    Migration("uses", _uses),
    Migration("totals", _totals),
    Migration("dictionary_1", _dictionary_1),
)
