"""Checkpoints of a run in one SQLite file."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import aiosqlite
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

__all__ = ["open_checkpoints"]


@contextlib.asynccontextmanager
async def open_checkpoints(path: Path) -> AsyncIterator[AsyncSqliteSaver]:
    """A saver over the file; WAL and NORMAL, since whatever a lost checkpoint repeats comes from the ledger."""
    async with aiosqlite.connect(path) as connection:
        await connection.execute("PRAGMA journal_mode=WAL")
        await connection.execute("PRAGMA synchronous=NORMAL")
        yield AsyncSqliteSaver(connection)
