"""What the worlds say is graded as they mean it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchfill.item import Item
from benchfill.tools.grading import Grader
from benchfill.tools.sandbox import Sandbox
from benchfill.worlds.bank import LoggedItem
from benchfill.worlds.replay import wrong_answer
from benchfill.worlds.simulated.respondents import RESPONDENTS, answer_number, write_answer
from tests.worlds.chats import sample


@pytest.fixture(scope="module")
def grader() -> Iterator[Grader]:
    sandbox = Sandbox(workers=1)
    yield Grader(sandbox)
    sandbox.close()


async def test_every_reply_of_a_respondent_is_graded_by_its_number(grader: Grader) -> None:
    names = sorted(RESPONDENTS)
    seen = set()
    for k, item in enumerate(sample()):
        for seed in range(10):
            name = names[(5 * seed + k) % 12]
            grade = await grader.grade(item, write_answer(name, item.question, seed))
            right = str(answer_number(name, item.question, seed)) == item.answer
            assert grade.verdict == ("correct" if right else "wrong"), (item.id, name, seed, grade)
            seen.add(grade.verdict)
        unread = await grader.grade(item, write_answer("elm", "How tall is the tower?", k))
        assert unread.verdict == "no_answer"
    assert seen == {"correct", "wrong"}


@pytest.mark.parametrize(
    ("answer", "answer_type", "choices"),
    [
        ("C", "mcq", ("red", "green", "blue", "grey")),
        ("A", "mcq", ("red", "green")),
        ("42", "numeric", ()),
        ("1,234.5", "numeric", ()),
        ("-7", "numeric", ()),
        (r"\frac{3}{4}", "expr", ()),
        ("x^2 + 1", "expr", ()),
        (r"\text{(B)}", "text", ()),
        ("Monday", "text", ()),
    ],
)
async def test_a_wrong_logged_answer_is_graded_wrong(
    grader: Grader, answer: str, answer_type: str, choices: tuple[str, ...]
) -> None:
    item = Item("x", "Which?", answer, "", choices, answer_type)  # type: ignore[arg-type]
    logged = LoggedItem("x", "Which?", answer, "", choices, answer_type, {}, True)
    assert (await grader.grade(item, f"\\boxed{{{wrong_answer(logged)}}}")).verdict == "wrong"
    assert (await grader.grade(item, f"\\boxed{{{answer}}}")).verdict == "correct"


async def test_wrong_answers_to_real_items_are_graded_wrong(grader: Grader, shared: Path) -> None:
    for name in ("aime2024", "amc23", "math500"):
        lines = (shared / "data" / "items" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        for line in lines[::5]:
            found = json.loads(line)
            item = Item(found["item_id"], found["question"], str(found["answer"]))
            logged = LoggedItem(item.id, item.question, item.answer, "", (), item.answer_type, {}, True)
            assert (await grader.grade(item, f"\\boxed{{{item.answer}}}")).verdict == "correct", item.answer
            grade = await grader.grade(item, f"\\boxed{{{wrong_answer(logged)}}}")
            assert grade.verdict == "wrong", (item.answer, grade)
