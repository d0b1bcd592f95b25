"""A run within its budget, gone on with, and made again from its ledger: all in this process, on the sample."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchfill.calibration.fit import Fit, fit_1pl
from benchfill.errors import CallFailed
from benchfill.graph import prepare
from benchfill.graph.plan import GapRequest
from benchfill.graph.session import create_run, run_to_end
from benchfill.graph.verify import LedgerMiss, SealedLedger, differences, failed_attempts
from benchfill.memory.export import accepted_items
from benchfill.memory.ledger import FreshLedger, Ledger
from benchfill.memory.pool import Pool
from benchfill.memory.runs import RunFolder
from benchfill.settings import Settings
from tests.commands.conftest import Said
from tests.memory.test_ledger import call

RUN = "r"


def laplace_fit(log: Any, *, engine: str, **options: Any) -> Fit:
    """The normal approximation in place of NUTS: a second instead of a minute."""
    return fit_1pl(log, engine="laplace", **options)


def search(home: Path) -> dict[str, Any]:
    folder = home / "runs" / RUN

    return asyncio.run(
        run_to_end(RunFolder(folder), home / "ledger.sqlite", lambda *a, **b: None, today=Settings())
    )


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a run whose scale is frozen and nothing searched; replies may lack an answer."""
    home = tmp_path_factory.mktemp("prepared")
    settings = Settings.model_validate(
        {"search": {"tolerance": 0.05, "confirm": False, "candidates": 2}, "world": {"no_answer": 0.1}}
    )
    inputs = prepare.read_inputs(
        world="simulated", items=None, responses=None, bank_items=None, bank_responses=None
    )
    folder = create_run(
        home, RUN, seed=1, inputs=inputs, request=GapRequest(interval=(0.4, 0.6)), settings=settings
    )
    pool = Pool(folder.memory)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(prepare, "fit_1pl", laplace_fit)
        prepare.freeze_scale(pool, inputs.benchmark, seed=1, progress=lambda fraction, message: None)
    pool.close()
    return home


