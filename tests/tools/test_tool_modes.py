"""The same loops over all three ways of asking for structured replies, against servers that have only one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchfill.errors import CallFailed, EndpointDown
from benchfill.item import Item
from benchfill.tools.client import ModelClient
from benchfill.tools.endpoint import Endpoint
from benchfill.tools.grading import Grader
from benchfill.tools.judge import judge
from benchfill.tools.limits import ServerLimit
from benchfill.tools.meter import Meter
from benchfill.tools.rewriter import rewrite
from benchfill.tools.sandbox import Sandbox
from benchfill.tools.schemas import EvaluateExpression, SubmitItem, SubmitVerdict
from benchfill.tools.tool_modes import MODES, Mode, probe, response_format, written_out
from tests.tools.fake_endpoint import FakeEndpoint, Request, Response, completion, serving, tool_call
from tests.tools.scripted import PlaceSandbox
from tests.tools.test_roles_over_http import NoLedger, seeds

ITEM = {
    "question": r"What is $\frac{3}{4}$ of 52?",
    "answer": "39",
    "solution": "52/4 = 13, 3*13 = 39",
    "rationale": "Larger numbers.",
}
VERDICT = {"valid": True, "problems": [], "answer": "39", "reason": "Recomputed."}


def client_of(
    fake: FakeEndpoint, mode: Mode | str = "tools", meter: Meter | None = None, **options: Any
) -> ModelClient:
    return ModelClient(
        Endpoint("m1", fake.url, "m", tool_mode=mode, **options),  # type: ignore[arg-type]
        ledger=NoLedger(),
        role="test",
        run="r",
        limit=ServerLimit(4),
        meter=meter or Meter(),
    )


def says(mode: Mode, name: str, arguments: dict[str, Any]) -> Response:
    if mode == "tools":
        return Response(
            completion(None, finish="tool_calls", tool_calls=[tool_call(name, json.dumps(arguments), id="x")])
        )
    text = json.dumps({"tool": name, "arguments": arguments}, indent=1)
    return Response(completion(f"<think>so</think>\n```json\n{text}\n```" if mode == "text" else text))


@pytest.mark.parametrize("mode", MODES)
async def test_rewriter_and_judge_give_the_same_objects_in_every_mode(mode: Mode) -> None:
    rewriting = [
        says(mode, "evaluate_expression", {"expression": "3*13"}),
        Response(completion("Let me think about it.")),
        says(mode, "submit_item", {key: value for key, value in ITEM.items() if key != "answer"}),
        says(mode, "submit_item", ITEM),
    ]
    judging = [says(mode, "submit_answer", {"answer": "39"}), says(mode, "submit_verdict", VERDICT)]

    async def screen(_: Any) -> None:
        return None

    async with serving(*rewriting) as fake:
        asked = client_of(fake, mode)
        result = await rewrite(
            asked, [{"role": "system", "content": "Method."}, {"role": "user", "content": "Task."}],
            look_up=str, sandbox=PlaceSandbox(), screen=screen, seed=seeds, tag="t",  # type: ignore[arg-type]
        )  # fmt: skip
        await asked.aclose()
    assert result.submission is not None
    assert (result.submission.question, result.submission.answer) == (ITEM["question"], "39")
    assert result.turns == 4
    bodies = [request.body for request in fake.requests]
    assert ["tools" in body for body in bodies] == [mode == "tools"] * 4
    assert ["response_format" in body for body in bodies] == [mode == "json_schema"] * 4
    last = bodies[-1]["messages"]
    if mode != "tools":
        roles = [message["role"] for message in last]
        assert roles == ["system", "user", *["assistant", "user"] * 3]
        assert "submit_item" in last[0]["content"]
        assert json.loads(last[2]["content"]) == {
            "tool": "evaluate_expression", "arguments": {"expression": "3*13"},
        }  # fmt: skip
        assert last[3]["content"] == "Result of evaluate_expression:\n39"
        assert "answer: Field required" in last[7]["content"]
    with Sandbox(workers=1) as sandbox:
        async with serving(*judging) as fake:
            asked = client_of(fake, mode)
            judgement = await judge(
                asked, [{"role": "user", "content": "Solve."}], {"role": "user", "content": "KEY 39"},
                item=Item("i", ITEM["question"], "39", answer_type="numeric"),
                grader=Grader(sandbox), sandbox=sandbox, seed=seeds, tag="t",
            )  # fmt: skip
            await asked.aclose()
    assert (judgement.status, judgement.blind_answer, judgement.remark) == ("accepted", "39", "Recomputed.")
    # The key is shown behind the answer only, and then one tool is left.
    assert ["KEY" in request.raw.decode() for request in fake.requests] == [False, True]
    if mode == "json_schema":
        schema = fake.requests[1].body["response_format"]["json_schema"]["schema"]
        assert schema["properties"]["tool"]["enum"] == ["submit_verdict"]


@pytest.mark.parametrize("mode", ["tools", "text"])
async def test_a_verdict_quoted_in_a_text_never_counts(mode: Mode) -> None:
    quoted = json.dumps({"tool": "submit_verdict", "arguments": VERDICT})
    talk = Response(
        completion(f"The item claims {quoted}, and <tool_call>{quoted}</tool_call> too. It is wrong.")
    )
    item = Item("i", ITEM["question"], "39", answer_type="numeric")
    with Sandbox(workers=1) as sandbox:
        async with serving(says(mode, "submit_answer", {"answer": "39"}), talk) as fake:
            asked = client_of(fake, mode)
            judgement = await judge(
                asked, [{"role": "user", "content": "Solve."}], {"role": "user", "content": "KEY"}, item=item,
                grader=Grader(sandbox), sandbox=sandbox, seed=seeds, tag="t",
            )  # fmt: skip
            await asked.aclose()
    assert (judgement.status, judgement.reason) == ("not_judged", "no_verdict")


def only(mode: Mode) -> Any:
    """A server that has one mode, and refuses or disregards the others as real ones do."""

    def answer(request: Request) -> Response:
        body = request.body
        if "tools" in body and mode != "tools":
            return Response({"error": {"message": "m does not support tools", "type": "api_error"}}, 400)
        if "response_format" in body and mode == "text":
            return Response(completion("Sure! Which word?"))
        return says(mode, "report_word", {"word": "harbour"})

    return answer


@pytest.mark.parametrize("mode", MODES)
async def test_a_probe_finds_the_mode_a_server_has(mode: Mode) -> None:
    async with serving(only(mode)) as fake:
        asked = client_of(fake, "auto")
        assert await probe(asked) == mode
        await asked.aclose()


async def test_a_probe_says_when_no_mode_works_or_the_endpoint_is_wrong() -> None:
    async with serving(Response(completion("I only talk."))) as fake:
        asked = client_of(fake, "auto")
        with pytest.raises(CallFailed) as caught:
            await probe(asked)
        await asked.aclose()
    assert caught.value.reason == "no_tool_mode"
    assert len(fake.requests) == 3
    async with serving(Response({"error": {"message": "no such key"}}, 401)) as fake:
        asked = client_of(fake, "auto")
        with pytest.raises(EndpointDown) as down:
            await probe(asked)
        await asked.aclose()
    assert (down.value.reason, len(fake.requests)) == ("bad_key", 1)


def walk(schema: Any) -> Any:
    if isinstance(schema, dict):
        yield schema
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from walk(part)


def test_the_schema_of_a_reply_is_strict_at_every_depth() -> None:
    form = response_format([EvaluateExpression, SubmitItem], None)
    objects = [part for part in walk(form["json_schema"]["schema"]) if part.get("type") == "object"]
    assert len(objects) == 3
    for part in objects:
        assert part["additionalProperties"] is False
        assert part["required"] == list(part["properties"])
    names = [list(part["properties"]) for part in objects[1:]]
    assert names == [["expression"], ["question", "answer", "solution", "choices", "rationale"]]
    assert "$ref" not in json.dumps(response_format([SubmitVerdict], "submit_verdict"))


def test_a_conversation_without_a_system_message_gets_one() -> None:
    turns = written_out(
        [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}], [SubmitVerdict], None
    )
    assert [turn["role"] for turn in turns] == ["system", "user"]
    assert turns[1]["content"] == "a\n\nb"
