"""How wide would gaps be by chance? Refitted replicates of the same design without any gap.

A benchmark of this size, drawn from a smooth density and measured by these models with these attempts, shows gaps
too: between few items, and between the few distinct totals of a small design. ``p_chance`` of the k-th widest gap
is the share of such replicates whose k-th widest gap is at least as wide. A large one says that the gap is what
such a benchmark would show anyway; it does not make the gap less real.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from benchfill.calibration.fit import Fit, fit_1pl
from benchfill.calibration.grouping import group_items
from benchfill.calibration.measure import find_gaps
from benchfill.calibration.response_log import ResponseLog
from benchfill.calibration.scale import Scale, make_scale
from benchfill.errors import InputError

__all__ = ["GapChances", "affordable_replicates", "gap_chances"]

Array = NDArray[np.float64]

MOST, FEWEST = 100, 20  # replicates
_WORK = 100_000  # of all replicates, see `affordable_replicates`; about ten seconds


@dataclass(frozen=True, slots=True)
class GapChances:
    """The widest gaps beside those of gap-free replicates.

    Parameters
    ----------
    p_chance
        Of the widest gap, the second, and so on.
    widths
        Of these gaps, in z; 0 where there are fewer gaps.
    null_median
        Median width of the replicates' widest, second, ... gap, in z.
    replicates
        How many there were. One of them is a step of p_chance.
    """

    p_chance: tuple[float, ...]
    widths: tuple[float, ...]
    null_median: tuple[float, ...]
    replicates: int


def gap_chances(
    fit: Fit,
    log: ResponseLog,
    scale: Scale,
    *,
    top: int = 5,
    replicates: int | None = None,
    seed: int = 0,
    progress: Callable[[float, str], None] | None = None,
) -> GapChances:
    """Compare the widest gaps with those of replicates without gaps (parametric bootstrap).

    In each replicate difficulties are drawn from the fitted normal density, every cell is answered as often as in the
    log by the fitted abilities, and the result is refitted with ``mml`` and laid on an axis made by the same rule.

    Parameters
    ----------
    fit, log
        A fit and the log it was fitted to.
    scale
        The frozen axis; its name says by which rule the replicates' axes are made.
    top
        How many gaps.
    replicates
        R; None is 100, and fewer where so many would take long, but not below 20. Only replicates that do not vary
        at all are left out, and drawn again.
    seed
        Same seed, same replicates.

    Raises
    ------
    InputError
        The design gives no axis by this rule, not once in ten times R draws (kind ``no_variation``).
    """
    if replicates is None:
        replicates = affordable_replicates(fit, log)
    generator = np.random.default_rng(seed)
    mu_b, sigma_b = float(fit.mu_b_draws.mean()), float(np.exp(np.log(fit.sigma_b_draws).mean()))
    observed = _widths(fit, scale, top)
    null: list[Array] = []
    for tries in range(10 * replicates):
        if len(null) == replicates:
            break
        if progress is not None:
            progress(len(null) / replicates, f"gap-free replicate {len(null) + 1} of {replicates}")
        b = generator.normal(mu_b, sigma_b, len(fit.items))
        success = fit.guessing + (1.0 - fit.guessing) * expit(fit.theta[:, None] - b)
        replicate = ResponseLog(
            log.models, log.items, generator.binomial(log.attempts, success), log.attempts
        )
        again = fit_1pl(replicate, engine="mml", guessing=fit.guessing, seed=tries)
        try:
            axis = make_scale(scale.name, again)
        except InputError:
            continue
        null.append(_widths(again, axis, top))
    if len(null) < replicates:
        raise InputError("Replicates of this design do not vary: there is no axis.", kind="no_variation")
    table = np.array(null)
    # Widths that agree to rounding are equal: designs with few totals have many equal gaps.
    share = (table >= observed - 1e-9).mean(axis=0)
    return GapChances(
        p_chance=tuple(float(each) for each in share),
        widths=tuple(float(each) for each in observed),
        null_median=tuple(float(each) for each in np.median(table, axis=0)),
        replicates=replicates,
    )


def affordable_replicates(fit: Fit, log: ResponseLog) -> int:
    """How many replicates take about ten seconds, in tens: of the design alone, so that it is the same everywhere."""
    groups = group_items(log, fit.guessing).size.size
    work = (groups + 30) * len(log.models) + len(log.items) / 10
    return int(np.clip(_WORK / work // 10 * 10, FEWEST, MOST))


def _widths(fit: Fit, scale: Scale, top: int) -> Array:
    """Widths of the widest gaps, descending, zeros where there are fewer: shape (top,)."""
    found = [gap.width for gap in find_gaps(scale.to_z(fit.b))[:top]]
    return np.array(found + [0.0] * (top - len(found)))
