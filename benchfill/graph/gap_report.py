"""What the display and the summary say of one gap."""

from __future__ import annotations

from typing import Any

from benchfill.memory.pool import Pool
from benchfill.memory.records import Candidate, GapRow

__all__ = ["gap_report"]


def gap_report(pool: Pool, gap: GapRow) -> dict[str, Any]:
    """What the display and the summary say of a gap: where its accepted item lies and what it took."""
    candidates = pool.candidates(gap.gap)
    estimates, judgements = pool.estimates(), pool.judgements()
    accepted = next((str(each.item) for each in candidates if each.id == gap.accepted), None)
    estimate = None if accepted is None else estimates[accepted]
    asked = [pool.attempts(str(each.item)) for each in candidates if each.item is not None]
    attempts = sum(row.outcome != "missing" for rows in asked for row in rows)
    confirmation = sum(_fresh_attempts(pool, each) for each in candidates if each.item is not None)
    calls = sum(each.calls for each in candidates) + sum(len(rows) for rows in asked)
    calls += sum(judgements[each.id].calls for each in candidates if each.id in judgements)
    return {
        "gap": gap.gap,
        "target": gap.target,
        "lo": gap.lo,
        "hi": gap.hi,
        "tolerance": gap.tolerance,
        "p_empty": gap.p_empty,
        "status": gap.status,
        "accepted": accepted,
        "z_mean": None if estimate is None else estimate.z,
        "z_lo90": None if estimate is None else estimate.z_lo90,
        "z_hi90": None if estimate is None else estimate.z_hi90,
        "z_ml": None if estimate is None else pool.z_ml(estimate),
        "expected_deviation": None if estimate is None else estimate.expected_deviation,
        "confirmed": None if estimate is None else estimate.confirmed,
        "fit": None if accepted is None else pool.item_fit(accepted),
        "attempts": attempts,
        "confirmation_attempts": confirmation,
        "calls": calls,
        "rounds": gap.rounds,
    }


def _fresh_attempts(pool: Pool, candidate: Candidate) -> int:
    """Answers to one candidate that were asked to confirm it."""
    spans = [(each.first, each.stop) for each in pool.confirmations(candidate.id)]
    rows = pool.attempts(str(candidate.item)) if spans else []
    return sum(
        row.outcome != "missing" and any(first <= row.attempt < stop for first, stop in spans) for row in rows
    )
