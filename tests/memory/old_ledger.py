"""Ledger files as earlier versions wrote them: their schema, bodies in zlib."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from pathlib import Path

from benchfill.call import StoredCall
from benchfill.memory.database import open_database
from benchfill.memory.ledger_schema import LEDGER_MIGRATIONS
from benchfill.memory.migrations import apply_migrations

COLUMNS = (
    "key", "endpoint", "role", "model", "run", "tag", "status", "content_type", "input_tokens", "output_tokens",
    "price", "seconds", "tries",
)  # fmt: skip


def write_old_ledger(path: Path, version: int, calls: Iterable[StoredCall], *, at: float = 1.0) -> None:
    """A file of schema 1 (without times and charges), 2 or 3, with these calls; those with a fault are failures."""
    with open_database(path) as database:
        apply_migrations(database, LEDGER_MIGRATIONS[:version])
        with database.transaction() as connection:
            for number, call in enumerate(calls):
                row: dict[str, object] = {name: getattr(call, name) for name in COLUMNS}
                if version > 1:
                    row |= {name: getattr(call, name) for name in ("charged_tokens", "charged_cost")}
                    row["at"] = at + number
                row |= {name: zlib.compress(getattr(call, name), 1) for name in ("request", "response")}
                if call.fault:
                    row["fault"] = call.fault
                connection.execute(
                    f"INSERT INTO {'failures' if call.fault else 'calls'} ({', '.join(row)}) "  # noqa: S608
                    f"VALUES ({', '.join('?' * len(row))})",
                    tuple(row.values()),
                )
