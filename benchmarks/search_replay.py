"""Searches replayed on real items and real answers: MATH-500 split into a benchmark and a bank, hundreds of times.

    python -m benchmarks.search_replay --shared ../shared --searches 400 --keep FILE
    python -m benchmarks.search_replay --shared ../shared --searches 400 --world aime --keep FILE

``math``: 60 items of MATH-500 drawn by a seed are the benchmark, the other 440 the bank. ``aime``: AIME 2024 is the
benchmark, all of MATH-500 the bank. Twelve models spread over their scores; abilities are fitted on all logged attempts
at the benchmark. Targets are drawn where the pool tells at least 0.6 of the most it tells anywhere, in gaps of 0.15.
The rewriter offers bank items by a guess of difficulty that correlates with their failure rate by 0.8. Attempts are
drawn from the log without replacement. "True" is the peak of the expected likelihood of ALL logged answers under the
frozen abilities; pool dependence is how far apart the two halves of the models put the same items by all their answers.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.fit import Fit, fit_1pl
from benchfill.calibration.online import attempts_needed, pool_information
from benchfill.calibration.response_log import ResponseLog
from benchfill.calibration.scale import minmax_scale
from benchfill.calibration.search_loop import Counts, Frozen, History, Rules, Written, search_gap
from benchfill.calibration.strategy import Adaptive, Fixed, GapGoal, Strategy
from benchfill.worlds.peak import likelihood_peak
from benchmarks.replay import LOG, Cell, read_log, spread_models
from benchmarks.search import TOLERANCE
from benchmarks.search_tables import Ended, Row, share_of_fixed, summarise
from benchmarks.search_worlds import DRAWS, CachedFrozen

AIME = "matrices/noises_highk_temp0.7__aime2024_cot/responses_long.csv.gz"
MODELS, BENCHMARK, GAP_WIDTH = 12, 60, 0.15
INFORMED, CORRELATION = 0.6, 0.8
# Gaps searched with one split: a fit costs as much as ten searches.
A_SPLIT = 16
# "True" is a place under the fitted abilities; a claim counts in how well those are known. This one does not.
AS_KNOWN = "adaptive, abilities as if known"
METHODS: tuple[tuple[str, Strategy], ...] = (
    ("adaptive", Adaptive()),
    (AS_KNOWN, Adaptive()),
    ("fixed k=16 tau=0.01", Fixed(16, 0.01)),
    ("fixed k=32 tau=0.01", Fixed(32, 0.01)),
    ("fixed k=64 tau=0.01", Fixed(64, 0.01)),
)
Log = dict[str, dict[str, Cell]]
# Models, items, right answers and attempts, row by row.
LogKey = tuple[tuple[str, ...], tuple[str, ...], tuple[float, ...], tuple[float, ...]]
Floats = NDArray[np.float64]


@dataclass(eq=False)
class Split:
    """A benchmark with its fitted pool, and a bank."""

    frozen: Frozen
    places: dict[str, float]
    counts: dict[str, tuple[Floats, Floats]]  # of the bank's items: right answers and attempts (models,)
    guesses: dict[str, float]

    def as_known(self) -> Split:
        """The same, its abilities without doubt."""
        frozen = CachedFrozen(self.frozen.scale, self.frozen.theta, self.frozen.theta[None, :])
        return replace(self, frozen=frozen)

    def peak(self, item: str, part: slice = slice(None)) -> float:
        """Place (z) by all that was logged, of all models or a part of them in the order of ability."""
        models = np.argsort(self.frozen.theta, kind="stable")[part]
        right, asked = self.counts[item]
        rates = (right / asked)[models].tolist()
        return float(self.frozen.scale.to_z(likelihood_peak(self.frozen.theta[models].tolist(), rates)))


@lru_cache(maxsize=2)
def fitted(log: LogKey) -> Fit:
    """Abilities and places of a benchmark."""
    models, names, correct, attempts = log
    shape = (len(models), len(names))
    counts = (np.array(each, dtype=np.int64).reshape(shape) for each in (correct, attempts))
    return fit_1pl(ResponseLog(models, names, *counts), engine="laplace")


def make_split(benchmark: Log, bank: Log, models: Sequence[str], names: Sequence[str], seed: int) -> Split:
    """Fit the pool on ``names`` of the benchmark's log; the bank's other items are offered."""
    rng = np.random.default_rng([seed, 1])

    def column(log: Log, item: str) -> tuple[Floats, Floats]:
        right, asked = np.array([log[model][item] for model in models], dtype=np.float64).T
        return right, asked

    asked = [column(benchmark, item) for item in names]
    counted = [tuple(np.stack([each[what] for each in asked], axis=1).ravel().tolist()) for what in (0, 1)]
    fit = fitted((tuple(models), tuple(names), counted[0], counted[1]))
    scale = minmax_scale(fit)
    draws = fit.theta_draws[np.linspace(0, len(fit.theta_draws) - 1, DRAWS).astype(int)]
    offered = sorted(set(bank[models[0]]) - set(names))
    counts = {item: column(bank, item) for item in offered}
    places = {item: float(z) for item, z in zip(fit.items, scale.to_z(fit.b), strict=True)}
    failure = np.array([_failure(counts[item]) for item in offered])
    away = failure - failure.mean()
    figure = CORRELATION * away + math.sqrt(1 - CORRELATION**2) * rng.normal(0, away.std(), len(offered))
    # A guess speaks of failure rates; the benchmark's own items say where on the axis those lie.
    known = [_failure(column(benchmark, item)) for item in fit.items]
    slope, level = np.polyfit(known, [places[item] for item in fit.items], 1)
    guesses = level + slope * (failure.mean() + CORRELATION * figure)
    return Split(
        CachedFrozen(scale, fit.theta, draws),
        places,
        counts,
        dict(zip(offered, guesses.tolist(), strict=True)),
    )


def _failure(counts: tuple[Floats, Floats]) -> float:
    """Logit of the mean failure rate, half a success and half a failure added."""
    wrong = float(np.sum(1 - counts[0] / counts[1]))
    return math.log((wrong + 0.5) / (len(counts[0]) - wrong + 0.5))


@dataclass(eq=False)
class LoggedSource:
    """Offers the bank items whose guesses lie nearest to the target; every item once a search."""

    split: Split
    target: float
    rng: np.random.Generator
    left: dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]] = field(default_factory=dict)

    def write(self, round: int, parents: Sequence[str], known: dict[str, float]) -> list[Written]:
        guesses = self.split.guesses
        free = sorted((abs(guesses[item] - self.target), item) for item in guesses if item not in self.left)
        written = [Written(item, parent) for (_, item), parent in zip(free, parents, strict=False)]
        for each in written:
            right, asked = self.split.counts[each.id]
            self.left[each.id] = right.astype(np.int64), asked.astype(np.int64)
        return written

    def answer(self, candidate: str, first: int, stop: int) -> Counts:
        right, asked = self.left[candidate]
        some = np.minimum(stop - first, asked)
        got = self.rng.hypergeometric(right, asked - right, some)
        self.left[candidate] = right - got, asked - some
        return got, some


def search_split(split: Split, strategy: Strategy, seed: int, number: int) -> Ended:
    """One search; its target is the same for every method."""
    frozen, scale = split.frozen, split.frozen.scale
    places = np.linspace(0.1, 0.9, 161)
    told = np.array([pool_information(frozen.theta, scale.to_b(float(z))) for z in places])
    seen = places[told >= INFORMED * told.max()]
    target = float(np.random.default_rng([seed, number, 2]).choice(seen))
    source = LoggedSource(split, target, np.random.default_rng([seed, number, 3]))
    goal = GapGoal(target - GAP_WIDTH / 2, target + GAP_WIDTH / 2, target, TOLERANCE)
    end = search_gap(source, goal, Rules(strategy), frozen, History(dict(split.places)))
    halves = [math.nan, math.nan]
    true = math.nan
    if end.accepted is not None:
        true = split.peak(end.accepted)
        # Alternating along the ranking by ability, so that both halves see the same range.
        halves = [split.peak(end.accepted, slice(start, None, 2)) for start in (0, 1)]
    return {
        "status": end.status,
        "off": None if end.accepted is None else abs(true - target),
        "covered": end.lo90 is not None and end.hi90 is not None and end.lo90 <= true <= end.hi90,
        "halves": abs(halves[0] - halves[1]),
        "claimed": end.claimed,
        "attempts": end.attempts,
        "fresh": end.fresh,
        "bound": attempts_needed(frozen.theta, scale.to_b(target), scale, TOLERANCE),
        "rounds": end.rounds,
        "candidates": end.candidates,
        "refusals": end.refusals,
        "width": scale.width,
    }


def show(kept: dict[str, dict[int, Ended]]) -> None:
    """The table of what was searched so far."""
    columns = ("method", "searches", "met", "true deviation", "claimed", "halves of the pool differ by", "90 % covers",
               "attempts", "of these fresh", "over the bound", "candidates", "of `fixed`")  # fmt: skip
    print("| " + " | ".join(columns) + " |")
    print("|" + " --- |" * len(columns))
    rows: dict[str, Row] = {
        name: summarise(list(kept[name].values())) for name, _ in METHODS if kept.get(name)
    }
    fixed = [
        (each.attempts, rows[name]) for name, each in METHODS if isinstance(each, Fixed) and name in rows
    ]
    for name, row in rows.items():
        met = [end for end in kept[name].values() if end["status"] == "filled"]
        halves = float(np.mean([end["halves"] for end in met if math.isfinite(end["halves"])]))
        share = share_of_fixed(row, fixed) if name.startswith("adaptive") else None
        cells = [
            name, f"{row.searches:,}", f"{row.met:.3f}", f"{row.true_deviation:.4f} ± {row.true_se:.4f}",
            f"{row.claimed:.4f}", f"{halves:.4f}", f"{row.coverage90:.3f}", f"{row.attempts:,.0f}",
            f"{row.fresh:,.0f}", f"{row.attempts / row.bound:.1f}", f"{row.candidates:.1f}",
            "" if share is None else f"{share:.2f}",
        ]  # fmt: skip
        print("| " + " | ".join(cells) + " |")
    widths = [end["width"] for found in kept.values() for end in found.values()]
    print(f"Axes of {min(widths):.1f} to {max(widths):.1f} logits.")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--world", choices=("math", "aime"), default="math")
    parser.add_argument("--searches", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="methods whose name contains this")
    parser.add_argument(
        "--keep", type=Path, required=True, help="file of results: a stopped run goes on from it"
    )
    asked = parser.parse_args()
    methods = [each for each in METHODS if asked.only in each[0]]
    kept: dict[str, dict[int, Ended]] = defaultdict(dict)
    if asked.keep.exists():
        for text in asked.keep.read_text(encoding="utf-8").splitlines():
            world, seed, method, number, end = json.loads(text)
            if (world, seed) == (asked.world, asked.seed):
                kept[method][number] = end
    bank = read_log(asked.shared / "data" / LOG)
    benchmark = bank if asked.world == "math" else read_log(asked.shared / "data" / AIME)
    models = sorted(spread_models({name: bank[name] for name in bank if name in benchmark}, MODELS))
    items = sorted(benchmark[models[0]])
    for part in range(math.ceil(asked.searches / A_SPLIT)):
        numbers = range(part * A_SPLIT, min((part + 1) * A_SPLIT, asked.searches))
        if all(number in kept[name] for name, _ in methods for number in numbers):
            continue
        rng = np.random.default_rng([asked.seed, part])
        names = items if asked.world == "aime" else sorted(rng.permutation(items)[:BENCHMARK].tolist())
        split = make_split(benchmark, bank, models, names, 1000 * asked.seed + part)
        for number in numbers:
            for name, strategy in methods:
                if number in kept[name]:
                    continue
                within = split.as_known() if name == AS_KNOWN else split
                kept[name][number] = search_split(within, strategy, asked.seed, number)
                row = [asked.world, asked.seed, name, number, kept[name][number]]
                with asked.keep.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
    show(kept)


if __name__ == "__main__":
    main()
