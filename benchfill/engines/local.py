"""The engine of one machine: processes, started afresh (spawn), each at the end of a pipe."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import multiprocessing
import os
import pickle
import queue
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Any

from benchfill.engines.protocol import TRIES, Desk, Failed, Outcome, Unit, answered, lost, run_unit
from benchfill.errors import BenchfillError

__all__ = ["LocalEngine"]

# A unit has one processor: several workers whose libraries each start a thread a core only get in each other's way.
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class LocalEngine:
    """Runs units in processes of this machine."""

    def __init__(self) -> None:
        self._workers: set[_Worker] = set()

    async def run(
        self,
        units: Sequence[Unit],
        *,
        at_once: int,
        desk: Desk | None = None,
        done: Callable[[str], None] | None = None,
    ) -> dict[str, Outcome]:
        waiting, deaths = deque(units), Counter[str]()
        results: dict[str, Outcome] = {}
        # What a worker that died had asked is answered to the end: it may have cost something.
        answers: set[asyncio.Task[None]] = set()

        async def keep_working() -> None:
            worker: _Worker | None = None
            try:
                while waiting:
                    unit = waiting.popleft()
                    if worker is None:
                        worker = _Worker(desk, answers)
                        self._workers.add(worker)
                    try:
                        outcome = await worker.run(unit)
                    except _Died as died:
                        self._end(worker)
                        worker = None
                        deaths[unit.name] += 1
                        if deaths[unit.name] < TRIES:
                            waiting.append(unit)
                            continue
                        outcome = lost(unit, str(died))
                    results[unit.name] = outcome
                    if done is not None:
                        done(unit.name)
            finally:
                if worker is not None:
                    self._end(worker)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(at_once, len(units))):
                    group.create_task(keep_working())
        except ExceptionGroup as errors:
            # Units' errors are values: this one is of who listens, and ends the work as it would without workers.
            raise errors.exceptions[0] from None
        finally:
            for task in answers:
                task.cancel()
        return {unit.name: results[unit.name] for unit in units}

    def close(self) -> None:
        for worker in list(self._workers):
            self._end(worker)

    def _end(self, worker: _Worker) -> None:
        self._workers.discard(worker)
        worker.end()


class _Died(Exception):
    """The worker's process is gone."""


class _Worker:
    """One process, as the one who started it sees it."""

    def __init__(self, desk: Desk | None, answers: set[asyncio.Task[None]]) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        # Not a daemon: those may have no children, and a worker bounds its calculations in some.
        self._process = context.Process(
            target=_serve, args=(theirs, desk is not None), name="benchfill worker"
        )
        with _interrupts_blocked():
            self._process.start()
        theirs.close()
        self._desk = desk
        self._loop = asyncio.get_running_loop()
        self._result: asyncio.Future[Outcome] | None = None
        self._answers = answers
        self._outbox: queue.SimpleQueue[tuple[Any, ...] | None] = queue.SimpleQueue()
        self._reader, writer = (
            threading.Thread(target=work, name="worker pipe", daemon=True)
            for work in (self._read, self._write)
        )
        self._reader.start()
        writer.start()

    async def run(self, unit: Unit) -> Outcome:
        self._result = self._loop.create_future()
        if not self._process.is_alive():
            self._take(None)
        self._outbox.put(("unit", pickle.dumps(unit)))
        return await self._result

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self._outbox.put(None)

    def _read(self) -> None:
        message: tuple[Any, ...] | None = ()
        while message is not None:
            try:
                message = self._pipe.recv()
            except (EOFError, OSError):
                message = None
            with contextlib.suppress(RuntimeError):
                # The loop is closed when its work was stopped.
                self._loop.call_soon_threadsafe(self._take, message)

    def _write(self) -> None:
        # In a thread: a worker that is busy may read late, and nobody should wait for that.
        while (message := self._outbox.get()) is not None:
            with contextlib.suppress(OSError):
                self._pipe.send(message)
        # It reads to the end of what the process that has ended left there.
        self._reader.join()
        self._pipe.close()

    def _take(self, message: tuple[Any, ...] | None) -> None:
        if message is None:
            if self._result is not None and not self._result.done():
                self._process.join(1.0)
                self._result.set_exception(_Died(f"exit code {self._process.exitcode}"))
        elif message[0] == "done":
            if self._result is not None and not self._result.done():
                self._result.set_result(pickle.loads(message[1]))  # noqa: S301 - written by our own worker
        elif self._desk is not None and message[0] == "tell":
            try:
                self._desk.hear(message[1])
            except Exception as error:
                if self._result is not None and not self._result.done():
                    self._result.set_exception(error)
        elif self._desk is not None:
            task = self._loop.create_task(self._answer(self._desk, message[1], message[2]))
            self._answers.add(task)
            task.add_done_callback(self._answers.discard)

    async def _answer(self, desk: Desk, number: int, question: Any) -> None:
        self._outbox.put(("answer", number, await answered(desk, question)))


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """A process that starts inside is deaf to Ctrl-C from its first moment on; here one comes a little later."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    # Its start, with that of the first worker, would end the blocking.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# -- in the worker ----------------------------------------------------------------------------------


def _serve(pipe: Connection, with_desk: bool) -> None:
    """Run units until the one who hands them out is gone."""
    # Ctrl-C reaches the whole group of processes; who hands out the work decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in ONE_THREAD:
        os.environ[name] = "1"
    line = _PipeLine(pipe)
    units: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=line.read, args=(units,), daemon=True).start()
    while True:
        unit: Unit = pickle.loads(units.get())  # noqa: S301 - written by our own process
        outcome = run_unit(unit, (lambda: line) if with_desk else None)
        try:
            packed = pickle.dumps(outcome)
        except Exception as error:
            packed = pickle.dumps(
                Failed(BenchfillError(f"{unit.name}: its result cannot be sent ({error})."))
            )
        line.send("done", packed)


class _PipeLine:
    """The worker's end of the pipe."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._turn = threading.Lock()
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[Outcome]] = {}

    def read(self, units: queue.SimpleQueue[bytes]) -> None:
        while True:
            try:
                message = self._pipe.recv()
            except (EOFError, OSError):
                # Nobody is there any more who could use a result.
                os._exit(1)
            if message[0] == "unit":
                units.put(message[1])
            elif (future := self._waiting.pop(message[1], None)) is not None:
                with contextlib.suppress(RuntimeError):
                    future.get_loop().call_soon_threadsafe(_settle, future, message[2])

    async def ask(self, question: Any) -> Any:
        number = next(self._numbers)
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        self.send("ask", number, question)
        outcome = await future
        if isinstance(outcome, Failed):
            raise outcome.error
        return outcome

    def tell(self, news: Any) -> None:
        self.send("tell", news)

    async def close(self) -> None:
        """Nothing waits: a pipe keeps its order."""

    def send(self, *message: Any) -> None:
        with self._turn:
            self._pipe.send(message)


def _settle(future: asyncio.Future[Outcome], outcome: Outcome) -> None:
    if not future.done():
        future.set_result(outcome)
