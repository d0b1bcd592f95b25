"""The sandbox: limits hold, only the task that hit one is lost, and children end with their parent."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchfill.tools.sandbox import Sandbox, SandboxError
from tests.tools import sandbox_tasks as tasks

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(workers=2, memory_mb=512) as made:
        yield made


def call(sandbox: Sandbox, task: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """What a task returns, in a loop of its own."""
    return asyncio.run(sandbox.call(task, *args, **options))


def test_results_come_back_and_children_are_reused(sandbox: Sandbox) -> None:
    assert [call(sandbox, tasks.add, i, 1) for i in range(20)] == list(range(1, 21))
    assert len({call(sandbox, tasks.pid) for _ in range(20)}) <= 2
    assert call(sandbox, tasks.nested, 3) == tasks.nested(3)


def test_prints_of_a_task_do_not_reach_the_frames(sandbox: Sandbox) -> None:
    assert call(sandbox, tasks.talk) == "quiet"


def test_a_child_is_told_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_PROVIDER", "sk-planted")
    with Sandbox(workers=1) as fresh:
        seen = call(fresh, tasks.environment)
    assert "PATH" in seen
    assert "MY_PROVIDER" not in seen


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        (tasks.spin, "timeout"),
        (tasks.fill_memory, "memory"),
        (tasks.large_result, "output"),
        (tasks.fail, "crashed"),
        (tasks.die_always, "crashed"),
        (tasks.path_object, "crashed"),
    ],
)
def test_every_limit_has_its_reason_and_the_next_task_works(
    sandbox: Sandbox, task: object, reason: str
) -> None:
    with pytest.raises(SandboxError) as caught:
        call(sandbox, task, seconds=0.5)  # type: ignore[arg-type]
    assert caught.value.reason == reason
    assert call(sandbox, tasks.add, 2, 2) == 4


def test_the_message_of_a_task_is_kept(sandbox: Sandbox) -> None:
    with pytest.raises(SandboxError, match="ValueError: no such thing"):
        call(sandbox, tasks.fail)


def test_a_waiting_task_is_ended_by_the_wall_clock(sandbox: Sandbox) -> None:
    started = time.monotonic()
    with pytest.raises(SandboxError) as caught:
        call(sandbox, tasks.wait, 60.0, seconds=0.2)
    assert caught.value.reason == "timeout"
    assert time.monotonic() - started < 5


def test_a_child_killed_from_outside_loses_nothing(sandbox: Sandbox, tmp_path: Path) -> None:
    assert call(sandbox, tasks.die_once, str(tmp_path / "marker")) == "survived"


async def test_tasks_in_flight_beside_a_killed_one_finish_and_the_loop_stays_free(sandbox: Sandbox) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.02)
            ticks += 1

    ticking = asyncio.create_task(tick())
    results = await asyncio.gather(
        sandbox.call(tasks.spin, seconds=0.5),
        sandbox.call(tasks.wait, 0.7),
        *(sandbox.call(tasks.add, i, i) for i in range(10)),
        return_exceptions=True,
    )
    ticking.cancel()
    assert isinstance(results[0], SandboxError)
    assert results[1] == "waited"
    assert results[2:] == [2 * i for i in range(10)]
    assert ticks > 10


async def test_a_cancelled_call_frees_its_child(sandbox: Sandbox) -> None:
    running = [asyncio.create_task(sandbox.call(tasks.spin, seconds=60)) for _ in range(2)]
    await asyncio.sleep(0.3)
    for task in running:
        task.cancel()
    assert await asyncio.wait_for(sandbox.call(tasks.add, 1, 1), timeout=10) == 2


def test_threads_may_call_at_once(sandbox: Sandbox) -> None:
    results: list[int] = []
    threads = [
        threading.Thread(target=lambda i=i: results.append(call(sandbox, tasks.add, i, 0))) for i in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == list(range(8))


def test_the_interrupt_of_a_terminal_does_not_reach_children(sandbox: Sandbox) -> None:
    assert call(sandbox, tasks.interrupt_handler)
    if hasattr(os, "getpgid"):
        assert os.getpgid(call(sandbox, tasks.pid)) != os.getpgid(0)


def test_local_functions_are_refused(sandbox: Sandbox) -> None:
    with pytest.raises(ValueError, match="top-level"):
        call(sandbox, lambda: 1)


def test_a_closed_sandbox_says_so() -> None:
    closed = Sandbox(workers=1)
    call(closed, tasks.add, 1, 1)
    closed.close()
    closed.close()
    with pytest.raises(SandboxError, match="closed"):
        call(closed, tasks.add, 1, 1)


SCRIPT = """
import asyncio, os, signal, sys
from benchfill.tools.sandbox import Sandbox
from tests.tools import sandbox_tasks as tasks

print("main runs", flush=True)
sandbox = Sandbox(workers=1)
print(asyncio.run(sandbox.call(tasks.pid)), flush=True)
if sys.argv[1] == "die":
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("end", ["die", "return"])
def test_an_unguarded_script_works_and_its_children_end_with_it(tmp_path: Path, end: str) -> None:
    script = tmp_path / "unguarded.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        [sys.executable, str(script), end], capture_output=True, text=True, env=environment, timeout=60
    )
    lines = done.stdout.split("\n")
    assert lines[0] == "main runs"
    assert lines[2:] == [""], done.stdout + done.stderr
    assert done.stderr == ""
    child = int(lines[1])
    deadline = time.monotonic() + 10
    while _running(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _running(child)


def _running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")
    # An orphan without an init to collect it stays as a zombie: it runs no more.
    return not (status.is_file() and status.read_text().rpartition(")")[2].split()[0] == "Z")
