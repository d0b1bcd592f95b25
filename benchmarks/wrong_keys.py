"""How many wrong keys are shipped? A rewriter that writes 20 % of them, before a judge that errs, and before none.

    python -m benchmarks.wrong_keys --seeds 200 --blind-seeds 40

The sample benchmark of the simulated world, its three widest gaps each seed, decisions of a run. Everything is
simulated.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Iterable

from benchfill.graph.ablation import Ablation
from benchfill.graph.ablation_setup import prepare_ablation
from benchfill.graph.direct import DirectSource
from benchfill.item import Item
from benchfill.settings import Settings

WRONG_KEYS, JUDGE_ERROR = 0.2, 0.1


class Unjudged(DirectSource):
    """Candidates before a judge that passes everything: only the answers of the pool can tell a wrong key."""

    def _judge(self, name: str, item: Item) -> bool:
        self.judged += 1
        return True


@dataclasses.dataclass(frozen=True)
class UnjudgedAblation(Ablation):
    """The same searches without a judge."""

    def _source(self, seed: int, number: int, *, references: int) -> DirectSource:
        source = super()._source(seed, number, references=references)
        return Unjudged(**{each.name: getattr(source, each.name) for each in dataclasses.fields(source)})


def upper_bound(wrong: int, shipped: int) -> float:
    """Upper 95 % bound of a share (Clopper and Pearson 1934)."""
    from scipy.special import betaincinv

    return float(betaincinv(wrong + 1, shipped - wrong, 0.95)) if shipped > wrong else 1.0


def line(label: str, ablation: Ablation, seeds: Iterable[int]) -> str:
    """Searches, shipped items and wrong keys among them."""
    records = [each for seed in seeds for each in ablation.run_seed(seed, ("benchfill",))]
    shipped = [each for each in records if each.true_deviation is not None]
    wrong = sum(each.wrong_key for each in shipped)
    written = sum(each.candidates for each in records)
    return (
        f"| {label} | {len(records)} | {written} | {len(shipped)} | {wrong} | "
        f"{100 * upper_bound(wrong, len(shipped)):.2f} % |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--blind-seeds", type=int, default=40)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--tolerance", type=float, default=0.04)
    options = parser.parse_args()
    started = time.process_time()
    world = {"wrong_key": WRONG_KEYS, "judge_error": JUDGE_ERROR}
    ablation = prepare_ablation(
        world="simulated", items=None, responses=None, bank_items=None, bank_responses=None, gaps=3,
        settings=Settings.model_validate({"world": world, "search": {"tolerance": options.tolerance}}),
        fixed_attempts=16, fixed_tau=0.01,
    )  # fmt: skip
    unjudged = UnjudgedAblation(
        **{each.name: getattr(ablation, each.name) for each in dataclasses.fields(ablation)}
    )
    print(
        "| judge (simulated, 20 % wrong keys) | searches | judged candidates | shipped | wrong keys | at most (95 %) |"
    )
    print("|" + " --- |" * 6)
    first = options.first_seed
    print(line("errs in 10 % of its decisions", ablation, range(first, first + options.seeds)), flush=True)
    print(line("passes everything", unjudged, range(first, first + options.blind_seeds)))
    print(f"\n{time.process_time() - started:.0f} CPU seconds")


if __name__ == "__main__":
    main()
