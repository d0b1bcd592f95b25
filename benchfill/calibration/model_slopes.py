"""Three item models with random items, fitted alike: 1PL, 1PL with a slope a model, 2PL.

    1pl            theta_j - b_i
    model_slopes   a_j (theta_j - b_i)
    2pl            a_i (theta_j - b_i)

as logits of a right answer, ``b_i ~ Normal(0, sigma_b)``, ``log a_i ~ Normal(0, sigma_a)``. Items are integrated out
(`benchfill.calibration.latent`), so the parameters are those of the models and one or two of spread, and their
number does not grow with the items. Abilities and the rest have weak priors (see ``_SD``), so that a model that is
always right keeps a finite place; the fit is the mode, found by Newton's method.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from benchfill.calibration.climb import Top, climb
from benchfill.calibration.item_curves import ItemCurves
from benchfill.calibration.latent import (
    Form,
    Nodes,
    integrate,
    log_marginals,
    new_model_on_nodes,
    place_nodes,
    success_on_nodes,
)
from benchfill.calibration.new_model import chances_of_new_model
from benchfill.calibration.patterns import ResponsePatterns, group_patterns
from benchfill.calibration.response_log import ResponseLog
from benchfill.errors import InputError

__all__ = ["ItemModel", "ItemModelFit", "ability_precision", "fit_item_model"]

Array = NDArray[np.float64]
ItemModel = Literal["1pl", "model_slopes", "2pl"]

# Priors. Logits of the models at the mean item: Normal(m, 3) with m ~ Normal(0, 5); fitted benchmarks show spreads of
# 0.4 to 2.9. log sigma_b: Normal(0.5, 1), as in `fit_1pl`. Slope of a model relative to the 1PL's: Normal(1, 1).
# log sigma_a: Normal(-1, 1), so that 95 % of sigma_a lie between 0.05 and 2.7.
_SD_ABILITY, _SD_MEAN = 3.0, 5.0
_LOG_SIGMA_B, _SD_LOG_SIGMA_B = 0.5, 1.0
_SD_SLOPE = 1.0
_LOG_SIGMA_A, _SD_LOG_SIGMA_A = -1.0, 1.0

_NOISE = 1e-3  # nats an item: two-dimensional quadrature is no better, and its value no smoother


def _one(x: Array) -> tuple[Array, Array]:
    return np.ones(x.shape), -x[..., 0]


def _two(x: Array) -> tuple[Array, Array]:
    return np.stack([np.ones(x.shape[:-1]), -x[..., 0]], axis=-1), np.zeros(x.shape[:-1])


def _item_slope(x: Array) -> tuple[Array, Array]:
    slope = np.exp(x[..., 1])
    return slope[..., None], -slope * x[..., 0]


def _two_slopes(x: Array, w: Array) -> Array:
    return np.broadcast_to(-w[:, 1, None, None], (w.shape[0], x.shape[0], 1))


def _item_slope_slopes(x: Array, w: Array) -> Array:
    slope = np.broadcast_to(np.exp(x[:, 1]), (w.shape[0], x.shape[0]))
    return np.stack([-slope, slope * (w - x[:, 0])], axis=-1)


_FORMS: dict[ItemModel, Form] = {
    "1pl": Form(1, _one, lambda x, w: np.full((w.shape[0], x.shape[0], 1), -1.0), (True,), 1),
    "model_slopes": Form(1, _two, _two_slopes, (False,), 2),
    "2pl": Form(2, _item_slope, _item_slope_slopes, (True, True), 1),
}


@dataclass(frozen=True, eq=False)
class ItemModelFit:
    """A fitted item model.

    Parameters
    ----------
    model
        Which.
    models, items
        Ids in the order of the arrays.
    theta
        Shape (models,). Abilities in logits on an axis where the mean item is at 0.
    slope
        Shape (models,). ``a_j``, with mean one; ones where slopes are not the models'.
    b
        Shape (items,). Posterior mean difficulty in logits, on the same axis.
    item_slope
        Shape (items,). ``a_i``, exp of the posterior mean of its log; ones where slopes are not the items'.
    sigma_b, sigma_a
        Spread of difficulties in logits, and of log item slopes (0 where there are none).
    log_likelihood
        Marginal log likelihood at the mode, without binomial coefficients; nats.
    n_parameters
        Those estimated, items not among them.
    covariance
        Shape (P, P). Inverse of the negative Hessian of the log posterior, for the parameters as fitted: under
        ``model_slopes`` they are (c_j, s_j) of each model in turn, with ``a_j (theta_j - b) = c_j - s_j b / sigma_b``.
    """

    model: ItemModel
    models: tuple[str, ...]
    items: tuple[str, ...]
    theta: Array
    slope: Array
    b: Array
    item_slope: Array
    sigma_b: float
    sigma_a: float
    log_likelihood: float
    n_parameters: int
    covariance: Array
    _phi: Array
    _nodes: Nodes
    _patterns: ResponsePatterns

    def success(self) -> Array:
        """Posterior mean chance of success of every cell, asked or not: shape (models, items)."""
        form = _FORMS[self.model]
        return success_on_nodes(form, self._patterns, self._phi, self._nodes)[:, self._patterns.of_item]

    def success_of(self, correct: NDArray[np.int64], attempts: NDArray[np.int64]) -> Array:
        """Chance of success on every item of a model the fit never saw, placed by its counts: shape (items,).

        The model's parameters have the mean of the fitted ones and three times their sd as prior.
        """
        form = _FORMS[self.model]
        w, _ = form.split(self._phi)
        _, weight = log_marginals(form, self._patterns, self._phi, self._nodes)
        return chances_of_new_model(
            lambda new, rows: new_model_on_nodes(form, self._patterns, new, self._nodes, weight, rows),
            w,
            self._patterns.of_item,
            correct,
            attempts,
        )

    def curves(self) -> ItemCurves:
        """Point estimates as curves; guessing is as given to the fit, feasibility 1."""
        guessing = self._patterns.guessing[self._patterns.of_item]
        return ItemCurves(
            models=self.models,
            items=self.items,
            theta=self.theta,
            slope=self.slope,
            b=self.b,
            a=self.item_slope,
            c=guessing,
            d=np.ones(len(self.items)),
        )

    def draw_curves(self, draws: int, generator: np.random.Generator) -> tuple[Array, Array]:
        """Draws of (c, s) from the normal approximation: ``logit = c_j - s_j u`` at ``u = b / sigma_b``.

        Returns
        -------
        c, s
            Shape (draws, models) each.

        Raises
        ------
        ValueError
            The fit is not of ``model_slopes``.
        """
        if self.model != "model_slopes":
            raise ValueError("only model_slopes has a curve a model")
        root = np.linalg.cholesky(self.covariance)
        phi = self._phi + generator.standard_normal((draws, self._phi.size)) @ root.T
        pairs = phi.reshape(draws, -1, 2)
        return pairs[:, :, 0], pairs[:, :, 1]


def fit_item_model(log: ResponseLog, model: ItemModel, *, guessing: Array | None = None) -> ItemModelFit:
    """Fit an item model by marginal maximum likelihood under weak priors.

    Parameters
    ----------
    log
        Counts; a cell without attempts is missing.
    guessing
        Shape (items,), in [0, 1); None is 0 throughout.

    Raises
    ------
    InputError
        There is no such model.
    BenchfillError
        Newton's method did not converge.
    """
    if model not in get_args(ItemModel):
        raise InputError(
            f"There is no item model {model!r}.", f"Choose from {', '.join(get_args(ItemModel))}."
        )
    data = group_patterns(log, guessing)
    models = len(log.models)
    phi, places = _start(data)
    centre = np.append(np.zeros(models), _LOG_SIGMA_B)
    rarity = block_diag(ability_precision(models), _SD_LOG_SIGMA_B**-2.0)
    found = _climb("1pl", data, phi, places, centre, rarity)
    if model == "model_slopes":
        sigma_b = float(np.exp(found.phi[-1]))
        phi = np.column_stack([found.phi[:-1], np.full(models, sigma_b)]).ravel()
        centre = np.column_stack([np.zeros(models), np.full(models, sigma_b)]).ravel()
        rarity = np.diag(np.full(2 * models, (_SD_SLOPE * sigma_b) ** -2.0))
        rarity[::2, ::2] = ability_precision(models)
        found = _climb(model, data, phi, found.places / sigma_b, centre, rarity)
    elif model == "2pl":
        places = np.column_stack([found.places[:, 0], np.zeros(data.size.size)])
        rarity = block_diag(rarity, _SD_LOG_SIGMA_A**-2.0)
        found = _climb(
            model, data, np.append(found.phi, _LOG_SIGMA_A), places, np.append(centre, _LOG_SIGMA_A), rarity
        )
    return _report(log, model, data, found)


def ability_precision(models: int) -> Array:
    """Precision of the prior of the models' logits at the mean item, shape (models, models)."""
    return np.asarray(np.linalg.inv(_SD_ABILITY**2 * np.eye(models) + _SD_MEAN**2))


