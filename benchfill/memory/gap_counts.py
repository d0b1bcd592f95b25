"""What a search took, counted in the database: a run may hold a million attempts."""

from __future__ import annotations

from dataclasses import dataclass

from benchfill.memory.pool import Pool

__all__ = ["GapCounts", "gap_counts"]


@dataclass(frozen=True, slots=True)
class GapCounts:
    """Of the candidates of one gap; what was written by hand is none of it.

    Parameters
    ----------
    attempts, confirmation
        Answers to them, and those that were asked to confirm one.
    calls
        Of all roles, what got no answer included.
    """

    attempts: int
    confirmation: int
    calls: int


def gap_counts(pool: Pool, gap: int) -> GapCounts:
    """Count the answers and calls of one gap."""
    connection = pool.database.connection
    asked, answered, fresh = connection.execute(ASKED, (gap,)).fetchone()
    (written,) = connection.execute(WRITTEN, (gap,)).fetchone()
    return GapCounts(answered, fresh, written + asked)


ASKED = """
    SELECT count(*), coalesce(sum(outcome != 'missing'), 0),
           coalesce(sum(outcome != 'missing' AND EXISTS (
               SELECT 1 FROM confirmations
               WHERE candidate = candidates.id AND attempt >= first AND attempt < stop
           )), 0)
    FROM candidates JOIN attempts ON attempts.item = candidates.item
    WHERE gap = ? AND by_hand = ''
"""
WRITTEN = """
    SELECT coalesce(sum(candidates.calls + coalesce(judgements.calls, 0)), 0)
    FROM candidates LEFT JOIN judgements ON judgements.candidate = candidates.id
    WHERE gap = ? AND by_hand = ''
"""
