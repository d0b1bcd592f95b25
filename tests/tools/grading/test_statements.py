"""Ways to state an answer, crossed with forms of keys: right as it is, and never right with one digit changed."""

from __future__ import annotations

import asyncio
import json
import re

import pytest

from benchfill.item import Item
from benchfill.tools.grading import Grade, Grader
from benchfill.tools.sandbox import Sandbox

STATEMENTS = [
    "KEY",
    "$KEY$",
    "The answer is $KEY$.",
    "The answer is KEY.",
    "The final answer is $KEY$",
    "**Answer:** $KEY$",
    "**Final Answer**\n\n$$\\boxed{KEY}$$",
    r"\boxed{KEY}",
    r"So the answer is \(\boxed{KEY}\).",
    "\\[\nKEY\n\\]",
    "Answer: KEY",
    "#### KEY",
    "<answer>KEY</answer>",
    "We first get $x = 3$, and so the final answer is:\n\n$$KEY$$\n\nI hope it is correct.",
    "答案是 $KEY$。",
    "Therefore the answer is **$KEY$**, as required.",
    "<think>maybe 17 or \\boxed{18}</think>\n\nThe answer is $KEY$.",
    r"We have 3 cases with 5 items each. Hence: $\boxed{KEY}$ which we verify: 3+5=8.",
    '{"answer": JSON}',
    "The answer is: $KEY$ (see above).",
    "Hence, the correct answer is $KEY$ since all other options fail.",
    "## Answer\n$KEY$",
]
KEYS = [
    "42",
    "-7",
    "1,234",
    "0.25",
    r"\frac{3}{7}",
    r"2\sqrt{13}",
    "3x^2-4",
    r"\{1, 2, 5\}",
    "(3, -8)",
    r"(-\infty, 2) \cup [3, 7)",
    "y = 2x + 3",
    "25_8",
    r"15\text{ cm}^2",
    r"45^\circ",
    "5 + 7i",
]


@pytest.mark.parametrize("key", KEYS)
def test_every_statement_of_a_key(sandbox: Sandbox, key: str) -> None:
    grader = Grader(sandbox)
    place = next(re.finditer(r"\d", key)).start()
    changed = key[:place] + str((int(key[place]) + 4) % 10) + key[place + 1 :]

    async def grade(shown: str) -> list[Grade]:
        responses = [text.replace("JSON", json.dumps(shown)).replace("KEY", shown) for text in STATEMENTS]
        return await asyncio.gather(*(grader.grade(Item("q", "", key), response) for response in responses))

    right, wrong = asyncio.run(grade(key)), asyncio.run(grade(changed))
    assert [
        (text, got) for text, got in zip(STATEMENTS, right, strict=True) if got.verdict != "correct"
    ] == []
    assert [(text, got) for text, got in zip(STATEMENTS, wrong, strict=True) if got.verdict != "wrong"] == []
