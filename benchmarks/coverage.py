"""How often do the 90 % intervals hold the truth? Simulated logs with known difficulties.

    python -m benchmarks.coverage --replicates 400 --jobs 2

Per design and density of difficulties: the share of intervals of b (which is that of z on the frozen axis, a linear
map) that hold the true value, pooled over items, censored items apart; and the shares for DDM, Max Gap and top-5 sum of
the true item set on the frozen axis, under the learned shape as in a report and, beside it, with all difficulties drawn
under the normal prior of the fit. ``point`` is how often the figure of the point estimates lies in its own interval.
"""

from __future__ import annotations

import argparse
import itertools
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.conditionals import conditionals_of
from benchfill.calibration.figures import GAP_LIMIT, SHAPE_LIMIT, item_sets, typical_sd
from benchfill.calibration.measure import ddm, max_gap, top_k_gap_sum
from benchfill.calibration.scale import Scale, minmax_scale
from benchmarks.designs import Design, draw, fit_with_draws, in_parallel

DRAWS = 100


def figures_of(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """DDM, Max Gap and top-5 sum of one item set."""
    return np.array([ddm(z), max_gap(z), top_k_gap_sum(z, 5)])


def judge(design: Design) -> dict[str, Any]:
    """One log: how many intervals hold the truth."""
    drawn = draw(design)
    fit = fit_with_draws(drawn.log, design.seed)
    scale = minmax_scale(fit)
    held = (fit.b_lo90 <= drawn.b) & (drawn.b <= fit.b_hi90)
    true, point = figures_of(scale.to_z(drawn.b)), figures_of(scale.to_z(fit.b))
    conditionals = conditionals_of(fit, drawn.log, draws=DRAWS)
    generator = np.random.default_rng(design.seed)
    lo, median, hi = _interval(item_sets(conditionals, DRAWS, design.seed), scale)
    normal_lo, _, normal_hi = _interval((given.draw(generator) for given in conditionals), scale)
    sd, sigma_b = typical_sd(fit, conditionals)
    return {
        "engine": fit.engine,
        "passed": bool(fit.gate.passed),
        "items": (int((~fit.censored).sum()), int(held[~fit.censored].sum())),
        "censored": (int(fit.censored.sum()), int(held[fit.censored].sum())),
        "figures": ((lo <= true) & (true <= hi)).tolist(),
        "normal": ((normal_lo <= true) & (true <= normal_hi)).tolist(),
        "point": bool(lo[1] <= point[1] <= hi[1]),
        "warned": bool(sd / sigma_b > SHAPE_LIMIT or sd / scale.width / median[1] > GAP_LIMIT),
    }


def _interval(sets: Iterable[NDArray[np.float64]], scale: Scale) -> NDArray[np.float64]:
    """5, 50 and 95 % quantiles of the figures, at places that make the next draw fall inside in exactly 90 %."""
    return np.quantile([figures_of(scale.to_z(b)) for b in sets], [0.05, 0.5, 0.95], axis=0, method="weibull")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replicates", type=int, default=400)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0, help="of the first replicate")
    parser.add_argument("--items", type=int, nargs="+", default=[40, 500])
    parser.add_argument("--attempts", type=int, nargs="+", default=[1, 16, 64])
    parser.add_argument(
        "--densities", nargs="+", default=["normal", "uniform", "bimodal", "skew", "heavy-tailed"]
    )
    parser.add_argument("--keep", type=Path, help="file of results: a stopped run goes on from it")
    asked = parser.parse_args()
    seeds = range(asked.seed, asked.seed + asked.replicates)
    designs = [
        Design(12, items, attempts, density, seed)
        for seed, items, attempts, density in itertools.product(
            seeds, asked.items, asked.attempts, asked.densities
        )
    ]
    table: dict[tuple[int, int, int, str], list[dict[str, Any]]] = defaultdict(list)
    for design, found in in_parallel(judge, designs, asked.jobs, asked.keep):
        table[design.name].append(found)
    columns = ["design", "density", "logs", "b and z", "censored items"]
    columns += ["DDM", "Max Gap", "top-5", "normal: DDM", "Max Gap", "top-5", "point Max Gap", "warned"]
    print("| " + " | ".join(columns) + " |")
    print("| --- " * len(columns) + "|")
    for name in sorted(table):
        models, items, attempts, density = name
        rows = table[name]
        kinds = [np.sum([row[kind] for row in rows], axis=0) for kind in ("items", "censored")]
        shares = ["-" if not count else _percent(held / count) for count, held in kinds]
        for kind in ("figures", "normal"):
            shares += [_percent(each) for each in np.mean([row[kind] for row in rows], axis=0)]
        shares += [_percent(np.mean([row[kind] for row in rows])) for kind in ("point", "warned")]
        print(f"| {models} x {items} x {attempts} | {density} | {len(rows)} | " + " | ".join(shares) + " |")
    refits = [row for rows in table.values() for row in rows if row["engine"] == "nuts"]
    failed = sum(not row["passed"] for row in refits)
    print(
        f"\nFitted with laplace; {len(refits)} of {len(designs)} logs needed nuts, {failed} failed its gate too."
    )


def _percent(share: float) -> str:
    return f"{100.0 * share:.1f} %"


if __name__ == "__main__":
    main()
