"""What simulated searches came to: means and their errors, shares of the fixed batches, rows of Markdown tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

COLUMNS = (
    "setting (simulated)", "method", "searches", "met", "true deviation", "claimed", "90 % covers", "attempts",
    "10-90 %", "of these fresh", "over the bound", "candidates", "refusals", "of `fixed`",
)  # fmt: skip
# Fixed batches are compared with that are as exact within this factor: over more of them the lines bend.
AS_EXACT = 2.0

# One search, as it is kept.
Ended = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """Means over the searches that met the tolerance, and how many did.

    Parameters
    ----------
    true_deviation, true_se
        Mean |true z - target| of the accepted items, and its standard error.
    coverage90, coverage_se
        Share of their 90 % intervals that hold the true place, and its standard error.
    attempts_all
        Mean over all searches, those that did not meet it included.
    low, high
        The 10 % and 90 % quantiles of the attempts of those that did.
    bound
        Least attempts that can tell an item on target to the tolerance (Cramer-Rao); attempts include everything.
    """

    searches: int
    met: float
    true_deviation: float
    true_se: float
    claimed: float
    coverage90: float
    coverage_se: float
    attempts: float
    attempts_all: float
    low: float
    high: float
    fresh: float
    bound: float
    candidates: float
    refusals: float


def summarise(ends: Sequence[Ended]) -> Row:
    met = [end for end in ends if end["status"] == "filled"]
    off = np.array([end["off"] for end in met])

    def mean(name: str, of: Sequence[Ended] = met) -> float:
        return float(np.mean([end[name] for end in of])) if of else math.nan

    covered = mean("covered")
    spread = np.quantile([end["attempts"] for end in met], [0.1, 0.9]) if met else (math.nan, math.nan)
    return Row(
        searches=len(ends),
        met=len(met) / len(ends),
        true_deviation=mean("off"),
        true_se=float(off.std(ddof=1) / math.sqrt(len(off))) if len(off) > 1 else math.nan,
        claimed=mean("claimed"),
        coverage90=covered,
        coverage_se=math.sqrt(covered * (1.0 - covered) / len(met)) if met else math.nan,
        attempts=mean("attempts"),
        attempts_all=mean("attempts", ends),
        low=float(spread[0]),
        high=float(spread[1]),
        fresh=mean("fresh"),
        bound=mean("bound", ends),
        candidates=mean("candidates"),
        refusals=mean("refusals"),
    )


def share_of_fixed(row: Row, fixed: Iterable[tuple[int, Row]]) -> float | None:
    """Attempts over those of fixed batches as exact, ``k`` in between interpolated on a log scale.

    Deviation and attempts are lines over k (a line of one over the other would be too flat: both are noisy, k is not),
    through the batches that are as exact within a factor of 2, each as heavy as it is known. None where that k lies
    beyond those that were searched.

    Parameters
    ----------
    fixed
        k and what it came to.
    """
    fixed = list(fixed)
    near = [
        (k, each)
        for k, each in fixed
        if each.met and abs(math.log(each.true_deviation / row.true_deviation)) <= math.log(AS_EXACT)
    ]
    if len(near) < 2:
        return None
    at = np.log([k for k, _ in near])
    exact = [each.true_deviation / each.true_se for _, each in near]
    many = [math.sqrt(each.met * each.searches) for _, each in near]
    slope, level = np.polyfit(at, np.log([each.true_deviation for _, each in near]), 1, w=exact)
    cost, base = np.polyfit(at, np.log([each.attempts for _, each in near]), 1, w=many)
    if slope >= 0.0:
        return None
    log_k = (math.log(row.true_deviation) - level) / slope
    if not min(k for k, _ in fixed) <= math.exp(log_k) <= max(k for k, _ in fixed):
        return None
    return row.attempts / math.exp(base + cost * log_k)


def table_head() -> str:
    """Names of the columns in Markdown."""
    return "| " + " | ".join(COLUMNS) + " |\n|" + " --- |" * len(COLUMNS)


def table_line(setting: str, method: str, row: Row, share: float | None) -> str:
    """A row of the table in Markdown."""
    cells = [
        setting, method, f"{row.searches:,}", f"{row.met:.3f}",
        f"{row.true_deviation:.4f} ± {row.true_se:.4f}", f"{row.claimed:.4f}",
        f"{row.coverage90:.3f} ± {row.coverage_se:.3f}",
        f"{row.attempts:,.0f}", f"{row.low:,.0f}-{row.high:,.0f}", f"{row.fresh:,.0f}",
        f"{row.attempts / row.bound:.1f}", f"{row.candidates:.1f}", f"{row.refusals:.2f}",
        "" if share is None else f"{share:.2f}",
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"
