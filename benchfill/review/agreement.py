"""Agreement of reviewers: percent, Cohen's kappa, Krippendorff's alpha, each undefined where it is undefined.

Cohen (1960): kappa = (p_o - p_e) / (1 - p_e), p_e from the two reviewers' own shares of verdicts. Krippendorff
(2011), nominal: alpha = 1 - D_o / D_e. Both are closed forms of a line, and an interval needs them 2,000 times at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

__all__ = ["Agreement", "agreement", "wilson90"]

RESAMPLES = 2000
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far reviewers agree, with 90 % intervals.

    Parameters
    ----------
    items
        Decided by two reviewers or more; the others say nothing about agreement.
    reviewers
        Who decided on any of them.
    percent
        Share of pairs of reviewers of one item with the same verdict, 0 to 1. Interval: Wilson's for two reviewers,
        bootstrap over items for more.
    kappa
        Of exactly two reviewers; None where both gave one and the same verdict throughout, and for more or fewer.
    alpha
        Of any number; None where only one verdict was given.
    reason
        Why there is no figure, empty where there is.

    Notes
    -----
    Intervals of kappa and alpha are percentiles of a bootstrap over items. Where every resample gives the same
    figure (reviewers who never differ), a bootstrap cannot tell how sure that is: the interval is None then, and
    that of the percentage tells it.
    """

    items: int
    reviewers: tuple[str, ...]
    percent: float | None = None
    percent_lo90: float | None = None
    percent_hi90: float | None = None
    kappa: float | None = None
    kappa_lo90: float | None = None
    kappa_hi90: float | None = None
    alpha: float | None = None
    alpha_lo90: float | None = None
    alpha_hi90: float | None = None
    reason: str = ""


def agreement(verdicts: Mapping[str, Mapping[str, str]], *, seed: int = 0) -> Agreement:
    """Agreement from ``{item: {reviewer: verdict}}``.

    Parameters
    ----------
    seed
        Of the bootstrap.
    """
    rows = [verdicts[item] for item in sorted(verdicts) if len(verdicts[item]) > 1]
    reviewers = tuple(sorted({name for row in rows for name in row}))
    if not rows:
        return Agreement(0, reviewers, reason="no doubly reviewed item")
    values = sorted({verdict for row in rows for verdict in row.values()})
    both = len(reviewers) == 2
    # Items with the same verdicts are one kind; resampling items is drawing how many there are of each kind.
    kinds = Counter(
        tuple(row[name] for name in reviewers) if both else tuple(sorted(row.values())) for row in rows
    )
    patterns = sorted(kinds)
    sizes = np.array([kinds[pattern] for pattern in patterns], float)
    counts = np.array([[pattern.count(value) for value in values] for pattern in patterns], float)
    resampled = np.random.default_rng([seed, len(rows)]).multinomial(
        len(rows), sizes / len(rows), size=RESAMPLES
    )
    every = np.vstack([sizes, resampled])
    percents, alphas = _percent(counts, every), _alpha(counts, every)
    if both:
        cells = np.array(
            [values.index(first) * len(values) + values.index(second) for first, second in patterns]
        )
        table = every @ np.eye(len(values) ** 2)[cells]
        kappas = _kappa(table.reshape(-1, len(values), len(values)))
        percent = wilson90(round(percents[0] * len(rows)), len(rows))
        kappa = _interval(kappas)
    else:
        percent, kappa = _interval(percents), (None, None)
        kappas = np.array([np.nan])
    reason = "only one verdict was given" if len(values) == 1 else ""
    return Agreement(
        len(rows),
        reviewers,
        float(percents[0]),
        *percent,
        _number(kappas[0]),
        *kappa,
        _number(alphas[0]),
        *_interval(alphas),
        reason=reason,
    )


def wilson90(successes: int, trials: int) -> tuple[float | None, float | None]:
    """Wilson's (1927) 90 % interval of a share; none without trials."""
    if trials == 0:
        return None, None
    z = float(ndtri(0.95))
    share = successes / trials
    middle = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z / (1 + z * z / trials) * float(np.sqrt(share * (1 - share) / trials + z * z / (4 * trials**2)))
    return max(0.0, middle - half), min(1.0, middle + half)


def _percent(counts: Floats, weights: Floats) -> Floats:
    given = counts.sum(axis=1)
    same, pairs = (counts * (counts - 1)).sum(axis=1), given * (given - 1)
    return np.asarray((weights @ same) / (weights @ pairs), float)


def _kappa(tables: Floats) -> Floats:
    """Kappa of each confusion table (..., values, values); NaN where chance agreement is certain."""
    totals = tables.sum(axis=(1, 2))
    observed = np.trace(tables, axis1=1, axis2=2) / totals
    chance = (tables.sum(axis=1) * tables.sum(axis=2)).sum(axis=1) / totals**2
    certain = chance >= 1.0
    return np.where(certain, np.nan, (observed - chance) / np.where(certain, 1.0, 1.0 - chance))


def _alpha(counts: Floats, weights: Floats) -> Floats:
    """Nominal alpha under each row of counts of the patterns; NaN where no disagreement was possible."""
    given = counts.sum(axis=1)
    disagreement = (given**2 - (counts**2).sum(axis=1)) / (given - 1)
    totals = weights @ counts
    n = totals.sum(axis=1)
    expected = (n**2 - (totals**2).sum(axis=1)) / (n - 1)
    possible = expected > 0
    return np.where(possible, 1.0 - (weights @ disagreement) / np.where(possible, expected, 1.0), np.nan)


def _interval(figures: Floats) -> tuple[float | None, float | None]:
    """5th and 95th percentile of the resamples behind the figure itself."""
    drawn = figures[1:][np.isfinite(figures[1:])]
    # Fewer than half of the resamples defined, or all of them alike: they say nothing.
    if not np.isfinite(figures[0]) or 2 * drawn.size < RESAMPLES or np.ptp(drawn) == 0.0:
        return None, None
    lo, hi = np.quantile(drawn, [0.05, 0.95])
    return float(lo), float(hi)


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
