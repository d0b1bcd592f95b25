"""How hard a server may be asked, for all its models together: calls in flight, requests and tokens a minute, rest."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from benchfill.tools.breaker import SERVER_FAULTS, Breaker

__all__ = ["Passage", "ServerLimit"]

WINDOW = 60.0
# Shorter waits are nothing to tell anybody of.
WORTH_SAYING = 2.0


@dataclass(eq=False, slots=True)
class Passage:
    """One request that was let through: when, how many tokens it counts for, and whether it still counts."""

    moment: float
    tokens: int
    counted: bool = True


class ServerLimit(asyncio.Semaphore):
    """The limits of one server; once closed, nothing more goes out.

    As a semaphore it bounds the calls in flight. What really goes out, and is not found in the ledger, passes
    :meth:`sending`. Within any minute no more requests and tokens pass than allowed: a sliding window, which no
    bucket or fixed window of that size at the server refuses. Waiting costs no time of the processor, and is first
    come, first served.

    Parameters
    ----------
    concurrency
        Calls in flight at most.
    requests_per_minute, tokens_per_minute
        None is without limit. A single request larger than the tokens of a minute passes when no other did for one.
    clock
        Seconds.

    Attributes
    ----------
    breaker
        Opens when no connection to the server is had, whichever model it was for: the others need not find out.
    """

    def __init__(
        self,
        concurrency: int,
        *,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(concurrency)
        self.concurrency = concurrency
        self.on_the_wire = 0
        self.breaker = Breaker(faults=SERVER_FAULTS, final=frozenset())
        self._requests, self._tokens = requests_per_minute, tokens_per_minute
        self._clock = clock
        self._passed: deque[Passage] = deque()
        self._used = 0
        self._turn = asyncio.Lock()
        self._changed = asyncio.Event()
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._closed = False

    @contextlib.asynccontextmanager
    async def sending(
        self, tokens: int, *, on_wait: Callable[[float], None] | None = None
    ) -> AsyncIterator[Passage]:
        """Wait until a request may go out, and count it as being on the wire while inside.

        Parameters
        ----------
        tokens
            An upper bound of what the request will take, in and out; see :meth:`settle`.
        on_wait
            Told the seconds of a wait that is worth saying.
        """
        async with self._turn:
            await self._wait(tokens, on_wait)
            passage = Passage(self._clock(), tokens)
            if self._requests is not None or self._tokens is not None:
                self._passed.append(passage)
                self._used += tokens
        self.on_the_wire += 1
        self._quiet.clear()
        try:
            yield passage
        finally:
            self.on_the_wire -= 1
            if not self.on_the_wire:
                self._quiet.set()

    def settle(self, passage: Passage, tokens: int) -> None:
        """Replace the tokens set aside for a request by those it took."""
        if passage.counted:
            self._used += tokens - passage.tokens
            passage.tokens = tokens
        self._changed.set()

    async def close(self) -> None:
        """Let nothing more out, and wait for what is on the wire."""
        self._closed = True
        self._changed.set()
        await self._quiet.wait()

    async def _wait(self, tokens: int, on_wait: Callable[[float], None] | None) -> None:
        said = False
        while True:
            if self._closed:
                # Waiting for ever rather than failing: a failure would cancel the calls in flight beside it.
                await asyncio.get_running_loop().create_future()
            seconds = self._seconds_to_wait(tokens)
            if seconds <= 0:
                return
            if seconds >= WORTH_SAYING and on_wait is not None and not said:
                on_wait(seconds)
                said = True
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), seconds)

    def _seconds_to_wait(self, tokens: int) -> float:
        """Until enough of what passed lies a minute back, if nothing of it takes less than was set aside."""
        now = self._clock()
        while self._passed and self._passed[0].moment <= now - WINDOW:
            oldest = self._passed.popleft()
            oldest.counted = False
            self._used -= oldest.tokens
        requests, used, seconds = len(self._passed), self._used, 0.0
        for passage in self._passed:
            too_many = self._requests is not None and requests + 1 > self._requests
            too_much = self._tokens is not None and used + tokens > self._tokens
            if not too_many and not too_much:
                break
            requests -= 1
            used -= passage.tokens
            seconds = passage.moment + WINDOW - now
        return seconds
