"""Thousands of simulated searches against the truth: deviation, claim, coverage and attempts.

    python -m benchmarks.search frontier     # BenchFill beside `fixed` over k and tau, axes of 4, 6 and 8 logits
    python -m benchmarks.search pools        # the same for pools of 6 and 30 models
    python -m benchmarks.search rewriters    # rewriters other than assumed
    python -m benchmarks.search costs        # attempts against tolerance, pool, precision of the rewriter
    (--searches N a row, fewer where the row says so; --keep FILE: a stopped run goes on from it; --show: table of
    what the file holds; --svg FILE: picture of the frontier; --only TEXT: rows whose setting or method contains it)

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
from benchmarks.search_picture import Batch, frontier_picture
from benchmarks.search_tables import Ended, Row, share_of_fixed, summarise, table_head, table_line
from benchmarks.search_worlds import MISSPECIFIED, DrawnWorld, Rewriter

TOLERANCE = 0.015
# Items of its rewriter that a search knows of in the second or third gap of a run.
KNOWN, RECORD = 30, ", rewriter known"
# Over k and tau, by the axis in logits: those about as exact as a search, the rest of the frontier, and its other taus.
FIXED: dict[float, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = {
    4.0: ((128, 160, 192, 224), (32, 64, 96, 256), (32, 64, 128, 256)),
    6.0: ((48, 64, 80, 96), (16, 24, 32, 128), (16, 32, 64, 128)),
    8.0: ((32, 48, 56, 64), (8, 16, 24, 96), (8, 16, 32, 64)),
}
TAUS, TAU = (0.005, 0.02), 0.01


@dataclass(frozen=True)
class Cell:
    """A row of a table: one method in one world.

    Parameters
    ----------
    share
        Of the searches asked for.
    limit
        Attempts of one model at one candidate at most.
    """

    setting: str
    strategy: Strategy
    world: dict[str, Any] = field(default_factory=dict)
    tolerance: float = TOLERANCE
    confirm: bool = True
    share: float = 1.0
    limit: int = 256

    @property
    def method(self) -> str:
        if isinstance(self.strategy, Fixed):
            return f"fixed k={self.strategy.attempts} tau={self.strategy.tau:g}"
        return self.strategy.name if self.confirm else f"{self.strategy.name}, not confirmed"


def search_once(cell: Cell, seed: int, number: int) -> Ended:
    """The same seeds for every method: the same pools, gaps and first aims."""
    drawn = DrawnWorld(np.random.default_rng([seed, number]), **cell.world)
    rules = Rules(cell.strategy, confirm=cell.confirm, max_attempts=cell.limit)
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
    """Three axes, each with its frontier of `fixed`."""
    cells = []
    for width, (near, rest, others) in FIXED.items():
        name, world = _axis(width), {"width": width}
        cells.append(Cell(name, Adaptive(), world))
        cells.append(Cell(name + RECORD, Adaptive(), {**world, "known": KNOWN}))
        cells += [Cell(name, Fixed(k, TAU), world) for k in near]
        cells += [Cell(name, Fixed(k, TAU), world, share=0.2) for k in rest]
        cells += [Cell(name, Fixed(k, tau), world, share=0.2) for tau in TAUS for k in others]
    return cells


def _axis(width: float) -> str:
    return f"12 models, axis {width:g} logits"


def _pools() -> list[Cell]:
    cells = []
    for models, ks in ((6, (96, 128, 192, 256)), (30, (20, 26, 38, 52))):
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
    """Beside 12 models, tolerance 0.015, 240 answers a model and a spread of 0.05; the other parts have more."""
    cells = [Cell(f"tolerance {each:g}", Adaptive(), tolerance=each) for each in (0.03, 0.02, 0.01)]
    cells += [
        Cell(f"pool fitted on {answers} answers a model", Adaptive(), {"calibration": answers})
        for answers in (60, 960)
    ]
    cells += [
        Cell(f"at most {each} attempts a model and item", Adaptive(), limit=each) for each in (48, 64, 96)
    ]
    cells += [
        Cell(f"rewriter's spread {near:g}", Adaptive(), {"rewriter": Rewriter(near=near)})
        for near in (0.1, 0.2)
    ]
    # What gaps at the same time do without: a wave knows what was written before it, not what it writes itself.
    return cells + [
        Cell(f"{known} items of the rewriter known", Adaptive(), {"known": known})
        for known in (10, KNOWN, 4 * KNOWN)
    ]


PARTS = {"frontier": _frontier, "pools": _pools, "rewriters": _rewriters, "costs": _costs}
Rows = dict[tuple[str, str], Row]


def show(cells: Sequence[Cell], rows: Rows) -> None:
    """The table of what was searched so far."""
    print(table_head())
    for cell in cells:
        row = rows.get((cell.setting, cell.method))
        if row is None:
            continue
        batches = _batches(cells, rows, cell.setting.removesuffix(RECORD))
        fixed = [(each.attempts, each.row) for each in batches if each.tau == TAU]
        share = share_of_fixed(row, fixed) if isinstance(cell.strategy, Adaptive) else None
        print(table_line(cell.setting, cell.method, row, share))


def _batches(cells: Sequence[Cell], rows: Rows, setting: str) -> list[Batch]:
    return [
        Batch(cell.strategy.attempts, cell.strategy.tau, rows[cell.setting, cell.method])
        for cell in cells
        if isinstance(cell.strategy, Fixed) and cell.setting == setting
        if (cell.setting, cell.method) in rows
    ]


def draw(cells: Sequence[Cell], rows: Rows) -> str:
    """The frontier as SVG."""
    panels = []
    for name in map(_axis, FIXED):
        ours = [("adaptive", name), (f"adaptive{RECORD}", name + RECORD)]
        found = [(what, rows[each, "adaptive"]) for what, each in ours if (each, "adaptive") in rows]
        panels.append((name, _batches(cells, rows, name), found))
    return frontier_picture(panels)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=sorted(PARTS))
    parser.add_argument("--searches", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="file of results: a stopped run goes on from it")
    parser.add_argument("--svg", type=Path, help="file for a picture of the frontier")
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
    rows = {name: summarise(list(found.values())) for name, found in kept.items() if found}
    print(f"Simulated, seed {asked.seed}, tolerance {TOLERANCE} unless said.\n")
    show(cells, rows)
    if asked.svg:
        asked.svg.write_text(draw(cells, rows), encoding="utf-8")


if __name__ == "__main__":
    main()
