"""Answer types for which the whole response is the answer: constraints on a text, and graders of other packages."""

from __future__ import annotations

from typing import Any

from benchfill.grading_settings import GradingSettings
from benchfill.item import Item, is_built_in
from benchfill.tools.grading.custom import call_grader
from benchfill.tools.grading.instructions import (
    ConstraintFault,
    check_instructions,
    conflict,
    read_constraints,
)
from benchfill.tools.grading.verdicts import Grade
from benchfill.tools.sandbox import Sandbox, SandboxError

__all__ = ["check_constraints", "grade_whole", "is_whole"]

SHOWN = 200


def is_whole(answer_type: str) -> bool:
    """Whether an answer of this type is the whole response and not a statement in it."""
    return answer_type == "instructions" or not is_built_in(answer_type)


async def grade_whole(sandbox: Sandbox, item: Item, text: str, settings: GradingSettings) -> Grade:
    """Grade a whole text under the limits of a child process.

    Parameters
    ----------
    text
        The response outside of its reasoning, or a bare answer.
    """
    try:
        if item.answer_type == "instructions":
            loose = settings.instructions == "loose"
            verdict, reason = await sandbox.call(
                check_instructions, item.answer, text, loose, seconds=settings.seconds
            )
            return Grade(verdict, text[:SHOWN], reason)
        return Grade(
            *await sandbox.call(call_grader, item.answer_type, _plain(item), text, seconds=settings.seconds)
        )
    except SandboxError as error:
        why = str(error) if error.reason == "crashed" else f"its limit of {error.reason}"
        return Grade("ungraded", None, f"the grader {item.answer_type} failed: {why}")


def check_constraints(key: str) -> Grade:
    """Whether a key is a list of known constraints that can be kept together."""
    try:
        constraints = read_constraints(key)
    except ConstraintFault as fault:
        return Grade("ungraded", None, str(fault))
    excluded = conflict(constraints)
    if excluded:
        return Grade("ungraded", None, excluded)
    return Grade("correct", key, f"{len(constraints)} known constraints")


def _plain(item: Item) -> dict[str, Any]:
    return {
        "id": item.id,
        "question": item.question,
        "answer": item.answer,
        "solution": item.solution,
        "choices": list(item.choices),
        "tolerance": item.tolerance,
        "extra": dict(item.extra),
    }
