"""What a grader says of a response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

__all__ = ["VERDICTS", "Grade", "Verdict"]

Verdict = Literal["correct", "wrong", "no_answer", "ungraded"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True, slots=True)
class Grade:
    """The verdict on one response.

    Parameters
    ----------
    verdict
        ``correct`` or ``wrong``; ``no_answer``: finished or cut without an answer; ``ungraded``: there is an
        answer and nobody can tell, which is missing and never wrong.
    extracted
        The answer as it was read, None without one.
    reason
        Why, in one line.
    """

    verdict: Verdict
    extracted: str | None
    reason: str
