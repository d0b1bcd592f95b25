"""Pruning: what no run needs goes, its money stays in the sums, and no moment of being killed does harm."""

from __future__ import annotations

import dataclasses
import random
import subprocess
import sys
from pathlib import Path

import pytest

from benchfill.errors import BenchfillError, InputError
from benchfill.memory.ledger import Ledger, Spend
from benchfill.memory.ledger_pruning import plan_pruning, prune_calls, remove_calls, shrink_file
from benchfill.memory.ledger_uses import NotingLedger, ledger_digest
from benchfill.memory.pool import Pool
from benchfill.memory.records import RunRow
from benchfill.memory.removal import plan_for, prune_ledger
from benchfill.memory.runs import find_run, make_run_folder
from tests.memory.old_ledger import write_old_ledger
from tests.memory.test_ledger import call

DONE, OPEN, GONE = "done", "open", "gone"
STANDING = {"finished": {DONE}, "unfinished": {OPEN}}


def fill(path: Path) -> None:
    """Calls of a finished run, an unfinished one, one that is gone, a response log and doctor."""
    with Ledger(path) as ledger:
        for number in range(4):
            for run in (DONE, OPEN, GONE):
                body = f'{{"reply": "{run} {number}"}}'.encode()
                ledger.commit(call(f"{run}{number}", run=run, response=body, price=0.125))
            ledger.commit_failure(call(f"{GONE}{number}", run=GONE, fault="timeout", price=None))
        ledger.commit_failure(call("x", run=DONE, fault="server_error", response=b"oops", price=2.0))
        for run in ("answer-log-3fa9", "doctor"):
            ledger.commit(call(run, run=run))
        # What the others were served of the run that is gone, and of the finished one.
        NotingLedger(ledger, DONE).look_up(f"{GONE}0")
        NotingLedger(ledger, OPEN).look_up(f"{GONE}1")
        NotingLedger(ledger, OPEN).look_up(f"{DONE}1")
        NotingLedger(ledger, GONE).look_up(f"{OPEN}2")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    fill(tmp_path / "ledger.sqlite")
    return tmp_path / "ledger.sqlite"


def make_run(home: Path, name: str, status: str) -> None:
    with make_run_folder(home, name) as folder:
        pool = Pool(folder.memory)
        pool.save_run(RunRow(name, 1, "simulated", "0", {}, {}, status))
        pool.close()


@pytest.fixture
def home(path: Path) -> Path:
    make_run(path.parent, DONE, "finished")
    make_run(path.parent, OPEN, "paused")
    return path.parent


def requests(ledger: Ledger) -> dict[str, bool]:
    """Calls that are there, by key, and whether their requests are."""
    return {row["key"]: row["request"] is not None for row in ledger.export() if not row["fault"]}


def summed(rows: list[Spend]) -> list[Spend]:
    """Over what is here and what went, by run, role and model."""
    found: dict[tuple[str, str, str], Spend] = {}
    for row in rows:
        names = (row.run, row.role, row.model)
        if names in found:
            known = found[names]
            numbers = {
                field.name: (getattr(known, field.name) or 0) + (getattr(row, field.name) or 0)
                for field in dataclasses.fields(row)
                if field.name not in ("run", "role", "model", "pruned")
            }
            row = dataclasses.replace(row, **numbers)
        found[names] = dataclasses.replace(row, pruned=False)
    return list(found.values())


def test_what_no_run_needs_goes_and_everything_else_stays(path: Path) -> None:
    with Ledger(path) as ledger:
        before, digests = ledger.spend(), [ledger_digest(ledger, run) for run in (DONE, OPEN)]
        charged = [ledger.charged(run) for run in (DONE, OPEN)]
        plan = plan_pruning(ledger, **STANDING)
        assert [(run.run, run.calls, run.failed, run.price) for run in plan.gone] == [(GONE, 2, 4, 0.25)]
        assert [(run.run, run.calls, run.failed) for run in plan.requests] == [
            ("answer-log-3fa9", 1, 0), ("doctor", 1, 0), (DONE, 3, 1), (GONE, 1, 0),
        ]  # fmt: skip
        assert (plan.kept_for_others, plan.kept_unknown) == (2, 0)
        assert ledger.spend() == before
        prune_calls(ledger, **STANDING)
        # The run that can be gone on with keeps all it made or was served, requests included.
        whole = {"open0", "open1", "open2", "open3", "gone1", "done1"}
        replies = {"done0", "done2", "done3", "gone0", "answer-log-3fa9", "doctor"}
        assert requests(ledger) == {key: key in whole for key in sorted(whole | replies)}
        assert [ledger_digest(ledger, run) for run in (DONE, OPEN)] == digests
        assert [ledger.charged(run) for run in (DONE, OPEN)] == charged
        found = ledger.look_up("done0")
        assert found is not None
        assert found.response == b'{"reply": "done 0"}'
        failure = ledger.last_failure("x", DONE)
        assert failure is not None
        assert (failure[0], failure[1].response) == ("server_error", b"oops")
        # The money of what went is spent all the same.
        assert summed(ledger.spend(pruned=True)) == before
        gone = ledger.spend(GONE, pruned=True)
        assert [(row.calls, row.failed, row.price, row.pruned) for row in gone] == [
            (2, 0, 0.25, False), (2, 4, 0.25, True),
        ]  # fmt: skip
        assert plan_pruning(ledger, **STANDING).empty


def test_requests_can_be_kept(path: Path) -> None:
    with Ledger(path) as ledger:
        plan = plan_pruning(ledger, **STANDING, keep_requests=True)
        assert (len(plan.gone), plan.requests) == (1, ())
        prune_calls(ledger, **STANDING, keep_requests=True)
        assert all(requests(ledger).values())


