"""A lift inside a gap: invisible on the original items, found by the window scan once one item lies in the gap.

    python -m benchmarks.detection --shared ../shared --simulations 1000

Reads the AIME 2024 log (50 models, 30 items, 155 to 1,100 attempts a cell), lays its items on the axis, lifts the
success probability by 0.4 inside the widest inner gap and nowhere else, and runs both tests of a gain on simulated logs
from before and after: on the 30 items, and on 31 with one item at the middle of the gap. The simulated model is the
one of the log whose success on the added item would be nearest to one half less half the lift. Everything about the
gain is simulated; the difficulties and the ability are real.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchfill.calibration.fit import fit_1pl
from benchfill.calibration.measure import find_gaps
from benchfill.calibration.power import simulated_power
from benchfill.calibration.scale import minmax_scale
from benchfill.logs.responses import read_responses

LOG = Path("data", "matrices", "noises_highk_temp0.7__aime2024_cot", "responses_long.csv.gz")
LEVEL = 0.05


@dataclass(frozen=True)
class Powers:
    """Share of simulations in which each test rejects at the level of 5 %."""

    gap: tuple[float, float]
    model: str
    attempts: int
    original_mean: float
    original_scan: float
    filled_mean: float
    filled_scan: float


def experiment(
    shared: Path, *, attempts: Sequence[int], simulations: int, seed: int, lift: float = 0.4
) -> list[Powers]:
    """Both tests, without and with the item in the gap, for each number of attempts before and after."""
    fit = fit_1pl(read_responses(shared / LOG).log, engine="mml", seed=seed)
    scale = minmax_scale(fit)
    z = np.sort(scale.to_z(fit.b))
    # At an end of the axis a gap has no neighbour on one side: the experiment is about one between items.
    gap = next(each for each in find_gaps(z) if each.lo > z[0] - 1e-12 and each.hi < z[-1])
    on_target = 1.0 / (1.0 + np.exp(scale.to_b(gap.target) - fit.theta))
    chosen = int(np.argmin(np.abs(on_target - (0.5 - lift / 2.0))))
    theta = float(fit.theta[chosen])
    filled = np.sort(np.append(z, gap.target))
    found = []
    for k in attempts:
        rng = np.random.default_rng([seed, k])
        rates = []
        for places in (z, filled):
            p = 1.0 / (1.0 + np.exp(scale.to_b(places) - theta))
            inside = (places > gap.lo) & (places < gap.hi)
            after = np.where(inside, np.minimum(1.0, p + lift), p)
            rates += simulated_power(p, after, k, level=LEVEL, simulations=simulations, rng=rng)
        found.append(Powers((gap.lo, gap.hi), fit.models[chosen], k, *rates))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--simulations", type=int, default=1000)
    parser.add_argument("--attempts", type=int, nargs="+", default=[4, 16, 64, 256])
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rows = experiment(
        options.shared, attempts=options.attempts, simulations=options.simulations, seed=options.seed
    )
    first = rows[0]
    print(
        f"AIME 2024, gap z {first.gap[0]:.3f} to {first.gap[1]:.3f}, lift 0.4 inside it, model {first.model}"
    )
    print(f"power at level {LEVEL} (simulated, {options.simulations} pairs of logs a row)")
    print("attempts   30 items: mean   scan   31 items: mean   scan")
    for row in rows:
        print(
            f"{row.attempts:8d} {row.original_mean:16.3f} {row.original_scan:6.3f} "
            f"{row.filled_mean:16.3f} {row.filled_scan:6.3f}"
        )


if __name__ == "__main__":
    main()
