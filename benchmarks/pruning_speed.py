"""DDM, gaps and exact pruning of a large benchmark to half: their time, and that the dense table finds nothing better.

    python -m benchmarks.pruning_speed --items 41871

Prunes simulated places of several shapes, untied and tied, to half. ``--dense`` also fills the whole table of the
dynamic programme, one row of ranks at a time, and prints how much lower its cost is (nothing but rounding).
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.measure import ddm, find_gaps
from benchfill.calibration.quantile_matching import quantile_matching
from benchfill.calibration.targets import Beta, Target, Uniform


def shapes(n: int, rng: np.random.Generator) -> dict[str, NDArray[np.float64]]:
    return {
        "normal": rng.normal(0.5, 0.15, n),
        "two clusters": rng.beta(0.3, 0.3, n),
        "skew": rng.exponential(0.15, n),
        "4,000 places": rng.integers(0, 4000, n) / 3999,
    }


def dense(z: NDArray[np.float64], m: int, target: Target) -> float:
    """Least cost by dynamic programming over all (rank, item left out so far)."""
    z = np.sort(z)
    best = np.zeros(z.size - m + 1)
    for k in range(1, m + 1):
        places = z[k - 1 : k + z.size - m]
        best += target.integral_abs(places, np.array((k - 1) / m), np.array(min(k / m, 1.0)))
        np.minimum.accumulate(best, out=best)
    return float(best[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=41_871)
    parser.add_argument("--dense", action="store_true", help="Check against the dense table, too.")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    m = options.items // 2
    print(f"{options.items:,} simulated items to {m:,}; seconds of processor time")
    for name, z in shapes(options.items, np.random.default_rng(options.seed)).items():
        began = time.process_time()
        figures = ddm(z), find_gaps(z)[0].width
        print(
            f"DDM {figures[0]:.4f} and Max Gap {figures[1]:.4f} of {name}: {time.process_time() - began:.3f} s"
        )
    for target in (Uniform(), Beta(2.0, 3.0)):
        for name, z in shapes(options.items, np.random.default_rng(options.seed)).items():
            began = time.process_time()
            _, cost = quantile_matching(z, m, target)
            line = f"{target.name:>10}  {name:>14}  {time.process_time() - began:6.2f} s  W1 {cost:.9f}"
            if options.dense:
                began = time.process_time()
                least = dense(z, m, target)
                line += f"  dense {time.process_time() - began:6.1f} s, lower by {cost - least:+.1e}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
