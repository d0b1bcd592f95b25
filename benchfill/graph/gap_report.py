"""What the display and the summary say of one gap, and of the check of all of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from benchfill.memory.gap_counts import gap_counts
from benchfill.memory.pool import Pool
from benchfill.memory.records import GapRow

__all__ = ["gap_check_report", "gap_report", "rechecked_answers"]


def gap_report(pool: Pool, gap: GapRow) -> dict[str, Any]:
    """What the display and the summary say of a gap: where its accepted item lies and what it took."""
    chosen = None if gap.accepted is None else pool.candidate(gap.accepted)
    accepted = None if chosen is None else str(chosen.item)
    estimate = None if accepted is None else pool.estimate(accepted)
    counts = gap_counts(pool, gap.gap)
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
        "attempts": counts.attempts,
        "confirmation_attempts": counts.confirmation,
        "calls": counts.calls,
        "rounds": gap.rounds,
    }


def gap_check_report(pool: Pool) -> dict[str, Any] | None:
    """What was asked again and what became of the gaps; None where nothing was checked."""
    check, again = pool.gap_check(), pool.rechecks()
    if check is None or not again:
        return None
    return {
        "items": len(again),
        "attempts": rechecked_answers(pool),
        "attempts_limit": check.attempts_limit,
        "before": [_shown(gap) for gap in check.before],
        "after": [_shown(dataclasses.asdict(gap)) for gap in pool.gaps()],
    }


def _shown(gap: Mapping[str, Any]) -> dict[str, Any]:
    # Imports the statistics, which few runs need to be shown.
    from benchfill.calibration.resolution import RESOLVED

    p_empty = gap["p_empty"]
    return {
        "lo": gap["lo"],
        "hi": gap["hi"],
        "p_empty": p_empty,
        "resolved": None if p_empty is None else p_empty >= RESOLVED,
    }


def rechecked_answers(pool: Pool) -> int:
    """Answers that were bought again."""
    return sum(
        row.outcome != "missing"
        for again in pool.rechecks()
        for row in pool.attempts(again.item, below=again.stop)
        if row.attempt >= again.first
    )
