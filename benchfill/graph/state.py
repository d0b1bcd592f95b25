"""What a checkpoint holds: ids and numbers. Texts, answers and posteriors live in the memory pool."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

__all__ = ["NOT_CONFIRMING", "CandidateTask", "SearchState", "merge_written"]

# Of `fresh_from` while no confirmation is under way.
NOT_CONFIRMING = -1

Step = Literal["next_round", "done"]


def merge_written(left: list[str] | None, right: list[str] | None) -> list[str]:
    """Collect the candidates of one round from parallel writers, in one order; None empties the list."""
    if right is None:
        return []
    return sorted({*(left or []), *right})


class SearchState(TypedDict, total=False):
    """The search of one gap, one round after the other.

    Attributes
    ----------
    gap, round
        One-based numbers of the gap and of its round.
    parents, references
        Item ids chosen for this round.
    written
        Candidates of this round, whatever became of them.
    asked
        Candidates in calibration: attempts of every model that were asked so far.
    plan
        Attempts of every model that the next answer step brings each candidate to.
    met
        The candidate that will do, "" when none does.
    taken_at
        The tolerance it was chosen for: the gap's, or what is settled for in the end.
    fresh_from
        Number of the first attempt of its confirmation, `NOT_CONFIRMING` while there is none.
    refused
        Candidates of this gap whose confirmation failed, once for each time.
    suspect
        Candidates of this round whose answers make their keys suspect.
    priors, chance
        What the rewriter's record expects of each parent's rewrite (center and scale, z), and the chance (at the
        most promising parent) that it lies within the tolerance.
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
    taken_at: float
    fresh_from: int
    refused: list[str]
    suspect: list[str]
    priors: dict[str, list[float]]
    chance: float
    step: Step
    done: bool


class CandidateTask(TypedDict):
    """What one writer of a round is sent."""

    gap: int
    round: int
    writer: int
    parent: str
    references: list[str]
    prior: list[float]
