"""The paper's table over eight simulated benchmarks of 30 to 250 items: how far are the widest gaps closed, truly?

    python -m benchmarks.eight_benchmarks --seeds 4

Benchmarks in the language of the simulated world, of eight sizes and five shapes, with 64 attempts of each respondent.
Every method fills the three widest gaps; the new items count at their TRUE places. Then, how far the simulated rewriter
misses its target by the distance of the parent, with references and without. Everything is simulated.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from benchfill.calibration.search_loop import History
from benchfill.graph.ablation import METHODS, Ablation, SearchRecord, summarise_methods
from benchfill.graph.ablation_setup import ablation_of
from benchfill.graph.direct import DirectSource, answers_of
from benchfill.prompts.render import PromptBook
from benchfill.settings import Settings
from benchfill.worlds.server import make_world
from benchmarks.made_benchmarks import CONFIG, MODELS, made_benchmark, places_of

SIZES = ((30, "normal"), (40, "clumps"), (50, "uniform"), (60, "bimodal"), (80, "skew"), (120, "normal"),
         (180, "clumps"), (250, "uniform"))  # fmt: skip
ATTEMPTS, WIDE = 64, 0.08
# Share of items near the ends of the axis: the widest gaps are then between items that the pool can place.
AT_THE_ENDS = 0.2


def made(size: int, density: str) -> Ablation:
    rng = np.random.default_rng([size, 7])
    ends = round(AT_THE_ENDS * size)
    places = np.sort(
        np.concatenate(
            [places_of(density, size - ends, rng), rng.uniform(0, 0.12, ends // 2),
             rng.uniform(0.88, 1, ends - ends // 2)]
        )
    )  # fmt: skip
    return ablation_of(made_benchmark("made", places, ATTEMPTS, rng), CONFIG, gaps=3, settings=Settings())


def share_of_gap(ablation: Ablation, record: SearchRecord) -> float:
    """What the item takes off its gap, over what the oracle takes: half of it."""
    gap = ablation.gaps[record.gap - 1]
    if record.true_z is None or not gap.lo < record.true_z < gap.hi:
        return 0.0
    return (gap.hi - gap.lo - max(record.true_z - gap.lo, gap.hi - record.true_z)) / ((gap.hi - gap.lo) / 2)


def misses(ablation: Ablation, references: int, seed: int) -> list[tuple[float, float]]:
    """Distance of the parent from the target, and true miss, of candidates from parents all over the axis."""
    target = ablation.gaps[0].target
    world = make_world(ablation.config)
    source = DirectSource(
        world=world, answers=answers_of(world), prompts=PromptBook(), models=ablation.models, seed=seed, gap=1,
        originals={item.id: item for item in ablation.items}, target=target, references=references,
    )  # fmt: skip
    parents = sorted(ablation.places)
    found = []
    for written in source.write(1, parents, History(dict(ablation.places)).originals):
        true = source.answers.true_place(source.item(written.id), ablation.frozen, MODELS)
        found.append((abs(ablation.places[written.parent] - target), true - target))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--sizes", type=int, nargs="*", default=[size for size, _ in SIZES])
    options = parser.parse_args()
    started = time.process_time()
    print("| items, shape (simulated) | widths of the gaps | method | top-3 reduction | of the oracle's "
          "| true deviation | claimed | within tolerance | attempts |")  # fmt: skip
    print("|" + " --- |" * 9)
    shares: dict[tuple[str, bool], list[float]] = {}
    for size, density in SIZES:
        if size not in options.sizes:
            continue
        ablation = made(size, density)
        records = [each for seed in range(1, options.seeds + 1) for each in ablation.run_seed(seed)]
        summary = summarise_methods(list(ablation.places.values()), records)
        widths = ", ".join(f"{gap.hi - gap.lo:.3f}" for gap in ablation.gaps)
        for method in METHODS:
            row = summary[method]
            if method == "oracle":
                print(
                    f"| {size}, {density} | {widths} | oracle | {100 * row.reduction:.1f} % | | | | | |",
                    flush=True,
                )
                continue
            print(
                f"| {size}, {density} | {widths} | {method} | {100 * row.reduction:.1f} % | "
                f"{100 * row.reduction / summary['oracle'].reduction:.1f} % | {row.true_deviation or 0:.4f} | "
                f"{row.claimed_deviation or 0:.4f} | {row.met} of {row.searches} | {row.attempts:,.0f} |"
            )
        for each in records:
            wide = ablation.gaps[each.gap - 1].hi - ablation.gaps[each.gap - 1].lo >= WIDE
            shares.setdefault((each.method, wide), []).append(share_of_gap(ablation, each))
    print(
        "\n| method | gaps >= 0.08: searches, share of the oracle's (a gap each) | narrower: searches, share |"
    )
    print("|" + " --- |" * 3)
    for method in METHODS[:3]:
        cells = []
        for wide in (True, False):
            found = shares.get((method, wide), [])
            cells.append(f"{len(found)}, {100 * np.mean(found):.1f} %" if found else "0")
        print(f"| {method} | {cells[0]} | {cells[1]} |")
    print(
        "\n| distance of the parent (z) | with references: items, rms miss, mean | without: items, rms miss, mean |"
    )
    print("|" + " --- |" * 3)
    ablation = made(60, "bimodal")
    both = [[each for seed in (1, 2, 3) for each in misses(ablation, count, seed)] for count in (16, 0)]
    for lo, hi in ((0.0, 0.1), (0.1, 0.2), (0.2, 0.35), (0.35, 0.6)):
        cells = []
        for found in both:
            off = np.array([miss for way, miss in found if lo <= way < hi])
            cells.append(
                f"{off.size}, {np.sqrt(np.mean(off**2)):.4f}, {off.mean():+.4f}" if off.size else "0"
            )
        print(f"| {lo:g} to {hi:g} | {cells[0]} | {cells[1]} |")
    print(f"\n{time.process_time() - started:.0f} CPU seconds")


if __name__ == "__main__":
    main()
