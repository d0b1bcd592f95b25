"""Gradings a second: plain numbers in this process, formulas through the pool of child processes.

    python -m benchmarks.grading_throughput [--count N]

Prints one line a kind of answer; exits 1 when plain numbers fall below 300 a second.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections.abc import Callable

from benchfill.item import Item
from benchfill.tools.grading import Grader
from benchfill.tools.sandbox import Sandbox

REQUIRED = 300.0
Case = tuple[Item, str, str]

PHRASES = (
    "The answer is {}.",
    "So she has {} left in the end.",
    "\\boxed{{{}}}",
    "We add them up: 12 + 30 = 42, and so on.\n\n**Final Answer:** ${}$",
    "<think>Perhaps 7? Let me check again.</think>\n#### {}",
)


def plain_number(random_source: random.Random) -> Case:
    """A number in prose, right half of the time."""
    key = random_source.randrange(2, 100_000)
    shown = key if random_source.random() < 0.5 else key + random_source.randrange(1, 9)
    text = random_source.choice(PHRASES).format(f"{shown:,}" if shown % 3 else shown)
    return Item("q", "", str(key), answer_type="numeric"), text, "correct" if shown == key else "wrong"


def formula(random_source: random.Random) -> Case:
    """A root in another form, right half of the time: needs a proof in a child when it is."""
    factor, radicand = random_source.randrange(2, 30), random_source.choice((2, 3, 5, 7))
    right = random_source.random() < 0.5
    inside = factor * factor * radicand + (0 if right else 1)
    item = Item("q", "", f"{factor}\\sqrt{{{radicand}}}", answer_type="expr")
    return item, f"\\boxed{{\\sqrt{{{inside}}}}}", "correct" if right else "wrong"


async def measure(grader: Grader, make: Callable[[random.Random], Case], count: int) -> tuple[float, float]:
    """Gradings a second of wall time and of this process's CPU time; every verdict is checked."""
    random_source = random.Random(1)
    cases = [make(random_source) for _ in range(count)]
    await grader.grade(cases[0][0], cases[0][1])
    started, cpu_started = time.perf_counter(), time.process_time()
    grades = await asyncio.gather(*(grader.grade(item, text) for item, text, _ in cases))
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu_started
    wrong = sum(grade.verdict != case[2] for grade, case in zip(grades, cases, strict=True))
    if wrong:
        raise SystemExit(f"{wrong} of {count} verdicts are not as constructed")
    return count / seconds, count / cpu


async def main(count: int) -> bool:
    with Sandbox() as sandbox:
        grader = Grader(sandbox)
        await grader.grade(Item("q", "", "2\\sqrt{3}", answer_type="expr"), "\\sqrt{12}")
        numbers, cpu = await measure(grader, plain_number, count)
        formulas, _ = await measure(grader, formula, max(100, count // 10))
    print(
        f"plain numbers  {numbers:8.0f} gradings/s, {cpu:.0f} a second of CPU time (required: {REQUIRED:.0f})"
    )
    print(f"formulas       {formulas:8.0f} gradings/s, half of them proved in child processes")
    return numbers >= REQUIRED


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5000, help="gradings of plain numbers")
    sys.exit(0 if asyncio.run(main(parser.parse_args().count)) else 1)
