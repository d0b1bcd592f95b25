"""How often is a gap that is called resolved no gap, and how often is a planted one found?

    python -m benchmarks.false_gaps --replicates 200 --jobs 2

Of every simulated log the ten widest gaps are judged. A call is wrong when an item truly lies in the middle half of
the gap. A planted gap (0.15 of the axis) is found when a resolved gap holds its midpoint in its middle half.
Rules compared:

- ``p >= 0.95``: p_empty of each gap by itself, the product's rule;
- ``p >= 0.90`` and ``p >= 0.80``: the same with laxer thresholds;
- ``mean p >= 0.95``: gaps in the order of p_empty, as long as their mean p_empty is at least 0.95: by the posterior 5 %
  of the gaps called are wrong (the Bayesian false discovery rate of Newton et al. 2004, Biostatistics 5).
"""

from __future__ import annotations

import argparse
import itertools
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.measure import find_gaps
from benchfill.calibration.resolution import chance_empty
from benchfill.calibration.scale import minmax_scale
from benchmarks.designs import Design, draw, fit_with_draws, in_parallel

TOP = 10
RULES = ("p >= 0.95", "p >= 0.90", "p >= 0.80", "mean p >= 0.95")


def called(p_empty: NDArray[np.float64], rule: str) -> NDArray[np.bool_]:
    """Which gaps a rule calls resolved."""
    if rule.startswith("p "):
        return p_empty >= float(rule.split()[-1])
    order = np.argsort(-p_empty, kind="stable")
    enough = np.cumsum(p_empty[order]) / np.arange(1, p_empty.size + 1) >= 0.95
    found = np.zeros(p_empty.size, dtype=bool)
    found[order[enough]] = True
    return found


def judge(design: Design) -> dict[str, Any]:
    """One log: p_empty of its widest gaps, whether they are empty, and whether they hold the planted gap."""
    drawn = draw(design)
    fit = fit_with_draws(drawn.log, design.seed)
    scale = minmax_scale(fit)
    gaps = find_gaps(scale.to_z(fit.b))[:TOP]
    middles = [np.array([gap.lo + 0.25 * gap.width, gap.hi - 0.25 * gap.width]) for gap in gaps]
    true = scale.to_z(drawn.b)
    planted = None if drawn.planted is None else scale.to_z(sum(drawn.planted) / 2.0)
    return {
        "engine": fit.engine,
        "passed": fit.gate.passed,
        "p_empty": [float(each[0, 1]) for each in chance_empty(fit, drawn.log, scale, middles)],
        "empty": [not bool(((true > lo) & (true < hi)).any()) for lo, hi in middles],
        "planted": [planted is not None and bool(lo < planted < hi) for lo, hi in middles],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replicates", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0, help="of the first replicate")
    parser.add_argument("--items", type=int, nargs="+", default=[30, 100, 300, 500])
    parser.add_argument("--attempts", type=int, nargs="+", default=[1, 4, 16, 64])
    parser.add_argument("--densities", nargs="+", default=["normal", "clumped", "gapped", "gapped-narrow"])
    parser.add_argument("--keep", type=Path, help="file of results: a stopped run goes on from it")
    asked = parser.parse_args()
    seeds = range(asked.seed, asked.seed + asked.replicates)
    # Replicate by replicate, so that a run that is cut short has some of everything.
    designs = [
        Design(12, items, attempts, density, seed)
        for seed, items, attempts, density in itertools.product(
            seeds, asked.items, asked.attempts, asked.densities
        )
    ]
    table: dict[tuple[int, int, int, str], list[dict[str, Any]]] = defaultdict(list)
    for design, found in in_parallel(judge, designs, asked.jobs, asked.keep):
        table[design.name].append(found)
    print(
        "| design | density | logs | "
        + " | ".join(f"{rule}: called, wrong, planted found" for rule in RULES)
        + " |"
    )
    print("| --- " * (3 + len(RULES)) + "|")
    totals: dict[str, dict[str, NDArray[np.int64]]] = defaultdict(
        lambda: {rule: np.zeros(2, dtype=np.int64) for rule in RULES}
    )
    bins: list[tuple[float, bool]] = []
    for name in sorted(table):
        models, items, attempts, density = name
        cells = []
        for rule in RULES:
            calls = wrong = power = 0
            for found in table[name]:
                chosen = called(np.array(found["p_empty"]), rule)
                calls += int(chosen.sum())
                wrong += int((chosen & ~np.array(found["empty"])).sum())
                power += bool((chosen & np.array(found["planted"])).any())
            totals[density][rule] += calls, wrong
            totals["all"][rule] += calls, wrong
            share = f"{100.0 * power / len(table[name]):.0f} %" if density.startswith("gapped") else "-"
            cells.append(f"{calls}, {wrong}, {share}")
        bins += [pair for found in table[name] for pair in zip(found["p_empty"], found["empty"], strict=True)]
        print(
            f"| {models} x {items} x {attempts} | {density} | {len(table[name])} | "
            + " | ".join(cells)
            + " |"
        )
    for density in [*asked.densities, "all"]:
        sums = [
            f"{calls}, {wrong} ({100.0 * wrong / max(1, calls):.2f} %), -"
            for calls, wrong in totals[density].values()
        ]
        print(f"| all | {density} | | " + " | ".join(sums) + " |")
    print("\nIs p_empty calibrated?\n\n| p_empty | gaps | truly empty |\n| --- | --- | --- |")
    edges = [0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.99, 1.0001]
    for low, high in itertools.pairwise(edges):
        inside = [empty for p, empty in bins if low <= p < high]
        if inside:
            print(f"| {low:.2f} to {min(high, 1.0):.2f} | {len(inside)} | {100.0 * np.mean(inside):.1f} % |")
    refits = [found for each in table.values() for found in each if found["engine"] == "nuts"]
    failed = sum(not found["passed"] for found in refits)
    print(
        f"\nFitted with laplace; {len(refits)} of {len(designs)} logs needed nuts, {failed} failed its gate too."
    )


if __name__ == "__main__":
    main()
