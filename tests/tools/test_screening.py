"""What may not be paid for, by its code; and that sound items of real benchmarks pass."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from benchfill.item import Item
from benchfill.tools.normal_text import Fingerprint, number_of, script_of
from benchfill.tools.rewriter import Refusal, Submission
from benchfill.tools.screening import Screen
from tests.tools.scripted import TextGrader

PARENT = Item(
    id="p1",
    question="A box holds 7 rows of 6 pens. How many pens?",
    answer="42",
    solution="7*6 = 42",
    answer_type="numeric",
)
GOOD = Submission(
    question="A crate holds 17 rows of 26 pens, and 9 pens are broken. How many pens work?",
    answer="433",
    solution="17*26 - 9 = 433",
    choices=(),
    rationale="Larger factors and one more step.",
)
CHOICE_PARENT = Item(
    id="c1",
    question="Which number is prime?",
    answer="B",
    solution="7 has no divisors.",
    choices=("4", "7", "9", "12"),
    answer_type="mcq",
)
CHOICE_GOOD = Submission(
    "Which number below is prime?", "C", "91 = 7*13.", ("91", "87", "97", "51"), "Harder."
)


def check(submission: Submission, parent: Item = PARENT, pool: tuple[Item, ...] = (), **verdicts: str) -> str:
    """Code of the refusal, empty when the submission passes."""
    screen = Screen(pool or (parent,), threshold=0.9, grader=TextGrader(**verdicts))  # type: ignore[arg-type]
    found = asyncio.run(screen.check(submission, parent))
    assert found is None or (isinstance(found, Refusal) and found.detail and found.submission is submission)
    return found.reason if found else ""


def changed(**fields: Any) -> Submission:
    return replace(GOOD, **fields)


def test_a_sound_rewrite_passes() -> None:
    assert check(GOOD) == ""
    assert check(CHOICE_GOOD, CHOICE_PARENT) == ""


@pytest.mark.parametrize(
    "fields",
    [
        {"question": ""},
        {"solution": "  "},
        {"solution": "TODO"},
        {"solution": "..."},
        {"question": "<question>How many pens?</question>"},
        {"question": "How many pens?</question-a1b2c3>"},
        {"question": "<tool_call>{}</tool_call>"},
        {"solution": "<invoke name=x>7</invoke>"},
        {"question": "[Insert a question about 17 rows of pens here]"},
        {"question": r"What is \frac{1}{2 of 866 pens?"},
        {"question": r"\begin{cases} x = 866 Find x/2."},
        {"question": r"What is \left( 3, 4 ] + 429?"},
    ],
)
def test_incomplete(fields: dict[str, str]) -> None:
    assert check(changed(**fields)) == "incomplete"


@pytest.mark.parametrize(
    "damage", ["\x0crac12", "\x08eta", "\tan x", "a\times", "\x00", "\x1b[31m", "\u202e", "\x7f", "$a \ne b$"]
)
@pytest.mark.parametrize("field", ["question", "answer", "solution"])
def test_control_characters(damage: str, field: str) -> None:
    assert check(changed(**{field: f"{damage} 433"})) == "control_characters"


def test_line_breaks_and_indentation_are_text() -> None:
    assert check(changed(question=GOOD.question + "\n\tRows are full.")) == ""


def test_too_long() -> None:
    limit = 3 * len(PARENT.question) + 400
    padded = GOOD.question + " pens" * 200
    assert check(changed(question=padded[:limit])) == ""
    assert check(changed(question=padded[: limit + 1])) == "too_long"


def test_language_is_kept() -> None:
    chinese = Item(
        id="z", question="一个盒子有 7 排，每排 6 支笔。一共有多少支笔？", answer="42", answer_type="numeric"
    )
    rewrite = changed(question="一个箱子有 17 排，每排 26 支笔，其中 9 支坏了。还有多少支好笔？")
    assert check(rewrite, chinese) == ""
    assert check(GOOD, chinese) == "language"
    assert check(rewrite) == "language"
    assert check(changed(question="В ящике 17 рядов по 26 ручек, 9 сломаны. Сколько целых?")) == "language"


@pytest.mark.parametrize("answer", ["about 433", "x + 1", "433 pens", "(4, 33)", "none", "", "1/0"])
def test_numeric_stays_numeric(answer: str) -> None:
    assert check(changed(answer=answer)) in {"wrong_type", "incomplete"}
    if answer:
        assert check(changed(answer=answer), replace(PARENT, answer_type="text")) == "wrong_type"


@pytest.mark.parametrize(
    "answer", ["433", "-433", "4,330", "$433", "0.5", "1/2", r"\frac{1}{2}", "43%", "4.3e5"]
)
def test_numbers_are_numeric(answer: str) -> None:
    assert check(changed(answer=answer)) == ""


def test_yes_no_stays_yes_no() -> None:
    parent = replace(PARENT, answer="yes", answer_type="yesno")
    assert check(changed(answer="No"), parent) == ""
    assert check(changed(answer="perhaps"), parent) == "wrong_type"


@pytest.mark.parametrize(
    ("choices", "answer", "code"),
    [
        ((), "C", "choices"),
        (("91", "87", "97"), "C", "choices"),
        (("91", "87", "97", "91"), "C", "choices"),
        (("9 cm", "9cm", "97", "51"), "C", "choices"),
        (("1/2", "0.5", "97", "51"), "C", "choices"),
        (("91", " ", "97", "51"), "C", "choices"),
        (("91", "87", "97", "51"), "E", "choices"),
        (("91", "87", "97", "51"), "97", "choices"),
        (("91", "87", "97", "51"), "(C)", "wrong_type"),
        (("91", "87", "97", "51"), "A, B", "wrong_type"),
    ],
)
def test_choices(choices: tuple[str, ...], answer: str, code: str) -> None:
    assert check(replace(CHOICE_GOOD, choices=choices, answer=answer), CHOICE_PARENT) == code


def test_options_nobody_asked_for() -> None:
    assert check(changed(choices=("433", "434"))) == "choices"


def test_several_letters() -> None:
    parent = replace(CHOICE_PARENT, answer="A,B", answer_type="mcq-multi")
    assert check(replace(CHOICE_GOOD, answer="A, C"), parent) == ""
    assert check(replace(CHOICE_GOOD, answer="A, F"), parent) == "choices"


def test_handed_cases_of_leaks(shared: Path) -> None:
    lines = (shared / "cases" / "items" / "x04_leak.jsonl").read_text().splitlines()
    cases = {case["id"]: case for case in map(json.loads, lines)}
    for case_id, leaks in {"q1": True, "q2": True, "ok1": False}.items():
        case = cases[case_id]
        submission = changed(question=case["question"], answer=case["answer"])
        assert (check(submission) == "answer_leak") is leaks


@pytest.mark.parametrize(
    "question",
    [
        "What is 17*26 - 9? The answer is 433.",
        "What is 17*26 - 9? Result: $433$",
        r"What is 17*26 - 9? \boxed{433}",
        "Prove that x = 433 solves x + 9 = 442. What is x?",
        "What is 17*26 - 9? (Ans. = 433)",
    ],
)
def test_leaks(question: str) -> None:
    assert check(changed(question=question)) == "answer_leak"


def test_a_key_among_the_givens_is_no_leak() -> None:
    assert check(changed(question="Ann has 433 pens, loses 17 and finds 17. How many pens has she?")) == ""
    assert check(changed(question="The answer is 4330 cut by a factor. What is 17*26 - 9?")) == ""


def test_the_text_of_the_right_option_leaks_too() -> None:
    told = replace(CHOICE_GOOD, question="Which is prime? The answer is 97.")
    assert check(told, CHOICE_PARENT) == "answer_leak"


def test_handed_cases_of_copies(shared: Path) -> None:
    for line in (shared / "cases" / "items" / "x06_rewrite_copy.jsonl").read_text().splitlines():
        case = json.loads(line)
        parent = replace(PARENT, **case["parent"])
        rewrite = case["rewrite"]
        code = check(changed(question=rewrite["question"], answer=rewrite["answer"]), parent)
        # r2 keeps its parent's key although the numbers changed: that is for the judge to find.
        assert code == {"r1": "copy", "r2": "", "r3": ""}[rewrite["id"]]


@pytest.mark.parametrize(
    "question",
    [
        "a box holds 7 rows of 6 pens -- how many pens",
        "A box holds $7$ rows of $6$ pens. How many pens?",
        "A  box holds 7 rows\nof 6 pens. How many pens?",
    ],
)
def test_another_dress_is_still_a_copy(question: str) -> None:
    # Two hyphens are no operator of a formula but change the multiset; the plain dash does not stand alone.
    assert check(changed(question=question.replace(" --", "."))) == "copy"


def test_near_duplicates_need_the_same_numbers() -> None:
    stem = "A box holds {} rows of {} blue pens in all. How many blue pens?"
    pool = (PARENT, replace(PARENT, id="old", question=stem.format(17, 26), answer="442"))
    assert check(changed(question=stem.format(17, 26)), pool=pool) == "near_duplicate"
    assert check(changed(question=stem.format(17, 26).replace("blue", "red")), pool=pool) == "near_duplicate"
    assert check(changed(question=stem.format(26, 17)), pool=pool) == "near_duplicate"
    assert check(changed(question=stem.format(17, 27)), pool=pool) == ""
    other = "Of 26 trees in each of 17 streets none was felled. What is the number of trees?"
    assert check(changed(question=other), pool=pool) == ""


def test_another_operator_makes_another_item() -> None:
    parent = replace(PARENT, question="What is 12 * 8?")
    assert check(changed(question="What is 12 + 8?"), parent) == ""
    assert check(changed(question=r"What is $12 \times 8$?"), parent) == "copy"
    assert check(changed(question="What is 12×8 ?"), parent) == "copy"


def test_the_parent_counts_although_it_is_not_in_the_pool() -> None:
    close = "A box holds 7 rows of 6 pens. How many pens??!  In all?"
    pool = (replace(PARENT, id="other", question="How many days has a week?"),)
    assert check(changed(question=PARENT.question), pool=pool) == "copy"
    parent = replace(PARENT, question=close + " Count them one after the other, please.")
    nearly = parent.question.replace("please", "then")
    assert check(changed(question=nearly), parent, pool=pool) == "near_duplicate"


def test_new_distractors_make_a_new_item_and_a_new_order_does_not() -> None:
    stem = CHOICE_PARENT.question
    assert check(Submission(stem, "A", "x", ("97", "91", "87", "51"), "x"), CHOICE_PARENT) == ""
    assert check(Submission(stem, "A", "x", ("7", "4", "12", "9"), "x"), CHOICE_PARENT) == "copy"


@pytest.mark.parametrize("verdict", ["wrong", "ungraded", "no_answer"])
def test_a_key_must_grade_true_against_itself(verdict: str) -> None:
    assert check(GOOD, **{GOOD.answer: verdict}) == "key_ungradable"


def test_a_pool_of_fifty_thousand_items_costs_little() -> None:
    words = ["red", "blue", "green", "old", "new", "small", "large", "round"]
    pool = tuple(
        Item(
            id=str(n),
            question=f"Name the {words[n % 8]} {words[n // 8 % 8]} thing called {n:o}.".translate(LETTERS),
            answer="x",
        )
        for n in range(50_000)
    )
    screen = Screen(pool, threshold=0.9, grader=TextGrader())  # type: ignore[arg-type]
    fresh = changed(question="Which country is larger, and why is it not the older one of the two?")
    # The first submission reads the pool.
    assert asyncio.run(screen.check(fresh, PARENT)) is None
    started = time.perf_counter()
    assert asyncio.run(screen.check(fresh, PARENT)) is None
    assert time.perf_counter() - started < 1.0
    again = changed(question=pool[31_234].question + "!")
    found = asyncio.run(screen.check(again, PARENT))
    assert found is not None
    assert found.reason == "near_duplicate"


LETTERS = str.maketrans("01234567", "abcdefgh")


@pytest.mark.parametrize("name", ["gsm8k_test", "math500", "aime2024", "amc23"])
def test_items_of_real_benchmarks_have_no_fault_but_to_be_copies(shared: Path, name: str) -> None:
    """At most 1 in 200 is found fault with: texts with tabs inside."""
    rows = list(map(json.loads, (shared / "data" / "items" / f"{name}.jsonl").read_text().splitlines()))
    screen = Screen((), threshold=0.9, grader=TextGrader())  # type: ignore[arg-type]

    async def faults() -> list[tuple[str, str]]:
        found = []
        for row in rows:
            answer = str(row["answer"])
            kind: Any = "numeric" if number_of(answer) is not None else "expr"
            item = Item(row["item_id"], row["question"], answer, answer_type=kind)
            submission = Submission(item.question, answer, row.get("solution") or "see the source", (), "x")
            refusal = await screen.check(submission, item)
            if refusal is None or refusal.reason != "copy":
                found.append((item.id, refusal.reason if refusal else ""))
        return found

    found = asyncio.run(faults())
    assert len(found) <= len(rows) / 200, found


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("42", Fraction(42)),
        ("-1,234.5", Fraction(-2469, 2)),
        (r"\frac{3}{4}", Fraction(3, 4)),
        (r"-\frac34", Fraction(-3, 4)),
        ("$1{,}000$", Fraction(1000)),
        ("50%", Fraction(50)),
        ("-3/4", Fraction(-3, 4)),
        ("2e3", Fraction(2000)),
        ("1/0", None),
        ("4 cm", None),
        ("x", None),
        ("1,23", None),
        ("1 2/3", None),
        ("", None),
    ],
)
def test_number_of(text: str, value: Fraction | None) -> None:
    assert number_of(text) == value


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("How many pens?", "LATIN"),
        ("已知 $f(x)=\\sin x$，求 f(1) 的值。", "CJK"),
        ("設 ABC の面積を求めよ。", "KANA"),
        ("Сколько ручек?", "CYRILLIC"),
        ("삼각형의 넓이를 구하시오", "HANGUL"),
        ("$x^2 + 1$", ""),
        ("12*8=?", ""),
    ],
)
def test_script_of(text: str, script: str) -> None:
    assert script_of(text) == script


def test_fingerprints_keep_what_matters() -> None:
    def same(a: str, b: str) -> bool:
        return Fingerprint.of(a, ()) == Fingerprint.of(b, ())

    assert same("Find 1,000 + 2.", r"find $1000+2$")
    assert same(r"\dfrac{1}{2} \cdot x", r"\frac{1}{2} × x")
    assert not same("What is 1.2?", "What is 12?")
    assert not same("x < 3", "x > 3")
    assert not same("more than 3", "fewer than 3")
