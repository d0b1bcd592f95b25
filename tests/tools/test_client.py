"""Asking a model over real HTTP: what goes out, what comes back, what is tried again and what is given up."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field

from benchfill.errors import CallFailed, EndpointDown, InputError, RetryableCall
from benchfill.memory.ledger import Ledger
from benchfill.tools import retrying
from benchfill.tools.client import ModelClient, derive_seed
from benchfill.tools.endpoint import Endpoint
from benchfill.tools.limits import ServerLimit
from benchfill.tools.meter import Meter
from benchfill.tools.reply import Message, Reply
from tests.tools.fake_endpoint import FakeEndpoint, Response, completion, serving, tool_call

pytestmark = pytest.mark.usefixtures("short_waits")

SECRET = "sk-very-secret-0123456789"  # noqa: S105
ASK: list[Message] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "7 x 6? 多少"}]


class SubmitAnswer(BaseModel):
    """Hand in the answer."""

    answer: str = Field(description="the bare answer")


def client(fake: FakeEndpoint, ledger: Ledger, meter: Meter | None = None, **endpoint: Any) -> ModelClient:
    options = {"base_url": fake.url, "model": "m", "api_key": SECRET, "timeout": 5.0, **endpoint}
    return ModelClient(
        Endpoint("pool-1", **options),
        ledger=ledger,
        role="respondent",
        run="r",
        limit=ServerLimit(4),
        meter=meter or Meter(),
    )


async def ask(asked: ModelClient, *, tag: str = "i/0", seed: int = 5, **options: Any) -> Reply:
    return await asked.ask(ASK, seed=seed, tag=tag, **options)


async def test_what_goes_out_is_an_openai_request_and_nothing_else(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "my-organisation")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "my-project")
    async with serving() as fake:
        asked = client(fake, ledger, temperature=0.5, max_tokens=64, extra_body={"top_k": 3})
        history = [
            *ASK,
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [tool_call("SubmitAnswer", '{"answer": "42"}', id="call_9")],
            },
            {"role": "tool", "tool_call_id": "call_9", "content": "ok"},
        ]
        reply = await asked.ask(history, tools=[SubmitAnswer], tool_choice="required", seed=77, tag="t")
        await asked.aclose()
    (request,) = fake.requests
    assert (request.method, request.target) == ("POST", "/v1/chat/completions")
    body = request.body
    schema = body["tools"][0]["function"]
    assert schema["name"] == "SubmitAnswer"
    assert schema["parameters"]["required"] == ["answer"]
    sent = {name: value for name, value in body.items() if name not in ("messages", "tools")}
    sent.pop("stream", None)
    assert sent == {
        "model": "m",
        "temperature": 0.5,
        "max_tokens": 64,
        "top_k": 3,
        "seed": 77,
        "tool_choice": "required",
    }
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "tool"]
    assert body["messages"][1]["content"] == ASK[1]["content"]
    assert body["messages"][2]["tool_calls"][0]["id"] == "call_9"
    assert body["messages"][3]["tool_call_id"] == "call_9"
    assert request.headers["authorization"] == f"Bearer {SECRET}"
    assert set(request.headers) <= {
        "host", "content-length", "content-type", "accept", "accept-encoding", "connection", "authorization",
    }  # fmt: skip
    assert (reply.content, reply.finish_reason, reply.input_tokens, reply.output_tokens) == (
        "42",
        "stop",
        7,
        3,
    )


async def test_the_body_is_that_of_the_plain_langchain_client(ledger: Ledger) -> None:
    from langchain_openai import ChatOpenAI

    async with serving() as fake:
        asked = client(fake, ledger, temperature=0.5, top_p=0.9, extra_body={"top_k": 3})
        await ask(asked, tools=[SubmitAnswer], tool_choice="SubmitAnswer")
        plain = ChatOpenAI(
            model="m", base_url=fake.url, api_key="x", temperature=0.5, top_p=0.9,
            extra_body={"top_k": 3}, use_responses_api=False, disable_streaming=True,
        )  # fmt: skip
        bound = plain.bind_tools([SubmitAnswer], tool_choice="SubmitAnswer")
        await bound.ainvoke(ASK, seed=5)
        await asked.aclose()
        await plain.root_async_client.close()
    ours, theirs = fake.requests
    assert ours.body == theirs.body


async def test_no_key_no_authorization_and_no_seed_where_it_is_not_wanted(ledger: Ledger) -> None:
    async with serving() as fake:
        asked = client(fake, ledger, api_key=None, send_seed=False)
        await ask(asked)
        await asked.aclose()
    assert "authorization" not in fake.requests[0].headers
    assert "seed" not in fake.requests[0].body


async def test_tool_calls_reasoning_and_malformed_calls_reach_the_caller(ledger: Ledger) -> None:
    calls = [
        tool_call("SubmitAnswer", '{"answer": "42"}', id="a"),
        tool_call("SubmitAnswer", '{"answer": ', id="b"),
        tool_call("SubmitAnswer", ["42"], id="c"),
        tool_call("SubmitAnswer", '["42"]', id="d"),
    ]
    body = completion(None, finish="tool_calls", reasoning_content="thought", tool_calls=calls)
    async with serving(Response(body)) as fake:
        asked = client(fake, ledger)
        for from_ledger in (False, True):
            reply = await ask(asked, tools=[SubmitAnswer])
            assert [(c.id, c.name, c.arguments) for c in reply.tool_calls] == [
                ("a", "SubmitAnswer", {"answer": "42"})
            ]
            assert len(reply.malformed) == 3
            assert (reply.reasoning, reply.content) == ("thought", "")
            assert reply.from_ledger is from_ledger
        await asked.aclose()
    assert len(fake.requests) == 1


GOOD = Response(completion())
FAULTS = {
    "429": Response({"error": {"message": "slow"}}, 429),
    "500": Response("oops", 500, {"content-type": "text/plain"}),
    "503 loading": Response({"error": {"message": "Loading model", "code": 503}}, 503),
    "408": Response({}, 408),
    "409": Response({}, 409),
    "html 502": Response("<html>bad gateway</html>", 502, {"content-type": "text/html"}),
    "error in 200": Response({"error": {"message": "upstream"}}),
    "null choices": Response({"id": "x", "choices": None}),
    "empty choices": Response({"id": "x", "choices": []}),
    "null message": Response({"id": "x", "choices": [{"index": 0, "message": None}]}),
    "cut JSON": Response('{"id": "x", "choices": [{"ind'),
    "reset in the body": Response(completion("x" * 1000), reset=True),
    "hang": Response(completion(), hang=30.0),
    "drip": Response(completion("x" * 100), drip=0.02),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_that_heals_is_tried_again_and_never_pinned(name: str, ledger: Ledger) -> None:
    slow = name in ("hang", "drip")
    meter = Meter()
    async with serving(FAULTS[name], FAULTS[name], GOOD) as fake:
        asked = client(fake, ledger, meter, timeout=0.3 if slow else 5.0)
        reply = await ask(asked)
        await asked.aclose()
    assert reply.content == "42"
    assert not reply.from_ledger
    assert len(fake.requests) == 3
    assert len({request.raw for request in fake.requests}) == 1
    assert (meter.calls, meter.failed, meter.retries) == (3, 2, 2)
    (spend,) = ledger.spend()
    assert (spend.calls, spend.failed) == (1, 2)


@pytest.mark.parametrize("name", ["429", "null choices", "cut JSON"])
async def test_a_fault_that_stays_is_given_up_after_bounded_tries(name: str, ledger: Ledger) -> None:
    async with serving(FAULTS[name]) as fake:
        asked = client(fake, ledger, tries=3)
        with pytest.raises(CallFailed, match="given up after 3 tries") as caught:
            await ask(asked)
        # Nothing was pinned: asked again, it is tried again.
        with pytest.raises(CallFailed):
            await ask(asked)
        await asked.aclose()
    assert not isinstance(caught.value, RetryableCall | EndpointDown)
    assert caught.value.reason in ("rate_limited", "no_choices", "not_json")
    assert len(fake.requests) == 6


@pytest.mark.parametrize(
    ("response", "kind", "reason"),
    [
        (Response({"error": {"code": "attempts_exhausted"}}, 400), CallFailed, "attempts_exhausted"),
        (
            Response({"error": {"code": "context_length_exceeded"}}, 400),
            CallFailed,
            "context_length_exceeded",
        ),
        (Response({"error": {"message": "key"}}, 401), EndpointDown, "bad_key"),
        (Response({"error": {"message": "key"}}, 403), EndpointDown, "bad_key"),
        (Response({"error": {"message": "The model m does not exist"}}, 404), EndpointDown, "unknown_model"),
        (
            Response("<html>sign in</html>", 200, {"content-type": "text/html"}),
            CallFailed,
            "not_json",
        ),
        (Response("", 307, {"location": "http://127.0.0.1:9/"}), CallFailed, "http_307"),
    ],
)
async def test_what_cannot_be_mended_is_not_tried_again(
    response: Response, kind: type[CallFailed], reason: str, ledger: Ledger
) -> None:
    async with serving(response) as fake:
        asked = client(fake, ledger)
        with pytest.raises(kind) as caught:
            await ask(asked)
        await asked.aclose()
    assert type(caught.value) is kind
    assert caught.value.reason == reason
    assert len(fake.requests) == 1


async def test_retry_after_is_honoured_and_a_longer_one_than_allowed_ends_the_call(ledger: Ledger) -> None:
    def wait(seconds: str) -> Response:
        return Response({}, 429, {"content-type": "application/json", "retry-after": seconds})

    waits: list[tuple[str, float, str]] = []
    meter = Meter(on_wait=lambda *wait: waits.append(wait))
    async with serving(wait("0.4"), GOOD) as fake:
        asked = client(fake, ledger, meter)
        start = time.monotonic()
        await ask(asked)
        assert time.monotonic() - start >= 0.4
        await asked.aclose()
    assert waits == [("pool-1", 0.4, "rate_limited")]
    async with serving(wait("3600")) as fake:
        asked = client(fake, ledger, max_wait=2.0)
        start = time.monotonic()
        with pytest.raises(CallFailed) as caught:
            await ask(asked, tag="other")
        assert time.monotonic() - start < 1.0
        await asked.aclose()
    assert caught.value.reason == "rate_limited"
    assert len(fake.requests) == 1


def test_backoff_grows_is_bounded_and_the_same_in_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "FIRST_WAIT", 0.5)
    waits = [retrying.wait_before(tries, None, 1, "tag") for tries in range(1, 12)]
    assert waits == [retrying.wait_before(tries, None, 1, "tag") for tries in range(1, 12)]
    assert all(0.25 * 2**n <= wait <= 0.5 * 2**n for n, wait in enumerate(waits[:6]))
    assert max(waits) <= retrying.LONGEST_WAIT
    assert retrying.wait_before(1, None, 1, "tag") != retrying.wait_before(1, None, 1, "other")


async def test_a_generation_that_is_always_too_slow_is_not_asked_for_without_end(ledger: Ledger) -> None:
    async with serving(FAULTS["hang"]) as fake:
        asked = client(fake, ledger, timeout=0.05)
        with pytest.raises(CallFailed) as caught:
            await ask(asked)
        await asked.aclose()
    assert caught.value.reason == "timeout"
    assert len(fake.requests) == 3
    assert ledger.spend()[0].failed == 3


async def test_a_server_that_refuses_connections_is_down(ledger: Ledger) -> None:
    async with serving() as fake:
        pass
    asked = client(fake, ledger, tries=2)
    with pytest.raises(EndpointDown) as caught:
        await ask(asked)
    await asked.aclose()
    assert caught.value.reason == "unreachable"


async def test_the_limit_bounds_the_calls_in_flight(ledger: Ledger) -> None:
    flying = most = 0

    class Watched(FakeEndpoint):
        async def _answer(self, writer: asyncio.StreamWriter, response: Response) -> None:
            nonlocal flying, most
            flying += 1
            most = max(most, flying)
            await asyncio.sleep(0.02)
            flying -= 1
            await super()._answer(writer, response)

    fake = Watched()
    server = await asyncio.start_server(fake.handle, "127.0.0.1", 0)
    fake.port = server.sockets[0].getsockname()[1]
    asked = client(fake, ledger)
    await asyncio.gather(*(ask(asked, tag=f"{n}") for n in range(20)))
    await asked.aclose()
    server.close()
    await asyncio.sleep(0.05)
    assert most == 4
    assert len(fake.requests) == 20


async def test_cost_is_counted_and_unknown_cost_is_not_zero(ledger: Ledger) -> None:
    meter = Meter()
    failed = Response(
        {"error": {"message": "late"}, "usage": {"prompt_tokens": 7, "completion_tokens": 3}}, 500
    )
    async with serving(failed, GOOD, Response(completion(usage=None))) as fake:
        asked = client(fake, ledger, meter, price_in=2.0, price_out=10.0)
        await ask(asked, tag="1")
        # Billed, then failed: counted as well.
        assert meter.cost == pytest.approx(2 * (7 * 2.0 + 3 * 10.0) / 1e6)
        await ask(asked, tag="2")
        await ask(asked, tag="2")
        await asked.aclose()
        free = Meter()
        asked = client(fake, ledger, free, ledger_name="another")
        await ask(asked)
        await asked.aclose()
    assert (meter.calls, meter.from_ledger, meter.unmetered, meter.unpriced) == (3, 1, 1, 1)
    assert (meter.input_tokens, meter.output_tokens) == (14, 6)
    assert free.cost is None


async def test_the_key_appears_nowhere(
    ledger: Ledger, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    echo = Response({"error": {"message": f"Incorrect API key provided: {SECRET}"}}, 401)
    leak = Response(completion(f"your key is {SECRET}"))
    async with serving(echo, leak) as fake:
        asked = client(fake, ledger)
        with pytest.raises(EndpointDown) as caught:
            await ask(asked)
        await asked.aclose()
        # The endpoint of a refused key is asked no more; another process may.
        asked = client(fake, ledger)
        reply = await ask(asked)
        await asked.aclose()
    chain: list[BaseException] = [caught.value]
    while below := chain[-1].__cause__ or (None if chain[-1].__suppress_context__ else chain[-1].__context__):
        chain.append(below)
    texts = [repr(asked), repr(asked.endpoint), str(asked.endpoint), repr(reply), caplog.text]
    texts += [f"{error!r} {error} {vars(error)}" for error in chain]
    assert not [text for text in texts if SECRET in text]
    ledger.close()
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert SECRET.encode() not in file.read_bytes()


def test_a_base_url_that_is_none_is_one_line() -> None:
    for url in ("127.0.0.1:8000/v1", "ftp://host/v1", "", "http://"):
        with pytest.raises(InputError) as caught:
            Endpoint("pool-1", url, "m")
        assert caught.value.kind == "base_url"


def test_seeds_are_exact_in_json_and_carry_the_attempt() -> None:
    seed = derive_seed(1, "respondent", "item", "model", 4095)
    assert seed % 4096 == 4095
    assert 0 <= seed < 2**52
    assert seed >> 12 == derive_seed(1, "respondent", "item", "model", 0) >> 12
    others = {
        derive_seed(*arguments, 0)
        for arguments in [(2, "respondent", "item", "model"), (1, "judge", "item", "model"),
                          (1, "respondent", "item2", "model"), (1, "respondent", "item", "model2"),
                          (1, "respondent", "itemm", "odel")]
    }  # fmt: skip
    assert len(others | {seed - 4095}) == 6
    for attempt in (-1, 4096):
        with pytest.raises(ValueError, match="attempt"):
            derive_seed(1, "a", "b", "c", attempt)


TRACED = """
import asyncio, os, sys
if sys.argv[1] == "ours":
    from pathlib import Path
    from benchfill.memory.ledger import Ledger
    from benchfill.tools.client import ModelClient
    from benchfill.tools.endpoint import Endpoint
    from benchfill.tools.meter import Meter
    from benchfill.tools.limits import ServerLimit
