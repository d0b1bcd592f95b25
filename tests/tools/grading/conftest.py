"""One sandbox for all tests of grading, and a short way to a verdict."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from benchfill.item import Item
from benchfill.tools.grading import Grade, Grader, GradingSettings
from benchfill.tools.sandbox import Sandbox

Grading = Callable[..., Grade]


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(workers=2) as made:
        yield made


@pytest.fixture
def grading(sandbox: Sandbox) -> Grading:
    def grade(
        answer_type: str,
        key: str,
        response: str,
        *,
        choices: Sequence[str] = (),
        tolerance: float | None = None,
        finish_reason: str = "stop",
        **settings: Any,
    ) -> Grade:
        item = Item("q", "", key, choices=tuple(choices), answer_type=answer_type, tolerance=tolerance)  # type: ignore[arg-type]
        grader = Grader(sandbox, GradingSettings(**settings))
        return asyncio.run(grader.grade(item, response, finish_reason=finish_reason))

    return grade
