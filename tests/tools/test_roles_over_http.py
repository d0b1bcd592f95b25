"""The roles with the real client, sandbox and grader, against a server that says what it is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from benchfill.item import Item
from benchfill.tools.client import ModelClient
from benchfill.tools.endpoint import Endpoint
from benchfill.tools.grading import Grader
from benchfill.tools.judge import judge
from benchfill.tools.limits import ServerLimit
from benchfill.tools.meter import Meter
from benchfill.tools.respondent import ask_respondent
from benchfill.tools.rewriter import rewrite
from benchfill.tools.sandbox import Sandbox
from benchfill.tools.screening import Screen
from tests.tools.fake_endpoint import Response, completion, serving, tool_call
from tests.tools.scripted import assert_well_formed

PARENT = Item("p", r"What is $\frac{1}{2} \times 6$?", "3", "Half of 6 is 3.", answer_type="numeric")


class NoLedger:
    """Keeps nothing: every call goes out."""

    def look_up(self, key: str) -> None:
        return None

    def commit(self, call: Any) -> bool:
        return True

    def commit_failure(self, call: Any) -> None:
        return None


def called(*calls: tuple[str, Any], **message: Any) -> Response:
    """A reply whose calls are ``(name, raw argument text)``."""
    made = [tool_call(name, arguments, id=f"id{place}") for place, (name, arguments) in enumerate(calls)]
    return Response(completion(None, finish="tool_calls", tool_calls=made, **message))


def client_of(url: str) -> ModelClient:
    return ModelClient(
        Endpoint("m1", url, "m"),
        ledger=NoLedger(),
        role="test",
        run="r",
        limit=ServerLimit(4),
        meter=Meter(),
    )


def seeds(turn: int) -> int:
    return 4096 + turn


async def test_an_item_is_written_refused_repaired_and_taken() -> None:
    copy = json.dumps(
        {"question": PARENT.question, "answer": "3", "solution": "Half of 6.", "rationale": "None needed."}
    )
    # LaTeX with single backslashes: valid JSON that means form feed and tab.
    damaged = (
        r'{"question": "What is $\frac{3}{4} \times 52$?", "answer": "39", "solution": "52/4 = 13, 3*13 = 39",'
        r' "rationale": "Larger numbers."}'
    )
    plan = [
        called(
            ("evaluate_expression", '{"expression": "sqrt(1521)"}'), ("look_up_item", '"{\\"id\\": \\"p\\"}"')
        ),
        called(("submit_item", '{"question": "What is ')),
        called(("submit_item", copy)),
        called(("submit_item", damaged)),
    ]
    with Sandbox(workers=1) as sandbox:
        screen = Screen([PARENT], threshold=0.92, grader=Grader(sandbox))
        async with serving(*plan) as server:
            client = client_of(server.url)
            result = await rewrite(
                client,
                [{"role": "user", "content": "task"}],
                look_up=lambda item_id: f"text of {item_id}",
                sandbox=sandbox,
                screen=lambda submission: screen.check(submission, PARENT),
                seed=seeds,
                tag="t",
            )
            await client.aclose()
    assert result.failure == ""
    assert result.submission is not None
    assert result.submission.question == r"What is $\frac{3}{4} \times 52$?"
    assert [refusal.reason for refusal in result.refusals] == ["copy"]
    assert_well_formed([{"role": "user", "content": "task"}, *result.transcript])
    contents = [message["content"] for message in result.transcript if message["role"] == "tool"]
    assert contents[:2] == ["39", "text of p"]
    assert [request.body["seed"] for request in server.requests] == [4096, 4097, 4098, 4099]
    for request in server.requests:
        assert [tool["function"]["name"] for tool in request.body["tools"]] == [
            "look_up_item",
            "evaluate_expression",
            "submit_item",
        ]
        for message in request.body["messages"]:
            for call in message.get("tool_calls") or []:
                json.loads(call["function"]["arguments"])


async def test_the_judge_is_shown_the_key_only_behind_its_answer() -> None:
    verdict = json.dumps({"valid": True, "problems": [], "answer": "39", "reason": "Recomputed."})
    plan = [called(("submit_answer", '{"answer": "39.0"}')), called(("submit_verdict", verdict))]
    item = Item("i", r"What is $\frac{3}{4} \times 52$?", "39", "x", answer_type="numeric")
    with Sandbox(workers=1) as sandbox:
        async with serving(*plan) as server:
            client = client_of(server.url)
            result = await judge(
                client,
                [{"role": "user", "content": item.question}],
                {"role": "user", "content": "SECRET 39"},
                item=item,
                grader=Grader(sandbox),
                sandbox=sandbox,
                seed=seeds,
                tag="t",
            )
            await client.aclose()
    assert (result.status, result.blind_answer, result.blind_agrees) == ("accepted", "39.0", True)
    assert ["SECRET" in request.raw.decode() for request in server.requests] == [False, True]
    assert [tool["function"]["name"] for tool in server.requests[1].body["tools"]] == ["submit_verdict"]
    assert server.requests[1].body["tool_choice"] == {
        "type": "function",
        "function": {"name": "submit_verdict"},
    }


async def test_attempts_are_graded_or_missing() -> None:
    item = Item("i", "What is 3/4 of 52?", "39", answer_type="numeric")
    quota: dict[str, Any] = {"error": {"message": "no attempts left", "code": "attempts_exhausted"}}
    plan: list[Response | Callable[[Any], Response]] = [
        Response(completion(r"So it is \boxed{39}.")),
        Response(completion(r"So it is \boxed{38}.")),
        Response(completion(r"First \boxed{39}, then", finish="length")),
        Response(completion("", finish="stop")),
        Response(quota, status=400),
    ]
    with Sandbox(workers=1) as sandbox:
        grader = Grader(sandbox)
        async with serving(*plan) as server:
            client = client_of(server.url)
            attempts = [
                await ask_respondent(
                    client,
                    [{"role": "user", "content": item.question}],
                    item=item,
                    grader=grader,
                    seed=seeds(number),
                    tag=f"a{number}",
                    attempt=number,
                )
                for number in range(5)
            ]
            await client.aclose()
    assert [(attempt.outcome, attempt.reason) for attempt in attempts] == [
        ("correct", ""),
        ("wrong", ""),
        ("missing", "no_answer"),
        ("missing", "no_answer"),
        ("missing", "attempts_exhausted"),
    ]