from langchain_core.runnables import RunnableLambda

async def main():
    await RunnableLambda(lambda text: text.upper()).ainvoke("a private item")
    if sys.argv[1] == "ours":
        asked = ModelClient(
            Endpoint("e", sys.argv[2], "m"), ledger=Ledger(Path(sys.argv[3])), role="r", run="r",
            limit=ServerLimit(1), meter=Meter(),
        )
        await asked.ask([{"role": "user", "content": "a private item"}], seed=1, tag="t")
        await asked.aclose()
        assert not [name for name in os.environ if name.startswith(("LANGSMITH_", "LANGCHAIN_"))]

asyncio.run(main())
from langchain_core.tracers.langchain import wait_for_all_tracers
wait_for_all_tracers()
os._exit(0)
"""


async def test_tracing_variables_send_nothing(tmp_path: Path) -> None:
    async with serving(Response({})) as tracer, serving() as model:
        # It ends without a word to the tracer of coverage, which would double its time for nothing.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
        environment |= {
            "LANGSMITH_TRACING": "true",
            "LANGCHAIN_TRACING_V2": "true",
            "LANGSMITH_ENDPOINT": f"http://127.0.0.1:{tracer.port}",
            "LANGSMITH_API_KEY": "lsv2_x",
        }
        seen = []
        for whose in ("theirs", "ours"):
            command = [
                sys.executable,
                "-c",
                textwrap.dedent(TRACED),
                whose,
                model.url,
                str(tmp_path / "l.db"),
            ]
            process = await asyncio.create_subprocess_exec(*command, env=environment, stderr=subprocess.PIPE)
            _, errors = await asyncio.wait_for(process.communicate(), 120)
            assert process.returncode == 0, errors.decode()
            seen.append(len(tracer.requests))
    # The control proves that the variables do send without us; with us nothing more arrives.
    assert seen[0] > 0
    assert seen[1] == seen[0]
    assert len(model.requests) == 1
