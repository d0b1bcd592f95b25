"""One attempt: right, wrong, or missing for a reason; never wrong for what is not an answer."""

from __future__ import annotations

import asyncio

import pytest

from benchfill.errors import BudgetSpent, EndpointDown
from benchfill.item import Item
from benchfill.tools.reply import Reply
from benchfill.tools.respondent import Attempt, ask_respondent
from tests.tools.scripted import ScriptedModel, TextGrader, down, reply

ITEM = Item(id="i", question="What is 6*7?", answer="42", answer_type="numeric")


def run(step: Reply | Exception, grader: TextGrader | None = None) -> Attempt:
    model = ScriptedModel(step)
    attempt = asyncio.run(
        ask_respondent(
            model,  # type: ignore[arg-type]
            [{"role": "user", "content": ITEM.question}],
            item=ITEM,
            grader=grader or TextGrader(),  # type: ignore[arg-type]
            seed=77,
            tag="a/i/m1/3",
            attempt=3,
        )
    )
    assert (model.asked[0].seed, model.asked[0].tag, model.asked[0].tools) == (77, "a/i/m1/3", ())
    assert (attempt.model, attempt.attempt) == ("m1", 3)
    assert (attempt.outcome == "missing") == (attempt.reason != "")
    return attempt


def test_right_and_wrong() -> None:
    assert (run(reply(text="42")).outcome, run(reply(text="42")).extracted) == ("correct", "42")
    assert run(reply(text="41")).outcome == "wrong"


@pytest.mark.parametrize("verdict", ["no_answer", "ungraded"])
def test_what_could_not_be_graded_is_missing(verdict: str) -> None:
    attempt = run(reply(text="hm"), TextGrader(hm=verdict))
    assert (attempt.outcome, attempt.reason) == ("missing", verdict)


@pytest.mark.parametrize("text", ["42", "41", ""])
def test_a_reply_cut_off_is_missing_even_where_a_number_stands(text: str) -> None:
    attempt = run(reply(text=text, finish="length"))
    assert (attempt.outcome, attempt.reason) == ("missing", "no_answer")


@pytest.mark.parametrize("finish", ["refusal", "content_filter"])
def test_a_refusal_is_missing(finish: str) -> None:
    assert run(reply(text="I cannot help.", finish=finish)).reason == finish


def test_a_failed_call_is_missing_with_its_reason() -> None:
    assert run(down("attempts_exhausted")).reason == "attempts_exhausted"
    assert run(EndpointDown("no such model", "unknown_model")).reason == "unknown_model"


def test_reasoning_is_never_graded() -> None:
    thought = Reply("41", (), (), "surely 42", "stop", 1, 1, False, "k")
    assert run(thought).outcome == "wrong"


def test_a_spent_budget_is_not_swallowed() -> None:
    with pytest.raises(BudgetSpent):
        run(BudgetSpent("spent"))
