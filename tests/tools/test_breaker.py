"""The circuit breaker under a clock of the test's own."""

from __future__ import annotations

import pytest

from benchfill.errors import CallFailed, EndpointDown, RetryableCall
from benchfill.memory.ledger import Ledger
from benchfill.tools.breaker import Breaker
from benchfill.tools.client import ModelClient
from benchfill.tools.endpoint import Endpoint
from benchfill.tools.limits import ServerLimit
from benchfill.tools.meter import Meter
from tests.tools.fake_endpoint import Request, Response, completion, serving

FAILED = RetryableCall("e: HTTP 500", "server_error")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def opened(clock: Clock, **options: float) -> Breaker:
    breaker = Breaker(failures=3, cool_down=5.0, longest=15.0, patience=60.0, clock=clock)
    for _ in range(3):
        assert breaker.admit("e") is False
        breaker.report(FAILED, first=True, trial=False)
    return breaker


def held(breaker: Breaker) -> float:
    with pytest.raises(RetryableCall) as caught:
        breaker.admit("e")
    assert caught.value.reason == "circuit_open"
    assert "server_error" in caught.value.message
    assert caught.value.after is not None
    return caught.value.after


def test_it_opens_after_failures_in_a_row_of_different_calls() -> None:
    breaker = Breaker(failures=3, clock=Clock())
    for fault, first in [
        (FAILED, True),
        (FAILED, True),
        (None, True),  # a success in between
        (FAILED, True),
        (FAILED, False),  # the same calls again
        (FAILED, False),
        (RetryableCall("e", "rate_limited"), True),  # says: too fast, not: broken
        (FAILED, True),
        (FAILED, True),
        (CallFailed("e", "context_length_exceeded"), True),  # the endpoint works
        (FAILED, True),
        (FAILED, True),
    ]:
        breaker.admit("e")
        breaker.report(fault, first=first, trial=False)
        assert not breaker.open
    breaker.report(FAILED, first=True, trial=False)
    assert breaker.open


def test_nothing_goes_out_in_the_cool_down_then_one_call_and_a_success_closes() -> None:
    clock = Clock()
    breaker = opened(clock)
    assert held(breaker) == 5.0
    clock.now += 4.0
    assert held(breaker) == 1.0
    clock.now += 1.0
    assert breaker.admit("e") is True
    assert 0 < held(breaker) < 1.0
    breaker.report(None, first=False, trial=True)
    assert [breaker.admit("e") for _ in range(3)] == [False] * 3


def test_each_failed_trial_doubles_the_rest_up_to_the_longest() -> None:
    clock = Clock()
    breaker = opened(clock)
    rests = []
    for _ in range(3):
        rests.append(held(breaker))
        clock.now += rests[-1]
        assert breaker.admit("e") is True
        # A call that was out since before it opened changes nothing.
        breaker.report(FAILED, first=True, trial=False)
        breaker.report(FAILED, first=True, trial=True)
    assert [*rests, held(breaker)] == [5.0, 10.0, 15.0, 15.0]


def test_a_cancelled_trial_makes_room_for_another() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.now += 5.0
    assert breaker.admit("e") is True
    breaker.withdraw(trial=True)
    assert breaker.admit("e") is True


def test_after_a_long_outage_calls_fail_at_once_and_a_trial_may_still_end_it() -> None:
    clock = Clock()
    breaker = opened(clock)
    while clock.now < 175.0:
        clock.now += held(breaker)
        assert breaker.admit("e") is True
        breaker.report(FAILED, first=False, trial=True)
    with pytest.raises(EndpointDown) as caught:
        breaker.admit("e")
    assert caught.value.reason == "server_error"
    clock.now += 15.0
    assert breaker.admit("e") is True
    breaker.report(None, first=False, trial=True)
    assert breaker.admit("e") is False


@pytest.mark.parametrize(
    ("reason", "ends"), [("bad_key", True), ("unknown_model", True), ("tools_unsupported", False)]
)
def test_a_refused_key_is_final_and_missing_tools_are_not(reason: str, ends: bool) -> None:
    clock = Clock()
    breaker = Breaker(clock=clock)
    breaker.report(EndpointDown("e: refused", reason), first=True, trial=False)
    clock.now += 1e6
    if ends:
        with pytest.raises(EndpointDown, match="refused"):
            breaker.admit("e")
    else:
        assert breaker.admit("e") is False


@pytest.mark.parametrize(
    ("broken", "other"),
    [
        # No connection: that is the server, and the other model of it need not find out by itself.
        (Response(reset=True), ["circuit_open"]),
        # A server that replies, were it to refuse, is there for the other model.
        (Response({"error": {"message": "oops"}}, 500), []),
        (Response({"error": {"message": "no such key"}}, 401), []),
    ],
)
async def test_a_server_without_connection_rests_for_all_its_models(
    broken: Response, other: list[str], ledger: Ledger
) -> None:
    waits: list[str] = []
    clock = Clock()

    def wait(endpoint: str, seconds: float, reason: str) -> None:
        waits.append(reason)
        clock.now += seconds

    meter = Meter(on_wait=wait)

    def by_model(request: Request) -> Response:
        return broken if request.body["model"] == "bad" else Response(completion("42"))

    async with serving(by_model) as fake:
        limit = ServerLimit(4)
        limit.breaker.cool_down, limit.breaker.clock = 0.05, clock
        bad, good = (
            ModelClient(
                Endpoint(name, fake.url, name, tries=1 if name == "bad" else 8),
                ledger=ledger, role="pool", run="r", limit=limit, meter=meter,
            )
            for name in ("bad", "good")
        )  # fmt: skip
        for number in range(5):
            with pytest.raises(CallFailed):
                await bad.ask([{"role": "user", "content": "?"}], seed=1, tag=f"t{number}")
        assert waits == []
        assert (await good.ask([{"role": "user", "content": "?"}], seed=1, tag="t")).content == "42"
        await bad.aclose()
        await good.aclose()
    assert waits == other
