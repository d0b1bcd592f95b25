"""What a run says of itself: the diagnosis it starts from, its plan, and how it ended."""

from __future__ import annotations

from collections import Counter
from typing import Any

from benchfill.calibration.measure import ddm
from benchfill.calibration.resolution import RESOLVED
from benchfill.graph.gap_report import gap_check_report, gap_report
from benchfill.graph.plan import gap_figures
from benchfill.graph.prepare import original_places
from benchfill.memory.pool import Pool
from benchfill.tools.meter import Meter

__all__ = ["diagnosis_event", "missing_attempts", "plan_event", "summarise"]


def diagnosis_event(pool: Pool) -> dict[str, Any]:
    """The benchmark as it stands on its frozen scale."""
    scale = pool.scale()
    places = original_places(pool)
    return {
        "ddm": ddm(places),
        **gap_figures(places),
        "items": [
            {"id": each.item, "z": each.z, "z_lo90": each.z_lo90, "z_hi90": each.z_hi90}
            for each in pool.estimates().values()
            if each.source == "offline"
        ],
        "gate": {} if scale is None else dict(scale.gate),
    }


def plan_event(pool: Pool) -> dict[str, Any]:
    """The gaps to be searched."""
    return {
        "gaps": [
            {
                "gap": gap.gap,
                "lo": gap.lo,
                "hi": gap.hi,
                "width": gap.hi - gap.lo,
                "target": gap.target,
                "tolerance": gap.tolerance,
                "expected_attempts": gap.expected_attempts,
                "p_empty": gap.p_empty,
                "resolved": None if gap.p_empty is None else gap.p_empty >= RESOLVED,
                "status": gap.status,
            }
            for gap in pool.gaps()
        ]
    }


def missing_attempts(pool: Pool) -> dict[str, dict[str, int]]:
    """How many attempts of each model at new items are missing, by reason; models without any are left out."""
    items = sorted({str(each.item) for each in pool.candidates() if each.item is not None})
    counts: dict[str, Counter[str]] = {}
    for item in items:
        for row in pool.attempts(item):
            if row.outcome == "missing":
                counts.setdefault(row.model, Counter())[row.reason] += 1
    return {model: dict(sorted(counts[model].items())) for model in sorted(counts)}


def summarise(pool: Pool, run: str, meter: Meter, *, elapsed: float) -> dict[str, Any]:
    """The last event: every gap, and the figures before, after and for the oracle (midpoints of all gaps asked for)."""
    gaps = [gap_report(pool, gap) for gap in pool.gaps()]
    places = original_places(pool)
    added = [gap["z_mean"] for gap in gaps if gap["z_mean"] is not None]
    midpoints = [(gap["lo"] + gap["hi"]) / 2.0 for gap in gaps]
    check = gap_check_report(pool)
    again = 0 if check is None else check["attempts"]
    return {
        "run": run,
        "gaps": gaps,
        "before": gap_figures(places),
        "after": gap_figures(places, added),
        "oracle": gap_figures(places, midpoints),
        "totals": {
            "calls": meter.calls,
            "from_ledger": meter.from_ledger,
            "attempts": sum(gap["attempts"] for gap in gaps) + again,
            "gap_check_attempts": again,
            "tokens_in": meter.input_tokens,
            "tokens_out": meter.output_tokens,
            "cost": meter.cost,
            "elapsed": elapsed,
        },
        "gap_check": check,
        "missing": missing_attempts(pool),
        "export": f"benchfill export {run} --out {run}.jsonl",
    }
