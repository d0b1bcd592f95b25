"""Replies are kept once and for all, failures only as spend, by any number of processes."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from benchfill.call import StoredCall, StoredReply
from benchfill.errors import InputError
from benchfill.memory.ledger import Ledger, Spend


def call(key: str = "k", **changes: object) -> StoredCall:
    base = StoredCall(
        key=key,
        endpoint="https://host/v1",
        role="respondent",
        model="m",
        run="r",
        tag="item/0",
        status=200,
        content_type="application/json",
        request=b'{"model":"m"}',
        response=b'{"choices":[1]}',
        input_tokens=10,
        output_tokens=4,
        price=0.5,
        seconds=2.0,
        tries=1,
    )
    return dataclasses.replace(base, **changes)  # type: ignore[arg-type]


def test_a_reply_comes_back_byte_for_byte_after_reopening(tmp_path: Path) -> None:
    body = bytes(range(256)) * 300
    with Ledger(tmp_path / "l.db") as ledger:
        assert ledger.look_up("k") is None
        assert ledger.commit(call(response=body))
    with Ledger(tmp_path / "l.db") as ledger:
        assert ledger.look_up("k") == StoredReply(200, "application/json", body)
        assert ledger.look_up("other") is None


def test_the_first_commit_of_a_key_counts_and_the_second_is_still_spent(tmp_path: Path) -> None:
    with Ledger(tmp_path / "a.db") as ledger, Ledger(tmp_path / "a.db") as other:
        assert ledger.commit(call(response=b"first"))
        assert not other.commit(call(response=b"second", run="r2"))
        reply = other.look_up("k")
        assert reply is not None
        assert reply.response == b"first"
        assert [(s.run, s.calls, s.failed, s.price) for s in ledger.spend()] == [
            ("r", 1, 0, 0.5),
            ("r2", 0, 1, 0.5),
        ]


def test_failures_are_never_served_and_never_committed_as_replies(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l.db") as ledger:
        ledger.commit_failure(call(fault="server_error", status=500))
        ledger.commit_failure(call(fault="server_error", status=500))
        assert ledger.look_up("k") is None
        with pytest.raises(ValueError, match="server_error"):
            ledger.commit(call(fault="server_error"))
        assert ledger.look_up("k") is None
        assert ledger.spend()[0].failed == 2


def test_spend_sums_by_run_role_and_model_and_says_what_it_does_not_know(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l.db") as ledger:
        ledger.commit(call("1"))
        ledger.commit(call("2", price=None, input_tokens=None, output_tokens=None))
        ledger.commit_failure(call("3", fault="timeout", price=0.25))
        ledger.commit(call("4", role="judge", price=None))
        ledger.commit(call("5", run="another"))
        assert ledger.spend("r") == [
            Spend("r", "judge", "m", 1, 0, 10, 4, None, 1, 0, 2.0),
            Spend("r", "respondent", "m", 2, 1, 20, 8, 0.75, 1, 1, 6.0),
        ]
        assert [s.run for s in ledger.spend()] == ["another", "r", "r"]
        assert ledger.spend("nobody") == []


def test_processes_write_at_once_and_lose_nothing(tmp_path: Path) -> None:
    program = (
        "import sys, dataclasses; from pathlib import Path\n"
        "from benchfill.memory.ledger import Ledger; from tests.memory.test_ledger import call\n"
        "ledger = Ledger(Path(sys.argv[1]))\n"
        "for n in range(300): ledger.commit(call(f'{sys.argv[2]}-{n}')); ledger.commit(call(f'shared-{n}'))\n"
    )
    path = tmp_path / "l.db"
    processes = [subprocess.Popen([sys.executable, "-c", program, str(path), name]) for name in "abc"]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    with Ledger(path) as ledger:
        (spend,) = ledger.spend()
        # 300 own keys each, 300 shared ones of which two of three lost the race.
        assert (spend.calls, spend.failed) == (4 * 300, 2 * 300)


def test_a_killed_process_keeps_what_it_committed(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path\n"
        "from benchfill.memory.ledger import Ledger; from tests.memory.test_ledger import call\n"
        "ledger = Ledger(Path(sys.argv[1]))\n"
        "for n in range(50): ledger.commit(call(f'{n}'))\n"
        "os.kill(os.getpid(), 9)\n"
    )
    path = tmp_path / "l.db"
    assert subprocess.run([sys.executable, "-c", program, str(path)], check=False).returncode == -9
    with Ledger(path) as ledger:
        assert all(ledger.look_up(str(n)) for n in range(50))


def test_a_file_that_is_no_ledger_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.write_text("this is text, and a good deal of it\n" * 50)
    with pytest.raises(InputError) as caught:
        Ledger(path)
    assert caught.value.kind == "not_a_database"
    assert "\n" not in str(caught.value)