@pytest.fixture(scope="module")
def searched(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("searched") / "home"
    shutil.copytree(prepared, home)
    search(home)
    return home


@pytest.fixture
def copy(searched: Path, own_home: Path) -> Path:
    shutil.copytree(searched, own_home)
    return own_home


def sql(path: Path, statement: str) -> None:
    with sqlite3.connect(path) as connection:
        assert connection.execute(statement).rowcount > 0
    connection.close()


def exported(home: Path) -> list[dict[str, Any]]:
    pool = Pool(home / "runs" / RUN / "memory.sqlite", create=False)
    try:
        return accepted_items(pool)
    finally:
        pool.close()


def sent(home: Path) -> int:
    """By the endpoint's own count."""
    return len((home / "runs" / RUN / "requests.log").read_text().splitlines())


def test_a_run_is_the_same_from_its_ledger_and_nothing_is_sent(
    benchfill: Callable[..., Said], copy: Path
) -> None:
    before = sent(copy)
    with Ledger(copy / "ledger.sqlite") as ledger:
        spent = ledger.spend()
    said = benchfill("verify", RUN)
    assert (said.code, said.out) == (0, f"{RUN}: the same from its ledger, with no call.\n")
    assert sent(copy) == before
    with Ledger(copy / "ledger.sqlite") as ledger:
        assert ledger.spend() == spent


def test_a_pruned_ledger_verifies_a_finished_run_and_resumes_an_unfinished_one(
    benchfill: Callable[..., Said], copy: Path
) -> None:
    memory, before = copy / "runs" / RUN / "memory.sqlite", sent(copy)
    sql(memory, "UPDATE runs SET status = 'interrupted'")
    assert benchfill("ledger", "prune", "--dry-run").out.startswith("Nothing goes")
    sql(memory, "UPDATE runs SET status = 'finished'")
    with Ledger(copy / "ledger.sqlite") as ledger:
        ledger.commit(call("of a run that is gone", run="gone"))
    document = json.loads(benchfill("ledger", "prune", "--yes", "--json").out)
    assert [run["run"] for run in document["gone"]] == ["gone"]
    assert [run["run"] for run in document["requests"]] == [RUN]
    assert document["bytes_after"] < 0.9 * document["bytes_before"]
    said = benchfill("verify", RUN)
    assert (said.code, said.out) == (0, f"{RUN}: the same from its ledger, with no call.\n")
    assert sent(copy) == before


def test_a_changed_number_is_named(copy: Path, searched: Path) -> None:
    memory = copy / "runs" / RUN / "memory.sqlite"
    (item,) = exported(copy)
    before, after = (Pool(home / "runs" / RUN / "memory.sqlite", create=False) for home in (searched, copy))
    assert differences(before, after) == []
    sql(memory, f"UPDATE estimates SET z = z + 0.001 WHERE item = '{item['id']}'")  # noqa: S608
    assert differences(before, after) == [f"places of items: {item['id']}", f"exported items: {item['id']}"]
    sql(memory, "DELETE FROM attempts WHERE model = 'oak' AND item = (SELECT min(item) FROM attempts)")
    assert [each.split(":")[0] for each in differences(before, after)] == [
        "places of items",
        "attempts",
        "exported items",
    ]
    before.close()
    after.close()


def test_a_call_that_is_missing_ends_it_at_once(benchfill: Callable[..., Said], copy: Path) -> None:
    sql(copy / "ledger.sqlite", "DELETE FROM calls WHERE role = 'rewriter'")
    said = benchfill("verify", RUN)
    assert said.code == 1
    assert "A call that this run makes is not in the ledger." in said.err


def test_what_failed_in_the_run_fails_again_whatever_others_did_later(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l.sqlite") as ledger:
        sealed = SealedLedger(ledger, ledger, "r")
        ledger.commit_failure(call("healed", fault="timeout"))
        ledger.commit(call("healed", response=b"1"))
        ledger.commit_failure(call("failed", fault="timeout"))
        ledger.commit(call("failed", run="later"))
        ledger.commit(call("reused", run="earlier", response=b"2"))
        ledger.commit_failure(call("left", fault="cancelled"))
        assert sealed.look_up("healed").response == b"1"
        assert sealed.look_up("reused").response == b"2"
        with pytest.raises(CallFailed) as failed:
            sealed.look_up("failed")
        assert failed.value.reason == "timeout"
        for key in ("left", "never"):
            with pytest.raises(LedgerMiss):
                sealed.look_up(key)
        with pytest.raises(LedgerMiss):
            sealed.commit(call("new"))


def test_a_fresh_run_is_verified_by_its_own_calls(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l.sqlite") as ledger:
        fresh = FreshLedger(ledger, "r")
        ledger.commit(call("k", run="earlier", response=b"old"))
        fresh.commit(call("k", response=b"new"))
        fresh.commit_failure(call("failed", fault="timeout"))
        sealed = SealedLedger(fresh, ledger, "r")
        assert sealed.look_up("k").response == b"new"
        with pytest.raises(CallFailed):
            sealed.look_up("failed")


def test_failed_attempts_are_taken_from_the_memory(searched: Path, copy: Path) -> None:
    memory = copy / "runs" / RUN / "memory.sqlite"
    sql(
        memory,
        "UPDATE attempts SET outcome = 'missing', reason = 'timeout' WHERE model = 'oak' AND attempt = 0",
    )
    pool = Pool(memory, create=False)
    failed = failed_attempts(pool)
    pool.close()
    assert {(model, attempt) for _, model, attempt in failed} == {("oak", 0)}
    # A reply without an answer is read again, it is no failure.
    assert all(row.reason == "timeout" for row in failed.values())


def test_an_unfinished_run_is_not_verified(
    benchfill: Callable[..., Said], prepared: Path, own_home: Path
) -> None:
    shutil.copytree(prepared, own_home)
    said = benchfill("verify", RUN)
    assert said.code == 2
    assert f"Run {RUN} is not finished. Go on with it first: benchfill resume {RUN}" in said.err


def test_a_spent_budget_saves_everything_and_the_rest_is_paid_once(
    benchfill: Callable[..., Said], prepared: Path, searched: Path, own_home: Path
) -> None:
    shutil.copytree(prepared, own_home)
    first = benchfill("resume", RUN, "--max-calls", "40")
    assert first.code == 3
    assert first.err.splitlines()[-1].endswith(f"Go on with: benchfill resume {RUN} --max-calls N")
    assert sent(own_home) == 40
    status = json.loads(benchfill("status", RUN, "--json").out)
    assert status["status"] == "budget_spent"
    # What was spent before counts: the same limit again sends nothing.
    assert benchfill("resume", RUN).code == 3
    assert sent(own_home) == 40
    rest = benchfill("resume", RUN, "--max-calls", "100000", "--json")
    assert rest.code in (0, 4)
    totals = json.loads(rest.out.splitlines()[-1])["totals"]
    assert totals["calls"] == sent(own_home) - 40
    assert sent(own_home) == sent(searched)
    assert exported(own_home) == exported(searched)


def test_the_end_of_a_run_shows_replies_without_an_answer(benchfill: Callable[..., Said], copy: Path) -> None:
    said = benchfill("resume", RUN, "--json")
    report = json.loads(said.out.splitlines()[-1])["no_answer"]
    assert report["counted_as"] == "missing"
    assert 0 < report["no_answer"] < report["replies"]
    assert len(report["models"]) == 12
    assert "Replies without an answer" in benchfill("resume", RUN).out
