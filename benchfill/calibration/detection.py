"""Has a model gained, and could the benchmark have seen it? A test of the mean gain and a scan along the axis.

The tests are described in `benchfill.calibration.redealing`. The scan takes the largest of many statistics and
compares it with the largest of as many under re-dealing, so that its p-value counts for all windows together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchfill.calibration.measure import Gap, find_gaps
from benchfill.calibration.pairing import Pairing
from benchfill.calibration.power import can_hide
from benchfill.calibration.redealing import Counts, Redealing
from benchfill.errors import InputError

__all__ = ["Detection", "GainTest", "GainWindow", "check_question", "detect"]

Progress = Callable[[float, str], None]

_CHUNK = 2_000_000  # re-dealt cells in memory at a time


@dataclass(frozen=True, slots=True)
class GainWindow:
    """Where the scan found the most.

    Parameters
    ----------
    lo, hi
        Places of its first and last item, in z.
    items
        Their ids, the easiest first.
    gain
        Mean gain of these items.
    statistic
        Sum of their gains over its standard deviation under re-dealing.
    """

    lo: float
    hi: float
    items: tuple[str, ...]
    gain: float
    statistic: float


@dataclass(frozen=True, slots=True)
class GainTest:
    """Both tests on one set of items.

    Parameters
    ----------
    n_items, n_placed
        Items in the mean test, and those with a place on the axis, which the scan and the gap are about.
    gain, gain_sd
        Mean over the items of the success after less the one before, and its standard deviation were there no gain.
    p_mean, p_scan
        One-sided; ``p_scan`` is None where no item can show a gain.
    window
        None where ``p_scan`` is.
    gap
        The widest gap of the placed items; a lift narrower than it can lie inside without touching an item.
    hides
        Whether a lift of the asked width can hide in it; None where no width was asked or nothing is placed.
    """

    n_items: int
    n_placed: int
    gain: float
    gain_sd: float
    p_mean: float
    p_scan: float | None
    window: GainWindow | None
    gap: Gap | None
    hides: bool | None


@dataclass(frozen=True, slots=True)
class Detection:
    """Tests on all items, and on the original and the added ones where both are there."""

    groups: Mapping[str, GainTest]
    width: float | None
    randomisations: int
    seed: int


def check_question(pairing: Pairing, added: Collection[str], width: float | None) -> None:
    """Refuse what `detect` cannot answer.

    Raises
    ------
    InputError
        Kind ``unknown_id`` for an added id that was not asked on both sides, ``bad_width``.
    """
    if width is not None and not 0.0 < width <= 1.0:
        raise InputError(f"A width lies above 0 and at most at 1, not at {width:g}.", kind="bad_width")
    unknown = sorted(set(added) - set(pairing.items))
    if unknown:
        raise InputError(
            f"{len(unknown)} of the added items were not asked on both sides, first {unknown[0]!r}.",
            "Ask the model as it was before on the added items too.",
            kind="unknown_id",
        )


def detect(
    pairing: Pairing,
    places: Mapping[str, float],
    *,
    added: Collection[str] = (),
    width: float | None = None,
    randomisations: int = 9999,
    seed: int = 0,
    progress: Progress | None = None,
) -> Detection:
    """Test for a gain: all items, and the original and the added ones separately.

    Parameters
    ----------
    places
        Place of each item in z, on the frozen axis. Items without one count in the mean test only.
    added
        Ids of items that are not the benchmark's own.
    width
        Width in z of the lift that one wants to see.
    randomisations
        Number R of re-deals; p = (1 + number that reach the observed statistic) / (1 + R).
    seed
        Same data, same seed, same p-values.

    Raises
    ------
    InputError
        As `check_question`; kind ``bad_number`` for fewer re-deals than one.
    """
    check_question(pairing, added, width)
    if randomisations < 1:
        raise InputError("At least one re-deal is needed.", kind="bad_number")
    new = set(added)
    groups = {"all": list(pairing.items)}
    original = [item for item in pairing.items if item not in new]
    if new and original:
        groups |= {"original": original, "added": sorted(new)}
    tests = {}
    for index, (name, items) in enumerate(groups.items()):
        rng = np.random.default_rng([seed, index])

        def report(share: float, index: int = index, name: str = name) -> None:
            if progress is not None:
                progress((index + share) / len(groups), f"re-dealing {name} items")

        tests[name] = _test(pairing, items, places, width, randomisations, rng, report)
    return Detection(tests, width, randomisations, seed)


def _test(
    pairing: Pairing,
    items: Sequence[str],
    places: Mapping[str, float],
    width: float | None,
    randomisations: int,
    rng: np.random.Generator,
    report: Callable[[float], None],
) -> GainTest:
    ordered = sorted((item for item in items if item in places), key=lambda item: (places[item], item))
    beside = [item for item in items if item not in places]
    n_placed = len(ordered)
    whole = Redealing(_counts(pairing, [*ordered, *beside]))
    scanned = Redealing(_counts(pairing, ordered)) if ordered else None
    best = None if scanned is None else scanned.best_window()
    mean = float(whole.mean_statistic(whole.gains))
    reached_mean = reached_scan = done = 0
    while done < randomisations:
        size = min(randomisations - done, max(1, _CHUNK // (len(items) * len(pairing.models))))
        gains = whole.redeal(rng, size)
        reached_mean += int(whole.at_least(whole.mean_statistic(gains), mean).sum())
        if scanned is not None and best is not None:
            drawn = scanned.scan_statistic(gains[:, :n_placed])
            reached_scan += int(scanned.at_least(drawn, best.statistic).sum())
        done += size
        report(done / randomisations)
    window = None
    if best is not None:
        inside = ordered[best.start : best.stop]
        window = GainWindow(
            lo=places[inside[0]],
            hi=places[inside[-1]],
            items=tuple(inside),
            gain=float(whole.gains[best.start : best.stop].mean()),
            statistic=best.statistic,
        )
    gap = find_gaps([places[item] for item in ordered])[0] if ordered else None
    return GainTest(
        n_items=len(items),
        n_placed=n_placed,
        gain=float(whole.gains.mean()),
        gain_sd=float(np.sqrt(whole.variance.sum()) / len(items)),
        p_mean=(1 + reached_mean) / (1 + randomisations),
        p_scan=None if best is None else (1 + reached_scan) / (1 + randomisations),
        window=window,
        gap=gap,
        hides=None if width is None or gap is None else can_hide(width, gap),
    )


def _counts(pairing: Pairing, items: Sequence[str]) -> Counts:
    column = {item: index for index, item in enumerate(pairing.items)}
    order = [column[item] for item in items]
    tables = (pairing.before.correct, pairing.before.attempts, pairing.after.correct, pairing.after.attempts)
    return Counts(*(np.ascontiguousarray(table[:, order].T) for table in tables))
