"""Thousands of simulated searches against the truth: deviation, claim, coverage and attempts.

    python -m benchmarks.search frontier     # BenchFill beside the frontier of `fixed` over k and tau
    python -m benchmarks.search rewriters    # rewriters other than assumed
    python -m benchmarks.search costs        # attempts against tolerance, pool, precision of the rewriter
    (--searches N a row, --seed S, --out FILE for the table as JSON)

Everything is simulated: drawn abilities, drawn answers, and a drawn rewriter. The decisions are those of a run.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchfill.calibration.online import attempts_needed
from benchfill.calibration.search_loop import Outcome, Rules, search_gap
from benchfill.calibration.strategy import Adaptive, Fixed, Strategy
from benchmarks.search_worlds import MISSPECIFIED, DrawnWorld, Rewriter

TOLERANCE = 0.015


@dataclass(frozen=True)
class Row:
    """Means over the searches that met the tolerance, and how many did.

    Parameters
    ----------
    true_deviation, true_se
        Mean |true z - target| of the accepted items, and its standard error.
    bound
        Least attempts that can tell an item on target to the tolerance (Cramer-Rao); attempts include everything.
    """

    method: str
    setting: str
    searches: int
    met: float
    true_deviation: float
    true_se: float
    claimed: float
    coverage90: float
    attempts: float
    fresh: float
    bound: float
    rounds: float
    candidates: float
    refusals: float

    @property
    def over_bound(self) -> float:
        return self.attempts / self.bound


def run_many(
    strategy: Strategy,
    setting: str,
    *,
    searches: int,
    seed: int,
    tolerance: float = TOLERANCE,
    confirm: bool = True,
    **world: Any,
) -> Row:
    """The same seeds for every method: the same pools, gaps and first aims."""
    ends: list[tuple[Outcome, float, bool]] = []
    bounds = []
    for number in range(searches):
        drawn = DrawnWorld(np.random.default_rng([seed, number]), **world)
        rules = Rules(strategy, confirm=confirm)
        end = search_gap(drawn, drawn.goal(tolerance), rules, drawn.frozen, drawn.history())
        true = math.nan if end.accepted is None else drawn.true_z(end.accepted)
        covered = end.lo90 is not None and end.hi90 is not None and end.lo90 <= true <= end.hi90
        ends.append((end, abs(true - drawn.target), covered))
        target = drawn.scale.to_b(drawn.target)
        bounds.append(attempts_needed(drawn.frozen.theta, target, drawn.scale, tolerance))
    met = [(end, off, covered) for end, off, covered in ends if end.status == "filled"]
    off = np.array([each[1] for each in met])

    def mean(values: Sequence[float]) -> float:
        return float(np.mean(values)) if len(values) else math.nan

    name = (
        strategy.name
        if not isinstance(strategy, Fixed)
        else f"fixed k={strategy.attempts} tau={strategy.tau}"
    )
    return Row(
        method=name if confirm or not strategy.confirms else f"{name}, not confirmed",
        setting=setting,
        searches=searches,
        met=len(met) / searches,
        true_deviation=mean(off),
        true_se=float(off.std(ddof=1) / math.sqrt(len(off))) if len(off) > 1 else math.nan,
        claimed=mean([each[0].claimed or 0.0 for each in met]),
        coverage90=mean([each[2] for each in met]),
        attempts=mean([each[0].attempts for each in met]),
        fresh=mean([each[0].fresh for each in met]),
        bound=mean(bounds),
        rounds=mean([each[0].rounds for each in met]),
        candidates=mean([each[0].candidates for each in met]),
        refusals=mean([each[0].refusals for each in met]),
    )


def frontier(searches: int, seed: int) -> Iterator[Row]:
    """BenchFill by so many searches, the grid of `fixed` by two thirds of them."""
    fewer = max(2, 2 * searches // 3)
    for width in (6.0, 4.0, 8.0):
        setting = f"12 models, axis {width:g} logits"
        world: dict[str, Any] = {"models": 12, "width": width}
        yield run_many(Adaptive(), setting, searches=searches, seed=seed, **world)
        for k in (16, 32, 64, 96, 128):
            for tau in (0.01,) if width != 6.0 else (0.005, 0.01, 0.02):
                yield run_many(Fixed(k, tau), setting, searches=fewer, seed=seed, **world)
    for models, ks in ((6, (64, 128, 256)), (30, (13, 26, 52))):
        setting = f"{models} models, axis 6 logits"
        yield run_many(Adaptive(), setting, searches=fewer, seed=seed, models=models)
        for k in ks:
            yield run_many(Fixed(k, 0.01), setting, searches=fewer, seed=seed, models=models)


def rewriters(searches: int, seed: int) -> Iterator[Row]:
    for name, rewriter in MISSPECIFIED.items():
        for confirm in (True, False):
            yield run_many(Adaptive(), name, searches=searches, seed=seed, confirm=confirm, rewriter=rewriter)
    for misfit in (0.5, 1.0):
        yield run_many(Adaptive(), f"misfit {misfit:g} logits", searches=searches, seed=seed, misfit=misfit)


def costs(searches: int, seed: int) -> Iterator[Row]:
    for tolerance in (0.03, 0.02, 0.015, 0.01, 0.007):
        setting = f"tolerance {tolerance:g}"
        yield run_many(Adaptive(), setting, searches=searches, seed=seed, tolerance=tolerance)
    for models in (6, 12, 30):
        yield run_many(Adaptive(), f"{models} models", searches=searches, seed=seed, models=models)
    for calibration in (60, 240, 960):
        setting = f"pool fitted on {calibration} answers a model"
        yield run_many(Adaptive(), setting, searches=searches, seed=seed, calibration=calibration)
    for near in (0.02, 0.05, 0.1, 0.2):
        setting = f"rewriter's spread {near:g}"
        yield run_many(Adaptive(), setting, searches=searches, seed=seed, rewriter=Rewriter(near=near))


PARTS = {"frontier": frontier, "rewriters": rewriters, "costs": costs}
COLUMNS = ("setting", "method", "met", "true deviation", "claimed", "covered", "attempts", "of these fresh",
           "over the bound", "candidates")  # fmt: skip


def line(row: Row) -> str:
    """A row of the table in Markdown."""
    cells = [
        row.setting, row.method, f"{row.met:.3f}", f"{row.true_deviation:.4f} ± {row.true_se:.4f}",
        f"{row.claimed:.4f}", f"{row.coverage90:.3f}", f"{row.attempts:,.0f}", f"{row.fresh:,.0f}",
        f"{row.over_bound:.1f}", f"{row.candidates:.1f}",
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=sorted(PARTS))
    parser.add_argument("--searches", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    print(
        f"Simulated, {options.searches} searches a row, seed {options.seed}, tolerance {TOLERANCE} unless said.\n"
    )
    print("| " + " | ".join(COLUMNS) + " |")
    print("|" + " --- |" * len(COLUMNS))
    rows, began = [], time.monotonic()
    for row in PARTS[options.part](options.searches, options.seed):
        rows.append(row)
        print(line(row), flush=True)
    print(f"{time.monotonic() - began:.0f} s", file=sys.stderr)
    if options.out:
        options.out.write_text(json.dumps([asdict(row) for row in rows], indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
