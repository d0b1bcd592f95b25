"""The handed cases: every certain line, the extraction of code, the keys of real benchmarks."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from benchfill.item import Item
from benchfill.tools.grading import Grade, Grader, extract_code
from benchfill.tools.grading.cases import read_case
from benchfill.tools.sandbox import Sandbox


async def _graded(grader: Grader, cases: list[tuple[Item, str, str]]) -> list[Grade]:
    return await asyncio.gather(
        *(grader.grade(item, response, finish_reason=end) for item, response, end in cases)
    )


def test_certain_lines(shared: Path, sandbox: Sandbox) -> None:
    lines = [json.loads(line) for line in (shared / "cases" / "grading.jsonl").read_text().splitlines()]
    cases = [read_case(line, "grading.jsonl", number) for number, line in enumerate(lines, 1)]
    grades = asyncio.run(_graded(Grader(sandbox), cases))
    missed = [
        (line["id"], grade)
        for line, grade in zip(lines, grades, strict=True)
        if (grade.verdict == "correct") is not line["expected"]
    ]
    false_correct = [name for name, grade in missed if grade.verdict == "correct"]
    assert false_correct == []
    assert len(missed) <= 0.01 * len(lines), missed
    answered = {
        line["id"]: grade.verdict in ("correct", "wrong") for line, grade in zip(lines, grades, strict=True)
    }
    assert answered == {line["id"]: line["status"] == "graded" for line in lines}


def test_code_of_responses(shared: Path) -> None:
    for case in map(json.loads, (shared / "cases" / "code_extract.jsonl").read_text().splitlines()):
        assert extract_code(case["response"]) == case["code"], case["id"]


@pytest.mark.parametrize("name", ["math500", "aime2024", "amc23", "gsm8k_test"])
def test_keys_of_real_benchmarks_grade_true_against_themselves(
    shared: Path, sandbox: Sandbox, name: str
) -> None:
    records = [
        json.loads(line) for line in (shared / "data" / "items" / f"{name}.jsonl").read_text().splitlines()
    ]
    step = max(1, len(records) // 300)
    items = [Item(record["item_id"], "", record["answer"]) for record in records[::step]]
    grader = Grader(sandbox)

    async def check() -> list[Grade]:
        return await asyncio.gather(*(grader.self_check(item) for item in items))

    grades = asyncio.run(check())
    assert [
        (item.answer, grade) for item, grade in zip(items, grades, strict=True) if grade.verdict != "correct"
    ] == []


def test_keys_are_wrong_for_the_items_of_other_keys(shared: Path, sandbox: Sandbox) -> None:
    """The key of the next item is an answer of the same style: it is right only where it is the same answer."""
    records = [
        json.loads(line) for line in (shared / "data" / "items" / "math500.jsonl").read_text().splitlines()
    ]
    keys = [record["answer"] for record in records[::3]]
    grader = Grader(sandbox)
    items = [(Item("q", "", key), other) for key, other in zip(keys, keys[1:] + keys[:1], strict=True)]

    async def check() -> list[Grade]:
        return await asyncio.gather(*(grader.equivalent(item, other) for item, other in items))

    grades = asyncio.run(check())
    right = [
        (item.answer, other)
        for (item, other), grade in zip(items, grades, strict=True)
        if grade.verdict == "correct"
    ]
    assert all(_digits(key) == _digits(other) for key, other in right), right


def _digits(key: str) -> str:
    return "".join(character for character in key if character.isdigit())


def test_worked_solutions_end_in_their_key(shared: Path, sandbox: Sandbox) -> None:
    """Real texts with a box and much prose around it, graded like responses."""
    records = [
        json.loads(line) for line in (shared / "data" / "items" / "math500.jsonl").read_text().splitlines()
    ]
    cases = [
        (Item(record["item_id"], "", record["answer"]), record["solution"], "stop") for record in records
    ]
    grades = asyncio.run(_graded(Grader(sandbox), cases))
    missed = [
        (case[0].id, grade) for case, grade in zip(cases, grades, strict=True) if grade.verdict != "correct"
    ]
    assert len(missed) <= 2, missed
