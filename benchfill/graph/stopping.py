"""Leaving on Ctrl-C or SIGTERM: no new call, the calls in flight finish, then out. A second signal leaves at once."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar

from benchfill.tools.limits import ServerLimit

__all__ = ["Interrupted", "Stopping", "in_daemon_thread"]

# How long calls in flight may take to finish: the embedded endpoint answers at once or not at all.
EMBEDDED_SECONDS = 4.0
OTHERS_SECONDS = 10.0

T = TypeVar("T")


class Interrupted(Exception):
    """The user asked to stop; everything is on disk.

    Parameters
    ----------
    signum
        SIGINT or SIGTERM; the exit code is 128 + signum.
    """

    def __init__(self, signum: int) -> None:
        self.signum = signum
        super().__init__(f"stopped by signal {signum}")


class Stopping:
    """Turns signals into an orderly end of one awaited piece of work.

    Parameters
    ----------
    say
        Called once when the first signal arrives.
    """

    def __init__(self, say: Callable[[], None]) -> None:
        self._say = say
        self.limits: list[ServerLimit] = []
        self.drain_seconds = OTHERS_SECONDS
        self._signum: asyncio.Future[int] | None = None

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Take SIGINT and SIGTERM over while inside; outside of the main thread or on Windows nothing changes."""
        loop = asyncio.get_running_loop()
        self._signum = loop.create_future()
        taken: list[int] = []
        for signum in (int(signal.SIGINT), int(signal.SIGTERM)):
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(signum, self._on_signal, signum)
                taken.append(signum)
        try:
            yield
        finally:
            for signum in taken:
                loop.remove_signal_handler(signum)

    def _on_signal(self, signum: int) -> None:
        if self._signum is None or self._signum.done():
            # Nothing is lost: what is not committed is asked again.
            os._exit(128 + signum)
        self._signum.set_result(signum)

    async def unless_stopped(self, work: Awaitable[T]) -> T:
        """Await the work, or stop it.

        Raises
        ------
        Interrupted
            A signal came. The calls in flight have finished, or their time was over.
        """
        if self._signum is None:
            raise RuntimeError("used outside of listening()")
        task = asyncio.ensure_future(work)
        both: set[asyncio.Future[Any]] = {task, self._signum}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        self._say()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(
                asyncio.gather(*(limit.close() for limit in self.limits)), self.drain_seconds
            )
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError, TimeoutError, Exception):
            # A thread in a fit cannot be cancelled and is not waited for.
            await asyncio.wait_for(asyncio.shield(asyncio.wait({task})), 0.5)
        raise Interrupted(self._signum.result())


async def in_daemon_thread(work: Callable[[], T]) -> T:
    """Await work in a thread that nobody waits for when the process leaves: a fit cannot be cancelled."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if result.done():
            return
        if error is None:
            result.set_result(value)  # type: ignore[arg-type]
        else:
            result.set_exception(error)

    def run() -> None:
        value, error = None, None
        try:
            value = work()
        except BaseException as raised:  # handed to the one who awaits
            error = raised
        with contextlib.suppress(RuntimeError):
            # The loop is closed when the user has left already.
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=run, name="fit", daemon=True).start()
    return await result
