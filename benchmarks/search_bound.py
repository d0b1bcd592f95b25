"""The best rule there is for buying attempts, by dynamic programming: what any search must spend.

    python -m benchmarks.search_bound

Unit of places: the tolerance. Unit of attempts: what one item on target takes (posterior sd 1.25 tolerances). A
candidate's place is normal around the target with a known sd, candidates are there for the asking at a small price, and
answers are normal too. At a price R of one success the value of a candidate is known at every mean and precision of its
posterior: drop it (0), ask on, or confirm it by fresh attempts, which succeeds where the pooled expected deviation is
within the tolerance. R is right when a fresh candidate is worth nothing: then R is what a success costs.
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
    """A prior's sd, in tolerances, and the length of a confirmation, in units."""

    spread: float
    fresh: float

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

    def solve(self) -> tuple[float, float, float]:
        """Cost of one success, how much of it goes into confirmations, and its expected deviation."""
        steps = [FLOOR, *np.arange(STEP, MOST + 1e-9, STEP).tolist()]
        lo, hi = 1.0, 60.0
        for _ in range(14):
            price = (lo + hi) / 2
            lo, hi = (price, hi) if self._value(steps, price)[0] < 0 else (lo, price)
        return self._follow(steps, self._value(steps, hi)[1], hi)

    def _start(self) -> Floats:
        sd = (self.spread**2 - 1 / self.precision(FLOOR)) ** 0.5
        weight = np.exp(-((MEANS / sd) ** 2) / 2)
        return np.asarray(weight / weight.sum())

    def _value(self, steps: list[float], price: float) -> tuple[float, list[NDArray[np.int64]]]:
        """Value of a fresh candidate, and what to do at each step: 0 drop, 1 ask on, 2 confirm."""

        def confirm(asked: float) -> Floats:
            return price * self.moves(asked, asked + self.fresh) @ self.confirmed(asked) - self.fresh

        value = np.maximum(confirm(steps[-1]), 0.0)
        actions = []
        for now, later in zip(steps[-2::-1], steps[:0:-1], strict=True):
            fresh, on = confirm(now), self.moves(now, later) @ value - (later - now)
            value = np.maximum(0.0, np.maximum(fresh, on))
            actions.append(np.where(value <= 0.0, 0, np.where(fresh >= on, 2, 1)))
        return float(self._start() @ value) - FLOOR - WRITING, actions[::-1]

    def _follow(
        self, steps: list[float], actions: list[NDArray[np.int64]], price: float
    ) -> tuple[float, float, float]:
        here = self._start()
        met = deviation = confirming = 0.0
        for now, later, action in zip(steps, steps[1:], actions, strict=False):
            confirmed = here * (action == 2)
            confirming += self.fresh * confirmed.sum()
            ends = (confirmed @ self.moves(now, now + self.fresh)) * self.confirmed(now)
            sd = self.precision(now + self.fresh) ** -0.5
            x = MEANS / sd
            density = np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
            met += ends.sum()
            deviation += ends @ (sd * (2 * density + x * (1 - 2 * ndtr(-x))))
            here = (here * (action == 1)) @ self.moves(now, later)
        return price, confirming / met, deviation / met


def main() -> None:
    print(
        "| prior sd, tolerances | fresh attempts, units | cost of a success | in confirmations | deviation |"
    )
    print("| --- | --- | --- | --- | --- |")
    for spread in (1.5, 2.5, 3.5):
        for fresh in (1.0, 0.5):
            cost, confirming, deviation = Problem(spread, fresh).solve()
            print(f"| {spread:g} | {fresh:g} | {cost:.2f} | {confirming:.2f} | {deviation:.2f} |", flush=True)


if __name__ == "__main__":
    main()
