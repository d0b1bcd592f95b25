"""Is it worth asking whether a gap is there before searching it? Cost and benefit against the simulated truth.

    python -m benchmarks.gap_checks --seeds 12

Benchmarks in the language of the simulated world whose logs have few attempts, so that gaps of the estimates may hold
items. Four ways to spend on the three widest gaps: search them at once; ask again first and search what is widest then;
the same, but only what is resolved then; only what is resolved without asking. Decisions are those of a run, answers
the world's. Everything is simulated.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchfill.calibration.fit import Fit, fit_1pl
from benchfill.calibration.gap_check import GapLook, look_at_gaps, places_after, questions
from benchfill.calibration.measure import Gap, top_k_gap_sum
from benchfill.calibration.new_item_fit import lowest_slope
from benchfill.calibration.response_log import ResponseLog
from benchfill.calibration.scale import Scale, minmax_scale
from benchfill.calibration.search_loop import Frozen
from benchfill.calibration.strategy import GapGoal
from benchfill.errors import BenchfillError
from benchfill.graph.ablation import Ablation, SearchRecord
from benchfill.graph.direct import WorkedAnswers
from benchfill.graph.plan import GapRequest, plan_gaps
from benchfill.item import Item
from benchfill.memory.records import GapRow
from benchfill.settings import SearchSettings
from benchfill.tools.client import derive_seed
from benchmarks.made_benchmarks import CONFIG, MODELS, made_benchmark, places_of

WAYS = ("at once", "ask first", "ask first, resolved only", "resolved only")
GAPS = 3
# Draws of the abilities each search carries.
DRAWS = 60


@dataclass(frozen=True)
class Spent:
    """One benchmark under one way.

    Parameters
    ----------
    searches, empty
        Gaps that were searched, and how many of them have no item truly in their middle half.
    asked, searched
        Answers for asking again, and for the searches.
    before, after
        Sum of the three widest gaps, every item at its TRUE place.
    """

    way: str
    searches: int
    empty: int
    asked: int
    searched: int
    before: float
    after: float


@dataclass(frozen=True)
class Known:
    """What is known of a benchmark: places in the fit, all answers in the log."""

    fit: Fit
    log: ResponseLog
    scale: Scale
    settings: SearchSettings

    def plan(self) -> list[GapRow]:
        return plan_gaps(
            self.places(),
            GapRequest(count=GAPS),
            scale=self.scale,
            theta=self.fit.theta,
            settings=self.settings,
        )

    def places(self) -> list[float]:
        return [float(self.scale.to_z(b)) for b in self.fit.b]

    def look(self, rows: Sequence[GapRow]) -> tuple[GapLook, ...]:
        gaps = [Gap(row.lo, row.hi, row.hi - row.lo, row.target) for row in rows]
        most = self.settings.max_attempts
        return look_at_gaps(self.fit, self.log, self.scale, gaps, theta=self.fit.theta, most=most)


def ask_again(known: Known, items: dict[str, Item], seed: int) -> tuple[Known, int]:
    """Ask as a run does, and what it took."""
    answers, models = WorkedAnswers(), known.log.models
    first = int(known.log.attempts.max())
    expected = sum(row.expected_attempts or 0 for row in known.plan())
    limit, spent = round(known.settings.check_limit * expected), 0
    asked: dict[str, int] = {}
    while True:
        wanted = questions(known.look(known.plan()), asked, models=len(models), left=limit - spent)
        if not wanted:
            return known, spent
        correct, attempts = known.log.correct.copy(), known.log.attempts.copy()
        for item, block in wanted.items():
            at, start = known.log.items.index(item), first + asked.get(item, 0)
            for row, model in enumerate(models):
                seeds = (derive_seed(seed, "respondent", item, model, n) for n in range(start, start + block))
                correct[row, at] += sum(answers.outcome(items[item], model, each) is True for each in seeds)
            attempts[:, at] += block
            asked[item] = asked.get(item, 0) + block
            spent += block * len(models)
        log = ResponseLog(models, known.log.items, correct, attempts)
        names, found = places_after(known.fit, log, wanted)
        b, b_sd = known.fit.b.copy(), known.fit.b_sd.copy()
        at = [log.items.index(name) for name in names]
        b[at], b_sd[at] = found.mean, found.sd
        known = replace(known, fit=replace(known.fit, b=b, b_sd=b_sd), log=log)


def one(density: str, size: int, attempts: int, seed: int, settings: SearchSettings) -> list[Spent]:
    """One simulated benchmark under every way; nothing where its fit fails."""
    rng = np.random.default_rng([seed, size, attempts])
    benchmark = made_benchmark("made", places_of(density, size, rng), attempts, rng)
    try:
        fit = fit_1pl(benchmark.log, engine="laplace", seed=0)
    except BenchfillError:
        return []
    if not fit.gate.passed:
        return []
    scale = minmax_scale(fit)
    step = np.linspace(0, len(fit.theta_draws) - 1, DRAWS).round().astype(int)
    slope = lowest_slope(fit.theta, benchmark.log.correct, benchmark.log.attempts, fit.guessing)
    frozen = Frozen(scale, fit.theta, fit.theta_draws[step], slope)
    items = {item.id: item for item in benchmark.items}
    truth = [WorkedAnswers().true_place(item, frozen, MODELS) for item in benchmark.items]

    done: dict[tuple[GapRow, bool], list[SearchRecord]] = {}

    def search_one(row: GapRow, known: Known) -> list[SearchRecord]:
        # The same gap on the same places is the same search, whichever way comes to it.
        key = row, known is after
        if key not in done:
            ablation = Ablation(
                config=CONFIG,
                items=benchmark.items,
                places=dict(zip(known.fit.items, known.places(), strict=True)),
                models=known.fit.models,
                frozen=frozen,
                gaps=(GapGoal(row.lo, row.hi, row.target, row.tolerance),),
                settings=settings,
            )
            done[key] = ablation.run_seed(seed, ("benchfill",))
        return done[key]

    def search(rows: Sequence[GapRow], known: Known, way: str, asked: int) -> Spent:
        found = [record for row in rows for record in search_one(row, known)]
        added = [each.true_z for each in found if each.true_z is not None]
        return Spent(
            way=way,
            searches=len(rows),
            empty=sum(_is_empty(row, truth) for row in rows),
            asked=asked,
            searched=sum(each.attempts for each in found),
            before=float(top_k_gap_sum(truth, GAPS)),
            after=float(top_k_gap_sum([*truth, *added], GAPS)),
        )

    def resolved(known: Known) -> list[GapRow]:
        rows = known.plan()
        return [row for row, look in zip(rows, known.look(rows), strict=True) if look.resolved]

    known = Known(fit, benchmark.log, scale, settings)
    again, asked = ask_again(known, items, seed)
    after = again if asked else known
    return [
        search(known.plan(), known, WAYS[0], 0),
        search(after.plan(), after, WAYS[1], asked),
        search(resolved(after), after, WAYS[2], asked),
        search(resolved(known), known, WAYS[3], 0),
    ]


def _is_empty(row: GapRow, truth: Sequence[float]) -> bool:
    quarter = (row.hi - row.lo) / 4
    return not any(row.lo + quarter < z < row.hi - quarter for z in truth)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--sizes", type=int, nargs="+", default=[40])
    parser.add_argument("--attempts", type=int, nargs="+", default=[8, 32])
    parser.add_argument("--densities", nargs="+", default=["uniform", "clumps"])
    parser.add_argument("--tolerance", type=float, default=0.02)
    parser.add_argument("--most", type=int, default=128, help="attempts of a model at one item, at most")
    parser.add_argument("--rounds", type=int, default=4)
    options = parser.parse_args()
    settings = SearchSettings(tolerance=options.tolerance, max_attempts=options.most, rounds=options.rounds)
    print("| density, items, attempts, logs (simulated) | way | gaps searched | of these empty | asked again | "
          "searching | reduction of the true top-3 sum | reduction for 1,000 answers |")  # fmt: skip
    print("|" + " --- |" * 8)
    for density in options.densities:
        for size in options.sizes:
            for attempts in options.attempts:
                rows = [
                    row
                    for seed in range(1, options.seeds + 1)
                    for row in one(density, size, attempts, seed, settings)
                ]
                for way in WAYS:
                    print(
                        _line(f"{density}, {size}, {attempts}", [row for row in rows if row.way == way]),
                        flush=True,
                    )


def _line(label: str, rows: Sequence[Spent]) -> str:
    if not rows:
        return f"| {label} | no fit passed its gate | | | | | | |"
    searches, empty = sum(row.searches for row in rows), sum(row.empty for row in rows)
    asked, searched = (float(np.mean([getattr(row, name) for row in rows])) for name in ("asked", "searched"))
    gained = [1.0 - row.after / row.before for row in rows]
    error = np.std(gained, ddof=1) / np.sqrt(len(gained)) if len(gained) > 1 else float("nan")
    spent = asked + searched
    share = "-" if not searches else f"{100 * empty / searches:.0f} %"
    rate = "-" if not spent else f"{100 * float(np.mean(gained)) / (spent / 1000):.2f} %"
    return (
        f"| {label}, {len(rows)} | {rows[0].way} | {searches} | {share} | {asked:,.0f} | {searched:,.0f} | "
        f"{100 * np.mean(gained):.1f} % ± {100 * error:.1f} | {rate} |"
    )


if __name__ == "__main__":
    main()
