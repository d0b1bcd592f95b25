"""The best rule there is for buying attempts, by dynamic programming: what any search must spend.

    python -m benchmarks.search_bound

Unit of places: the tolerance. Unit of attempts: what one item on target takes (posterior sd 1.25 tolerances). A
candidate's place is normal around the target with a known sd, candidates are there for the asking at a small price, and
answers are normal too. At a price R of one success the value of a candidate is known at every mean and precision of its
posterior: drop it (0), ask on, or confirm it by fresh attempts, which succeeds where the pooled expected deviation is
within the tolerance. R is right when a fresh candidate is worth nothing: then R is what a success costs.

Beside the least attempts stands the least ``attempts x deviation^2``: what fixed batches take that are as exact goes by
``deviation^-2``, so a share of theirs is least where that product is. To first order, a success of deviation d is then
worth ``R (3 - 2 d / mean d)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from benchfill.calibration.acceptance import reach

Floats = NDArray[np.float64]

MEANS = np.linspace(-10.0, 10.0, 161)
# Information is bought in steps of this much; a fresh candidate costs its floor of attempts and a little to write.
STEP, MOST, FLOOR, WRITING = 0.08, 2.4, 0.024, 0.03
# Precision of one unit of attempts, in tolerances^-2.
UNIT = 1.25**-2


@dataclass(frozen=True)
class Problem:
    """What is known before, and what counts.

    Parameters
    ----------
    spread
        The prior's sd, in tolerances.
    fresh
        Length of a confirmation, in units.
    ready
        Expected deviation, in tolerances, above which no confirmation may begin.
    mean
        Deviation that a success is held against where exactness counts; None where all are worth the same.
    """

    spread: float
    fresh: float
    ready: float = np.inf
    mean: float | None = None

    def precision(self, asked: float) -> float:
        return UNIT * asked + self.spread**-2

    @lru_cache(maxsize=256)  # noqa: B019 - a handful of problems in one short process
    def moves(self, before: float, after: float) -> Floats:
        """Chance of each later mean given each mean now: (means, means)."""
        sd = (1 / self.precision(before) - 1 / self.precision(after)) ** 0.5
        edges = (MEANS + (MEANS[1] - MEANS[0]) / 2)[None, :] - MEANS[:, None]
        return np.diff(ndtr(edges / sd), axis=1, prepend=0.0)

    def confirmed(self, asked: float) -> NDArray[np.bool_]:
        """Pooled means with which a candidate is confirmed that was asked so much before."""
        near = reach(self.precision(asked + self.fresh) ** -0.5, 1.0)
        return np.abs(MEANS) <= (-1.0 if near is None else near)

    def worth(self, asked: float) -> Floats:
        """Of a confirmation that ends at each mean, over the price of a success."""
        if self.mean is None:
            return self.confirmed(asked).astype(np.float64)
        off = expected_deviation(MEANS, self.precision(asked + self.fresh) ** -0.5)
        return np.asarray(np.maximum(3.0 - 2.0 * off / self.mean, 0.0) * self.confirmed(asked))

    def solve(self) -> tuple[float, float, float]:
        """Cost of one success, how much of it goes into confirmations, and its expected deviation."""
        steps = [FLOOR, *np.arange(STEP, MOST + 1e-9, STEP).tolist()]
        lo, hi = 1.0, 60.0
        for _ in range(14):
            price = (lo + hi) / 2
            lo, hi = (price, hi) if self._value(steps, price)[0] < 0 else (lo, price)
        return self._follow(steps, self._value(steps, hi)[1])

    def _start(self) -> Floats:
        sd = (self.spread**2 - 1 / self.precision(FLOOR)) ** 0.5
        weight = np.exp(-((MEANS / sd) ** 2) / 2)
        return np.asarray(weight / weight.sum())

    def _value(self, steps: list[float], price: float) -> tuple[float, list[NDArray[np.int64]]]:
        """Value of a fresh candidate, and what to do at each step: 0 drop, 1 ask on, 2 confirm."""

        def confirm(asked: float) -> Floats:
            found = price * self.moves(asked, asked + self.fresh) @ self.worth(asked) - self.fresh
            now = expected_deviation(MEANS, self.precision(asked) ** -0.5)
            return np.where(now <= self.ready, found, -1.0)

        value = np.maximum(confirm(steps[-1]), 0.0)
        actions = []
        for now, later in zip(steps[-2::-1], steps[:0:-1], strict=True):
            fresh, on = confirm(now), self.moves(now, later) @ value - (later - now)
            value = np.maximum(0.0, np.maximum(fresh, on))
            actions.append(np.where(value <= 0.0, 0, np.where(fresh >= on, 2, 1)))
        return float(self._start() @ value) - FLOOR - WRITING, actions[::-1]

    def _follow(self, steps: list[float], actions: list[NDArray[np.int64]]) -> tuple[float, float, float]:
        here = self._start()
        met = deviation = confirming = 0.0
        spent = FLOOR + WRITING
        for now, later, action in zip(steps, steps[1:], actions, strict=False):
            confirmed, on = here * (action == 2), here * (action == 1)
            confirming += self.fresh * confirmed.sum()
            spent += self.fresh * confirmed.sum() + (later - now) * on.sum()
            ends = (confirmed @ self.moves(now, now + self.fresh)) * (self.worth(now) > 0.0)
            met += ends.sum()
            deviation += ends @ expected_deviation(MEANS, self.precision(now + self.fresh) ** -0.5)
            here = on @ self.moves(now, later)
        return spent / met, confirming / met, deviation / met


def expected_deviation(mean: Floats, sd: float) -> Floats:
    """``E|x|`` of a normal."""
    x = mean / sd
    density = np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    return np.asarray(sd * (2 * density + x * (1 - 2 * ndtr(-x))))


def most_exact(spread: float, fresh: float) -> tuple[float, float, float]:
    """The same of the rule with the least ``attempts x deviation^2``."""
    found = (0.0, 0.0, 0.8)
    for _ in range(4):
        found = Problem(spread, fresh, mean=found[2]).solve()
    return found


def main() -> None:
    print("| prior sd, tolerances | fresh attempts, units | rule | cost of a success | in confirmations | deviation "
          "| cost x deviation^2 |")  # fmt: skip
    print("|" + " --- |" * 7)
    for spread in (1.5, 2.5, 3.5):
        for fresh in (1.0, 0.5):
            for name, found in (
                ("fewest attempts", Problem(spread, fresh).solve()),
                ("confirms within the tolerance", Problem(spread, fresh, ready=1.0).solve()),
                ("most exact for its attempts", most_exact(spread, fresh)),
            ):
                cost, confirming, deviation = found
                print(f"| {spread:g} | {fresh:g} | {name} | {cost:.2f} | {confirming:.2f} | {deviation:.2f} "
                      f"| {cost * deviation**2:.2f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
