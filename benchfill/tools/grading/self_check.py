"""Keys that do not grade true against themselves: every answer to such an item would be wrong, or missing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from benchfill.item import Item
from benchfill.tools.grading.grader import Grader
from benchfill.tools.grading.verdicts import Grade

__all__ = ["failing_keys"]

AT_ONCE = 64


async def failing_keys(grader: Grader, items: Sequence[Item]) -> list[tuple[Item, Grade]]:
    """Items whose key fails its self-check, in the order given, with the verdict and its reason."""
    failing: list[tuple[Item, Grade]] = []
    for start in range(0, len(items), AT_ONCE):
        block = items[start : start + AT_ONCE]
        grades = await asyncio.gather(*(grader.self_check(item) for item in block))
        failing.extend(
            (item, grade) for item, grade in zip(block, grades, strict=True) if grade.verdict != "correct"
        )
    return failing
