"""Hostile responses cost no more than their limit, and a killed process loses no grading."""

from __future__ import annotations

import asyncio
import os
import signal
import time

import pytest

from benchfill.item import Item
from benchfill.tools.grading import Grader, GradingSettings
from benchfill.tools.sandbox import Sandbox
from tests.tools import sandbox_tasks
from tests.tools.grading.conftest import Grading

REPEATED = [
    "the answer is ",
    "answer ",
    r"\boxed{",
    r"\boxed{1} ",
    "(",
    "1,",
    "$1 ",
    "A, ",
    "is ",
    "\n",
    " ",
    r"\text{",
    '{"answer": "',
    "<answer>",
    "```",
    "#### ",
    "\nQuestion:",
    "答案是",
    "*",
    "x is the answer ",
    r"\frac{1}{",
]
KINDS = [
    ("numeric", "5", ()),
    ("set", "1, 2", ()),
    ("interval", "(0, 1)", ()),
    ("text", "east", ()),
    ("mcq", "B", ("red", "green", "blue")),
]


@pytest.mark.parametrize("piece", REPEATED)
def test_long_repetitions_are_read_in_bounded_time(grading: Grading, piece: str) -> None:
    for kind, key, choices in KINDS:
        started = time.process_time()
        grade = grading(kind, key, piece * (40_000 // len(piece)), choices=choices)
        assert grade.verdict != "correct"
        assert "grader failed" not in grade.reason
        assert time.process_time() - started < 3.0, kind


@pytest.mark.parametrize(
    "response",
    [
        r"\boxed{9^{9^{9^9}}}",
        r"\boxed{100000!}",
        r"\boxed{" + "{" * 300 + "1" + "}" * 300 + "}",
        r"\boxed{" + r"\sqrt{" * 200 + "2" + "}" * 200 + "}",
        r"\boxed{6 " + "m " * 2000 + "}",
        r"\boxed{" + "1+" * 700 + "1}",
        r"\boxed{" + "2^" * 700 + "2}",
        r"\boxed{" + "3*-" * 400 + "2}",
        r"\boxed{" + r"\sin " * 400 + "x}",
        r"\boxed{3" + "!" * 400 + "}",
        "9" * 40_000,
        "x" * 10_000_000,
        "\x00" * 1000,
        "\ud800 half a pair",
    ],
    ids=[
        "tower",
        "factorial",
        "braces",
        "roots",
        "units",
        "sum",
        "powers",
        "signs",
        "sines",
        "marks",
        "digits",
        "megabytes",
        "nul",
        "surrogate",
    ],
)
def test_hostile_answers_are_never_right(grading: Grading, response: str) -> None:
    started = time.process_time()
    for kind, key in (("numeric", "5"), ("expr", "x+1"), ("set", "1, 2")):
        grade = grading(kind, key, response, seconds=1.0)
        assert grade.verdict != "correct"
        assert "grader failed" not in grade.reason
    assert time.process_time() - started < 5.0


def test_a_comparison_without_end_is_ungraded(grading: Grading) -> None:
    assert grading("expr", r"\pi", r"\boxed{x^{9^{9^{9}}}}", seconds=0.5).verdict == "ungraded"
    endless = "a" * 40 + "c"
    assert grading("regex", "(a+)+b", endless, seconds=0.5).verdict == "ungraded"


async def test_a_killed_grader_process_loses_nothing() -> None:
    """Children are killed while gradings that need them are in flight; every one still gets its verdict."""
    item = Item("q", "", r"2\sqrt{3}", answer_type="expr")
    with Sandbox(workers=2) as sandbox:
        grader = Grader(sandbox, GradingSettings(seconds=20))
        await grader.grade(item, r"\sqrt{12}")
        gradings = [asyncio.create_task(grader.grade(item, r"\boxed{\sqrt{12}}")) for _ in range(60)]
        for _ in range(2):
            os.kill(await sandbox.call(sandbox_tasks.pid), signal.SIGKILL)
        grades = await asyncio.gather(*gradings)
    assert [grade.verdict for grade in grades] == ["correct"] * 60
