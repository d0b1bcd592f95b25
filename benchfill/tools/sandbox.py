"""Bounded child processes for work on untrusted text: CPU time, memory and output are limited for every task.

Children are fresh interpreters that import only this package: the user's ``__main__`` is never run again, so
the sandbox works from scripts without a guard, from the command line and from threads. They start at the first
task, are reused, and are replaced when a task hits a limit; only that task is lost.
"""

from __future__ import annotations

import asyncio
import io
import json
import pickle
import queue
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import IO, Any, Literal

from benchfill.errors import BenchfillError
from benchfill.tools.sandbox_child import LENGTH

__all__ = ["Sandbox", "SandboxError"]

Task = Callable[..., Any]
Reason = Literal["timeout", "memory", "output", "crashed"]

OUTPUT_BYTES = 4 * 1024 * 1024
START_SECONDS = 120.0  # importing sympy takes seconds on a busy machine; not counted as the task's own time
WALL_FACTOR = 3.0  # the limit is CPU time; a task that only waits is ended by the wall clock, this much later
_CPU_SIGNALS = {"SIGPROF", "SIGXCPU", "SIGVTALRM"}


class SandboxError(BenchfillError):
    """A task in a child process gave no result.

    Parameters
    ----------
    reason
        ``timeout``, ``memory`` or ``output`` when the task hit its limit; ``crashed`` when it raised, when
        its process died twice, or when the sandbox was closed.
    """

    def __init__(self, message: str, reason: Reason) -> None:
        self.reason: Reason = reason
        super().__init__(message)


class Sandbox:
    """A pool of bounded child processes.

    Parameters
    ----------
    workers
        Children at most; each works on one task at a time.
    memory_mb
        Limit of the address space of a child, in MiB.
    """

    def __init__(self, workers: int = 2, memory_mb: int = 1024) -> None:
        self._pool = _Pool(workers, memory_mb)
        self._finalizer = weakref.finalize(self, self._pool.close)

    async def call(self, task: Task, *args: Any, seconds: float = 5.0) -> Any:
        """Run ``task(*args)`` in a child without blocking the event loop.

        Parameters
        ----------
        task
            A top-level function of an importable module, called by its qualified name. Its module may name
            heavy modules in ``SANDBOX_IMPORTS``: they are imported before the clock starts.
        args
            Picklable arguments. The result may hold only plain types (numbers, text, containers).
        seconds
            Limit of CPU time.

        Raises
        ------
        SandboxError
            The task hit a limit, raised, or its process died twice.
        """
        job = self._pool.submit(task, args, seconds)
        try:
            return await asyncio.wrap_future(job.future)
        except asyncio.CancelledError:
            job.abandon()
            raise

    def call_sync(self, task: Task, *args: Any, seconds: float = 5.0) -> Any:
        """Run ``task(*args)`` in a child and wait for it; as :meth:`call`, from any thread."""
        job = self._pool.submit(task, args, seconds)
        try:
            return job.future.result()
        except KeyboardInterrupt:
            job.abandon()
            raise

    def close(self) -> None:
        """End all children; tasks still waiting raise SandboxError."""
        self._finalizer()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Job:
    def __init__(self, request: bytes, seconds: float) -> None:
        self.request = request
        self.seconds = seconds
        self.future: Future[Any] = Future()
        self.child: _Child | None = None
        self.abandoned = False

    def abandon(self) -> None:
        """Nobody waits for the result any more: free the child at once."""
        self.abandoned = True
        if not self.future.cancel() and self.child is not None and not self.future.done():
            self.child.kill()


class _Pool:
    """State shared with the worker threads, which must not keep the Sandbox itself alive."""

    def __init__(self, workers: int, memory_mb: int) -> None:
        self._limit = workers
        self._memory_mb = memory_mb
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._children: set[_Child] = set()
        self._idle = 0
        self._closed = False

    def submit(self, task: Task, args: tuple[Any, ...], seconds: float) -> _Job:
        if task.__module__ == "__main__" or "." in task.__qualname__:
            raise ValueError(f"a sandbox task is a top-level function of a module, not {task.__qualname__}")
        request = pickle.dumps((f"{task.__module__}:{task.__qualname__}", args, seconds))
        job = _Job(request, seconds)
        with self._lock:
            if self._closed:
                raise SandboxError("the sandbox is closed", "crashed")
            if self._idle <= 0 and len(self._threads) < self._limit:
                thread = threading.Thread(target=self._serve, name="sandbox", daemon=True)
                self._threads.append(thread)
                thread.start()
            else:
                self._idle -= 1
            self._jobs.put(job)
        return job

    def _serve(self) -> None:
        """Body of a worker thread: one child, one job at a time."""
        child: _Child | None = None
        while (job := self._jobs.get()) is not None:
            if job.future.set_running_or_notify_cancel():
                child = self._run(job, child)
            with self._lock:
                self._idle += 1
        if child is not None:
            child.kill()

    def _run(self, job: _Job, child: _Child | None) -> _Child | None:
        for attempt in (1, 2):
            try:
                if child is None or not child.alive():
                    child = self._start()
                job.child = child
                job.future.set_result(child.run(job.request, job.seconds))
                return child
            except _Failed as failed:
                if failed.fatal and child is not None:
                    child.kill()
                    with self._lock:
                        self._children.discard(child)
                    child = None
                if failed.retry and attempt == 1 and not (self._closed or job.abandoned):
                    continue
                job.future.set_exception(SandboxError(str(failed), failed.reason))
                return child
        return child

    def _start(self) -> _Child:
        child = _Child(self._memory_mb)
        with self._lock:
            closed = self._closed
            self._children.add(child)
        if closed:
            child.kill()
        return child

    def close(self) -> None:
        with self._lock:
            self._closed = True
            children = list(self._children)
        for child in children:
            child.kill()
        while True:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is not None and job.future.set_running_or_notify_cancel():
                job.future.set_exception(SandboxError("the sandbox is closed", "crashed"))
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(timeout=5.0)


