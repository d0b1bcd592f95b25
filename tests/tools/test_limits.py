"""Limits of a server: never more in any minute than allowed, no busy waiting, nothing out once closed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from benchfill.memory.ledger import Ledger
from benchfill.tools.client import ModelClient
from benchfill.tools.endpoint import Endpoint
from benchfill.tools.limits import WINDOW, ServerLimit
from benchfill.tools.meter import Meter
from tests.tools.fake_endpoint import serving


class FakeTime:
    """A clock that waits move on: an hour of waiting takes no time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        self.waits: list[float] = []
        real = asyncio.wait_for

        async def wait_for(awaitable: object, seconds: float) -> None:
            task = asyncio.ensure_future(awaitable)  # type: ignore[arg-type]
            try:
                await real(asyncio.shield(task), 0.001)
            except TimeoutError:
                self.now += seconds
                self.waits.append(seconds)
                task.cancel()
                raise

        monkeypatch.setattr("benchfill.tools.limits.asyncio.wait_for", wait_for)

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    return FakeTime(monkeypatch)


async def send(limit: ServerLimit, tokens: int, took: int | None = None) -> None:
    async with limit.sending(tokens) as passage:
        if took is not None:
            limit.settle(passage, took)


def most_in_a_minute(sent: list[tuple[float, int]], amount: Callable[[int], float]) -> float:
    """The definition: the largest sum over any minute that begins with a request."""
    return max(
        sum(amount(tokens) for moment, tokens in sent if start <= moment < start + WINDOW)
        for start, _ in sent
    )


async def test_no_minute_holds_more_requests_than_allowed(clock: FakeTime) -> None:
    limit = ServerLimit(8, requests_per_minute=10, clock=clock)
    sent: list[tuple[float, int]] = []
    for number in range(45):
        async with limit.sending(1):
            sent.append((clock.now, 1))
        clock.now += 2.5 * (number % 3)
    assert most_in_a_minute(sent, lambda tokens: 1) == 10
    # 45 requests at 10 a minute take four minutes and no longer.
    assert sent[-1][0] - sent[0][0] == pytest.approx(4 * WINDOW, abs=25.0)


async def test_no_minute_holds_more_tokens_than_allowed(clock: FakeTime) -> None:
    limit = ServerLimit(8, tokens_per_minute=1000, clock=clock)
    rng = random.Random(5)
    sent: list[tuple[float, int]] = []
    for _ in range(60):
        took = rng.randint(1, 200)
        async with limit.sending(400) as passage:
            sent.append((clock.now, took))
            clock.now += rng.random()
            limit.settle(passage, took)
    assert most_in_a_minute(sent, lambda tokens: tokens) <= 1000


async def test_what_was_set_aside_counts_until_it_is_settled(clock: FakeTime) -> None:
    limit = ServerLimit(8, tokens_per_minute=1000, clock=clock)
    await send(limit, 900, took=100)
    await send(limit, 900, took=100)
    assert clock.waits == []
    await send(limit, 900, took=None)
    assert clock.waits == [WINDOW]


async def test_a_request_larger_than_a_minute_passes_alone(clock: FakeTime) -> None:
    limit = ServerLimit(8, tokens_per_minute=100, clock=clock)
    await send(limit, 50)
    await send(limit, 500)
    await send(limit, 50)
    assert clock.waits == [WINDOW, WINDOW]


async def test_waits_are_said_once_and_wake_nobody_in_between(clock: FakeTime) -> None:
    limit = ServerLimit(8, requests_per_minute=1, clock=clock)
    said: list[float] = []
    for _ in range(3):
        async with limit.sending(1, on_wait=said.append):
            pass
    assert said == clock.waits == [WINDOW, WINDOW]


async def test_first_come_first_served(clock: FakeTime) -> None:
    limit = ServerLimit(8, requests_per_minute=2, clock=clock)
    order: list[int] = []

    async def one(number: int) -> None:
        async with limit.sending(1):
            order.append(number)

    await asyncio.gather(*(one(number) for number in range(7)))
    assert order == list(range(7))


async def test_settling_wakes_the_one_who_waits() -> None:
    limit = ServerLimit(8, tokens_per_minute=1000)
    async with limit.sending(900) as passage:
        waiting = asyncio.create_task(send(limit, 900))
        await asyncio.sleep(0.01)
        assert not waiting.done()
        limit.settle(passage, 10)
        await asyncio.wait_for(waiting, 1.0)


async def test_closing_waits_for_what_is_out_and_lets_nothing_more_out() -> None:
    limit = ServerLimit(8)
    release = asyncio.Event()
    finished: list[str] = []

    async def one(name: str) -> None:
        async with limit.sending(1):
            await release.wait()
            finished.append(name)

    first = asyncio.create_task(one("first"))
    await asyncio.sleep(0)
    closing = asyncio.create_task(limit.close())
    await asyncio.sleep(0)
    second = asyncio.create_task(one("second"))
    await asyncio.sleep(0.01)
    assert not closing.done()
    release.set()
    await asyncio.wait_for(closing, 1.0)
    await asyncio.sleep(0.01)
    assert first.done()
    assert finished == ["first"]
    assert not second.done()
    second.cancel()


async def test_closing_reaches_those_who_wait_for_their_minute() -> None:
    limit = ServerLimit(8, requests_per_minute=1)
    await send(limit, 1)
    waiting = asyncio.create_task(send(limit, 1))
    await asyncio.sleep(0.01)
    await asyncio.wait_for(limit.close(), 1.0)
    await asyncio.sleep(0.01)
    assert not waiting.done()
    waiting.cancel()


async def test_only_what_is_sent_counts_and_a_wait_is_said(tmp_path: Path) -> None:
    """Through the client: replies of the ledger are free, usage replaces what was set aside."""
    said: list[tuple[str, str]] = []
    meter = Meter(on_wait=lambda endpoint, seconds, reason: said.append((endpoint, reason)))
    # A call sets aside more than 1,000 tokens and takes 10: unsettled, the second would not go out.
    limit = ServerLimit(8, requests_per_minute=2, tokens_per_minute=1500)
    async with serving() as fake:
        with Ledger(tmp_path / "ledger.sqlite") as ledger:
            endpoint = Endpoint("e", fake.url, "m", max_tokens=1000)
            client = ModelClient(endpoint, ledger=ledger, role="r", run="r", limit=limit, meter=meter)

            async def ask(tag: str) -> bool:
                question = [{"role": "user", "content": "7 x 6?"}]
                return (await client.ask(question, seed=1, tag=tag)).from_ledger

            assert not await ask("a")
            assert not await asyncio.wait_for(ask("b"), 5.0)
            assert await asyncio.wait_for(asyncio.gather(*(ask(tag) for tag in "abab")), 5.0) == [True] * 4
            third = asyncio.create_task(ask("c"))
            await asyncio.sleep(0.2)
            assert not third.done()
            assert len(fake.requests) == 2
            assert said == [("e", "limit_a_minute")]
            third.cancel()
            await asyncio.gather(third, return_exceptions=True)
            await client.aclose()


async def test_a_call_that_is_cancelled_while_it_waits_leaves_no_trace() -> None:
    limit = ServerLimit(8, requests_per_minute=1)
    await send(limit, 1)
    waiting = asyncio.create_task(send(limit, 1))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await asyncio.wait_for(limit.close(), 1.0)
    assert limit.on_the_wire == 0
