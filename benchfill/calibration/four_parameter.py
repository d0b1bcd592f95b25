"""The 4PL with partial pooling: every item parameter is drawn from a population that is estimated with the models.

Twelve right-or-wrong answers cannot carry four free parameters. Under the hierarchical model they need not: difficulty,
log discrimination and the logits of guessing and feasibility have normal distributions whose means and spreads are
estimated from all items together, an item's answers move it away from their means as far as they go, and the share of
each estimate that is still prior is reported: its posterior variance over the variance of the population. At 1 the
estimate is the population's mean and says nothing of the item.

The fit is marginal maximum likelihood over distinct response patterns under weak priors, by Newton's method. A long
log is climbed with a random part of its items, and then a few steps with all of them, as far as the error of the
integrals lets a step be told from none. `benchfill.calibration.four_latent` has the integrals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag
from scipy.special import expit

from benchfill.calibration.climb import Top, climb
from benchfill.calibration.four_latent import (
    Frames,
    Population,
    integrate,
    log_marginals,
    place_frames,
    success_on_frames,
)
from benchfill.calibration.item_curves import ItemCurves
from benchfill.calibration.model_choice import some_items
from benchfill.calibration.model_slopes import ability_precision, fit_item_model
from benchfill.calibration.new_model import chances_of_new_model
from benchfill.calibration.patterns import ResponsePatterns, group_patterns
from benchfill.calibration.response_log import ResponseLog

__all__ = ["NOT_IDENTIFIED", "PARAMETERS", "FourParameterFit", "fit_four_parameter"]

Array = NDArray[np.float64]

PARAMETERS = ("difficulty", "discrimination", "guessing", "feasibility")
NOT_IDENTIFIED = 0.5  # share of prior from which on an estimate is more the population's than the item's

# Priors: centre and sd. Log sd of log a as in the 2PL. Guessing about 0.1, from 0.005 to 0.7; feasibility of what is
# not guessed about 0.95, from 0.5 to 0.997; both spread by about one logit, from a fifth to five.
_LOG_SD_B, _LOG_SD_A = (0.5, 1.0), (-1.0, 1.0)
_GUESSING, _FEASIBILITY, _LOG_SD_EDGE = (-2.2, 1.5), (3.0, 1.5), (0.0, 0.8)
_SD_SLOPE = 1.0

MOST_ITEMS = 800  # that the climb takes; all items of a longer log take part in its last step
LAST_STEPS = 5  # with all of them, at most
# The integrals are known to a hundredth of a nat an item, and nodes move with the parameters, so that nobody can climb
# to the very top. Twice the nats to it: half a standard error of one parameter will do; of a climb that is stuck, about
# half a standard error of every parameter and, of many attempts, far less an attempt than the s.e. of any
# held-out loss. Where steps with all items follow, a stuck climb is a start, and one of every parameter will do.
_DECREMENT = 0.25
_LONGEST_STEP = 1.0  # of one parameter: the flat directions of guessing and feasibility mislead further out
_STUCK, _STUCK_AT_FIRST, _STUCK_AN_ATTEMPT = 0.25, 1.0, 2e-5


@dataclass(frozen=True, eq=False)
class FourParameterFit:
    """A fitted 4PL.

    Parameters
    ----------
    models, items
        Ids in the order of the arrays.
    theta, slope
        Shape (models,). Abilities in logits of the typical item, where the mean item is at 0; slopes have mean one, and
        are ones where they were not fitted.
    b, a, c, d
        Shape (items,). Posterior means of difficulty, discrimination (of its log), guessing and feasibility.
    prior_share
        Shape (items, 4). Posterior variance over the population's, of difficulty and of log discrimination, logit of
        guessing and logit of what is feasible beyond guessing; at most 1. `NOT_IDENTIFIED` is the line.
    population
        Mean and sd of the population on those four scales, shape (2, 4).
    log_likelihood
        Marginal log likelihood at the mode, without binomial coefficients; nats.
    n_parameters
        Those estimated, items not among them.
    """

    models: tuple[str, ...]
    items: tuple[str, ...]
    theta: Array
    slope: Array
    b: Array
    a: Array
    c: Array
    d: Array
    prior_share: Array
    population: Array
    log_likelihood: float
    n_parameters: int
    _who: Population
    _phi: Array
    _frames: Frames
    _weight: NDArray[np.float32]
    _of_item: NDArray[np.int64]

    def curves(self) -> ItemCurves:
        """Point estimates as curves."""
        return ItemCurves(self.models, self.items, self.theta, self.slope, self.b, self.a, self.c, self.d)

    def success(self) -> Array:
        """Posterior mean chance of success of every cell, asked or not: shape (models, items)."""
        w, _, _ = self._who.split(self._phi)
        every = np.arange(self._frames.centre.shape[0])
        return success_on_frames(self._frames, self._weight, w, every)[:, self._of_item]

    def success_of(self, correct: NDArray[np.int64], attempts: NDArray[np.int64]) -> Array:
        """Chance of success on every item of a model the fit never saw, placed by its counts: shape (items,).

        The model's parameters have the mean of the fitted ones and three times their sd as prior.
        """
        w, _, _ = self._who.split(self._phi)
        return chances_of_new_model(
            lambda new, rows: success_on_frames(self._frames, self._weight, new[None], rows)[0],
            w,
            self._of_item,
            correct,
            attempts,
        )

    def chance_guessing_exceeds(self, limit: float) -> Array:
        """Posterior probability that an item's guessing is above a limit: shape (items,)."""
        return self._chance(lambda c, d: c > limit)

    def chance_feasibility_is_below(self, limit: float) -> Array:
        """Posterior probability that an item's feasibility is below a limit: shape (items,)."""
        return self._chance(lambda c, d: d < limit)

    def _chance(self, event: Callable[[Array, Array], NDArray[np.bool_]]) -> Array:
        return _means(self._frames, self._weight, event)[self._of_item]


