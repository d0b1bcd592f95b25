"""A gain confined to the widest gap of the simulated sample: unseen by its items, seen once one was searched for it.

    python -m benchmarks.simulated_detection --seeds 40

For each seed the widest gap of the sample benchmark is searched (decisions of a run, answers of the world). A
respondent's success is then raised by 0.4 on every item that TRULY lies inside the gap, and nowhere else: of the sample
on none. Both tests of a gain run on logs before and after: on the items of the sample, and with the accepted item, at
its reported place, beside them. Everything is simulated.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from benchfill.calibration.power import simulated_power
from benchfill.calibration.search_loop import History, search_gap
from benchfill.calibration.strategy import Adaptive
from benchfill.graph.ablation import Ablation
from benchfill.graph.ablation_setup import prepare_ablation
from benchfill.graph.direct import WorkedAnswers
from benchfill.settings import Settings
from benchfill.worlds.simulated.respondents import success_probability

LEVEL = 0.05


def powers(ablation: Ablation, seed: int, *, attempts: int, lift: float, pairs: int) -> list[float] | None:
    """Share of pairs of logs in which each test rejects: mean and scan on the sample, the same with the new item."""
    gap = ablation.gaps[0]
    source = ablation._source(seed, 1, references=ablation.settings.references)
    end = search_gap(
        source, gap, ablation._rules(Adaptive()), ablation.frozen, History(dict(ablation.places))
    )
    if end.accepted is None or end.z is None:
        return None
    new = source.item(end.accepted)
    items, answers = [*ablation.items, new], WorkedAnswers()
    true = np.array([answers.true_place(item, ablation.frozen, ablation.models) for item in items])
    place = np.array([*(ablation.places[item.id] for item in ablation.items), end.z])
    chances = np.array(
        [[success_probability(model, item.question) for item in items] for model in ablation.models]
    )
    # The respondent whose success on the new item leaves most room on both sides of the lifted one.
    p = chances[int(np.argmin(np.abs(chances[:, -1] - (0.5 - lift / 2))))].astype(float)
    # Between the TRUE places of the items on both sides: an end of the estimated gap may truly lie inside of it.
    lo = true[:-1][place[:-1] <= gap.lo].max()
    hi = true[:-1][place[:-1] >= gap.hi].min()
    after = np.where((true > lo) & (true < hi), np.minimum(1.0, p + lift), p)
    found: list[float] = []
    for chosen in (np.arange(len(items) - 1), np.arange(len(items))):
        order = chosen[np.argsort(place[chosen], kind="stable")]
        rng = np.random.default_rng([seed, len(chosen)])
        found += simulated_power(p[order], after[order], attempts, level=LEVEL, simulations=pairs, rng=rng)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--pairs", type=int, default=50, help="pairs of logs a seed")
    parser.add_argument("--attempts", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--lift", type=float, default=0.4)
    options = parser.parse_args()
    started = time.process_time()
    ablation = prepare_ablation(
        world="simulated", items=None, responses=None, bank_items=None, bank_responses=None, gaps=1,
        settings=Settings(), fixed_attempts=16, fixed_tau=0.01,
    )  # fmt: skip
    print(
        f"| attempts before and after (simulated, lift {options.lift:g}) | seeds | sample, mean | scan "
        "| with one item, mean | scan |"
    )
    print("|" + " --- |" * 6)
    for attempts in options.attempts:
        rows = [
            powers(ablation, seed, attempts=attempts, lift=options.lift, pairs=options.pairs)
            for seed in range(1, options.seeds + 1)
        ]
        found = np.array([row for row in rows if row is not None])
        cells = " | ".join(f"{value:.3f}" for value in found.mean(axis=0))
        print(f"| {attempts} | {len(found)} of {len(rows)} | {cells} |", flush=True)
    print(f"\n{time.process_time() - started:.0f} CPU seconds")


if __name__ == "__main__":
    main()
