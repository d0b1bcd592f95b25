"""The engine of several machines: Ray brings units to workers and runs them again; the extra ``ray``.

Workers reach the process that hands out the work through one small actor beside it, which only keeps letters: what is
posted and taken goes in batches, so that many calls at once do not wait for each other's round trip.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import signal
import socket
import sys
import uuid
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from benchfill.engines.protocol import TRIES, Desk, Failed, Outcome, Unit, answered, lost, run_unit
from benchfill.errors import BenchfillError, InputError, RunPaused

__all__ = ["RayEngine"]

# Ray speaks gRPC, and so HTTP/2: both ends begin with a frame of settings, the client's behind a fixed greeting.
SETTINGS = b"\x04"
HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + SETTINGS + bytes(5)

# Who asks (a name of its own for every start of a unit), the number of the question (None: news), and what it is.
Letter = tuple[str, int | None, Any]

# Set before Ray starts, unless the user has: no report to Ray's makers, one thread a unit, no notices of the future.
# A worker that Ray itself ends for want of memory counts as one that died; as a rule Ray would try for ever.
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DEDUP_LOGS": "0",
    "RAY_task_oom_retries": str(TRIES - 1),
}


class RayEngine:
    """Runs units on a Ray cluster.

    Parameters
    ----------
    address
        Of a cluster that is there; None starts one on this machine, which ends with `close`.

    Raises
    ------
    InputError
        Nobody answers at the address (kind ``no_cluster``).
    """

    def __init__(self, address: str | None = None) -> None:
        for name, value in QUIET.items():
            os.environ.setdefault(name, value)
        import ray

        self._ray = ray
        if address is not None:
            _reach(address)
        handler = signal.getsignal(signal.SIGTERM)
        try:
            ray.init(
                address=address or "local",
                log_to_driver=False,
                logging_level=logging.ERROR,
                include_dashboard=None if address else False,
            )
        except (ConnectionError, RuntimeError, ValueError, OSError, ray.exceptions.RayError) as error:
            raise _no_cluster(address, error) from None
        except SystemExit as left:
            # Ray's answer to a SIGTERM while it starts.
            raise SystemExit(128 + signal.SIGTERM if left.code == signal.SIGTERM else left.code) from None
        with contextlib.suppress(ValueError):
            # Ray takes SIGTERM for itself; leaving in order is ours to do. Only the main thread may say so.
            signal.signal(signal.SIGTERM, handler)
        # Ray writes what it has to say of workers to stdout, which is for results.
        self._stdout = contextlib.redirect_stdout(sys.stderr)
        self._stdout.__enter__()

    async def run(
        self,
        units: Sequence[Unit],
        *,
        at_once: int,
        desk: Desk | None = None,
        done: Callable[[str], None] | None = None,
    ) -> dict[str, Outcome]:
        task = self._ray.remote(num_cpus=1, max_retries=TRIES - 1)(_work)
        gate = asyncio.Semaphore(at_once)
        async with _Post(self._ray, desk) as post:

            async def one(unit: Unit) -> Outcome:
                async with gate:
                    try:
                        outcome = await task.options(name=unit.name).remote(unit, post.box)
                    except self._ray.exceptions.RayTaskError as error:
                        message = f"{unit.name}: {_first_line(error.cause)}"
                        outcome = Failed(BenchfillError(message, "This is a fault of BenchFill."))
                    except self._ray.exceptions.RayError as error:
                        outcome = lost(unit, type(error).__name__)
                    await post.empty()
                if done is not None:
                    done(unit.name)
                return outcome

            try:
                found = await post.unless_broken(asyncio.gather(*(one(unit) for unit in units)))
            except self._ray.exceptions.RayError as error:
                raise RunPaused(
                    f"The Ray cluster has lost the way between workers and this process ({type(error).__name__}).",
                    "Everything is saved. Go on with `benchfill resume`, here or on a cluster.",
                ) from None
        return {unit.name: outcome for unit, outcome in zip(units, found, strict=True)}

    def close(self) -> None:
        self._ray.shutdown()
        self._stdout.__exit__(None, None, None)


class _Post:
    """The desk's end of the letter box."""

    def __init__(self, ray: Any, desk: Desk | None) -> None:
        self._ray, self._desk = ray, desk
        self.box: Any = None
        self._replies: list[Letter] = []
        self._ready = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def __aenter__(self) -> _Post:
        if self._desk is not None:
            here = self._ray.get_runtime_context().get_node_id()
            beside = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(here, soft=False)
            actor = self._ray.remote(num_cpus=0, max_concurrency=1000)(LetterBox)
            self.box = actor.options(scheduling_strategy=beside).remote()
            self._start(self._take())
            self._start(self._give())
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.box is not None:
            self._ray.kill(self.box)

    async def unless_broken(self, work: asyncio.Future[list[Outcome]]) -> list[Outcome]:
        """Await the work of the units, as long as letters come and go and the desk listens."""
        both: set[asyncio.Future[Any]] = {work, self._broken}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                self._broken.result()
            return work.result()
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async def empty(self) -> None:
        """Take in what was posted before a unit's result."""
        if self.box is not None:
            self._sort(await self.box.take_now.remote())

    async def _take(self) -> None:
        while True:
            self._sort(await self.box.take.remote())

    async def _give(self) -> None:
        while True:
            await self._ready.wait()
            self._ready.clear()
            replies, self._replies = self._replies, []
            await self.box.give.remote(replies)

    def _sort(self, letters: list[Letter]) -> None:
        for letter in letters:
            if self._desk is None:
                continue
            if letter[1] is None:
                self._desk.hear(letter[2])
            else:
                self._start(self._answer(self._desk, letter))

    async def _answer(self, desk: Desk, letter: Letter) -> None:
        # Not in one line: the list may be another one after the wait.
        outcome = await answered(desk, letter[2])
        self._replies.append((letter[0], letter[1], outcome))
        self._ready.set()

    def _start(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and not self._broken.done():
            self._broken.set_exception(error)


class LetterBox:
    """Letters between workers and the desk, as a Ray actor on the desk's node: it keeps nothing that matters."""

    def __init__(self) -> None:
        self._for_desk: list[Letter] = []
        self._came = asyncio.Event()
        self._for_workers: defaultdict[str, list[Letter]] = defaultdict(list)
        self._answered: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    async def post(self, letters: list[Letter]) -> None:
        self._for_desk += letters
        self._came.set()

    async def take(self) -> list[Letter]:
        """What workers posted; waits for the first."""
        while not self._for_desk:
            self._came.clear()
            await self._came.wait()
        return await self.take_now()

    async def take_now(self) -> list[Letter]:
        letters, self._for_desk = self._for_desk, []
        return letters

    async def give(self, replies: list[Letter]) -> None:
        for reply in replies:
            self._for_workers[reply[0]].append(reply)
            self._answered[reply[0]].set()

    async def collect(self, worker: str) -> list[Letter]:
        """Replies to a worker; waits for the first."""
        await self._answered[worker].wait()
        self._answered[worker].clear()
        return self._for_workers.pop(worker, [])


# -- in the worker ----------------------------------------------------------------------------------


def _work(unit: Unit, box: Any) -> Outcome:
    return run_unit(unit, None if box is None else lambda: _BoxLine(box))


class _BoxLine:
    """The worker's end of the letter box."""

    def __init__(self, box: Any) -> None:
        self._box = box
        self._loop = asyncio.get_running_loop()
        # Another start of the same unit is another worker: replies to a dead one reach nobody.
        self._name = uuid.uuid4().hex
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[Outcome]] = {}
        self._outbox: list[Letter] = []
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def ask(self, question: Any) -> Any:
        number = next(self._numbers)
        future: asyncio.Future[Outcome] = self._loop.create_future()
        self._waiting[number] = future
        self._outbox.append((self._name, number, question))
        self._start("post", self._post)
        self._start("collect", self._collect)
        outcome = await future
        if isinstance(outcome, Failed):
            raise outcome.error
        return outcome

    def tell(self, news: Any) -> None:
        self._outbox.append((self._name, None, news))
        self._loop.call_soon_threadsafe(self._start, "post", self._post)

    async def close(self) -> None:
        # What threads told is on its way to this loop.
        await asyncio.sleep(0)
        self._start("post", self._post)
        while not self._tasks["post"].done():
            await asyncio.wait([self._tasks["post"]])
            if self._outbox:
                self._start("post", self._post)
        for task in self._tasks.values():
            task.cancel()

    async def _post(self) -> None:
        while self._outbox:
            letters, self._outbox = self._outbox, []
            await self._box.post.remote(letters)

    async def _collect(self) -> None:
        while self._waiting:
            for _, number, outcome in await self._box.collect.remote(self._name):
                future = self._waiting.pop(number, None) if number is not None else None
                if future is not None and not future.done():
                    future.set_result(outcome)

    def _start(self, name: str, work: Callable[[], Any]) -> None:
        if name not in self._tasks or self._tasks[name].done():
            self._tasks[name] = self._loop.create_task(self._watched(work))

    async def _watched(self, work: Callable[[], Any]) -> None:
        """A letter box that is gone ends everything that waits for it."""
        try:
            await work()
        except Exception as error:
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(error)
            raise


def _reach(address: str) -> None:
    """Whether anybody listens there: Ray itself asks for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        # "auto" and the like.
        return
    try:
        with socket.create_connection((host, int(port)), timeout=5.0) as door:
            if os.environ.get("RAY_USE_TLS", "0").lower() in {"0", "false"}:
                door.sendall(HTTP2)
                if door.makefile("rb").read(9)[3:4] != SETTINGS:
                    raise OSError("what listens there is something else")
    except OSError as error:
        raise _no_cluster(address, error) from None


def _no_cluster(address: str | None, error: BaseException) -> InputError:
    return InputError(
        # Of another version, it says which in several lines.
        f"No Ray cluster for us at {address or 'this machine'}: {' '.join(str(error).split())[:300]}",
        "Start one with `ray start --head` and the same Python and Ray, or leave --address out.",
        kind="no_cluster",
    )


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