def fit_four_parameter(log: ResponseLog, *, model_slopes: bool = False) -> FourParameterFit:
    """Fit the hierarchical 4PL by marginal maximum likelihood under weak priors.

    Parameters
    ----------
    log
        Counts; a cell without attempts is missing.
    model_slopes
        Give every model a slope as well, which multiplies its logit on every item.

    Raises
    ------
    BenchfillError
        Newton's method did not converge.
    """
    who = Population(model_slopes, len(log.models))
    part, _ = some_items(log, None, MOST_ITEMS * len(log.models), seed=0)
    data = group_patterns(part)
    phi, places, centre, rarity = _start(part, data, who)
    stuck = _STUCK if part is log else _STUCK_AT_FIRST
    top = _climb(who, data, phi, places, centre, rarity, stuck=stuck, most_steps=None)
    if part is not log:
        data = group_patterns(log)
        _, mean, _ = who.split(top.phi)
        places = np.tile(mean, (data.size.size, 1))
        top = _climb(who, data, top.phi, places, centre, rarity, stuck=np.inf, most_steps=LAST_STEPS)
    return _report(log, data, who, top.phi, top.nodes)


def _climb(
    who: Population,
    data: ResponsePatterns,
    phi: Array,
    places: Array,
    centre: Array,
    rarity: Array,
    *,
    stuck: float,
    most_steps: int | None,
) -> Top:
    def look(at: Array, near: Array) -> tuple[float, Frames, Array]:
        frames = place_frames(who, data, at, near)
        value, weight = log_marginals(who, data, at, frames)
        return float(data.size @ value), frames, frames.moments(weight)[0]

    return climb(
        "4pl",
        look,
        partial(integrate, who, data),
        phi,
        places,
        centre,
        rarity,
        noise=stuck * phi.size + _STUCK_AN_ATTEMPT * float(data.attempts.sum(axis=0) @ data.size),
        decrement=_DECREMENT,
        longest=_LONGEST_STEP,
        most_steps=most_steps,
    )


def _start(log: ResponseLog, data: ResponsePatterns, who: Population) -> tuple[Array, Array, Array, Array]:
    """Parameters and places to begin with, from a fit with fewer, and centre and precision of the prior."""
    simple = fit_item_model(log, "model_slopes" if who.slopes else "1pl")
    abilities = ability_precision(len(log.models))
    first = np.zeros(data.size.size, dtype=np.int64)
    first[data.of_item] = np.arange(len(log.items))
    places = np.zeros((data.size.size, 4))
    places[:, 0] = simple.b[first]
    edges = (_GUESSING, _LOG_SD_EDGE, _FEASIBILITY, _LOG_SD_EDGE)
    rest = (_LOG_SD_A, *edges) if who.slopes else (_LOG_SD_B, _LOG_SD_A, *edges)
    middle, spread = np.array(rest).T
    if who.slopes:
        unit = simple.sigma_b
        places[:, 0] /= unit
        w = np.column_stack([simple.theta * simple.slope, simple.slope * unit]).ravel()
        centre = np.column_stack([np.zeros(who.models), np.full(who.models, unit)]).ravel()
        rarity = np.diag(np.full(w.size, (_SD_SLOPE * unit) ** -2.0))
        rarity[::2, ::2] = abilities
    else:
        w, centre, rarity = simple.theta, np.zeros(who.models), abilities
    places[:, 2:] = _GUESSING[0], _FEASIBILITY[0]
    hyper = middle.copy()
    if not who.slopes:
        hyper[0] = np.log(simple.sigma_b)
    return (
        np.concatenate([w, hyper]),
        places,
        np.concatenate([centre, middle]),
        block_diag(rarity, np.diag(spread**-2.0)),
    )


def _report(
    log: ResponseLog, data: ResponsePatterns, who: Population, phi: Array, frames: Frames
) -> FourParameterFit:
    w, mean, sd = who.split(phi)
    value, weight = log_marginals(who, data, phi, frames)
    places, covariance = frames.moments(weight)
    unit = float(w[:, 1].mean()) if who.slopes else 1.0
    slope = w[:, 1] / unit if who.slopes else np.ones(who.models)
    spread = np.stack([mean, sd])
    spread[:, 0] *= unit
    of_item = data.of_item
    return FourParameterFit(
        models=log.models,
        items=log.items,
        theta=w[:, 0] / slope,
        slope=slope,
        b=(places[:, 0] * unit)[of_item],
        a=np.exp(places[:, 1])[of_item],
        c=_means(frames, weight, lambda c, d: c)[of_item],
        d=_means(frames, weight, lambda c, d: d)[of_item],
        prior_share=np.minimum(np.diagonal(covariance, axis1=1, axis2=2) / sd**2, 1.0)[of_item],
        population=spread,
        log_likelihood=float(data.size @ value),
        n_parameters=phi.size,
        _who=who,
        _phi=phi,
        _frames=frames,
        _weight=weight,
        _of_item=of_item,
    )


def _means(frames: Frames, weight: NDArray[np.float32], figure: Callable[[Array, Array], Any]) -> Array:
    """Posterior mean of a function of guessing and feasibility, for each pattern."""
    found = np.empty(weight.shape[0])
    for start in range(0, found.size, 2000):
        rows = slice(start, start + 2000)
        x, _ = frames.nodes(rows)
        c = expit(x[..., 2])
        found[rows] = (weight[rows] * figure(c, c + (1.0 - c) * expit(x[..., 3]))).sum(axis=1)
    return found
