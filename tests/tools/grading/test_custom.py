"""Graders of installed packages: found by their entry point, run in a child, and never able to do more than fail."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchfill.errors import InputError
from benchfill.item import Item, custom_types
from benchfill.logs.items import read_items
from benchfill.tools.grading import Grade, Grader, GradingSettings
from benchfill.tools.grading.cases import read_case
from benchfill.tools.sandbox import Sandbox

MODULE = '''
import json, os, time

def palindrome(item, response):
    """A response right for what it is, whatever the key says."""
    text = "".join(c for c in response.casefold() if c.isalnum())
    return text == text[::-1]

def echo(item, response):
    return {"verdict": "wrong", "extracted": json.dumps([item, response], ensure_ascii=False), "reason": "a\\nb"}

def unsure(item, response):
    return "ungraded"

def nothing(item, response):
    return 7

def raising(item, response):
    raise ValueError("no such unit")

def endless(item, response):
    while True:
        pass

def dying(item, response):
    os._exit(3)
'''
NAMES = ("palindrome", "echo", "unsure", "nothing", "raising", "endless", "dying")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A distribution as an installer leaves it, on the path of this process and of its children."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "their_graders.py").write_text(MODULE, encoding="utf-8")
    info = folder / "their_graders-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-graders\nVersion: 1.0\n")
    points = "".join(f"{name} = their_graders:{name}\n" for name in NAMES)
    (info / "entry_points.txt").write_text(f"[benchfill.graders]\n{points}numeric = their_graders:echo\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield folder


Ask = Callable[..., Grade]


@pytest.fixture(scope="module")
def ask(package: Path) -> Iterator[Ask]:
    with Sandbox(workers=1) as sandbox:

        def grade(name: str, response: str, **fields: object) -> Grade:
            item = Item("q", "Say it.", "key", answer_type=name, **fields)  # type: ignore[arg-type]
            return asyncio.run(Grader(sandbox, GradingSettings(seconds=0.5)).grade(item, response))

        yield grade


def test_names_of_built_in_types_cannot_be_taken(package: Path) -> None:
    assert set(custom_types()) == set(NAMES)


def test_the_whole_response_is_graded(ask: Ask) -> None:
    assert ask("palindrome", "<think>hm</think>Never odd or even.<|im_end|>").verdict == "correct"
    wrong = ask("palindrome", "no")
    assert (wrong.verdict, wrong.reason) == ("wrong", "by the grader palindrome")
    assert ask("palindrome", "<think>level").verdict == "no_answer"
    seen = ask("echo", " \\boxed{５} 。\r\nx ", extra={"level": 3}, choices=("a",), tolerance=0.1)
    assert (seen.verdict, seen.reason) == ("wrong", "a b")
    assert seen.extracted == (
        '[{"id": "q", "question": "Say it.", "answer": "key", "solution": "", "choices": ["a"], "tolerance": 0.1, '
        '"extra": {"level": 3}}, "\\\\boxed{５} 。\\nx"]'
    )


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("unsure", "by the grader unsure"),
        ("nothing", "7"),
        ("raising", "no such unit"),
        ("endless", "timeout"),
        ("dying", "died"),
        ("absent", "no installed packages"),
    ],
)
def test_whatever_a_grader_does_is_no_wrong_answer(ask: Ask, name: str, says: str) -> None:
    grade = ask(name, "text")
    assert grade.verdict == "ungraded"
    assert says in grade.reason


def test_files_name_installed_types(package: Path, tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text('{"id": "a", "question": "?", "answer": "k", "answer_type": "palindrome"}\n')
    (item,) = read_items(path).items
    assert item.answer_type == "palindrome"
    case = {"reference": "k", "response": "aba", "answer_type": "palindrome"}
    assert read_case(case, "cases", 1)[0].answer_type == "palindrome"
    path.write_text('{"id": "a", "question": "?", "answer": "k", "answer_type": "absent"}\n')
    with pytest.raises(InputError, match="palindrome"):
        read_items(path)


def test_a_key_is_checked_by_its_solution(package: Path) -> None:
    with Sandbox(workers=1) as sandbox:
        grader = Grader(sandbox)

        def check(item: Item) -> str:
            return asyncio.run(grader.self_check(item)).verdict

        assert check(Item("a", "?", "tests", solution="level", answer_type="palindrome")) == "correct"
        assert check(Item("a", "?", "tests", answer_type="palindrome")) == "wrong"
        assert (
            asyncio.run(grader.equivalent(Item("a", "?", "k", answer_type="palindrome"), "aba")).verdict
            == "correct"
        )