def _start(data: ResponsePatterns) -> tuple[Array, Array]:
    """Rough 1PL: logits of the models' success rates, and log 1.65 for log sigma_b; every item at 0."""
    asked, right = data.attempts @ data.size, data.correct @ data.size
    return np.append(np.log((right + 0.5) / (asked - right + 0.5)), _LOG_SIGMA_B), np.zeros(
        (data.size.size, 1)
    )


def _climb(
    model: ItemModel, data: ResponsePatterns, phi: Array, start: Array, centre: Array, rarity: Array
) -> Top:
    form = _FORMS[model]

    def look(at: Array, near: Array) -> tuple[float, Nodes, Array]:
        nodes = place_nodes(form, data, at, near)
        value, weight = log_marginals(form, data, at, nodes)
        return float(data.size @ value), nodes, nodes.mean(weight)

    noise = _NOISE * float(data.size.sum()) + 0.5
    return climb(model, look, partial(integrate, form, data), phi, start, centre, rarity, noise=noise)


def _report(log: ResponseLog, model: ItemModel, data: ResponsePatterns, top: Top) -> ItemModelFit:
    form, phi, places, nodes = _FORMS[model], top.phi, top.places, top.nodes
    w, sd = form.split(phi)
    value, _ = log_marginals(form, data, phi, nodes)
    slope, sigma_b, theta = np.ones(len(log.models)), float(sd[0]), w[:, 0]
    if model == "model_slopes":
        # The unit of the latent place is free: that in which the slopes have mean one makes it logits.
        sigma_b = float(w[:, 1].mean())
        slope = w[:, 1] / sigma_b
        theta = w[:, 0] / slope
    return ItemModelFit(
        model=model,
        models=log.models,
        items=log.items,
        theta=theta,
        slope=slope,
        b=(places[:, 0] * (sigma_b if model == "model_slopes" else 1.0))[data.of_item],
        item_slope=np.exp(places[:, 1])[data.of_item] if model == "2pl" else np.ones(len(log.items)),
        sigma_b=sigma_b,
        sigma_a=float(sd[1]) if model == "2pl" else 0.0,
        log_likelihood=float(data.size @ value),
        n_parameters=phi.size,
        covariance=top.covariance,
        _phi=phi,
        _nodes=nodes,
        _patterns=data,
    )
