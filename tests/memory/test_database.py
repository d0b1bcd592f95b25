"""The settings of a database file, its transactions, migrations, and what a user reads about a bad file."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from benchfill.errors import BenchfillError, InputError
from benchfill.memory.database import Database, open_database
from benchfill.memory.migrations import Migration, apply_migrations

FIRST = Migration(
    "first", lambda db: db.connection.execute("CREATE TABLE one (id TEXT PRIMARY KEY, n INTEGER)")
)
SECOND = Migration("second", lambda db: db.tables["one"].add_column("m", int))


def test_settings_are_those_of_a_shared_file(tmp_path: Path) -> None:
    with open_database(tmp_path / "a" / "b.db") as db:
        pragma = lambda name: db.connection.execute(f"PRAGMA {name}").fetchone()[0]  # noqa: E731
        assert pragma("journal_mode") == "wal"
        assert pragma("synchronous") == 1
        assert pragma("busy_timeout") == 60_000
        assert pragma("foreign_keys") == 1
    assert (tmp_path / "a").stat().st_mode & 0o077 == 0


def test_sqlite_utils_writes_through_the_same_connection_and_transaction(tmp_path: Path) -> None:
    def fail(db: Database) -> None:
        with db.transaction():
            db.tables["one"].upsert({"id": "a", "n": 1}, pk="id")
            raise ZeroDivisionError

    with open_database(tmp_path / "x.db") as db:
        apply_migrations(db, [FIRST])
        with pytest.raises(ZeroDivisionError):
            fail(db)
        assert db.tables["one"].count == 0
        with db.transaction(), db.transaction():
            db.tables["one"].upsert({"id": "a", "n": 1}, pk="id")
        assert db.connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    with open_database(tmp_path / "x.db", create=False) as db:
        assert list(db.tables["one"].rows) == [{"id": "a", "n": 1}]


def test_transactions_of_threads_do_not_mix(tmp_path: Path) -> None:
    with open_database(tmp_path / "x.db") as db:
        apply_migrations(db, [FIRST])

        def write(start: int) -> None:
            for n in range(start, start + 200):
                try:
                    with db.transaction() as connection:
                        connection.execute("INSERT INTO one VALUES (?, ?)", (f"{n}", n))
                        if n % 2:
                            raise ArithmeticError
                except ArithmeticError:
                    pass

        threads = [threading.Thread(target=write, args=(start,)) for start in (0, 200, 400)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        kept = [n for (n,) in db.connection.execute("SELECT n FROM one ORDER BY n")]
        assert kept == list(range(0, 600, 2))


def test_a_second_process_waits_for_the_writer(tmp_path: Path) -> None:
    with open_database(tmp_path / "x.db") as db:
        apply_migrations(db, [FIRST])
        with db.transaction() as connection:
            connection.execute("INSERT INTO one VALUES ('here', 1)")
            other = subprocess.Popen(
                [
                    sys.executable,
                    "-c",
                    "import sys; from pathlib import Path\n"
                    "from benchfill.memory.database import open_database\n"
                    "db = open_database(Path(sys.argv[1])); print('open', flush=True)\n"
                    "with db.transaction() as c:\n"
                    "    n = c.execute('SELECT count(*) FROM one').fetchone()[0]\n"
                    "    c.execute('INSERT INTO one VALUES (?, ?)', ('there', n))\n",
                    str(tmp_path / "x.db"),
                ],
                stdout=subprocess.PIPE,
                text=True,
            )
            assert other.stdout is not None
            assert other.stdout.readline() == "open\n"
        assert other.wait(30) == 0
        other.stdout.close()
        assert dict(db.connection.execute("SELECT id, n FROM one")) == {"here": 1, "there": 1}


def test_migrations_apply_once_and_in_order(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with open_database(path) as db:
        assert apply_migrations(db, [FIRST]) == 1
        db.connection.execute("INSERT INTO one VALUES ('old', 7)")
    with open_database(path) as db:
        assert apply_migrations(db, [FIRST, SECOND]) == 1
        assert apply_migrations(db, [FIRST, SECOND]) == 0
        assert db.connection.execute("SELECT * FROM one").fetchall() == [("old", 7, None)]
        assert db.connection.execute("SELECT number, name FROM migrations").fetchall() == [
            (1, "first"),
            (2, "second"),
        ]


def test_a_failing_migration_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    def fail(db: Database) -> None:
        db.connection.execute("CREATE TABLE half (id TEXT)")
        raise ZeroDivisionError

    with open_database(tmp_path / "x.db") as db:
        apply_migrations(db, [FIRST])
        with pytest.raises(ZeroDivisionError):
            apply_migrations(db, [FIRST, SECOND, Migration("third", fail)])
        assert set(db.tables.table_names()) == {"one", "migrations"}
        assert [column.name for column in db.tables["one"].columns] == ["id", "n"]


def test_a_file_of_a_newer_version_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with open_database(path) as db:
        apply_migrations(db, [FIRST, SECOND])
    with open_database(path) as db, pytest.raises(InputError, match="newer version") as caught:
        apply_migrations(db, [FIRST])
    assert caught.value.kind == "newer_version"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("table", ["other", "migrations"])
def test_a_database_of_somebody_else_is_refused(tmp_path: Path, table: str) -> None:
    path = tmp_path / "x.db"
    with sqlite3.connect(path) as foreign:
        foreign.execute(f"CREATE TABLE {table} (a)")
    foreign.close()
    with open_database(path) as db, pytest.raises(InputError) as caught:
        apply_migrations(db, [FIRST])
    assert caught.value.kind == "foreign_database"


def test_another_list_of_migrations_is_another_kind_of_file(tmp_path: Path) -> None:
    with open_database(tmp_path / "x.db") as db:
        apply_migrations(db, [FIRST])
        with pytest.raises(InputError) as caught:
            apply_migrations(db, [Migration("elsewhere", lambda db: None)])
    assert caught.value.kind == "foreign_database"


def test_bad_files_are_one_line_each(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("no database at all, " * 100)
    folder = tmp_path / "folder"
    folder.mkdir()
    below = text / "x.db"
    for path, kind in [(text, "not_a_database"), (folder, "unwritable"), (below, "unwritable")]:
        with pytest.raises(InputError) as caught:
            open_database(path)
        assert caught.value.kind == kind
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError) as caught:
        open_database(tmp_path / "absent.db", create=False)
    assert caught.value.kind == "missing_file"
    assert not (tmp_path / "absent.db").exists()


def test_a_damaged_file_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with open_database(path) as db:
        apply_migrations(db, [FIRST])
        with db.transaction() as connection:
            connection.executemany("INSERT INTO one VALUES (?, ?)", [(f"{n:0200}", n) for n in range(2000)])
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with open_database(path) as db, pytest.raises(InputError) as caught, db.transaction() as connection:
        connection.execute("SELECT count(*) FROM one WHERE n > 5").fetchone()
    assert caught.value.kind == "corrupt"


def test_a_writer_that_never_lets_go_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with (
        open_database(path) as db,
        open_database(path, busy_seconds=0.05) as second,
        db.transaction(),
        pytest.raises(BenchfillError, match="another process"),
        second.transaction(),
    ):
        pass
