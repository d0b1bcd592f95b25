"""The rewriter's conversation, turn by turn, with a scripted model."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from benchfill.item import Item
from benchfill.tools.reply import Reply
from benchfill.tools.reply_body import ToolCall
from benchfill.tools.rewriter import Refusal, RewriteResult, Submission, rewrite
from tests.tools.scripted import PlaceSandbox, ScriptedModel, assert_well_formed, down, reply

START = [{"role": "system", "content": "method"}, {"role": "user", "content": "task"}]
ITEM = {"question": "What is 6*7?", "answer": "42", "solution": "6*7 = 42", "rationale": "Smaller."}
SUBMIT = ("submit_item", ITEM)


class Screening:
    """Refuses as often as told, with a reason each."""

    def __init__(self, refusals: int = 0) -> None:
        self.left = refusals
        self.seen: list[Submission] = []

    async def __call__(self, submission: Submission) -> Refusal | None:
        self.seen.append(submission)
        if self.left == 0:
            return None
        self.left -= 1
        return Refusal(submission, "near_duplicate", "change more")


def run(model: ScriptedModel, screen: Screening | None = None, **limits: int) -> RewriteResult:
    result = asyncio.run(
        rewrite(
            model,  # type: ignore[arg-type]
            START,
            look_up=lambda item_id: f"text of {item_id}",
            sandbox=PlaceSandbox(),  # type: ignore[arg-type]
            screen=screen or Screening(),
            seed=lambda turn: 1000 + turn,
            tag="r1/g1/c2",
            **limits,
        )
    )
    assert START[:2] == [{"role": "system", "content": "method"}, {"role": "user", "content": "task"}]
    assert_well_formed([*START, *result.transcript])
    for asked in model.asked:
        assert_well_formed(asked.messages)
    return result


def tool_results(result: RewriteResult) -> list[str]:
    return [message["content"] for message in result.transcript if message["role"] == "tool"]


def test_tools_are_carried_out_and_the_item_is_handed_over() -> None:
    model = ScriptedModel(
        reply(("look_up_item", {"id": "s-12"}), ("evaluate_expression", {"expression": "6*7"})), reply(SUBMIT)
    )
    screen = Screening()
    result = run(model, screen)
    assert result.failure == ""
    assert result.submission == Submission("What is 6*7?", "42", "6*7 = 42", (), "Smaller.")
    assert screen.seen == [result.submission]
    assert result.turns == 2
    assert tool_results(result) == ["text of s-12", "42", "submitted"]


def test_every_turn_has_its_seed_and_tag_and_sees_what_was_said() -> None:
    model = ScriptedModel(reply(("evaluate_expression", {"expression": "1/0"})), reply(SUBMIT))
    run(model)
    assert [(asked.seed, asked.tag) for asked in model.asked] == [
        (1000, "r1/g1/c2/t0"),
        (1001, "r1/g1/c2/t1"),
    ]
    assert model.asked[0].messages == START
    assert model.asked[1].messages[-1]["content"] == "error: division by zero"
    assert [tool.__name__ for tool in model.asked[0].tools] == [
        "LookUpItem",
        "EvaluateExpression",
        "SubmitItem",
    ]


def test_a_refused_submission_goes_back_with_its_reason() -> None:
    model = ScriptedModel(reply(SUBMIT), reply(SUBMIT), reply(SUBMIT))
    result = run(model, Screening(refusals=2))
    assert result.submission is not None
    assert [refusal.reason for refusal in result.refusals] == ["near_duplicate", "near_duplicate"]
    assert tool_results(result) == ["refused: near_duplicate: change more"] * 2 + ["submitted"]


def test_it_goes_back_twice_at_most() -> None:
    model = ScriptedModel(*[reply(SUBMIT)] * 6)
    result = run(model, Screening(refusals=6))
    assert (result.submission, result.failure, result.turns, len(result.refusals)) == (None, "refused", 3, 3)


def test_turns_are_limited() -> None:
    model = ScriptedModel(*[reply(("look_up_item", {"id": "a"}))] * 6)
    result = run(model)
    assert (result.submission, result.failure, result.turns) == (None, "no_submission", 6)
    refused = run(ScriptedModel(*[reply(SUBMIT)] * 2), Screening(refusals=2), max_turns=2)
    assert (refused.failure, refused.turns) == ("refused", 2)


def test_text_without_a_call_is_reminded_once() -> None:
    result = run(ScriptedModel(reply(text="Here it is."), reply(SUBMIT)))
    assert result.submission is not None
    assert "submit_item" in result.transcript[1]["content"]
    twice = run(ScriptedModel(reply(text="Here."), reply(text="Here again: submit_item(...)")))
    assert (twice.failure, twice.turns) == ("no_submission", 2)
    empty = run(ScriptedModel(reply(), reply(finish="length")))
    assert empty.failure == "no_submission"


def test_damaged_arguments_are_told_and_count_as_a_turn() -> None:
    result = run(ScriptedModel(reply(malformed=['{"question": "What']), reply(SUBMIT)))
    assert result.submission is not None
    assert result.turns == 2
    assert result.transcript[1]["role"] == "user"
    assert result.transcript[1]["content"].startswith("error: malformed_arguments")
    never = run(ScriptedModel(*[reply(malformed=["{"])] * 6))
    assert (never.failure, never.turns) == ("unreadable", 6)


def test_a_submission_that_does_not_fit_is_explained() -> None:
    model = ScriptedModel(reply(("submit_item", {"question": "What?"})), reply(SUBMIT))
    result = run(model)
    assert result.submission is not None
    assert tool_results(result)[0].startswith("error: schema_violation: ")
    assert result.refusals == ()


def test_an_unknown_tool_is_told_the_known_ones() -> None:
    result = run(ScriptedModel(reply(("run_python", {"code": "1"})), reply(SUBMIT)))
    assert tool_results(result)[0].startswith("error: unknown_tool")
    assert result.submission is not None


def test_of_several_submissions_in_one_reply_the_first_valid_one_counts() -> None:
    other = {**ITEM, "answer": "43"}
    model = ScriptedModel(
        reply(("submit_item", {}), SUBMIT, ("submit_item", other), ("look_up_item", {"id": "a"}))
    )
    screen = Screening()
    result = run(model, screen)
    assert result.submission is not None
    assert result.submission.answer == "42"
    assert len(screen.seen) == 1
    assert len(tool_results(result)) == 4


def test_a_second_submission_of_a_reply_does_not_slip_past_a_refusal() -> None:
    screen = Screening(refusals=1)
    model = ScriptedModel(reply(SUBMIT, ("submit_item", {**ITEM, "answer": "43"})), reply(SUBMIT))
    result = run(model, screen)
    assert result.submission is not None
    assert [seen.answer for seen in screen.seen] == ["42", "42"]


@pytest.mark.parametrize("turns", [0, 1])
def test_a_failed_call_is_no_verdict_on_the_model(turns: int) -> None:
    model = ScriptedModel(*[reply(("look_up_item", {"id": "a"}))] * turns, down("timeout"))
    result = run(model)
    assert (result.submission, result.failure, result.turns) == (None, "call_failed:timeout", turns)


def test_latex_damaged_by_json_escapes_is_repaired_before_the_screening() -> None:
    sent: dict[str, Any] = json.loads(
        r'{"question": "What is \frac{1}{2} \times 3?", "answer": "\frac{3}{2}", "solution": "\\frac{3}{2}",'
        r' "rationale": "x", "choices": ["\beta", "2"]}'
    )
    screen = Screening()
    result = run(ScriptedModel(reply(("submit_item", sent))), screen)
    assert result.submission is not None
    assert result.submission.question == r"What is \frac{1}{2} \times 3?"
    assert result.submission.answer == r"\frac{3}{2}"
    assert result.submission.choices == (r"\beta", "2")


def test_arguments_in_json_in_json_are_read() -> None:
    call = ToolCall("a", "submit_item", json.dumps(ITEM))  # type: ignore[arg-type]
    result = run(ScriptedModel(Reply("", (call,), (), "", "stop", 0, 0, False, "k")))
    assert result.submission is not None


def test_a_submission_becomes_an_item_of_its_parents_kind() -> None:
    parent = Item(id="p", question="?", answer="1", answer_type="numeric", tolerance=0.01)
    item = Submission("Q", "2", "S", (), "R").item("g1-r1-c1", parent)
    assert item == Item("g1-r1-c1", "Q", "2", "S", (), "numeric", 0.01)
