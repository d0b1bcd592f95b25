"""What happens to attempts, calls and cost in situations that happen to users, against a scripted server."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from benchfill.item import Item
from benchfill.memory.ledger import Ledger
from benchfill.tools import client as client_module
from benchfill.tools.client import ModelClient
from benchfill.tools.endpoint import Endpoint
from benchfill.tools.limits import ServerLimit
from benchfill.tools.meter import Meter
from benchfill.tools.respondent import Attempt, ask_respondent
from tests.tools.fake_endpoint import FakeEndpoint, Request, Response, completion, serving
from tests.tools.scripted import TextGrader

pytestmark = pytest.mark.usefixtures("short_waits")

ITEM = Item("i", "What is 6 x 7?", "42", answer_type="numeric")
ASK = [{"role": "user", "content": ITEM.question}]
SLOW_DOWN = Response({"error": {"message": "slow down"}}, 429)
GOOD = Response(completion("42"))


def client(fake: FakeEndpoint, ledger: Ledger, meter: Meter | None = None, **options: Any) -> ModelClient:
    model = options.pop("model", "m")
    return ModelClient(
        Endpoint(model, options.pop("url", fake.url), model, **options),
        ledger=ledger, role="pool", run="r", limit=ServerLimit(4), meter=meter or Meter(),
    )  # fmt: skip


async def attempt(asked: ModelClient, number: int = 0, messages: Any = ASK) -> Attempt:
    return await ask_respondent(
        asked, messages, item=ITEM, grader=TextGrader(), seed=number, tag=f"a{number}", attempt=number  # type: ignore[arg-type]
    )  # fmt: skip


async def test_three_refusals_for_haste_and_then_an_answer_are_one_attempt(ledger: Ledger) -> None:
    async with serving(SLOW_DOWN, SLOW_DOWN, SLOW_DOWN, GOOD) as fake:
        asked = client(fake, ledger)
        assert (await attempt(asked)).outcome == "correct"
        await asked.aclose()
    assert len(fake.requests) == 4
    (spend,) = ledger.spend()
    assert (spend.calls, spend.failed) == (1, 3)
    # Which try it was stays with the reply.
    with sqlite3.connect(ledger.path) as connection:
        assert connection.execute("SELECT tries FROM calls").fetchall() == [(4,)]
    connection.close()


async def test_haste_refused_for_ever_is_missing_and_the_other_models_go_on(ledger: Ledger) -> None:
    def by_model(request: Request) -> Response:
        return SLOW_DOWN if request.body["model"] == "tired" else GOOD

    async with serving(by_model) as fake:
        tired, fresh = client(fake, ledger, model="tired", tries=3), client(fake, ledger, model="fresh")
        lost, found = await attempt(tired), await attempt(fresh)
        await tired.aclose()
        await fresh.aclose()
    assert (lost.outcome, lost.reason, lost.extracted) == ("missing", "rate_limited", None)
    assert found.outcome == "correct"
    assert len(fake.requests) == 4


async def test_a_reply_slower_than_the_limit_is_tried_a_stated_number_of_times_and_each_counts(
    ledger: Ledger,
) -> None:
    meter = Meter()
    async with serving(Response(completion("42"), hang=30.0)) as fake:
        asked = client(fake, ledger, meter, timeout=0.25)
        lost = await attempt(asked)
        await asked.aclose()
    assert (lost.outcome, lost.reason) == ("missing", "timeout")
    assert meter.calls == meter.failed == len(fake.requests) == client_module.TIMEOUT_TRIES == 3


@pytest.mark.parametrize("what", ["base_url", "temperature", "seed", "system text", "question", "attempt"])
async def test_only_the_same_call_is_found_again(what: str, ledger: Ledger) -> None:
    other: dict[str, Any] = {
        "base_url": {},
        "temperature": {"temperature": 0.7},
    }.get(what, {})
    async with serving(GOOD) as fake, serving(GOOD) as second:
        asked = client(fake, ledger)
        changed = client(second if what == "base_url" else fake, ledger, **other)
        await asked.ask(ASK, seed=1, tag="a0")
        assert (await asked.ask(ASK, seed=1, tag="a0")).from_ledger
        messages = ASK
        if what == "system text":
            messages = [{"role": "system", "content": "Be brief."}, *ASK]
        if what == "question":
            messages = [{"role": "user", "content": "What is 6 x 8?"}]
        reply = await changed.ask(
            messages, seed=2 if what == "seed" else 1, tag="a1" if what == "attempt" else "a0"
        )
        await asked.aclose()
        await changed.aclose()
    assert not reply.from_ledger
    assert len(fake.requests) + len(second.requests) == 2


async def test_other_times_tries_prices_and_keys_pay_nothing_again(ledger: Ledger) -> None:
    async with serving(GOOD) as fake:
        for options in (
            {},
            {"timeout": 7.0, "tries": 2, "price_in": 1.0, "price_out": 1.0, "api_key": "k" * 20},
        ):
            asked = client(fake, ledger, **options)
            assert (await attempt(asked)).outcome == "correct"
            await asked.aclose()
    assert len(fake.requests) == 1


REFUSALS = {
    "temperature": Response(
        {"error": {"message": "Unsupported value: 'temperature' does not support 0.5.", "param": "temperature"}}, 400
    ),
    "seed": Response({"error": {"message": "ollama does not support parameters: {'seed': 1}", "code": 500}}, 500),
    "max_tokens": Response(
        {"error": {"message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
                              "'max_completion_tokens' instead.", "param": "max_tokens"}}, 400
    ),
}  # fmt: skip


@pytest.mark.parametrize("part", REFUSALS)
async def test_a_refused_part_is_left_out_once_learned_and_the_call_stays_the_same(
    part: str, ledger: Ledger
) -> None:
    said: list[tuple[str, str]] = []

    def picky(request: Request) -> Response:
        return REFUSALS[part] if part in request.body else GOOD

    options = {"temperature": 0.5, "max_tokens": 64}
    async with serving(picky) as fake:
        asked = client(fake, ledger, Meter(on_notice=lambda *what: said.append(what)), **options)
        first = await asked.ask(ASK, seed=1, tag="a0")
        await asked.ask(ASK, seed=1, tag="a1")
        await asked.aclose()
        # A later process that knows nothing of it finds the reply all the same.
        fresh = client(fake, ledger, **options)
        again = await fresh.ask(ASK, seed=1, tag="a0")
        await fresh.aclose()
    assert [part in request.body for request in fake.requests] == [True, False, False]
    assert again.from_ledger
    assert again.key == first.key
    assert len(said) == 1
    if part == "max_tokens":
        assert fake.requests[1].body["max_completion_tokens"] == 64


async def test_a_part_that_is_refused_though_left_out_ends_the_call(ledger: Ledger) -> None:
    async with serving(REFUSALS["temperature"]) as fake:
        asked = client(fake, ledger, temperature=0.5)
        lost = await attempt(asked)
        await asked.aclose()
    assert (lost.outcome, lost.reason) == ("missing", "unsupported_parameter")
    assert len(fake.requests) == 2


@pytest.mark.parametrize("wanted", [True, False])
async def test_reasoning_goes_back_only_where_it_is_wanted(wanted: bool, ledger: Ledger) -> None:
    history = [*ASK, {"role": "assistant", "content": "41", "reasoning_content": "6 x 7 is 41"}, *ASK]

    def deepseek(request: Request) -> Response:
        if wanted and "reasoning_content" not in request.body["messages"][1]:
            message = "Missing `reasoning_content` field in the assistant message at message index 1."
            return Response({"error": {"message": message}}, 400)
        return GOOD

    async with serving(deepseek) as fake:
        asked = client(fake, ledger)
        await asked.ask(history, seed=1, tag="t")
        await asked.aclose()
    sent = [request.body["messages"][1].get("reasoning_content") for request in fake.requests]
    assert sent == ([None, "6 x 7 is 41"] if wanted else [None])


async def test_a_prompt_cut_to_the_context_is_no_answer_to_the_question(ledger: Ledger) -> None:
    usage = {"prompt_tokens": 4056, "completion_tokens": 40, "total_tokens": 4096}
    async with serving(Response(completion("42", usage=usage))) as fake:
        asked = client(fake, ledger)
        cut = await attempt(asked, messages=[{"role": "user", "content": "long " * 6320}])
        whole = await attempt(asked, messages=[{"role": "user", "content": "long " * 3000}])
        await asked.aclose()
    assert (cut.outcome, cut.reason) == ("missing", "context_cut")
    assert whole.outcome == "correct"


async def test_an_endpoint_that_is_down_for_good_is_not_asked_again(ledger: Ledger) -> None:
    async with serving(Response({"error": {"message": "no such key"}}, 401), GOOD) as fake:
        asked = client(fake, ledger)
        attempts = [await attempt(asked, number) for number in range(3)]
        await asked.aclose()
    assert [one.reason for one in attempts] == ["bad_key"] * 3
    assert all(one.down for one in attempts)
    assert len(fake.requests) == 1
