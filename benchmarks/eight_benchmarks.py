"""The paper's table over eight simulated benchmarks of 30 to 250 items: how far are the widest gaps closed, truly?

    python -m benchmarks.eight_benchmarks --seeds 4 --keep FILE
    python -m benchmarks.eight_benchmarks --seeds 4 --keep FILE --growth 0.5

Benchmarks in the language of the simulated world, of eight sizes and five shapes, with 64 attempts of each respondent.
Every method fills the three widest gaps; the new items count at their TRUE places. Beside the baseline of `ablate`,
which gets the candidates and attempts that BenchFill took, stands the one of arXiv 2610.29927: the fixed batch loop
with its own rule and limits, parents drawn uniformly, no references. ``--growth``: the rewriter's aim scatters by this
share of the distance of its parent. Then, how far it misses by that distance, with references and without.
Everything is simulated.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from benchfill.calibration.search_loop import Counts, History, Rules, Written, search_gap
from benchfill.calibration.strategy import Fixed
from benchfill.graph.ablation import METHODS, Ablation, MethodSummary, SearchRecord, summarise_methods
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
# The baseline by the stopping rule and within the limits of the fixed batch loop.
BY_ITS_RULE = "baseline, its own rule"
SHOWN = (*METHODS[:3], BY_ITS_RULE)


def made(size: int, density: str, growth: float) -> Ablation:
    rng = np.random.default_rng([size, 7])
    ends = round(AT_THE_ENDS * size)
    places = np.sort(
        np.concatenate(
            [places_of(density, size - ends, rng), rng.uniform(0, 0.12, ends // 2),
             rng.uniform(0.88, 1, ends - ends // 2)]
        )
    )  # fmt: skip
    config = {**CONFIG, "settings": {"aim_growth": growth}}
    return ablation_of(made_benchmark("made", places, ATTEMPTS, rng), config, gaps=3, settings=Settings())


def source_of(ablation: Ablation, *, seed: int, gap: int, references: int) -> DirectSource:
    world = make_world(ablation.config)
    return DirectSource(
        world=world, answers=answers_of(world), prompts=PromptBook(), models=ablation.models, seed=seed, gap=gap,
        originals={item.id: item for item in ablation.items}, target=ablation.gaps[gap - 1].target,
        references=references,
    )  # fmt: skip


@dataclass(frozen=True)
class UniformParents:
    """A source that rewrites items of the benchmark drawn uniformly, whichever are asked for."""

    source: DirectSource
    rng: np.random.Generator

    def write(self, round: int, parents: Sequence[str], known: dict[str, float]) -> list[Written]:
        names = sorted(self.source.originals)
        return self.source.write(round, [names[self.rng.integers(len(names))] for _ in parents], known)

    def answer(self, candidate: str, first: int, stop: int) -> Counts:
        return self.source.answer(candidate, first, stop)


def by_its_rule(ablation: Ablation, seed: int) -> list[SearchRecord]:
    """The baseline by the fixed batch loop: k attempts a candidate, the first estimate within tau ends the search."""
    found = []
    fixed = Fixed(ablation.fixed_attempts, ablation.fixed_tau)
    rules = Rules(fixed, ablation.settings.candidates, ablation.settings.rounds)
    for number, gap in enumerate(ablation.gaps, start=1):
        source = source_of(ablation, seed=seed, gap=number, references=0)
        uniform = UniformParents(source, np.random.default_rng([seed, number, 5]))
        end = search_gap(uniform, gap, rules, ablation.frozen, History(dict(ablation.places)))
        true = None
        if end.accepted is not None:
            true = source.answers.true_place(source.item(end.accepted), ablation.frozen, ablation.models)
        found.append(
            SearchRecord(
                BY_ITS_RULE, seed, number, end.status, true, None if true is None else abs(true - gap.target),
                end.claimed, None, end.attempts, 1, end.candidates, wrong_key=False,
            )
        )  # fmt: skip
    return found


def summarise_all(places: Sequence[float], records: Sequence[SearchRecord]) -> dict[str, MethodSummary]:
    """Of the methods of `ablate` and the baseline by its own rule."""
    known = [each for each in records if each.method in METHODS]
    own = [replace(each, method="baseline") for each in records if each.method == BY_ITS_RULE]
    return {**summarise_methods(places, known), BY_ITS_RULE: summarise_methods(places, own)["baseline"]}


def share_of_gap(ablation: Ablation, record: SearchRecord) -> float:
    """What the item takes off its gap, over what the oracle takes: half of it."""
    gap = ablation.gaps[record.gap - 1]
    if record.true_z is None or not gap.lo < record.true_z < gap.hi:
        return 0.0
    return (gap.hi - gap.lo - max(record.true_z - gap.lo, gap.hi - record.true_z)) / ((gap.hi - gap.lo) / 2)


def misses(ablation: Ablation, references: int, seed: int) -> list[tuple[float, float]]:
    """Distance of the parent from the target, and true miss, of candidates from parents all over the axis."""
    target = ablation.gaps[0].target
    source = source_of(ablation, seed=seed, gap=1, references=references)
    parents = sorted(ablation.places)
    found = []
    for written in source.write(1, parents, History(dict(ablation.places)).originals):
        true = source.answers.true_place(source.item(written.id), ablation.frozen, MODELS)
        found.append((abs(ablation.places[written.parent] - target), true - target))
    return found


def searched(
    ablation: Ablation, seeds: int, known: list[SearchRecord]
) -> tuple[list[SearchRecord], list[SearchRecord]]:
    """All records of these seeds, and those that were not known."""
    new: list[SearchRecord] = []
    for seed in range(1, seeds + 1):
        if not any(each.seed == seed for each in known):
            new += [*ablation.run_seed(seed), *by_its_rule(ablation, seed)]
    return [each for each in known if each.seed <= seeds] + new, new


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--sizes", type=int, nargs="*", default=[size for size, _ in SIZES])
    parser.add_argument("--growth", type=float, default=0.0)
    parser.add_argument("--keep", type=Path, help="file of results: a stopped run goes on from it")
    options = parser.parse_args()
    started = time.process_time()
    kept: dict[tuple[int, float], list[SearchRecord]] = {}
    if options.keep and options.keep.exists():
        for text in options.keep.read_text(encoding="utf-8").splitlines():
            size, growth, record = json.loads(text)
            kept.setdefault((size, growth), []).append(SearchRecord(**record))
    print("| items, shape (simulated) | widths of the gaps | method | top-3 reduction | of the oracle's "
          "| true deviation | claimed | within tolerance | attempts |")  # fmt: skip
    print("|" + " --- |" * 9)
    shares: dict[tuple[str, bool], list[float]] = {}
    sums: dict[str, list[float]] = {}
    for size, density in SIZES:
        if size not in options.sizes:
            continue
        ablation = made(size, density, options.growth)
        records, new = searched(ablation, options.seeds, kept.get((size, options.growth), []))
        if options.keep:
            with options.keep.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps([size, options.growth, asdict(each)]) + "\n" for each in new)
        summary = summarise_all(list(ablation.places.values()), records)
        widths = ", ".join(f"{gap.hi - gap.lo:.3f}" for gap in ablation.gaps)
        oracle = summary["oracle"].reduction
        print(f"| {size}, {density} | {widths} | oracle | {100 * oracle:.1f} % | | | | | |", flush=True)
        sums.setdefault("oracle", []).append(oracle)
        for method in SHOWN:
            row = summary[method]
            sums.setdefault(method, []).append(row.reduction)
            print(
                f"| {size}, {density} | | {method} | {100 * row.reduction:.1f} % | "
                f"{100 * row.reduction / oracle:.1f} % | {row.true_deviation or 0:.4f} | "
                f"{row.claimed_deviation or 0:.4f} | {row.met} of {row.searches} | {row.attempts:,.0f} |",
                flush=True,
            )
        for each in records:
            wide = ablation.gaps[each.gap - 1].hi - ablation.gaps[each.gap - 1].lo >= WIDE
            shares.setdefault((each.method, wide), []).append(share_of_gap(ablation, each))
    print(
        "\nMean top-3 reduction: "
        + ", ".join(f"{name} {100 * np.mean(each):.1f} %" for name, each in sums.items())
    )
    print(
        "\n| method | gaps >= 0.08: searches, share of the oracle's (a gap each) | narrower: searches, share |"
    )
    print("|" + " --- |" * 3)
    for method in SHOWN:
        cells = []
        for wide in (True, False):
            found = shares.get((method, wide), [])
            cells.append(f"{len(found)}, {100 * np.mean(found):.1f} %" if found else "0")
        print(f"| {method} | {cells[0]} | {cells[1]} |")
    show_misses(options.growth)
    print(f"\n{time.process_time() - started:.0f} CPU seconds")


def show_misses(growth: float) -> None:
    """How far the rewriter misses, by the distance of the parent."""
    print(
        "\n| distance of the parent (z) | with references: items, rms miss, mean | without: items, rms miss, mean |"
    )
    print("|" + " --- |" * 3)
    ablation = made(60, "bimodal", growth)
    both = [[each for seed in (1, 2, 3) for each in misses(ablation, count, seed)] for count in (16, 0)]
    for lo, hi in ((0.0, 0.1), (0.1, 0.2), (0.2, 0.35), (0.35, 0.6)):
        cells = []
        for found in both:
            off = np.array([miss for way, miss in found if lo <= way < hi])
            cells.append(
                f"{off.size}, {np.sqrt(np.mean(off**2)):.4f}, {off.mean():+.4f}" if off.size else "0"
            )
        print(f"| {lo:g} to {hi:g} | {cells[0]} | {cells[1]} |")


if __name__ == "__main__":
    main()
