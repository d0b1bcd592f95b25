"""The budget: nothing goes out that does not fit, whatever is in flight, by the server's own count."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from benchfill.errors import BudgetSpent, CallFailed, InputError
from benchfill.memory.ledger import Ledger
from benchfill.tools.budget import Budget, Charge, Limits, check_limits
from benchfill.tools.client import ModelClient
from benchfill.tools.endpoint import Endpoint
from benchfill.tools.limits import ServerLimit
from benchfill.tools.meter import Meter
from tests.tools.fake_endpoint import Request, Response, completion, serving

ASK = [{"role": "user", "content": "7 x 6?"}]
IN_FLIGHT = 16
# 1,000 tokens out cost 0.30, the request next to nothing.
PRICED = {"price_in": 0.0, "price_out": 300.0, "max_tokens": 1000}


def used(output: int) -> dict[str, int]:
    return {"prompt_tokens": 7, "completion_tokens": output, "total_tokens": 7 + output}


async def flood(
    tmp_path: Path, budget: Budget, *plan: Any, calls: int = 40, clients: int = 1, **options: Any
) -> tuple[list[Request], list[Any]]:
    """Ask many calls at once; what reached the server, and each call's outcome."""
    meter = Meter(budget=budget)
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        async with serving(*plan) as fake:
            asked = [
                ModelClient(
                    Endpoint(f"e{number}", fake.url, f"m{number}", **options),
                    ledger=ledger,
                    role="pool",
                    run="r",
                    limit=ServerLimit(IN_FLIGHT),
                    meter=meter,
                )
                for number in range(clients)
            ]
            outcomes = await asyncio.gather(
                *(each.ask(ASK, seed=n, tag=f"t{n}") for each in asked for n in range(calls)),
                return_exceptions=True,
            )
            for each in asked:
                await each.aclose()
        assert ledger.charged("r")[:2] == (budget.spent.calls, budget.spent.tokens)
    # Nothing is left open: who waited for it would wait for ever.
    budget.limits = Limits(calls=0)
    with pytest.raises(BudgetSpent):
        await asyncio.wait_for(budget.reserve(Endpoint("e", fake.url, "m"), 1), 1.0)
    return fake.requests, list(outcomes)


async def test_calls_stop_at_the_limit_with_many_in_flight(tmp_path: Path) -> None:
    budget = Budget(Limits(calls=25), go_on="benchfill resume r")
    requests, outcomes = await flood(tmp_path, budget, Response(completion(), hang=0.01))
    assert len(requests) == 25
    refused = [each for each in outcomes if isinstance(each, BaseException)]
    assert len(refused) == 40 - 25
    assert all(isinstance(each, BudgetSpent) for each in refused)
    assert str(refused[0]).endswith("Everything is saved. Go on with: benchfill resume r --max-calls N")


async def test_a_cost_is_never_exceeded_by_calls_in_flight(tmp_path: Path) -> None:
    """Budget 1.00, each call 0.30, ten at once."""
    budget = Budget(Limits(cost=1.0))
    plan = Response(completion(usage=used(1000)), hang=0.01)
    requests, _ = await flood(tmp_path, budget, plan, calls=10, **PRICED)
    assert len(requests) == 3
    assert budget.spent.cost == pytest.approx(0.9)


async def test_calls_wait_for_what_is_given_back_and_use_the_budget_up(tmp_path: Path) -> None:
    """Replies take a tenth of what is set aside: of 1.00 no more than one reservation is left over."""
    budget = Budget(Limits(cost=1.0))
    requests, _ = await flood(tmp_path, budget, Response(completion(usage=used(100)), hang=0.002), **PRICED)
    assert budget.spent.cost is not None
    assert 0.7 < budget.spent.cost <= 1.0
    assert budget.spent.cost == pytest.approx(0.03 * len(requests))


async def test_tokens_overshoot_by_no_more_than_one_call_an_endpoint_that_has_no_limit(
    tmp_path: Path,
) -> None:
    """Two endpoints without max_tokens whose replies are longer than anything assumed."""
    budget = Budget(Limits(tokens=100_000))
    plan = Response(completion(usage=used(30_000)), hang=0.005)
    requests, outcomes = await flood(tmp_path, budget, plan, calls=20, clients=2)
    assert 30_007 * len(requests) <= 100_000 + 2 * 30_007
    assert sum(isinstance(each, BudgetSpent) for each in outcomes) == 40 - len(requests)


async def test_what_a_server_does_not_report_counts_as_set_aside_and_a_refusal_as_nothing(
    tmp_path: Path,
) -> None:
    size = 0

    def silent(request: Request) -> Response:
        nonlocal size
        size = len(request.raw)
        return Response(completion(usage=None))

    budget = Budget()
    await flood(tmp_path / "silent", budget, silent, calls=1, **PRICED)
    assert budget.spent == Charge(1, size + 1000, pytest.approx(0.3))
    budget = Budget()
    _, (outcome,) = await flood(
        tmp_path / "refused", budget, Response({"error": {"code": "no"}}, 400), calls=1, **PRICED
    )
    assert isinstance(outcome, CallFailed)
    assert budget.spent == Charge(1, 0, 0.0)


async def test_every_try_counts_and_a_resumed_run_goes_on_from_what_it_spent(tmp_path: Path) -> None:
    budget = Budget(Limits(calls=2))
    busy = Response({"error": {"message": "slow down"}}, 429)
    requests, (outcome,) = await flood(tmp_path, budget, busy, Response(completion()), calls=1)
    assert not isinstance(outcome, BaseException)
    assert (len(requests), budget.spent.calls) == (2, 2)
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        spent = Charge(*ledger.charged("r"))
    again = Budget(Limits(calls=2), spent)
    with pytest.raises(BudgetSpent):
        await again.reserve(Endpoint("e", "http://127.0.0.1/v1", "m"), 10)


async def test_time_is_over_for_the_next_call_and_not_for_those_in_flight() -> None:
    now = 100.0
    budget = Budget(Limits(seconds=5.0), clock=lambda: now)
    endpoint = Endpoint("e", "http://127.0.0.1/v1", "m")
    first = await budget.reserve(endpoint, 10)
    now = 106.0
    waiting = asyncio.ensure_future(budget.reserve(endpoint, 10))
    await asyncio.sleep(0)
    assert not waiting.done()
    budget.settle(first, (1, 1), sent=True)
    with pytest.raises(BudgetSpent, match="--max-time"):
        await waiting


async def test_a_call_that_never_went_out_gives_its_part_back() -> None:
    budget = Budget(Limits(calls=1))
    endpoint = Endpoint("e", "http://127.0.0.1/v1", "m")
    first = await budget.reserve(endpoint, 10)
    second = asyncio.ensure_future(budget.reserve(endpoint, 10))
    await asyncio.sleep(0)
    budget.release(first)
    budget.release(await second)
    assert budget.spent == Charge()


def test_a_cost_that_could_not_be_held_is_a_usage_error() -> None:
    whole = Endpoint("whole", "http://127.0.0.1/v1", "m", **PRICED)  # type: ignore[arg-type]
    bare = Endpoint("bare", "http://127.0.0.1/v1", "m", price_in=1.0)
    check_limits(Limits(cost=1.0), [whole])
    check_limits(Limits(calls=1, tokens=1, seconds=1.0), [bare])
    with pytest.raises(InputError, match="bare has no price_in and price_out and no max_tokens") as caught:
        check_limits(Limits(cost=1.0), [whole, bare])
    assert caught.value.exit_code == 2