class _Failed(Exception):
    """No result. ``fatal``: the child is of no more use; ``retry``: it was not the task's own limit."""

    def __init__(self, message: str, reason: Reason, *, fatal: bool, retry: bool = False) -> None:
        self.reason: Reason = reason
        self.fatal = fatal
        self.retry = retry
        super().__init__(message)


class _Child:
    """One child process and the thread that reads its answers."""

    def __init__(self, memory_mb: int) -> None:
        start = (
            "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
            "from benchfill.tools.sandbox_child import main; main(int(sys.argv[2]), int(sys.argv[3]))"
        )
        path = json.dumps([entry for entry in sys.path if isinstance(entry, str)])
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter, no shell
            [sys.executable, "-c", start, path, str(memory_mb), str(OUTPUT_BYTES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,  # the Ctrl-C of a terminal goes to its foreground group only
        )
        if self._process.stdin is None or self._process.stdout is None:
            raise _Failed("a child process has no pipes", "crashed", fatal=False)
        self._requests = self._process.stdin
        self._answers: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        pipes = (self._process.stdout, self._answers)
        threading.Thread(target=_read_answers, args=pipes, daemon=True).start()

    def alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """End the process and collect it; safe to call twice and from any thread."""
        self._process.kill()
        self._process.wait()
        self._requests.close()

    def run(self, request: bytes, seconds: float) -> Any:
        try:
            _write_frame(self._requests, request)
        except (OSError, ValueError):
            raise self._died() from None
        kind, value = self._answer(START_SECONDS)
        if kind == "ready":
            kind, value = self._answer(seconds * WALL_FACTOR)
        if kind == "done":
            return value
        if kind == "memory":
            raise _Failed("the task hit its memory limit", "memory", fatal=True)
        if kind == "output":
            raise _Failed(f"the result is too large ({value} bytes)", "output", fatal=False)
        raise _Failed(str(value), "crashed", fatal=False)

    def _answer(self, seconds: float) -> tuple[str, Any]:
        try:
            payload = self._answers.get(timeout=seconds)
        except queue.Empty:
            raise _Failed("the task hit its time limit", "timeout", fatal=True) from None
        if payload is None:
            raise self._died()
        try:
            kind, value = _PlainUnpickler(io.BytesIO(payload)).load()
        except pickle.UnpicklingError as error:
            raise _Failed(f"the result is not plain: {error}", "crashed", fatal=False) from None
        return kind, value

    def _died(self) -> _Failed:
        code = self._process.wait()
        if _signal_name(code) in _CPU_SIGNALS:
            return _Failed("the task hit its time limit", "timeout", fatal=True)
        return _Failed("the process of the task died", "crashed", fatal=True, retry=True)


class _PlainUnpickler(pickle.Unpickler):
    """Reads numbers, text and containers; a child that met hostile text can send nothing that runs here."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name}")


def _read_answers(pipe: IO[bytes], answers: queue.SimpleQueue[bytes | None]) -> None:
    try:
        with pipe:
            while head := _read_exactly(pipe, LENGTH.size):
                (length,) = LENGTH.unpack(head)
                payload = _read_exactly(pipe, length) if length <= OUTPUT_BYTES else None
                if payload is None:
                    break
                answers.put(payload)
    except OSError:
        pass
    answers.put(None)


def _read_exactly(pipe: IO[bytes], count: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < count:
        part = pipe.read(count - len(parts))
        if not part:
            return None
        parts += part
    return bytes(parts)


def _write_frame(pipe: IO[bytes], payload: bytes) -> None:
    frame = memoryview(LENGTH.pack(len(payload)) + payload)
    while frame:
        frame = frame[pipe.write(frame) :]


def _signal_name(code: int) -> str:
    try:
        return signal.Signals(-code).name if code < 0 else ""
    except ValueError:
        return ""
