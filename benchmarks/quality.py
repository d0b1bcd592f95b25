"""Tables of docs/quality.md: quality of seven public benchmarks, and subsets of items beside random ones.

python -m benchmarks.quality --shared ../shared
python -m benchmarks.quality --shared ../shared --only fisher
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

MATRICES, BLOCKS = "data/matrices", "data/psn_irt"
DOMAIN = {
    "AIME24": "noises_highk_temp0.7__aime2024_cot",
    "MATH-500": "noises_highk_temp0.7__math500_cot",
    "GPQA": "noises_lowk_temp0.7__gpqa_cot",
    "JEEBench": "noises_lowk_temp0.7__jeebench_chat_cot",
    "GMAT": "noises_lowk_temp0.7__gmat_cot",
    "LSAT": "noises_lowk_temp0.7__lsat_cot",
    "GRE physics": "noises_lowk_temp0.7__gre_physics_cot",
}
# As arXiv 2601.03986 prints them, for 11 models of its own.
PRINTED = {"AIME24": {"ds": 0.74, "cad": 0.92, "bqs": 0.79}, "MATH-500": {"ds": 0.16, "bqs": 0.55}}
FIGURES = ("cbrc", "ds", "cad", "bqs", "stability")
MEASURES = ("tau", "tau_top", "se_top", "error_top", "stability", "held_out_models", "held_out_attempts")
# Log, share or number kept, and the rules: method and models of interest.
RULES = (("cad-ds", None), ("fisher", None), ("fisher", 10), ("quantile", None))
SUBSETS = (("AIME24", 0.35, RULES), ("MATH-500", 0.35, RULES))
FISHER = (("fisher", 1), ("fisher", 5), ("fisher", None), ("quantile", 5))


def table(headers: tuple[str, ...], rows: list[list[str]]) -> str:
    lines = [headers, ("---",) * len(headers), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def read_domain(shared: Path) -> dict[str, Any]:
    from benchfill.commands.benchmark_logs import read_benchmark
    from benchfill.logs.importing import ImportOptions

    return {
        name: read_benchmark([shared / MATRICES / folder / "responses_long.csv.gz"], ImportOptions())
        for name, folder in DOMAIN.items()
    }


def quality_tables(found: dict[str, Any], seed: int) -> None:
    from benchfill.calibration.benchmark_quality import benchmark_qualities
    from benchfill.commands.benchmark_logs import merge_families

    began, used = time.perf_counter(), time.process_time()
    common = set.intersection(*(set(each.log.models) for each in found.values()))
    logs = {name: each.log.select_models(common) for name, each in found.items()}
    qualities, _ = benchmark_qualities(logs, merge_families(found), seed=seed)
    rows = []
    for each in qualities:
        cells = []
        for name in FIGURES:
            estimate = getattr(each, name)
            printed = PRINTED.get(each.name, {}).get(name)
            said = "" if printed is None else f"; printed {printed:.2f}"
            cells.append(f"{estimate.value:.2f} [{estimate.lo95:.2f}, {estimate.hi95:.2f}]{said}")
        cells.insert(3, f"{each.expected_cad:.2f}")
        rows.append([each.name, f"{len(each.log.items)}", f"{each.scores.mean():.3f}", *cells])
    headers = (
        "benchmark",
        "items",
        "mean score",
        "CBRC",
        "DS",
        "CAD",
        "CAD under the 1PL",
        "BQS",
        "stability",
    )
    print(table(headers, rows))
    print(
        f"\n{len(common)} shared models, {len(qualities[0].pairs)} ladder pairs; "
        f"{time.process_time() - used:.1f} s of processor, {time.perf_counter() - began:.1f} s of wall clock\n"
    )
    spread_tables(logs)
    ladder_table(logs, merge_families(found))


def spread_tables(logs: dict[str, Any]) -> None:
    """DS by the models it is taken over, where the paper prints one."""
    from benchfill.calibration.benchmark_quality import discriminability
    from benchfill.calibration.ranking import mean_success

    rows = []
    for name in PRINTED:
        scores = mean_success(logs[name])
        order = np.argsort(scores)
        for label, part in (
            ("all", order),
            ("upper half", order[len(order) // 2 :]),
            ("best 11", order[-11:]),
        ):
            ds, share = discriminability(scores[part], 0.02)
            relative = scores[part].std() / scores[part].mean()
            rows.append(
                [name, label, f"{scores[part].mean():.3f}", f"{relative:.2f}", f"{share:.2f}", f"{ds:.2f}"]
            )
    print(table(("benchmark", "models", "mean score", "sigma / mean", "pairs told apart", "DS"), rows), "\n")


def ladder_table(logs: dict[str, Any], families: dict[str, tuple[str, float | None]]) -> None:
    """CAD by how far apart the sizes of a pair are."""
    from benchfill.calibration.ladders import inversions, ladder_pairs
    from benchfill.calibration.prefit import success_rates

    rows = []
    for name in PRINTED:
        log = logs[name]
        for least in (1.0, 3.0, 8.0):
            pairs = [
                pair
                for pair in ladder_pairs(log.models, families)
                if (families[pair[0]][1] or 0.0) >= least * (families[pair[1]][1] or 1.0)
            ]
            mean = inversions(success_rates(log), log.models, pairs).mean or 0.0
            rows.append([name, f"{least:g}", str(len(pairs)), f"{mean:.4f}", f"{np.exp(-12.0 * mean):.2f}"])
    print(table(("benchmark", "larger by at least", "pairs", "mean inversion", "CAD"), rows), "\n")


def subset_rows(
    name: str, log: Any, families: Any, keep: int, rules: Any, seed: int, subsets: int
) -> list[list[str]]:
    from benchfill.calibration.item_subsets import Chooser
    from benchfill.calibration.subset_trial import try_subset

    rows = []
    for method, top in rules:
        used = time.process_time()
        found = try_subset(log, Chooser(method, keep, families, top), subsets=subsets, seed=seed)
        cells = []
        for measure in MEASURES:
            each = found.figures[measure]
            mark = {"better": " **+**", "worse": " **-**"}.get(each.verdict or "", "")
            cells.append(
                "-"
                if each.value is None
                else f"{each.value:.3f}{mark}; {each.median:.3f} [{each.lo95:.3f}, {each.hi95:.3f}]"
            )
        interest = "all" if top is None else f"top {top}"
        rows.append([name, f"{keep:,}", method, interest, *cells, f"{time.process_time() - used:.0f}"])
        print(table(("",) * len(rows[-1]), [rows[-1]]).splitlines()[-1], flush=True)
    return rows


def coverage_table(repeats: int, seed: int) -> None:
    """How often the 95 % intervals hold the truth: simulated pairs of benchmarks, 20 models on five ladders."""
    from scipy.special import expit

    from benchfill.calibration.benchmark_quality import QualityRules, benchmark_qualities, discriminability
    from benchfill.calibration.ladders import inversions
    from benchfill.calibration.ranking import tau_b
    from benchfill.calibration.response_log import ResponseLog

    models = tuple(f"m{at:02d}" for at in range(20))
    families = {model: (f"f{at // 4}", float(1 + at % 4)) for at, model in enumerate(models)}
    rules, every = QualityRules(draws=400), np.random.default_rng(seed).standard_normal(20_000)
    rows = []
    for items, attempts in ((30, 1), (30, 20), (100, 1), (500, 5)):
        generator = np.random.default_rng([seed, items, attempts])
        held = np.zeros((repeats, 4))
        for repeat in range(repeats):
            base, logs, truth = generator.normal(0.0, 1.2, 20), {}, {}
            for name, size in (("A", items), ("B", 200)):
                theta = (base + generator.normal(0.0, 0.3, 20))[:, None]
                truth[name] = expit(theta - 1.5 * every)
                right = generator.binomial(attempts, expit(theta - 1.5 * generator.standard_normal(size)))
                ids = tuple(f"{name}{at:04d}" for at in range(size))
                logs[name] = ResponseLog(models, ids, right, np.full(right.shape, attempts))
            (found, _), _ = benchmark_qualities(logs, families, rules, seed=repeat)
            scores = truth["A"].mean(axis=1)
            tau = float(tau_b(scores, truth["B"].mean(axis=1)))
            ds = float(discriminability(scores, rules.epsilon)[0])
            cad = float(np.exp(-12.0 * (inversions(truth["A"], models, found.pairs).mean or 0.0)))
            wanted = (tau, ds, cad, 0.3 * tau + 0.3 * ds + 0.4 * cad)
            for at, name in enumerate(FIGURES[:4]):
                estimate = getattr(found, name)
                held[repeat, at] = estimate.lo95 <= wanted[at] <= estimate.hi95
        rows.append([str(items), str(attempts), *(f"{each:.2f}" for each in held.mean(axis=0))])
        print(table(("",) * 6, rows[-1:]).splitlines()[-1], flush=True)
    print(table(("items", "attempts", "CBRC", "DS", "CAD", "BQS"), rows))


def print_patterns(log: Any, rules: Any) -> None:
    """How many response patterns a thousand items chosen by information show."""
    from benchfill.calibration.item_subsets import Chooser
    from benchfill.calibration.patterns import group_patterns

    print(f"\npatterns: {group_patterns(log).size.size:,} of all {len(log.items):,} items")
    for method, top in rules:
        part = log.select_items(Chooser(method, 1000, {}, top)(log))
        size = np.sort(group_patterns(part).size)[::-1]
        blocks = Counter(item.split("/")[0] for item in part.items).most_common(4)
        print(
            f"{method}, {top or 'all'} of interest: {size.size} patterns, the most frequent {size[0]:.0f}; {blocks}"
        )


def print_authors(log: Any, folder: Path, keep: int) -> None:
    """The choice by the authors' own curves at their highest ability, and the order of all models by it."""
    import gzip

    from benchfill.calibration.item_curves import ItemCurves
    from benchfill.calibration.item_subsets import Chooser
    from benchfill.calibration.ranking import mean_success, tau_b

    rows: dict[str, list[float]] = {}
    for path in sorted(folder.glob("*_item_params.csv.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for row in csv.DictReader(lines):
                names = ("difficulty", "discrimination", "guessing", "feasibility")
                rows[row["item_id"]] = [float(row[name]) for name in names]
    b, a, c, d = np.array([rows[item] for item in log.items]).T
    with (folder / "student_abilities.csv").open(encoding="utf-8") as lines:
        theta = np.array([float(row["ability"]) for row in csv.DictReader(lines)])
    curves = ItemCurves(log.models, log.items, theta, np.ones(theta.size), b, a, c, d)
    whole = mean_success(log)
    for top in (1, 5, None):
        kept = Chooser("fisher", keep, top=top)(log, curves)
        tau = float(tau_b(mean_success(log.select_items(kept)), whole))
        print(f"authors' curves, {top or 'all'} of interest, top {keep:,}: tau {tau:.3f}")


def main() -> None:
    from benchfill.calibration.pruning import kept_count
    from benchfill.commands.benchmark_logs import merge_families, read_benchmark
    from benchfill.logs.importing import ImportOptions

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shared", type=Path, default=Path(os.environ.get("BENCHFILL_SHARED", "../shared")))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--subsets", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=100, help="Simulated pairs of benchmarks.")
    parser.add_argument("--only", choices=("quality", "subsets", "fisher", "coverage"))
    options = parser.parse_args()
    if options.only in (None, "coverage"):
        coverage_table(options.repeats, options.seed)
    headers = ("log", "kept", "by", "of interest", *MEASURES, "s")
    if options.only in (None, "quality", "subsets"):
        found = read_domain(options.shared)
        if options.only != "subsets":
            quality_tables(found, options.seed)
        if options.only != "quality":
            print(table(headers, []))
            for name, share, rules in SUBSETS:
                log = found[name].log
                keep = kept_count(share, len(log.items))
                subset_rows(name, log, merge_families(found), keep, rules, options.seed, options.subsets)
    if options.only in (None, "fisher"):
        blocks = sorted((options.shared / BLOCKS).glob("*_wide.csv.gz"))
        log = read_benchmark(blocks, ImportOptions()).log
        print(f"\n{table(headers, [])}")
        subset_rows("12 models x 11 blocks", log, {}, 1000, FISHER, options.seed, options.subsets)
        print_patterns(log, FISHER)
        print_authors(log, options.shared / BLOCKS, 1000)


if __name__ == "__main__":
    main()
