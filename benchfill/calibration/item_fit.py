"""Item fit: which items the fitted 1PL does not describe, and by how many logits.

Four figures an item:

- infit and outfit mean squares (Wright and Masters 1982), at the estimates: shown because everyone looks for them.
  They flag nothing here: with one attempt by 12 models a tenth of the items of a true 1PL has an outfit above 1.5,
  with a thousand attempts nearly every real item has;
- residual misfit: standard deviation, in logits, of what separates the item's cells from the fit beyond binomial noise,
  ``tau^2 = sum_j [(y/n - P)^2 - P(1-P)/n] / sum_j (dP/db)^2``, 0 where negative. It is the first-order estimate of
  tau for ``logit P = theta_j - b_i + e``, weighted by what a departure does to the difficulty. The same sums over the
  cells of a model give its misfit, over all cells the log's;
- posterior-predictive p of ``D = sum_j (y - nP)^2 / (nP(1-P))``: how often answers drawn from the fit are as far
  off as the real ones, both at the same draw of abilities and difficulty (Gelman, Meng and Stern 1996);
- the point-biserial correlation with the REST score, which finds wrong keys also where there is too little data for
  the rest.

An item is flagged when p < 0.01 after Benjamini and Hochberg (1995) AND its residual misfit is more than 1 logit
above the benchmark's median; or when the upper 95 % bound of the correlation is below 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from benchfill.calibration.conditionals import conditionals_of
from benchfill.calibration.data_checks import rest_correlations
from benchfill.calibration.fit import Fit
from benchfill.calibration.patterns import ResponsePatterns, group_patterns
from benchfill.calibration.response_log import ResponseLog

__all__ = ["FlaggedItem", "ItemFit", "benjamini_hochberg", "item_fit"]

Array = NDArray[np.float64]

LEVEL = 0.01
EXCESS = 1.0  # logits above the median
_DRAWS = 200
_FIRST = 400  # replicates of every pattern; more where p may be small enough to matter
_MOST = 2_000_000
_CHUNK = 2_000_000  # answers simulated at once


@dataclass(frozen=True, slots=True)
class FlaggedItem:
    """An item the 1PL does not describe.

    ``reasons`` holds ``misfit``, ``reversed`` or both; the other fields are its figures, None where undefined.
    """

    id: str
    reasons: tuple[str, ...]
    residual: float
    p: float
    p_adjusted: float
    correlation: float | None


@dataclass(frozen=True, eq=False)
class ItemFit:
    """The fit of every item, in the order of ``items``; NaN where an item has no attempts.

    Parameters
    ----------
    items, models
        Ids.
    infit, outfit
        Shape (items,). Mean squares; 1 is expected.
    residual
        Shape (items,). Residual misfit, logits.
    model_residual
        Shape (models,). The same of each model's cells.
    overall
        The same of all cells.
    median
        Median of ``residual``.
    p, p_adjusted
        Shape (items,). Posterior-predictive p, and after Benjamini and Hochberg. With R replicates p is at least
        1 / (1 + R); R grows until that cannot hide a flag.
    correlation
        Shape (items,). Point-biserial with the REST score.
    flagged
        Largest residual misfit first, ties by id.
    """

    items: tuple[str, ...]
    models: tuple[str, ...]
    infit: Array
    outfit: Array
    residual: Array
    model_residual: Array
    overall: float
    median: float
    p: Array
    p_adjusted: Array
    correlation: Array
    flagged: tuple[FlaggedItem, ...]


def item_fit(fit: Fit, log: ResponseLog, *, seed: int = 0) -> ItemFit:
    """Judge every item of a fitted log.

    Parameters
    ----------
    fit
        Of any engine; ``mml`` has one draw of the abilities, so that p then takes them as known.
    log
        The log that was fitted.
    seed
        Of the replicates.

    Raises
    ------
    InputError
        The log is not the one that was fitted (kind ``bad_log``).
    """
    data = group_patterns(log, fit.guessing)
    first = np.unique(data.of_item, return_index=True)[1]
    success = _success(fit.theta[:, None] - fit.b[first], data.guessing)
    infit, outfit = _mean_squares(data, success)
    excess, weight = _excess(data, success)
    of_pattern = _residual(excess.sum(axis=0), weight.sum(axis=0))
    p = _predictive_p(fit, log, data, first, np.random.default_rng(seed))
    answered = data.attempts.any(axis=0)
    p[~answered] = np.nan
    of_item = data.of_item
    residual, p_items = of_pattern[of_item], p[of_item]
    adjusted = benjamini_hochberg(p_items)
    correlation, upper = rest_correlations(log)
    median = float(np.nanmedian(residual)) if answered.any() else float("nan")
    misfit = (adjusted < LEVEL) & (residual > median + EXCESS)
    against = upper < 0.0
    flagged = [
        FlaggedItem(
            log.items[at],
            (("misfit",) if misfit[at] else ()) + (("reversed",) if against[at] else ()),
            float(residual[at]),
            float(p_items[at]),
            float(adjusted[at]),
            float(correlation[at]) if np.isfinite(correlation[at]) else None,
        )
        for at in np.flatnonzero(misfit | against)
    ]
    return ItemFit(
        items=log.items,
        models=log.models,
        infit=infit[of_item],
        outfit=outfit[of_item],
        residual=residual,
        model_residual=_residual(excess @ data.size, weight @ data.size),
        overall=float(_residual((excess @ data.size).sum(), (weight @ data.size).sum())),
        median=median,
        p=p_items,
        p_adjusted=adjusted,
        correlation=correlation,
        flagged=tuple(sorted(flagged, key=lambda each: (-each.residual, each.id))),
    )


def benjamini_hochberg(p: Array) -> Array:
    """P-values adjusted for the false discovery rate: shape (n,); NaN stays and does not count."""
    found = np.full(p.shape, np.nan)
    known = np.flatnonzero(np.isfinite(p))
    order = known[np.argsort(p[known], kind="stable")]
    scaled = p[order] * known.size / np.arange(1, known.size + 1)
    found[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return found


def _success(logit: Array, guessing: Array) -> Array:
    # Away from 0 and 1, where a variance of 0 would divide.
    return np.asarray(np.clip(guessing + (1.0 - guessing) * expit(logit), 1e-12, 1.0 - 1e-12))


def _mean_squares(data: ResponsePatterns, success: Array) -> tuple[Array, Array]:
    variance = data.attempts * success * (1.0 - success)
    square = (data.correct - data.attempts * success) ** 2
    asked = data.attempts > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        outfit = np.where(asked, square / variance, 0.0).sum(axis=0) / asked.sum(axis=0)
        return square.sum(axis=0) / variance.sum(axis=0), outfit


def _excess(data: ResponsePatterns, success: Array) -> tuple[Array, Array]:
    """Numerator and denominator of tau^2, a cell each: shape (models, patterns); 0 where nothing was asked."""
    asked = data.attempts > 0
    attempts = np.maximum(data.attempts, 1.0)
    square = (data.correct / attempts - success) ** 2 - success * (1.0 - success) / attempts
    chance = (success - data.guessing) / (1.0 - data.guessing)
    slope = (1.0 - data.guessing) * chance * (1.0 - chance)
    return np.where(asked, square, 0.0), np.where(asked, slope**2, 0.0)


def _residual(excess: Array, weight: Array) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.sqrt(np.maximum(excess, 0.0) / weight))


def _predictive_p(
    fit: Fit,
    log: ResponseLog,
    data: ResponsePatterns,
    first: NDArray[np.int64],
    generator: np.random.Generator,
) -> Array:
    """Posterior-predictive p of each pattern: (1 + replicates as far off) / (1 + replicates).

    Replicates are added while p may still fall below the level of Benjamini and Hochberg: with m of I items left, none
    is below it with a p above m LEVEL / I, and one that is clearly above drops out.
    """
    given = conditionals_of(fit, log, draws=_DRAWS)
    theta: list[Array] = []
    b: list[Array] = []
    while len(theta) < _DRAWS:
        for draw in given:
            theta.append(draw.theta)
            b.append(draw.draw(generator)[first])
    places = np.stack(theta)[:, :, None], np.stack(b)  # (draws, models, 1), (draws, patterns)
    far, made = np.zeros(data.size.size), np.zeros(data.size.size)
    left, wanted = np.arange(data.size.size), float(_FIRST)
    while left.size:
        repeats = int(np.ceil(max(wanted - made[left[0]], 1.0) / len(theta)))
        far[left] += _replicate(data, left, places, repeats, generator)
        made[left] += repeats * len(theta)
        left = _in_question(left, far, made, data.size)
        if left.size:
            unmatched = left[far[left] == 0.0]  # p is as low as it can be: enough for their number?
            few = data.size[unmatched if unmatched.size else left].sum()
            needed = min(2.0 * data.size.sum() / (LEVEL * few), _MOST)
            if made[left[0]] >= needed:
                break
            wanted = needed
    return np.asarray((1.0 + far) / (1.0 + made))


def _in_question(left: NDArray[np.int64], far: Array, made: Array, size: Array) -> NDArray[np.int64]:
    """The patterns among those left whose p is not clearly above what the others left allow."""
    while left.size:
        count = 1.0 + far[left]
        lowest = (count - 3.0 * np.sqrt(count)) / (1.0 + made[left])
        stays = lowest <= LEVEL * size[left].sum() / size.sum()
        if stays.all():
            break
        left = left[stays]
    return left


def _replicate(
    data: ResponsePatterns,
    which: NDArray[np.int64],
    places: tuple[Array, Array],
    repeats: int,
    generator: np.random.Generator,
) -> Array:
    """How many of draws x repeats replicates are at least as far from the fit as the answers: shape (which,)."""
    theta, b = places
    attempts, correct, guessing = data.attempts[:, which], data.correct[:, which], data.guessing[which]
    whole = attempts.astype(np.int64)
    single = bool((whole <= 1).all())
    far = np.zeros(which.size)
    at_once = max(1, _CHUNK // attempts.size)
    for draw in range(len(b)):
        success = _success(theta[draw] - b[draw, which], guessing)
        expected = attempts * success
        rarity = 1.0 / np.maximum(expected * (1.0 - success), 1e-300)
        # Rounding must not tell a replicate from answers that it equals.
        real = (rarity * (correct - expected) ** 2).sum(axis=0) * (1.0 - 1e-9)
        for done in range(0, repeats, at_once):
            shape = (min(at_once, repeats - done), *attempts.shape)
            if single:
                answers = (generator.random(shape) < success) * attempts
            else:
                answers = generator.binomial(whole, success, shape).astype(np.float64)
            distance = np.einsum("rmg,mg->rg", (answers - expected) ** 2, rarity)
            far += (distance >= real).sum(axis=0)
    return far