def test_calls_of_before_uses_were_noted_stay_while_there_is_a_run(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    write_old_ledger(path, 2, [call(f"k{n}", run=GONE) for n in range(3)])
    with Ledger(path) as ledger:
        plan = plan_pruning(ledger, finished={DONE}, unfinished=())
        assert (plan.gone, plan.kept_unknown, plan.requests[0].calls) == ((), 3, 3)
        plan = plan_pruning(ledger, finished=(), unfinished=())
        assert [(run.run, run.calls) for run in plan.gone] == [(GONE, 3)]


def test_a_new_run_of_an_old_name_begins_its_budget_anew(path: Path) -> None:
    with Ledger(path) as ledger:
        remove_calls(ledger, GONE, alone=False)
        # Two calls that others were served stay, and count as before.
        assert ledger.charged(GONE)[0] == 2
        before = ledger.spend(GONE, pruned=True)
        ledger.commit(call("new", run=GONE, price=1.0))
        assert ledger.charged(GONE)[0] == 3
        assert ledger.spend(GONE, pruned=True)[1:] == before[1:]


def test_the_file_shrinks(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger(path) as ledger, ledger.database.transaction():
        for number in range(300):
            ledger.commit(call(str(number), run=GONE, response=random.Random(number).randbytes(3000)))
    before = path.stat().st_size
    prune_ledger(tmp_path, plan_for(tmp_path, keep_requests=False), keep_requests=False)
    assert path.stat().st_size < before / 4
    with Ledger(path) as ledger:
        assert ledger.spend() == []
        (row,) = ledger.spend(pruned=True)
        assert (row.calls, row.pruned) == (300, True)


def test_what_goes_is_what_was_said(home: Path) -> None:
    plan = plan_for(home, keep_requests=False)
    make_run(home, GONE, "finished")
    with pytest.raises(BenchfillError, match="changed meanwhile"):
        prune_ledger(home, plan, keep_requests=False)
    with Ledger(home / "ledger.sqlite") as ledger:
        assert all(requests(ledger).values())


def test_a_damaged_run_keeps_its_calls(home: Path) -> None:
    (home / "runs" / DONE / "memory.sqlite").write_bytes(b"no database" * 100)
    plan = plan_for(home, keep_requests=False)
    assert DONE not in {run.run for run in (*plan.gone, *plan.requests)}


def test_a_run_at_work_and_an_open_ledger_stop_it(home: Path) -> None:
    plan = plan_for(home, keep_requests=False)
    with find_run(home, OPEN).lock(), pytest.raises(InputError, match="Run open is in use"):
        prune_ledger(home, plan, keep_requests=False)
    path = home / "ledger.sqlite"
    with Ledger(path) as other:
        with pytest.raises(BenchfillError, match="in use by another process"):
            prune_ledger(home, plan, keep_requests=False)
        assert all(requests(other).values())
    prune_ledger(home, plan, keep_requests=False)
    with Ledger(path) as ledger:
        assert plan_pruning(ledger, **STANDING).empty


KILLED = """
import os, sys
from pathlib import Path
from benchfill.memory import ledger_pruning, removal

def die():
    os.kill(os.getpid(), 9)

moment, home = sys.argv[1], Path(sys.argv[2])
plan = removal.plan_for(home, keep_requests=False)
if moment == "inside":
    throw_away = ledger_pruning._throw_away
    ledger_pruning._throw_away = lambda connection: (throw_away(connection), die())
elif moment == "between":
    removal.shrink_file = lambda ledger: die()
else:
    shrink_file = removal.shrink_file

    def watched(ledger):
        # Some steps of SQLite's machine: in the middle of the new file.
        ledger.database.connection.set_progress_handler(die, 40)
        shrink_file(ledger)

    removal.shrink_file = watched
removal.prune_ledger(home, plan, keep_requests=False)
"""


@pytest.mark.parametrize("moment", ["inside", "between", "shrinking"])
def test_killed_at_any_moment_it_is_all_or_nothing(home: Path, moment: str) -> None:
    path = home / "ledger.sqlite"
    with Ledger(path) as ledger, ledger.database.transaction():
        for number in range(400):
            ledger.commit(call(f"more{number}", run=GONE))
    with Ledger(path) as ledger:
        before, there = ledger.spend(), requests(ledger)
        plan = plan_pruning(ledger, **STANDING)
    killed = subprocess.run([sys.executable, "-c", KILLED, moment, str(home)], check=False, timeout=120)
    assert killed.returncode == -9
    with Ledger(path) as ledger:
        assert summed(ledger.spend(pruned=True)) == before
        assert ledger.database.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        if moment == "inside":
            assert plan_pruning(ledger, **STANDING) == plan
            assert requests(ledger) == there
        else:
            assert plan_pruning(ledger, **STANDING).empty
            assert len(requests(ledger)) == 12
    # The same command goes on.
    prune_ledger(home, plan_for(home, keep_requests=False), keep_requests=False)
    with Ledger(path) as ledger:
        assert len(requests(ledger)) == 12
        assert ledger.database.connection.execute("PRAGMA freelist_count").fetchone() == (0,)
        shrink_file(ledger)
        assert summed(ledger.spend(pruned=True)) == before


def test_a_run_is_not_served_what_went_while_it_looked(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger(path) as ledger, Ledger(path) as other:
        look_up = ledger.look_up

        def slow(key: str) -> object:
            stored = look_up(key)
            remove_calls(other, GONE, alone=False)
            return stored

        monkeypatch.setattr(ledger, "look_up", slow)
        assert NotingLedger(ledger, "new").look_up(f"{GONE}3") is None
        assert NotingLedger(ledger, "new").look_up(f"{GONE}0") is not None
