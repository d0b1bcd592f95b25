"""Multiple choice: letters only as words, the text of one option only, the last statement; and options reordered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchfill.item import Item
from benchfill.tools.grading import may_reorder, option_order, shown_item
from benchfill.tools.grading.choices import key_letters
from tests.tools.grading.conftest import Grading

CORRECT, WRONG, NO_ANSWER, UNGRADED = "correct", "wrong", "no_answer", "ungraded"
LETTERS = ("A", "B", "C", "D")
CITIES = ("Lyon", "Paris", "Nice", "Lille")
NUMBERS = ("3", "4", "5", "6")
OR_NONE = ("1", "2", "3", "None of the above")
TEN = tuple("ABCDEFGHIJ")

ONE: list[tuple[str, str, str, tuple[str, ...]]] = [
    ("B", "B", CORRECT, LETTERS),
    ("B", "(B)", CORRECT, LETTERS),
    ("B", "**B**", CORRECT, LETTERS),
    ("B", "B.", CORRECT, LETTERS),
    ("B", "b", CORRECT, LETTERS),
    ("B", r"\boxed{B}", CORRECT, LETTERS),
    ("B", r"\boxed{\text{B}}", CORRECT, LETTERS),
    ("B", r"\boxed{\textbf{(B)}}", CORRECT, LETTERS),
    ("B", "The correct answer is B) Paris", CORRECT, CITIES),
    ("B", "The answer is: B. Paris", CORRECT, CITIES),
    ("B", "Paris", CORRECT, CITIES),
    ("B", "The answer is Paris.", CORRECT, CITIES),
    ("B", "The answer is (B) Paris because it is the capital.", CORRECT, CITIES),
    ("A", "The answer is (B) Paris because A is wrong.", WRONG, CITIES),
    ("B", "Option B is correct.", CORRECT, LETTERS),
    ("B", "B is the correct answer.", CORRECT, LETTERS),
    ("B", "I would choose B.", CORRECT, LETTERS),
    ("B", "I choose option (B) because of this.", CORRECT, LETTERS),
    ("A", "The answer is A", CORRECT, LETTERS),
    ("A", "Answer: A.", CORRECT, LETTERS),
    ("A", "Answer: A because it fits", CORRECT, LETTERS),
    ("A", "Answer: A car is fast, so it is B", WRONG, LETTERS),
    ("B", "Answer: A car is fast, so it is B", CORRECT, LETTERS),
    ("C", "答案：C", CORRECT, LETTERS),
    ("C", "正确答案是C", CORRECT, LETTERS),
    ("C", "故选：C", CORRECT, LETTERS),
    ("C", "正解は C です", CORRECT, LETTERS),
    ("C", "정답: C", CORRECT, LETTERS),
    ("C", "Ответ: C", CORRECT, LETTERS),
    ("C", "La respuesta correcta es C", CORRECT, LETTERS),
    ("C", "La réponse est (C).", CORRECT, LETTERS),
    ("C", "الإجابة: C", CORRECT, LETTERS),
    ("C", "The answer is not B but C.", CORRECT, LETTERS),
    ("B", "The answer is not B but C.", WRONG, LETTERS),
    ("B", "The answer is A or B.", WRONG, LETTERS),
    ("B", "Both A and B seem right.", NO_ANSWER, LETTERS),
    ("B", "The answer is 4", CORRECT, NUMBERS),
    ("B", "The answer is 4.0", CORRECT, NUMBERS),
    ("B", "The answer is 7", NO_ANSWER, NUMBERS),
    ("B", r"$\boxed{4}$", CORRECT, NUMBERS),
    ("B", '{"answer": "B"}', CORRECT, LETTERS),
    ("B", "<answer>B</answer>", CORRECT, LETTERS),
    ("B", "<think>A</think>B", CORRECT, LETTERS),
    ("B", "**Answer: B**", CORRECT, LETTERS),
    ("B", "Answer: $B$", CORRECT, LETTERS),
    ("B", r"Answer: $\text{B}$", CORRECT, LETTERS),
    ("B", "ANSWER: [B]", CORRECT, LETTERS),
    ("B", r"Answer: \boxed{B}", CORRECT, LETTERS),
    ("B", "#### B", CORRECT, LETTERS),
    ("D", "Answer: D) None of the above", CORRECT, OR_NONE),
    ("D", "None of the above", CORRECT, OR_NONE),
    ("B", "A. 3 is odd. B. 4 is even. C. 5 is odd.\nAnswer: B", CORRECT, NUMBERS),
    ("B", "Let me look at option A. It is wrong. Option B is right.", CORRECT, LETTERS),
    ("B", "The best answer is B: it has most.", CORRECT, LETTERS),
    ("B", "Answer: B\n\nExplanation: A is a distractor, and C is false.", CORRECT, LETTERS),
    ("C", "I believe the answer is C", CORRECT, LETTERS),
    ("A", "As stated, I am unsure.", NO_ANSWER, LETTERS),
    ("A", "A", CORRECT, LETTERS),
    ("I", "I", CORRECT, TEN),
    ("B", "The answer is B and not A.", CORRECT, LETTERS),
    ("B", "The answer is B, not A.", CORRECT, LETTERS),
    ("B", "The answer is B; A is wrong.", CORRECT, LETTERS),
    ("A", "The answer is B; A is wrong.", WRONG, LETTERS),
    ("B", "The answer's B", CORRECT, LETTERS),
    ("B", "So the answer must be B!", CORRECT, LETTERS),
    ("B", "Correct option: B", CORRECT, LETTERS),
    ("B", "Choice B", CORRECT, LETTERS),
    ("B", "My answer: B", CORRECT, LETTERS),
    ("B", "Therefore, B.", CORRECT, LETTERS),
    ("B", "B vitamins are the answer to look at.", NO_ANSWER, LETTERS),
    ("B", "A. 3 is odd, so no.\nB. 4 is even, yes.", NO_ANSWER, LETTERS),
    ("D", "Answer: I would eliminate D first.", NO_ANSWER, LETTERS),
    ("B", "B. The capital", CORRECT, LETTERS),
    ("B", "**B)** because", CORRECT, LETTERS),
    ("B", "Looking at the choices, (B) fits.\n\n(B)", CORRECT, LETTERS),
]
SEVERAL = [
    ("A,C", "A, C", CORRECT),
    ("A,C", "AC", CORRECT),
    ("A,C", "A and C", CORRECT),
    ("A,C", r"\boxed{A, C}", CORRECT),
    ("A,C", r"\boxed{A}, \boxed{C}", CORRECT),
    ("A,C", "Answer: A, B, C", WRONG),
    ("A,C", "The answers are A and C.", CORRECT),
    ("A,C", "The correct options are (A) and (C).", CORRECT),
    ("A,C", "答案：AC", CORRECT),
    ("A,C", '["A","C"]', CORRECT),
    ("A,C", '{"answer": ["A", "C"]}', CORRECT),
    ("A", "A", CORRECT),
]


def test_one_option_of_several(grading: Grading) -> None:
    grades = [(*case, grading("mcq", case[0], case[1], choices=case[3])) for case in ONE]
    assert [(key, response, want, got) for key, response, want, _, got in grades if got.verdict != want] == []


def test_all_right_options(grading: Grading) -> None:
    grades = [(*case, grading("mcq-multi", case[0], case[1], choices=LETTERS)) for case in SEVERAL]
    assert [(key, response, want, got) for key, response, want, got in grades if got.verdict != want] == []


def test_the_text_of_two_options_is_no_choice(grading: Grading) -> None:
    twice = ("4", "3", "4", "5")
    assert grading("mcq", "A", "The answer is 4.", choices=twice).verdict == UNGRADED
    assert grading("mcq", "D", "The answer is 4.", choices=twice).verdict == WRONG
    assert grading("mcq", "A", "The answer is A.", choices=twice).verdict == CORRECT


@pytest.mark.parametrize(
    ("answer", "choices", "letters"),
    [
        ("B", NUMBERS, ("B",)),
        ("(b)", NUMBERS, ("B",)),
        (r"\text{(B)}", NUMBERS, ("B",)),
        ("4", NUMBERS, ("B",)),
        ("Paris", CITIES, ("B",)),
        ("B. Paris", CITIES, ("B",)),
        ("Rome", CITIES, ()),
        ("E", NUMBERS, ()),
    ],
)
def test_keys_name_their_option(answer: str, choices: tuple[str, ...], letters: tuple[str, ...]) -> None:
    assert key_letters(Item("q", "", answer, choices=choices, answer_type="mcq")) == letters


def test_a_key_that_names_no_option_is_not_graded(grading: Grading) -> None:
    assert grading("mcq", "E", "B", choices=NUMBERS).verdict == UNGRADED


def test_answers_to_a_shown_order(shared: Path, grading: Grading) -> None:
    lines = (shared / "cases" / "items" / "c05_shuffled.jsonl").read_text().splitlines()
    for case in map(json.loads, lines):
        item = Item("q", "", case["answer"], choices=tuple(case["choices"]), answer_type="mcq")
        shown = shown_item(item, case["shown_order"])
        got = grading("mcq", shown.answer, case["model_answer"], choices=shown.choices)
        assert (got.verdict == CORRECT) is case["expected_correct"]


def test_the_key_follows_its_option_through_every_order() -> None:
    item = Item("q", "", "B,D", choices=("w", "x", "y", "z"), answer_type="mcq-multi")
    orders = {option_order(item, seed) for seed in range(200)}
    assert len(orders) == 24
    for order in orders:
        shown = shown_item(item, order)
        assert {shown.choices["ABCD".index(letter)] for letter in key_letters(shown)} == {"x", "z"}


@pytest.mark.parametrize(
    "choices",
    [
        ("1", "2", "3", "4"),
        ("9", "7", "5"),
        ("red", "blue", "all of the above"),
        ("red", "blue", "none of these"),
        ("red", "blue", "both A and B"),
        ("x", "y", "以上都对"),
        LETTERS,
    ],
)
def test_options_whose_order_means_something_stay(choices: tuple[str, ...]) -> None:
    item = Item("q", "", "A", choices=choices, answer_type="mcq")
    assert not may_reorder(item)
    assert option_order(item, 7) == tuple(range(len(choices)))


def test_other_options_may_be_reordered() -> None:
    assert may_reorder(Item("q", "", "A", choices=("3", "1", "2"), answer_type="mcq"))
    assert may_reorder(Item("q", "", "A", choices=CITIES, answer_type="mcq"))


def test_a_wrong_order_is_refused() -> None:
    with pytest.raises(ValueError, match="no order of 4"):
        shown_item(Item("q", "", "A", choices=CITIES, answer_type="mcq"), [0, 1, 2, 2])
