"""What a benchmark can see: the power of the tests of a gain against the least favourable lift.

A lift raises the success probability by ``min(a, 1 - p)`` on a stretch of width w of the difficulty axis and nowhere
else (arXiv 2610.29927). Its power is the smallest over all stretches ``[u, u + w]`` in [0, 1]. Where one of them holds
no item, that is where w is less than the widest gap, nothing has changed on any item and the power is the level of
the test, at any number of attempts. Everywhere else it is simulated with the very tests of
`benchfill.calibration.detection`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchfill.calibration.measure import Gap, find_gaps
from benchfill.calibration.redealing import Counts, Redealing, window_sizes
from benchfill.errors import InputError

__all__ = [
    "MOST_ATTEMPTS",
    "Design",
    "PowerAt",
    "Test",
    "WorstCase",
    "attempts_needed",
    "can_hide",
    "check_lift",
    "items_needed",
    "simulated_power",
    "smallest_width",
    "worst_case",
]

Array = NDArray[np.float64]
Test = Literal["mean", "scan"]
V = TypeVar("V", int, float)
Progress = Callable[[float, str], None]

MOST_ATTEMPTS = 4096
_WIDTH_STEPS = 100
_CANDIDATES = 2  # stretches simulated for each test: those whose expected statistic is lowest
_CHUNK = 2_000_000
_LEAST_SPREAD = 1e-9


@dataclass(frozen=True, eq=False)
class Design:
    """A benchmark, one model, and how the tests are made.

    Parameters
    ----------
    z : (n,)
        Places of the items, in any order.
    success : (n,)
        The model's success probability on each before the lift.
    lift
        a, above 0 and at most 1.
    level
        Of the one-sided tests.
    simulations
        Pairs of logs a power is simulated with: its standard error is at most ``0.5 / sqrt(simulations)``.
    seed
        Same design, same seed, same figures.

    Raises
    ------
    InputError
        Kind ``no_data``, ``not_finite`` or ``bad_number``.
    """

    z: Array
    success: Array
    lift: float
    level: float = 0.05
    simulations: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        z, success = (np.asarray(each, dtype=np.float64).ravel() for each in (self.z, self.success))
        if not z.size or z.size != success.size:
            raise InputError("Each item has a place and a success probability.", kind="no_data")
        if not (np.isfinite(z).all() and ((success >= 0.0) & (success <= 1.0)).all()):
            raise InputError("Places are finite and success probabilities lie in [0, 1].", kind="not_finite")
        check_lift(self.lift)
        if not 0.0 < self.level <= 0.5 or self.simulations < 1:
            raise InputError(
                "The level lies above 0 and at most at 0.5, and there is at least one simulation.",
                kind="bad_number",
            )
        order = np.argsort(z, kind="stable")
        object.__setattr__(self, "z", z[order])
        object.__setattr__(self, "success", success[order])

    @property
    def gap(self) -> Gap:
        """The widest gap."""
        return find_gaps(self.z)[0]


@dataclass(frozen=True, slots=True)
class PowerAt:
    """Power of one test against the lift on ``[lo, hi]``, where it is least, and how many items lie there."""

    power: float
    lo: float
    hi: float
    n_items: int


@dataclass(frozen=True, slots=True)
class WorstCase:
    """Least power of both tests for a width and a number of attempts; ``invisible`` when it is the level, exactly."""

    width: float
    attempts: int
    invisible: bool
    mean: PowerAt
    scan: PowerAt


def check_lift(lift: float, width: float | None = None, attempts: int = 1) -> None:
    """Refuse a lift or a width outside (0, 1], or fewer attempts than one.

    Raises
    ------
    InputError
        Kind ``bad_number``.
    """
    if not 0.0 < lift <= 1.0:
        raise InputError(f"The lift lies above 0 and at most at 1, not at {lift:g}.", kind="bad_number")
    if width is not None and not 0.0 < width <= 1.0:
        raise InputError(f"A width lies above 0 and at most at 1, not at {width:g}.", kind="bad_number")
    if attempts < 1:
        raise InputError("At least one attempt on every item is needed.", kind="bad_number")


def can_hide(width: float, gap: Gap) -> bool:
    """Whether a lift this wide can lie inside the gap without touching an item, rounding of z aside."""
    return width < gap.width - 1e-9


def worst_case(design: Design, width: float, attempts: int) -> WorstCase:
    """Least power over all stretches of a width.

    Parameters
    ----------
    width
        w in z, above 0 and at most 1.
    attempts
        k on every item, before and after.

    Raises
    ------
    InputError
        Kind ``bad_number``.
    """
    check_lift(design.lift, width, attempts)
    gap = design.gap
    if can_hide(width, gap):
        lo = gap.target - width / 2.0
        hidden = PowerAt(design.level, lo, lo + width, 0)
        return WorstCase(width, attempts, True, hidden, hidden)
    found = [
        (stretch, _simulate(design, stretch, attempts))
        for stretch in _least_favourable(design, width, attempts)
    ]

    def least(test: int) -> PowerAt:
        stretch, powers = min(found, key=lambda each: (each[1][test], each[0]))
        return PowerAt(powers[test], stretch.lo, stretch.lo + width, stretch.stop - stretch.start)

    return WorstCase(width, attempts, False, least(0), least(1))


def smallest_width(
    design: Design, attempts: int, wanted: float = 0.8, progress: Progress | None = None
) -> dict[Test, float | None]:
    """Smallest width, in hundredths of the axis, whose worst case has the wanted power; None when not even 1 has."""
    steps = [step / _WIDTH_STEPS for step in range(1, _WIDTH_STEPS + 1)]
    widths = [width for width in steps if not can_hide(width, design.gap)]
    return _first_reaching(lambda width: worst_case(design, width, attempts), widths, wanted, progress)


def attempts_needed(
    design: Design, width: float, wanted: float = 0.8, progress: Progress | None = None
) -> dict[Test, int | None]:
    """Smallest power of two of attempts whose worst case has the wanted power; None when 4,096 have not."""
    check_lift(design.lift, width)
    if can_hide(width, design.gap):
        return {"mean": None, "scan": None}
    numbers = [1 << power for power in range(MOST_ATTEMPTS.bit_length())]
    return _first_reaching(lambda attempts: worst_case(design, width, attempts), numbers, wanted, progress)


def simulated_power(
    before: Array, after: Array, attempts: int, *, level: float, simulations: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Share of simulated pairs of logs in which the mean test and the scan reject.

    Parameters
    ----------
    before, after
        Shape (items,), in the order of the axis: success probabilities.
    """
    # As many re-deals as make twenty of them the level; fewer lose power where few p-values are possible.
    redeals = int(np.ceil(20.0 / level)) - 1
    rejected = np.zeros(2, dtype=np.int64)
    done = 0
    while done < simulations:
        size = min(simulations - done, max(1, _CHUNK // (redeals * before.size)))
        asked = np.full((size, before.size, 1), attempts)
        first, second = (rng.binomial(attempts, p[:, None], asked.shape) for p in (before, after))
        test = Redealing(Counts(first, asked, second, asked))
        drawn = test.redeal(rng, redeals)
        for index, statistic in enumerate((test.mean_statistic, test.scan_statistic)):
            reached = test.at_least(statistic(drawn), statistic(test.gains)).sum(axis=0)
            rejected[index] += int(((1 + reached) / (1 + redeals) <= level + 1e-12).sum())
        done += size
    mean, scan = (rejected / simulations).tolist()
    return mean, scan


def items_needed(z: ArrayLike, width: float) -> int:
    """Least number of items to add so that no stretch of this width is without one."""
    gaps = find_gaps(z)
    # A gap of exactly a multiple of the width must not ask for one more for the rounding of the division.
    return sum(max(0, int(np.ceil(gap.width / width - 1e-9)) - 1) for gap in gaps)


class _Stretch(NamedTuple):
    """Items ``start`` to ``stop - 1``, which lie on ``[lo, lo + width]``."""

    lo: float
    start: int
    stop: int


def _stretches(z: Array, width: float) -> list[_Stretch]:
    """Every set of items that a stretch in [0, 1] can hold and that holds no smaller one: it begins behind an item."""
    behind = np.unique(z[(z >= 0.0) & (z < 1.0 - width)])
    lows = np.concatenate([[0.0], behind, [1.0 - width]])
    starts = np.concatenate(
        [
            np.searchsorted(z, [0.0], side="left"),
            np.searchsorted(z, behind, side="right"),
            np.searchsorted(z, [1.0 - width], side="left"),
        ]
    )
    # A stretch as wide as the gap reaches the next item, whatever the last digits of the sum.
    stops = np.searchsorted(z, lows + width + 2e-9, side="right")
    return [_Stretch(*each) for each in zip(lows.tolist(), starts.tolist(), stops.tolist(), strict=True)]


def _least_favourable(design: Design, width: float, attempts: int) -> list[_Stretch]:
    """The stretches with the lowest expected statistic of either test: power follows it closely."""
    stretches = list({stretch[1:]: stretch for stretch in _stretches(design.z, width)}.values())
    start, stop = (np.array([each[side] for each in stretches]) for side in (1, 2))
    p, n = design.success, design.z.size
    raised = np.minimum(design.lift, 1.0 - p)
    middle = p + raised / 2.0
    lifts, variances, extra = (
        np.concatenate([[0.0], np.cumsum(values)])
        for values in (
            raised,
            2.0 * p * (1.0 - p) / attempts,
            2.0 * (middle * (1.0 - middle) - p * (1.0 - p)) / attempts,
        )
    )

    def expected(first: NDArray[np.int64], last: NDArray[np.int64]) -> Array:
        """Expected statistic of items first to last - 1 when the stretch is lifted."""
        lo, hi = np.maximum(first, start), np.minimum(last, stop)
        inside = np.maximum(hi, lo)
        variance = variances[last] - variances[first] + extra[inside] - extra[lo]
        return np.asarray((lifts[inside] - lifts[lo]) / np.sqrt(np.maximum(variance, _LEAST_SPREAD)))

    of_mean = expected(np.zeros_like(start), np.full_like(stop, n))
    of_scan = np.zeros(len(stretches))
    for size in window_sizes(n):
        for first in (start, stop - size):
            at = np.clip(first, 0, n - size)
            np.maximum(of_scan, expected(at, at + size), out=of_scan)
    lowest = {
        int(index) for each in (of_mean, of_scan) for index in np.argsort(each, kind="stable")[:_CANDIDATES]
    }
    return [stretches[index] for index in sorted(lowest)]


def _simulate(design: Design, stretch: _Stretch, attempts: int) -> tuple[float, float]:
    after = design.success.copy()
    after[stretch.start : stretch.stop] = np.minimum(1.0, after[stretch.start : stretch.stop] + design.lift)
    return simulated_power(
        design.success,
        after,
        attempts,
        level=design.level,
        simulations=design.simulations,
        rng=np.random.default_rng([design.seed, stretch.start, stretch.stop, attempts]),
    )


def _first_reaching(
    evaluate: Callable[[V], WorstCase], values: Sequence[V], wanted: float, progress: Progress | None
) -> dict[Test, V | None]:
    """First of ascending values at which each test has the wanted power, by bisection: power grows with them."""
    seen: dict[int, WorstCase] = {}

    def reaches(test: Test, place: int) -> bool:
        if place not in seen:
            if progress is not None:
                progress(0.0, f"simulating, {len(seen) + 1} of at most {2 * len(values).bit_length() + 2}")
            seen[place] = evaluate(values[place])
        return bool(getattr(seen[place], test).power >= wanted)

    found: dict[Test, V | None] = {}
    for test in get_args(Test):
        if not values or not reaches(test, len(values) - 1):
            found[test] = None
            continue
        low, high = 0, len(values) - 1
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if reaches(test, middle) else (middle + 1, high)
        found[test] = values[low]
    return found
