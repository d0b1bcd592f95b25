"""Reviewers' own answers against the keys, by the grader that grades the models."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping, Sequence

from benchfill.item import Item
from benchfill.memory.reviews import DecisionRow
from benchfill.tools.grading import Grader

__all__ = ["compare_answers"]


async def compare_answers(
    decisions: Sequence[DecisionRow], items: Mapping[tuple[str, str], Item], grader: Grader
) -> list[DecisionRow]:
    """Decisions with ``agrees`` filled in: None where there is no answer or nobody can tell.

    Parameters
    ----------
    items
        What each was decided on, by reviewer and blind id.
    """

    async def compared(decision: DecisionRow) -> DecisionRow:
        if not decision.answer:
            return dataclasses.replace(decision, agrees=None)
        item = items[decision.reviewer, decision.blind_id]
        grade = await grader.equivalent(item, decision.answer)
        told = {"correct": True, "wrong": False}.get(grade.verdict)
        return dataclasses.replace(decision, agrees=told)

    return list(await asyncio.gather(*(compared(decision) for decision in decisions)))
