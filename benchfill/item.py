"""An item of a benchmark: question, key and what is needed to grade an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeGuard, get_args

__all__ = ["ANSWER_TYPES", "GRADER_GROUP", "AnswerType", "Item", "custom_types", "is_built_in"]

AnswerType = Literal[
    "numeric",
    "expr",
    "mcq",
    "mcq-multi",
    "set",
    "interval",
    "tuple",
    "quantity",
    "percent",
    "equation",
    "matrix",
    "base",
    "ratio",
    "time",
    "text",
    "yesno",
    "regex",
    "instructions",
]
ANSWER_TYPES: tuple[AnswerType, ...] = get_args(AnswerType)
GRADER_GROUP = "benchfill.graders"


def is_built_in(answer_type: str) -> TypeGuard[AnswerType]:
    """Whether answers of this type are compared by BenchFill itself."""
    return answer_type in ANSWER_TYPES


def custom_types() -> tuple[str, ...]:
    """Answer types of installed packages: the names of the entry points ``benchfill.graders``, sorted."""
    from importlib.metadata import entry_points

    return tuple(sorted({point.name for point in entry_points(group=GRADER_GROUP)} - set(ANSWER_TYPES)))


@dataclass(frozen=True, slots=True)
class Item:
    """One item.

    Parameters
    ----------
    id
        Text, as in the source ("007" and "7" are two items).
    question
        What the respondent is given, without the choices.
    answer
        The key. For ``mcq`` the letter of the right choice, for ``mcq-multi`` the letters joined by ",", for
        ``instructions`` the constraints as JSON.
    solution
        A worked solution, empty when the source has none.
    choices
        Texts of the options in order (A, B, ...), empty when the answer is free.
    answer_type
        How answers are compared with the key: a built-in type, or the name of an installed grader.
    tolerance
        Relative tolerance of numeric answers; None means exact up to rounding of the printed digits.
    extra
        Further fields of the source, carried along untouched.
    """

    id: str
    question: str
    answer: str
    solution: str = ""
    choices: tuple[str, ...] = ()
    answer_type: str = "text"
    tolerance: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def guessing(self) -> float:
        """Chance of a blind guess (g of the 1PL with guessing): 1/options for one right option, else 0."""
        return 1.0 / len(self.choices) if self.answer_type == "mcq" and self.choices else 0.0
