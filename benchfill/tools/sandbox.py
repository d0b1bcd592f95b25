"""Bounded child processes for work on untrusted text: CPU time, memory and output are limited for every task.

Children are fresh interpreters that import only this package: the user's ``__main__`` is never run again, so
the sandbox works from scripts without a guard, from the command line and from threads. They start at the first
task, are reused, and are replaced when a task hits a limit; only that task is lost.
"""

from __future__ import annotations

import asyncio
import pickle
import queue
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from benchfill.errors import BenchfillError
from benchfill.tools.sandbox_process import Child, Failed, Reason

__all__ = ["Sandbox", "SandboxError"]

Task = Callable[..., Any]


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
        self.child: Child | None = None
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
        self._children: set[Child] = set()
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
        child: Child | None = None
        while (job := self._jobs.get()) is not None:
            if job.future.set_running_or_notify_cancel():
                child = self._run(job, child)
            with self._lock:
                self._idle += 1
        if child is not None:
            child.kill()

    def _run(self, job: _Job, child: Child | None) -> Child | None:
        for attempt in (1, 2):
            try:
                if child is None or not child.alive():
                    child = self._start()
                job.child = child
                job.future.set_result(child.run(job.request, job.seconds))
                return child
            except Failed as failed:
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

    def _start(self) -> Child:
        child = Child(self._memory_mb)
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
