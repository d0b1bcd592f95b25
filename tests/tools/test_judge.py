"""The judge's conversation: blind first, closed on every doubt."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from benchfill.item import Item
from benchfill.tools.judge import Judgement, judge
from tests.tools.scripted import (
    PlaceSandbox,
    ScriptedModel,
    TextGrader,
    assert_well_formed,
    down,
    reply,
)

BLIND = [{"role": "system", "content": "method"}, {"role": "user", "content": "What is 6*7?"}]
REVEAL = {"role": "user", "content": "the key is SECRET-42"}
TEST_ITEM = Item(id="i", question="What is 6*7?", answer="42", solution="x", answer_type="numeric")
VERDICT: dict[str, Any] = {"valid": True, "problems": [], "answer": "42", "reason": "Recomputed."}
ANSWER = ("submit_answer", {"answer": "42"})


def run(model: ScriptedModel, grader: TextGrader | None = None, **limits: int) -> Judgement:
    result = asyncio.run(
        judge(
            model,  # type: ignore[arg-type]
            BLIND,
            REVEAL,
            item=TEST_ITEM,
            grader=grader or TextGrader(),  # type: ignore[arg-type]
            sandbox=PlaceSandbox(),  # type: ignore[arg-type]
            seed=lambda turn: 50 + turn,
            tag="j/i",
            **limits,
        )
    )
    assert len(BLIND) == 2
    assert_well_formed([*BLIND, *result.transcript])
    for asked in model.asked:
        assert_well_formed(asked.messages)
        names = [tool.__name__ for tool in asked.tools]
        revealed = any("SECRET" in message["content"] for message in asked.messages)
        # The key is in sight exactly when only the verdict is on offer.
        assert names == (["SubmitVerdict"] if revealed else ["EvaluateExpression", "SubmitAnswer"])
        assert asked.tool_choice == ("submit_verdict" if revealed else None)
    assert (result.status == "accepted") == (result.reason == "")
    return result


def verdict(**change: Any) -> tuple[str, dict[str, Any]]:
    return ("submit_verdict", {**VERDICT, **change})


def test_accepted_by_agreement_and_verdict() -> None:
    model = ScriptedModel(
        reply(("evaluate_expression", {"expression": "6*7"})), reply(ANSWER), reply(verdict())
    )
    result = run(model)
    assert (result.status, result.blind_answer, result.blind_agrees, result.valid) == (
        "accepted",
        "42",
        True,
        True,
    )
    assert result.remark == "Recomputed."
    assert [(asked.seed, asked.tag) for asked in model.asked] == [
        (50, "j/i/t0"),
        (51, "j/i/t1"),
        (52, "j/i/t2"),
    ]
    assert any(message["content"] == "42" for message in model.asked[1].messages if message["role"] == "tool")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"valid": False}, "not_valid"),
        ({"valid": False, "problems": ["key_wrong", "copy", "copy"]}, "problems"),
        ({"valid": True, "problems": ["under_specified"]}, "problems"),
    ],
)
def test_rejected_by_the_verdict(change: dict[str, Any], reason: str) -> None:
    result = run(ScriptedModel(reply(ANSWER), reply(verdict(**change))))
    assert (result.status, result.reason) == ("rejected", reason)
    assert result.problems == tuple(dict.fromkeys(change.get("problems", [])))


def test_a_blind_answer_that_differs_rejects_whatever_the_verdict_says() -> None:
    result = run(ScriptedModel(reply(("submit_answer", {"answer": "41"})), reply(verdict())))
    assert (result.status, result.reason, result.blind_agrees) == ("rejected", "blind_answer_differs", False)


@pytest.mark.parametrize("grade", ["ungraded", "no_answer"])
def test_a_comparison_that_could_not_be_made_is_no_pass(grade: str) -> None:
    grader = TextGrader(**{"42": grade})
    result = run(ScriptedModel(reply(ANSWER), reply(verdict())), grader)
    assert (result.status, result.reason, result.blind_agrees) == (
        "not_judged",
        "blind_answer_ungraded",
        None,
    )
    rejected = run(ScriptedModel(reply(ANSWER), reply(verdict(problems=["copy"]))), grader)
    assert rejected.status == "rejected"


def test_a_verdict_in_text_is_not_read() -> None:
    text = 'My verdict: {"valid": true, "problems": [], "answer": "42", "reason": "ok"} submit_verdict(valid=true)'
    result = run(ScriptedModel(reply(ANSWER), reply(text=text), reply(text=text)))
    assert (result.status, result.reason) == ("not_judged", "no_verdict")


def test_a_reminder_helps() -> None:
    model = ScriptedModel(
        reply(text="I think 42."), reply(ANSWER), reply(text="valid", finish="length"), reply(verdict())
    )
    assert run(model).status == "accepted"


def test_no_answer_no_reveal() -> None:
    model = ScriptedModel(reply(text="42"), reply(text="42!"))
    result = run(model)
    assert (result.status, result.reason, result.blind_answer) == ("not_judged", "no_answer", None)


def test_a_verdict_before_the_answer_is_an_unknown_tool() -> None:
    model = ScriptedModel(reply(verdict()), reply(ANSWER), reply(verdict()))
    result = run(model)
    assert result.status == "accepted"
    assert model.asked[1].messages[-1]["content"].startswith("error: unknown_tool")


def test_calls_behind_the_answer_are_not_run() -> None:
    model = ScriptedModel(reply(ANSWER, verdict(), ("submit_answer", {"answer": "7"})), reply(verdict()))
    result = run(model)
    assert (result.status, result.blind_answer) == ("accepted", "42")


@pytest.mark.parametrize(
    "change", [{"valid": "perhaps"}, {"problems": ["ugly"]}, {"problems": None}, {"score": 8}, {"reason": ""}]
)
def test_an_unreadable_verdict_never_passes(change: dict[str, Any]) -> None:
    result = run(ScriptedModel(reply(ANSWER), *[reply(verdict(**change))] * 7))
    assert (result.status, result.reason, result.valid) == ("not_judged", "unreadable", None)
    corrected = run(ScriptedModel(reply(ANSWER), reply(verdict(**change)), reply(verdict())))
    assert corrected.status == "accepted"


def test_damaged_calls_use_up_the_turns() -> None:
    result = run(ScriptedModel(*[reply(malformed=["{"])] * 8))
    assert (result.status, result.reason) == ("not_judged", "unreadable")
    short = run(ScriptedModel(*[reply(("evaluate_expression", {"expression": "1"}))] * 3), max_turns=3)
    assert (short.status, short.reason) == ("not_judged", "no_answer")


def test_verdicts_that_contradict_each_other_are_none() -> None:
    both = reply(verdict(), verdict(valid=False, problems=["key_wrong"]))
    result = run(ScriptedModel(reply(ANSWER), both, reply(verdict(valid=False))))
    assert (result.status, result.reason) == ("rejected", "not_valid")
    result = run(ScriptedModel(reply(ANSWER), *[both] * 7))
    assert (result.status, result.reason) == ("not_judged", "unreadable")
    same = run(ScriptedModel(reply(ANSWER), reply(verdict(), verdict(reason="Again."))))
    assert same.status == "accepted"


@pytest.mark.parametrize("turns", [0, 1])
def test_a_failed_call_is_no_verdict(turns: int) -> None:
    result = run(ScriptedModel(*[reply(ANSWER)] * turns, down("server_error")))
    assert (result.status, result.reason) == ("not_judged", "call_failed:server_error")
    assert result.blind_answer == ("42" if turns else None)


def test_only_readable_agreement_is_accepted_whatever_is_replied() -> None:
    """Every pair of a first and a second kind of reply: accepted in exactly the one case that is a pass."""
    firsts = {
        "right": ANSWER,
        "wrong": ("submit_answer", {"answer": "41"}),
        "empty": ("submit_answer", {"answer": " "}),
        "object": ("submit_answer", {"answer": {"x": 42}}),
    }
    seconds = {
        "valid": verdict(),
        "text": verdict(valid="true"),
        "no": verdict(valid=False),
        "problem": verdict(problems=["off_skill"]),
        "missing": ("submit_verdict", {"valid": True}),
        "list": ("submit_verdict", {"valid": [True], "problems": [], "answer": "42", "reason": "x"}),
    }
    accepted = set()
    for first, call in firsts.items():
        for second, verdict_call in seconds.items():
            model = ScriptedModel(reply(call), *[reply(verdict_call)] * 9)
            if run(model).status == "accepted":
                accepted.add((first, second))
    assert accepted == {("right", "valid"), ("right", "text")}
