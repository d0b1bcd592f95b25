"""Which gaps are searched, to which tolerance, and what that is expected to take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.forecast import forecast_search
from benchfill.calibration.measure import Gap, find_gaps, max_gap, top_k_gap_sum
from benchfill.calibration.reach import Aim, aim_at
from benchfill.calibration.scale import Scale
from benchfill.calibration.strategy import make_strategy
from benchfill.errors import InputError
from benchfill.memory.records import GapRow
from benchfill.settings import SearchSettings

__all__ = ["GapRequest", "aim_of", "gap_figures", "next_gap", "plan_gaps"]

# Default tolerance: [BF]'s figures need items within a few percent of the gap, and no gap needs better than 0.02.
LARGEST_TOLERANCE, SHARE_OF_GAP = 0.02, 0.05
# The most a tolerance relative to the gap may be: beyond, a fill no longer says where the gap is closed.
LARGEST_SHARE = 1 / 6


@dataclass(frozen=True, slots=True)
class GapRequest:
    """What the user asked for: exactly one of the three.

    Parameters
    ----------
    count
        The so many largest gaps.
    interval
        One gap by its ends, in z.
    target
        One place, in z; its gap is the one that contains it.
    """

    count: int | None = None
    interval: tuple[float, float] | None = None
    target: float | None = None

    def __post_init__(self) -> None:
        given = [each for each in (self.count, self.interval, self.target) if each is not None]
        if len(given) != 1:
            raise InputError("Ask for gaps in one way.", "Use one of --gaps, --gap and --target.")
        if self.count is not None and self.count < 1:
            raise InputError(f"--gaps {self.count} asks for nothing.", "Use a number from 1 on.")
        places = [*(self.interval or ()), *([] if self.target is None else [self.target])]
        if any(not 0.0 <= place <= 1.0 for place in places):
            raise InputError(
                f"{places} is off the axis.", "Places are z, from 0 (easiest item) to 1 (hardest)."
            )
        if self.interval is not None and not self.interval[0] < self.interval[1]:
            raise InputError(
                f"--gap {self.interval[0]:g},{self.interval[1]:g} is empty.", "Give LO,HI with LO < HI."
            )


def plan_gaps(
    z: Sequence[float],
    request: GapRequest,
    *,
    scale: Scale,
    theta: NDArray[np.float64],
    settings: SearchSettings,
) -> list[GapRow]:
    """Choose the gaps.

    Parameters
    ----------
    z
        Places of the original items.
    theta
        Shape (models,), frozen abilities in logits.

    Returns
    -------
    list
        Numbered from 1, the widest first. The expected attempts are what simulated searches took on average
        (`calibration.forecast`).
    """
    gaps = find_gaps(z)
    if request.count is not None:
        chosen = [gap for gap in gaps if gap.width > 0.0][: request.count]
    elif request.interval is not None:
        lo, hi = request.interval
        chosen = [Gap(lo=lo, hi=hi, width=hi - lo, target=(lo + hi) / 2.0)]
    else:
        target = float(request.target or 0.0)
        around = next(gap for gap in gaps if gap.lo <= target <= gap.hi)
        chosen = [Gap(lo=around.lo, hi=around.hi, width=around.width, target=target)]
    return [
        _row(number, gap, scale=scale, theta=theta, settings=settings)
        for number, gap in enumerate(chosen, start=1)
    ]


def next_gap(
    z: Sequence[float],
    done: Sequence[GapRow],
    *,
    scale: Scale,
    theta: NDArray[np.float64],
    settings: SearchSettings,
) -> GapRow | None:
    """The widest gap left, with the items accepted so far added; None when no further one is wanted.

    Parameters
    ----------
    z
        Places of the original and the accepted items.
    done
        Gaps that were planned. A place that a search gave up is not searched again, nor one that waits for its own.
    """
    if settings.until_max_gap is None:
        return None
    not_again = [row for row in done if row.status in ("unfilled", "skipped", "open")]
    for gap in find_gaps(z):
        if gap.width <= settings.until_max_gap:
            return None
        if not any(row.lo <= gap.target <= row.hi for row in not_again):
            number = 1 + max(row.gap for row in done)
            return _row(number, gap, scale=scale, theta=theta, settings=settings)
    return None


def _row(
    number: int, gap: Gap, *, scale: Scale, theta: NDArray[np.float64], settings: SearchSettings
) -> GapRow:
    tolerance = settings.tolerance or min(LARGEST_TOLERANCE, SHARE_OF_GAP * gap.width)
    if settings.relative_tolerance:
        within_reach = aim_at(
            gap.target, tolerance, theta=theta, scale=scale, max_attempts=settings.max_attempts
        ).tolerance
        tolerance = max(tolerance, min(within_reach, LARGEST_SHARE * gap.width))
    aim = aim_at(gap.target, tolerance, theta=theta, scale=scale, max_attempts=settings.max_attempts)
    forecast = forecast_search(
        make_strategy(settings.strategy, attempts=settings.fixed_attempts, tau=settings.fixed_tau),
        theta=theta,
        target=gap.target,
        scale=scale,
        tolerance=aim.tolerance,
        confirm=settings.confirm,
    )
    return GapRow(
        gap=number,
        lo=gap.lo,
        hi=gap.hi,
        target=gap.target,
        tolerance=tolerance,
        expected_attempts=forecast.expected,
    )


def aim_of(gap: GapRow, *, scale: Scale, theta: NDArray[np.float64], settings: SearchSettings) -> Aim:
    """The gap's tolerance, or what can be met within the limit of attempts."""
    return aim_at(gap.target, gap.tolerance, theta=theta, scale=scale, max_attempts=settings.max_attempts)


def gap_figures(z: Sequence[float], added: Sequence[float] = ()) -> dict[str, float]:
    """Max Gap and the sum of the three widest gaps with these items added."""
    everything = [*z, *added]
    return {"max_gap": float(max_gap(everything)), "top3_sum": float(top_k_gap_sum(everything, 3))}
