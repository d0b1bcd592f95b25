"""Gaps searched at the same time: the same on processes, one after the other, and on a cluster that loses a node."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchfill.errors import UnitLost
from benchfill.graph.gap_unit import CallDesk, job_of
from benchfill.memory.gap_rows import forget_search, rows_of_gap, snapshot, take_over
from benchfill.memory.pool import Pool
from benchfill.tools.endpoint import Endpoint
from benchfill.tools.exchange import AskedCall
from benchfill.tools.limits import ServerLimit
from tests.engines.conftest import RUN

# Ray's own sockets, closed late.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def start(home: Path, *arguments: str) -> subprocess.Popen[str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("BENCHFILL_", "COVERAGE"))
    }
    return subprocess.Popen(
        [sys.executable, "-m", "benchfill", *arguments],
        env={**kept, "BENCHFILL_HOME": str(home), "TMPDIR": str(home)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def finish(process: subprocess.Popen[str]) -> None:
    said, errors = process.communicate(timeout=250)
    assert process.returncode == 0, said[-500:] + errors[-2000:]


def export(home: Path) -> bytes:
    finish(start(home, "export", RUN, "--out", str(home / "out.jsonl")))
    return (home / "out.jsonl").read_bytes()


def requests(home: Path) -> Counter[str]:
    log = home / "runs" / RUN / "requests.log"
    return Counter(log.read_text().split() if log.exists() else [])


def test_the_same_stopped_in_turn_and_on_a_cluster_that_loses_a_node(
    home: Path, before_the_search: Path, tmp_path: Path, cluster: Any
):
    stopped = start(home, "resume", RUN)
    while requests(home).total() < 200 and stopped.poll() is None:
        time.sleep(0.02)
    stopped.send_signal(signal.SIGTERM)
    stopped.communicate(timeout=60)
    assert stopped.returncode == 143
    # Workers that are ended leave no memory behind.
    assert not list(home.glob("benchfill-*"))
    finish(start(home, "resume", RUN))
    pool = Pool(home / "runs" / RUN / "memory.sqlite", create=False)
    # With nothing known of the rewriter the first gap goes alone.
    assert [gap.wave for gap in pool.gaps()] == [1, 2, 2]
    pool.close()
    # From the ledger alone, one gap after the other in one process.
    finish(start(home, "verify", RUN))
    undisturbed = requests(home)
    # Told to stop, the calls of all workers that were out came back and were kept.
    assert set(undisturbed.values()) == {1}

    other = tmp_path / "other"
    shutil.copytree(before_the_search, other)
    process = start(other, "resume", RUN, "--engine", "ray", "--address", cluster.address)
    while requests(other).total() < undisturbed.total() * 7 // 10 and process.poll() is None:
        time.sleep(0.02)
    assert process.poll() is None
    # Its two nodes search a gap each by now.
    cluster.remove_node(sorted(cluster.worker_nodes, key=id)[0], allow_graceful=False)
    finish(process)
    cluster.add_node(num_cpus=1)
    assert export(other) == export(home)
    # What the lost worker had asked came back to the process of the run, and was there when it was asked again.
    assert requests(other) == undisturbed


async def test_what_is_out_when_a_wave_fails_comes_back_and_is_kept_and_nothing_else_goes_out():
    limit, kept = ServerLimit(1), []

    class Client:
        role, endpoint = "pool", SimpleNamespace(name="a")

        async def pass_on(self, call: AskedCall) -> None:
            async with limit, limit.sending(1):
                await asyncio.sleep(0.05)
                kept.append(call.tag)

    models: Any = SimpleNamespace(everyone=lambda: [Client()])

    async def lose_a_unit() -> None:
        async with CallDesk(models, [limit], lambda event, /, **fields: None) as desk:
            calls = [AskedCall("pool", "a", "", b"", tag, 1) for tag in ("1", "2")]
            asked = [asyncio.create_task(desk.answer(call)) for call in calls]
            await asyncio.sleep(0.01)
            for each in asked:
                each.cancel()
            raise UnitLost("gap 1 was given up")

    with pytest.raises(UnitLost):
        await lose_a_unit()
    assert kept == ["1"]


def test_no_key_leaves_the_process_of_the_run():
    from benchfill.settings import Settings

    asked = Endpoint("w", "http://127.0.0.1:1/v1", "m", api_key="sk-very-secret")
    search: Any = SimpleNamespace(prompts=None, failed={})
    roles: Any = SimpleNamespace(rewriter=asked, judge=asked, pool={"a": asked}, grader=asked, limits={})
    models: Any = SimpleNamespace(structured=list)
    job = job_of(search, models, roles, Settings(), 1, b"")
    assert b"sk-very-secret" not in pickle.dumps(job)
    assert b"sk-very-secret" in pickle.dumps(dataclasses.replace(job, judge=roles.judge))


def test_rows_of_a_gap_leave_one_memory_and_stand_in_another(home: Path, tmp_path: Path):
    from tests.merge.made_run import make_run, write_benchmark

    folder = make_run(tmp_path / "made", "made", *write_benchmark(tmp_path / "files"))
    pool = Pool(folder.memory, create=False)
    rows = {gap.gap: rows_of_gap(pool, gap.gap) for gap in pool.gaps()}
    whole = (pool.candidates(), pool.estimates(), pool.gaps(), pool.items())
    assert [row["id"] for row in rows[1]["items"]] == ["bf-aaa"]

    other = tmp_path / "other.sqlite"
    other.write_bytes(snapshot(pool, [2], tmp_path))
    without = Pool(other, create=False)
    assert {candidate.gap for candidate in without.candidates()} == {1}
    assert without.item("bf-bbb") is None
    assert without.item("bf-aaa") == pool.item("bf-aaa")
    assert [gap.status for gap in without.gaps()] == [pool.gap(1).status, "open"]
    take_over(without, rows[2])
    take_over(without, rows[2])
    assert (without.candidates(), without.estimates(), without.gaps(), without.items()) == whole
    without.close()

    forget_search(pool, 1)
    assert {candidate.gap for candidate in pool.candidates()} == {2}
    take_over(pool, rows[1])
    assert (pool.candidates(), pool.estimates(), pool.gaps(), pool.items()) == whole
    pool.close()
