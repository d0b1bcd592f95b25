"""The randomisation test of a gain: within each cell the pooled attempts are dealt anew between before and after.

Without a gain the attempts of one model on one item are exchangeable, whenever they were made. Given the pooled
successes ``T`` of ``N`` attempts, the successes among the ``m`` later ones are hypergeometric, so that a cell's gain
``d = y/m - x/n`` has mean zero and variance ``(1/m + 1/n)^2 Var(y)``, whatever the numbers of attempts. That is exact
for independent attempts; repeats of greedy decoding or of a shared seed are one attempt, not several.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

__all__ = ["Counts", "Redealing", "Window", "window_sizes"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

# Statistics this close, in standard deviations, are tied: sums taken in another order differ by rounding.
_TIE = 1e-9


@dataclass(frozen=True, eq=False)
class Counts:
    """Successes and attempts before and after.

    Parameters
    ----------
    before_correct, before_attempts, after_correct, after_attempts
        Shape (..., items, models), the items in the order of the axis. A cell without attempts on a side tells nothing
        about a gain and is left out on both.
    """

    before_correct: Integers
    before_attempts: Integers
    after_correct: Integers
    after_attempts: Integers


@dataclass(frozen=True, slots=True)
class Window:
    """Consecutive items, positions ``start`` to ``stop - 1``, and their gain over its standard deviation."""

    start: int
    stop: int
    statistic: float


def window_sizes(n: int) -> list[int]:
    """1, 2, 4, ... up to n."""
    return [1 << power for power in range(n.bit_length())]


class Redealing:
    """The statistics of a gain and their distribution when there is none.

    An item's gain is the mean over its cells; the gain of a set of items is a sum of theirs, divided by its
    standard deviation under re-dealing. The scan statistic is the largest of these over all windows of 1, 2, 4, ...
    consecutive items; windows whose gain cannot vary are left out.

    Parameters
    ----------
    counts
        Leading axes, if any, are independent data sets.
    """

    def __init__(self, counts: Counts) -> None:
        n, m = counts.before_attempts, counts.after_attempts
        both = (n > 0) & (m > 0)
        self._later = np.where(both, m, 0)
        self._total = np.where(both, n + m, 0)
        self._right = np.where(both, counts.before_correct + counts.after_correct, 0)
        # d = (1/m + 1/n) (y - m T/N), and an item is the mean over its models.
        cells = np.maximum(both.sum(axis=-1, keepdims=True), 1)
        self._factor = np.where(both, (1.0 / np.maximum(m, 1) + 1.0 / np.maximum(n, 1)) / cells, 0.0)
        rate = self._right / np.maximum(self._total, 1)
        self._expected = self._later * rate
        spread = self._later * rate * (1.0 - rate) * (self._total - self._later)
        variance = self._factor**2 * spread / np.maximum(self._total - 1, 1)
        self.variance: Array = variance.sum(axis=-1)
        self.gains: Array = self._gains(np.where(both, counts.after_correct, 0))
        # How many of the items left of a position can vary: exact, where a difference of sums of variances is not.
        self._varied = _running((variance > 0.0).any(axis=-1).astype(np.float64))
        self._summed = _running(self.variance)

    def _gains(self, later_right: Integers) -> Array:
        return np.asarray((self._factor * (later_right - self._expected)).sum(axis=-1))

    def redeal(self, rng: np.random.Generator, size: int) -> Array:
        """Gains when the attempts are dealt anew: shape (size, ..., items)."""
        flat = [np.ravel(each) for each in (self._total, self._right, self._later)]
        varied = np.flatnonzero((np.ravel(self._factor) > 0.0) & (flat[1] > 0) & (flat[1] < flat[0]))
        kinds, kind = np.unique(np.stack([each[varied] for each in flat]), axis=1, return_inverse=True)
        by_kind = np.argsort(kind, kind="stable")
        sizes = np.bincount(kind, minlength=kinds.shape[1])
        ends = np.cumsum(sizes)
        dealt = np.repeat(self._expected.reshape(1, -1), size, axis=0)
        levels = rng.random((varied.size, size))
        for (total, right, later), start, end in zip(kinds.T, ends - sizes, ends, strict=True):
            # Cells alike in all three share one table: a look-up is ten times as fast as a draw by rejection.
            found = np.searchsorted(_hypergeometric_cdf(total, right, later), levels[start:end], side="right")
            dealt[:, varied[by_kind[start:end]]] = found.T
        dealt = dealt.reshape(size, *self._expected.shape)
        return np.asarray((self._factor * (dealt - self._expected)).sum(axis=-1))

    def mean_statistic(self, gains: Array) -> Array:
        """Sum of the gains over its standard deviation; 0 where it cannot vary. Shape (...)."""
        spread = np.sqrt(self._summed[..., -1])
        inverse = np.divide(1.0, spread, out=np.zeros(spread.shape), where=spread > 0.0)
        return np.asarray(gains.sum(axis=-1) * inverse)

    def scan_statistic(self, gains: Array) -> Array:
        """Largest statistic of all windows; -inf where no window can vary. Shape (...)."""
        sums = _running(gains)
        best = np.full(gains.shape[:-1], -np.inf)
        for size in window_sizes(gains.shape[-1]):
            np.maximum(best, self._window_statistics(sums, size).max(axis=-1), out=best)
        return best

    def best_window(self) -> Window | None:
        """The window with the largest statistic of one data set; of equal ones the smallest, then the easiest."""
        sums = _running(self.gains)
        best: Window | None = None
        for size in window_sizes(self.gains.shape[-1]):
            statistics = self._window_statistics(sums, size)
            largest = float(statistics.max())
            if np.isfinite(largest) and (best is None or largest > best.statistic + _TIE):
                start = int(np.argmax(statistics >= largest - _TIE))
                best = Window(start, start + size, largest)
        return best

    def _window_statistics(self, sums: Array, size: int) -> Array:
        spread = np.sqrt(np.maximum(self._summed[..., size:] - self._summed[..., :-size], 0.0))
        can_vary = self._varied[..., size:] > self._varied[..., :-size]
        inverse = np.divide(1.0, spread, out=np.zeros(spread.shape), where=can_vary)
        statistics = (sums[..., size:] - sums[..., :-size]) * inverse
        if not can_vary.all():
            statistics[~np.broadcast_to(can_vary, statistics.shape)] = -np.inf
        return np.asarray(statistics)

    @staticmethod
    def at_least(drawn: Array, observed: float | Array) -> NDArray[np.bool_]:
        """Whether drawn statistics reach the observed one, ties included."""
        return np.asarray(drawn >= observed - _TIE)


def _running(values: Array) -> Array:
    """Sums of the values left of each position: shape (..., items + 1)."""
    sums = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
    np.cumsum(values, axis=-1, out=sums[..., 1:])
    return sums


def _hypergeometric_cdf(total: int, right: int, later: int) -> Array:
    """P(at most 0, 1, ..., later successes among the later attempts): what a uniform number is looked up in."""
    found = np.arange(later + 1)
    possible = (found <= right) & (found >= right + later - total)
    weights = np.zeros(later + 1)
    ways = _log_choose(right, found[possible]) + _log_choose(total - right, later - found[possible])
    weights[possible] = np.exp(ways - _log_choose(total, later))
    sums = np.cumsum(weights)
    # Rounding must not leave a chance for more successes than there are.
    return np.where(found >= min(right, later), 1.0, sums / sums[-1])


def _log_choose(n: int, k: int | Integers) -> Array:
    return np.asarray(gammaln(n + 1) - gammaln(np.asarray(k) + 1) - gammaln(n - np.asarray(k) + 1))
