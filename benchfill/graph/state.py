"""What a checkpoint holds: ids and numbers. Texts, answers and posteriors live in the memory pool."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

__all__ = ["CandidateTask", "SearchState", "merge_written"]

Step = Literal["next_round", "next_gap", "done"]


def merge_written(left: list[str] | None, right: list[str] | None) -> list[str]:
    """Collect the candidates of one round from parallel writers, in one order; None empties the list."""
    if right is None:
        return []
    return sorted({*(left or []), *right})


class SearchState(TypedDict, total=False):
    """One gap after the other, one round after the other.

    Attributes
    ----------
    gap, round
        One-based numbers of the gap in work and of its round.
    parents, references
        Item ids chosen for this round.
    written
        Candidates of this round, whatever became of them.
    asked
        Candidates in calibration: attempts of every model that were asked so far.
    plan
        Attempts of every model that the next answer step brings each candidate to.
    met
        The candidate that met the tolerance in this round, "" when none did.
    step
        Where `remember` goes on.
    done
        True only at the end of the line.
    """

    gap: int
    round: int
    parents: list[str]
    references: list[str]
    written: Annotated[list[str], merge_written]
    asked: dict[str, int]
    plan: dict[str, int]
    met: str
    step: Step
    done: bool


class CandidateTask(TypedDict):
    """What one writer of a round is sent."""

    gap: int
    round: int
    writer: int
    parent: str
    references: list[str]
