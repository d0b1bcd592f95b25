"""Thousands of simulated searches against the truth: deviation, claim, coverage and attempts.

    python -m benchmarks.search frontier     # BenchFill beside `fixed` over k and tau, axes of 4, 6 and 8 logits
    python -m benchmarks.search pools        # the same for pools of 6 and 30 models
    python -m benchmarks.search rewriters    # rewriters other than assumed
    python -m benchmarks.search costs        # attempts against tolerance, pool, precision of the rewriter
    (--searches N a row, fewer where the row says so; --keep FILE: a stopped run goes on from it; --show: table of
    what the file holds; --only TEXT: rows whose setting or method contains it)

Everything is simulated: drawn abilities, drawn answers, and a drawn rewriter. The decisions are those of a run.
Searches go round the rows, so that a stopped run has about as many of each.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchfill.calibration.online import attempts_needed
from benchfill.calibration.search_loop import Rules, search_gap
from benchfill.calibration.strategy import Adaptive, Fixed, Strategy
from benchmarks.search_worlds import MISSPECIFIED, DrawnWorld, Rewriter

TOLERANCE = 0.015
# Items of its rewriter that a search knows of in the second or third gap of a run.
KNOWN = 30
# One search, as it is kept.
Ended = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """A row of a table: one method in one world.

    Parameters
    ----------
    share
        Of the searches asked for.
    """

    setting: str
    strategy: Strategy
    world: dict[str, Any] = field(default_factory=dict)
    tolerance: float = TOLERANCE
    confirm: bool = True
    share: float = 1.0

    @property
    def method(self) -> str:
        if isinstance(self.strategy, Fixed):
            return f"fixed k={self.strategy.attempts} tau={self.strategy.tau:g}"
        return self.strategy.name if self.confirm else f"{self.strategy.name}, not confirmed"


def search_once(cell: Cell, seed: int, number: int) -> Ended:
    """The same seeds for every method: the same pools, gaps and first aims."""
    drawn = DrawnWorld(np.random.default_rng([seed, number]), **cell.world)
    rules = Rules(cell.strategy, confirm=cell.confirm)
    began = time.process_time()
    end = search_gap(drawn, drawn.goal(cell.tolerance), rules, drawn.frozen, drawn.history())
    true = math.nan if end.accepted is None else drawn.true_z(end.accepted)
    target = drawn.scale.to_b(drawn.target)
    return {
        "status": end.status,
        "off": None if end.accepted is None else abs(true - drawn.target),
        "covered": end.lo90 is not None and end.hi90 is not None and end.lo90 <= true <= end.hi90,
        "claimed": end.claimed,
        "attempts": end.attempts,
        "fresh": end.fresh,
        "bound": attempts_needed(drawn.frozen.theta, target, drawn.scale, cell.tolerance),
        "rounds": end.rounds,
        "candidates": end.candidates,
        "refusals": end.refusals,
        "seconds": time.process_time() - began,
    }


@dataclass(frozen=True)
class Row:
    """Means over the searches that met the tolerance, and how many did.

    Parameters
    ----------
    true_deviation, true_se
        Mean |true z - target| of the accepted items, and its standard error.
    attempts_all
        Mean over all searches, those that did not meet it included.
    low, high
        The 10 % and 90 % quantiles of the attempts of those that did.
    bound
        Least attempts that can tell an item on target to the tolerance (Cramer-Rao); attempts include everything.
    """

    searches: int
    met: float
    true_deviation: float
    true_se: float
    claimed: float
    coverage90: float
    attempts: float
    attempts_all: float
    low: float
    high: float
    fresh: float
    bound: float
    candidates: float
    refusals: float


def summarise(ends: Sequence[Ended]) -> Row:
    met = [end for end in ends if end["status"] == "filled"]
    off = np.array([end["off"] for end in met])

    def mean(name: str, of: Sequence[Ended] = met) -> float:
        return float(np.mean([end[name] for end in of])) if of else math.nan

    spread = np.quantile([end["attempts"] for end in met], [0.1, 0.9]) if met else (math.nan, math.nan)
    return Row(
        searches=len(ends),
        met=len(met) / len(ends),
        true_deviation=mean("off"),
        true_se=float(off.std(ddof=1) / math.sqrt(len(off))) if len(off) > 1 else math.nan,
        claimed=mean("claimed"),
        coverage90=mean("covered"),
        attempts=mean("attempts"),
        attempts_all=mean("attempts", ends),
        low=float(spread[0]),
        high=float(spread[1]),
        fresh=mean("fresh"),
        bound=mean("bound", ends),
        candidates=mean("candidates"),
        refusals=mean("refusals"),
    )


def run_many(
    strategy: Strategy,
    *,
    searches: int,
    seed: int,
    tolerance: float = TOLERANCE,
    confirm: bool = True,
    **world: Any,
) -> Row:
    """One row, straight away."""
    cell = Cell("", strategy, world, tolerance, confirm)
    return summarise([search_once(cell, seed, number) for number in range(searches)])


def _frontier() -> list[Cell]:
    """The axis of 6 logits, and the others and `fixed` in fewer searches."""
    cells = []
    for width, share, ks in ((6.0, 1.0, (48, 80)), (4.0, 0.4, (96, 160)), (8.0, 0.4, (24, 48))):
        name, world = f"12 models, axis {width:g} logits", {"width": width}
        cells.append(Cell(name, Adaptive(), world, share=share))
        cells.append(Cell(f"{name}, rewriter known", Adaptive(), {**world, "known": KNOWN}, share=share))
        cells += [Cell(name, Fixed(k, 0.01), world, share=0.3) for k in ks]
    for k in (16, 32, 128):
        cells.append(Cell("12 models, axis 6 logits", Fixed(k, 0.01), {"width": 6.0}, share=0.05))
    for k in (32, 64):
        for tau in (0.005, 0.02):
            cells.append(Cell("12 models, axis 6 logits", Fixed(k, tau), {"width": 6.0}, share=0.05))
    return cells


def _pools() -> list[Cell]:
    cells = []
    for models, ks in ((6, (64, 96, 128)), (30, (13, 20, 26))):
        name = f"{models} models, axis 6 logits"
        cells.append(Cell(name, Adaptive(), {"models": models}))
        cells += [Cell(name, Fixed(k, 0.01), {"models": models}, share=0.5) for k in ks]
    return cells


def _rewriters() -> list[Cell]:
    cells = [Cell(name, Adaptive(), {"rewriter": each}) for name, each in MISSPECIFIED.items()]
    cells += [Cell(f"misfit {misfit:g} logits", Adaptive(), {"misfit": misfit}) for misfit in (0.5, 1.0)]
    unconfirmed = [name for name in MISSPECIFIED if name == "as assumed" or "never" in name]
    return cells + [
        Cell(name, Adaptive(), {"rewriter": MISSPECIFIED[name]}, confirm=False, share=0.3)
        for name in unconfirmed
    ]


def _costs() -> list[Cell]:
    """What differs from 12 models, tolerance 0.015, 240 answers a model and a spread of 0.05."""
    cells = [Cell(f"tolerance {each:g}", Adaptive(), tolerance=each) for each in (0.03, 0.02, 0.01)]
    cells += [
        Cell(f"pool fitted on {answers} answers a model", Adaptive(), {"calibration": answers})
        for answers in (60, 960)
    ]
    return cells + [
        Cell(f"rewriter's spread {near:g}", Adaptive(), {"rewriter": Rewriter(near=near)})
        for near in (0.1, 0.2)
    ]


PARTS = {"frontier": _frontier, "pools": _pools, "rewriters": _rewriters, "costs": _costs}
COLUMNS = (
    "setting (simulated)", "method", "searches", "met", "true deviation", "claimed", "90 % covers", "attempts",
    "10-90 %", "of these fresh", "over the bound", "candidates", "refusals", "of `fixed`",
)  # fmt: skip


def share_of_fixed(row: Row, fixed: Sequence[Row]) -> float | None:
    """Attempts over those of fixed batches as exact: k in between is interpolated, both figures on a log scale.

    None where the fixed batches are all more, or all less, exact.
    """
    ordered = sorted((each.true_deviation, each.attempts) for each in fixed if each.met)
    if len(ordered) < 2 or not ordered[0][0] <= row.true_deviation <= ordered[-1][0]:
        return None
    deviations, attempts = np.log(np.array(ordered)).T
    # One line through all of them, rather than through two noisy neighbours.
    slope, level = np.polyfit(deviations, attempts, 1)
    return row.attempts / math.exp(level + slope * math.log(row.true_deviation))


def line(cell: Cell, row: Row, share: float | None) -> str:
    """A row of the table in Markdown."""
    cells = [
        cell.setting, cell.method, f"{row.searches:,}", f"{row.met:.3f}",
        f"{row.true_deviation:.4f} ± {row.true_se:.4f}", f"{row.claimed:.4f}", f"{row.coverage90:.3f}",
        f"{row.attempts:,.0f}", f"{row.low:,.0f}-{row.high:,.0f}", f"{row.fresh:,.0f}",
        f"{row.attempts / row.bound:.1f}", f"{row.candidates:.1f}", f"{row.refusals:.2f}",
        "" if share is None else f"{share:.2f}",
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def show(cells: Sequence[Cell], kept: dict[tuple[str, str], dict[int, Ended]]) -> None:
    """The table of what was searched so far."""
    rows = {
        (cell.setting, cell.method): summarise(list(kept[cell.setting, cell.method].values()))
        for cell in cells
        if kept.get((cell.setting, cell.method))
    }
    print("| " + " | ".join(COLUMNS) + " |")
    print("|" + " --- |" * len(COLUMNS))
    for cell in cells:
        row = rows.get((cell.setting, cell.method))
        if row is None:
            continue
        fixed = [
            rows[each.setting, each.method]
            for each in cells
            if isinstance(each.strategy, Fixed) and each.strategy.tau == 0.01
            if cell.setting.startswith(each.setting)
            if (each.setting, each.method) in rows
        ]
        adaptive = isinstance(cell.strategy, Adaptive)
        print(line(cell, row, share_of_fixed(row, fixed) if adaptive else None))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=sorted(PARTS))
    parser.add_argument("--searches", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="file of results: a stopped run goes on from it")
    parser.add_argument("--only", default="", help="rows whose setting or method contains this")
    parser.add_argument("--show", action="store_true", help="search nothing, print what the file holds")
    asked = parser.parse_args()
    cells = [cell for cell in PARTS[asked.part]() if asked.only in f"{cell.setting} {cell.method}"]
    kept: dict[tuple[str, str], dict[int, Ended]] = defaultdict(dict)
    if asked.keep and asked.keep.exists():
        for text in asked.keep.read_text(encoding="utf-8").splitlines():
            setting, method, seed, number, end = json.loads(text)
            if seed == asked.seed:
                kept[setting, method][number] = end
    for number in range(0 if asked.show else asked.searches):
        for cell in cells:
            found = kept[cell.setting, cell.method]
            if number in found or number >= cell.share * asked.searches:
                continue
            found[number] = search_once(cell, asked.seed, number)
            if asked.keep:
                row = [cell.setting, cell.method, asked.seed, number, found[number]]
                with asked.keep.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
    print(f"Simulated, seed {asked.seed}, tolerance {TOLERANCE} unless said.\n")
    show(cells, kept)


if __name__ == "__main__":
    main()
