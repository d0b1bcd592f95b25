"""One SQLite file: opened with the settings everything here relies on, written in short transactions.

WAL lets readers of other processes go on while a run writes; ``synchronous=NORMAL`` keeps every committed
row across a killed process (an operating system that dies may lose the last ones, never the file).
"""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from benchfill.errors import BenchfillError, InputError

if TYPE_CHECKING:
    import sqlite_utils

__all__ = ["Database", "open_copy", "open_database", "plain_errors"]

# Another process holds the file for one short transaction at a time; a minute means that it hangs.
BUSY_SECONDS = 60.0


class Database:
    """The one writer connection of this process to one SQLite file.

    Parameters
    ----------
    path
        The file, for messages.
    connection
        An open connection in autocommit mode (``isolation_level=None``): transactions are begun here only.

    Notes
    -----
    Threads may share an instance: SQLite serialises single statements, and :meth:`transaction` holds a lock,
    so that no other thread's transaction mixes with this one. A statement outside of any transaction is one
    by itself; issued by another thread while a transaction is open it becomes part of that one, so every
    write belongs into :meth:`transaction`. Never ``await`` inside a transaction: another coroutine of the
    same thread would join it.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.connection = connection
        self._lock = threading.RLock()

    @cached_property
    def tables(self) -> sqlite_utils.Database:
        """The same connection through sqlite-utils: ``tables["items"].upsert(...)``."""
        # sqlite-utils takes a second to import, and the call ledger does without it.
        import sqlite_utils

        return sqlite_utils.Database(self.connection)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Begin now, as a writer; commit at the end, roll back on any exception. Nested ones join the outer.

        ``BEGIN IMMEDIATE``, because a transaction that begins as a reader and then writes fails at once when
        another process wrote in between, whatever the busy timeout.

        Raises
        ------
        BenchfillError
            The file is locked for longer than the busy timeout, the disk is full, the file is damaged.
        """
        with self._lock, plain_errors(self.path):
            if self.connection.in_transaction:
                yield self.connection
                return
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Close the connection; SQLite folds the WAL into the file when it was the last one."""
        with self._lock:
            self.connection.close()

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_database(
    path: Path, *, busy_seconds: float = BUSY_SECONDS, create: bool = True, alone: bool = False
) -> Database:
    """Open or create a file.

    Parameters
    ----------
    path
        The file. Missing folders are made, for the user alone (0700): the texts in it may be private.
    busy_seconds
        How long a statement waits for another process's transaction.
    create
        False: a missing file is an error instead of a new empty one.
    alone
        Nobody else may have the file open, now or until it is closed, not even to read.

    Raises
    ------
    InputError
        ``missing_file``, ``not_a_database``, ``unwritable``, ``no_wal``: one line each.
    BenchfillError
        Another process holds the file for longer than the busy timeout.
    """
    if not create and not path.is_file():
        raise InputError(f"{path} does not exist.", kind="missing_file", path=str(path))
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise InputError(
            f"{path.parent} cannot be made: {error.strerror}.",
            "Choose another folder or free this name.",
            kind="unwritable",
            path=str(path.parent),
        ) from error
    with plain_errors(path):
        connection = sqlite3.connect(
            path, timeout=busy_seconds, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        try:
            if alone:
                # Before the first access: from then on there is no shared memory by which others could join.
                connection.execute("PRAGMA locking_mode=EXCLUSIVE")
            mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("PRAGMA foreign_keys=ON")
            if mode != "wal":
                raise InputError(
                    f"{path} lies on a file system without shared memory for SQLite (WAL).",
                    "Put it on a local disk.",
                    kind="no_wal",
                    path=str(path),
                )
        except BaseException:
            connection.close()
            raise
    return Database(path, connection)


def open_copy(content: bytes) -> Database:
    """A database in the memory of this process alone, so that nothing of it is left however the process ends.

    Parameters
    ----------
    content
        Of the file it begins as.
    """
    connection = sqlite3.connect(
        ":memory:", isolation_level=None, check_same_thread=False, cached_statements=256
    )
    # Not every build of SQLite reads bytes (`deserialize`): a file for a moment.
    with tempfile.TemporaryDirectory(prefix="benchfill-") as folder:
        path = Path(folder) / "content.sqlite"
        path.write_bytes(content)
        with contextlib.closing(sqlite3.connect(path)) as file:
            file.backup(connection)
    connection.execute("PRAGMA foreign_keys=ON")
    return Database(Path(":memory:"), connection)


@contextlib.contextmanager
def plain_errors(path: Path) -> Iterator[None]:
    """Turn what SQLite reports about a file (not about our SQL) into one line for the user."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        # sqlite_errorname is absent on errors of the Python layer, which are ours.
        name = getattr(error, "sqlite_errorname", "")
        fault = next((FAULTS[prefix] for prefix in FAULTS if name.startswith(prefix)), None)
        if fault is None:
            raise
        kind, message, remedy = fault
        if kind == "locked":
            raise BenchfillError(f"{path} {message}", remedy) from error
        raise InputError(f"{path} {message}", remedy, kind=kind, path=str(path)) from error


# By the beginning of SQLite's error name (extended names such as SQLITE_IOERR_SHMOPEN included).
FAULTS: dict[str, tuple[str, str, str]] = {
    "SQLITE_NOTADB": (
        "not_a_database",
        "is not an SQLite database.",
        "Move it away, or name another file or folder.",
    ),
    "SQLITE_CORRUPT": (
        "corrupt",
        "is damaged.",
        "Move it away; `sqlite3 FILE .recover` may save what is in it.",
    ),
    "SQLITE_CANTOPEN": ("unwritable", "cannot be opened.", "Is it a folder, or is the folder read-only?"),
    "SQLITE_READONLY": (
        "unwritable",
        "cannot be written.",
        "Check the permissions of the file and its folder.",
    ),
    "SQLITE_PERM": ("unwritable", "cannot be written.", "Check the permissions of the file and its folder."),
    "SQLITE_FULL": (
        "disk_full",
        "cannot grow: the disk is full.",
        "Free some space; nothing committed is lost.",
    ),
    "SQLITE_IOERR": ("io_error", "cannot be read or written: input/output error.", "Check the disk."),
    "SQLITE_BUSY": ("locked", "is in use by another process that does not let go.", "End that process."),
    "SQLITE_LOCKED": ("locked", "is in use by another process that does not let go.", "End that process."),
}
