"""Marginal likelihood of logistic item models whose items are random: adaptive quadrature, gradient, Hessian.

The models share one form. Item i has a latent place ``x`` of one or two dimensions, ``x ~ Normal(0, diag(sd^2))``, and

    logit of model j = w_j . f(x) + o(x),    P = g_i + (1 - g_i) sigmoid(logit),

linear in the parameters ``w_j`` of model j. What differs between models is a `Form`: features f, offset o, and
which sd are parameters. Each response pattern's integral over x is taken by Gauss-Hermite quadrature on nodes
placed and scaled by the integrand's own mean and covariance (Naylor and Smith 1982), so that one attempt by 12
models and a thousand by 50 are integrated alike. Gradient and Hessian follow from Fisher's and Louis' identities
(Louis 1982): with s and h the score and Hessian given x,

    gradient = E[s],    Hessian = E[h] + E[s s'] - E[s] E[s]'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from benchfill.calibration.patterns import ResponsePatterns
from benchfill.calibration.scoring import find_modes

__all__ = [
    "Form",
    "Integral",
    "Nodes",
    "integrate",
    "log_marginals",
    "new_model_on_nodes",
    "place_nodes",
    "success_on_nodes",
]

Array = NDArray[np.float64]
Index = slice | NDArray[np.int64]

# Nodes a dimension. Of two, the first needs more: items that are always or never solved have a long tail there.
_POINTS = {1: (15,), 2: (11, 7)}
_CHUNK = 1_500_000  # cells of models x patterns x nodes worked on at once


@dataclass(frozen=True, eq=False)
class Form:
    """What makes a model of this family.

    Parameters
    ----------
    dimensions
        Of the latent place x.
    features
        Maps x of shape (..., dimensions) to f of shape (..., F) and o of shape (...).
    slopes
        Maps x and w, (patterns, dimensions) and (models, F), to the derivative of each logit by x: shape
        (models, patterns, dimensions).
    free_sd
        For each dimension, whether its sd is a parameter; it is 1 otherwise.
    n_features
        F.
    """

    dimensions: int
    features: Callable[[Array], tuple[Array, Array]]
    slopes: Callable[[Array, Array], Array]
    free_sd: tuple[bool, ...]
    n_features: int

    @property
    def n_hyper(self) -> int:
        """Parameters that are not of a model."""
        return sum(self.free_sd)

    def split(self, phi: Array) -> tuple[Array, Array]:
        """The vector of parameters as w of shape (models, F) and sd of shape (dimensions,)."""
        end = phi.size - self.n_hyper
        sd = np.ones(self.dimensions)
        sd[list(self.free_sd)] = np.exp(phi[end:])
        return phi[:end].reshape(-1, self.n_features), sd


@dataclass(frozen=True, eq=False)
class Nodes:
    """Quadrature nodes: places (patterns, nodes, dimensions) and log weights (patterns, nodes)."""

    x: Array
    log_weight: Array

    def mean(self, weight: Array) -> Array:
        """Mean place of each pattern, (patterns, dimensions), for weights (patterns, nodes) that sum to one."""
        return np.asarray(np.einsum("gq,gqd->gd", weight, self.x))


@dataclass(frozen=True, eq=False)
class Integral:
    """Log marginal likelihood summed over items, its gradient (P,) and Hessian (P, P)."""

    value: float
    gradient: Array
    hessian: Array


def place_nodes(form: Form, data: ResponsePatterns, phi: Array, start: Array) -> Nodes:
    """Nodes that fit each pattern's integrand at phi.

    Parameters
    ----------
    start : (patterns, dimensions)
        Where to begin the search for the integrands' modes.
    """
    w, sd = form.split(phi)
    mode, root = find_modes(lambda x, part: _local(form, data, w, sd, x, part), start, sd)
    rough = _spread_nodes(mode, root)
    _, weight = log_marginals(form, data, phi, rough)
    mean = rough.mean(weight)
    off = rough.x - mean[:, None, :]
    covariance = np.einsum("gq,gqd,gqe->gde", weight, off, off)
    covariance += 1e-12 * np.eye(form.dimensions)
    return _spread_nodes(mean, np.linalg.cholesky(covariance))


def log_marginals(form: Form, data: ResponsePatterns, phi: Array, nodes: Nodes) -> tuple[Array, Array]:
    """Log marginal likelihood of one item of each pattern, (patterns,), and the nodes' posterior weights."""
    w, sd = form.split(phi)
    value, weight = np.empty(data.size.size), np.empty(nodes.log_weight.shape)
    for part in _chunks(data, nodes):
        logit = _logits(form, w, nodes.x[part])
        height = _heights(data, part, logit, nodes, sd)
        value[part] = logsumexp(height, axis=1)
        weight[part] = np.exp(height - value[part, None])
    return value, weight


def success_on_nodes(form: Form, data: ResponsePatterns, phi: Array, nodes: Nodes) -> Array:
    """Posterior mean of each cell's chance of success: shape (models, patterns)."""
    w, _ = form.split(phi)
    _, weight = log_marginals(form, data, phi, nodes)
    found = np.empty((w.shape[0], data.size.size))
    for part in _chunks(data, nodes):
        chance = np.einsum("mgq,gq->mg", expit(_logits(form, w, nodes.x[part])), weight[part])
        found[:, part] = data.guessing[part] + (1.0 - data.guessing[part]) * chance
    return found


def new_model_on_nodes(
    form: Form, data: ResponsePatterns, w: Array, nodes: Nodes, weight: Array, rows: NDArray[np.int64]
) -> Array:
    """The same of one more model with parameters w, (features,), on some patterns: shape (rows,)."""
    chance = (expit(_logits(form, w[None], nodes.x[rows])[0]) * weight[rows]).sum(axis=1)
    return np.asarray(data.guessing[rows] + (1.0 - data.guessing[rows]) * chance)


def integrate(form: Form, data: ResponsePatterns, phi: Array, nodes: Nodes) -> Integral:
    """Value, gradient and Hessian of the log marginal likelihood."""
    w, sd = form.split(phi)
    models, features = w.shape
    size = phi.size
    value, gradient, hessian = 0.0, np.zeros(size), np.zeros((size, size))
    for part in _chunks(data, nodes):
        x = nodes.x[part]
        f, _ = form.features(x)
        logit = _logits(form, w, x)
        height = _heights(data, part, logit, nodes, sd)
        log_z = logsumexp(height, axis=1)
        many = data.size[part]
        weight = np.exp(height - log_z[:, None])
        value += float(many @ log_z)

        right, asked = data.correct[:, part, None], data.attempts[:, part, None]
        success = expit(logit)
        share = _share(data.guessing[part], logit)
        score = np.empty((size, *weight.shape))
        pull = right * share - asked * success
        score[: models * features] = np.einsum("mgq,gqf->mfgq", pull, f).reshape(-1, *weight.shape)
        free = list(form.free_sd)
        square = np.moveaxis((x / sd) ** 2, -1, 0)[free]
        score[models * features :] = square - 1.0

        # Complete-data Hessian: a block a model, a diagonal entry a free sd.
        bend = right * share * (1.0 - share) - asked * success * (1.0 - success)
        blocks = np.einsum("mgq,gq,gqe,gqf->mef", bend, many[:, None] * weight, f, f, optimize=True)
        for model in range(models):
            block = slice(model * features, (model + 1) * features)
            hessian[block, block] += blocks[model]
        ends = np.arange(models * features, size)
        hessian[ends, ends] -= 2.0 * np.einsum("hgq,gq->h", square, many[:, None] * weight)

        mean = np.einsum("pgq,gq->pg", score, weight)
        gradient += mean @ many
        score -= mean[:, :, None]
        flat = (score * np.sqrt(many[:, None] * weight)).reshape(size, -1)
        hessian += flat @ flat.T
    return Integral(value, gradient, hessian)


def _logits(form: Form, w: Array, x: Array) -> Array:
    """Logits of every model on nodes (patterns, nodes, dimensions): shape (models, patterns, nodes)."""
    f, offset = form.features(x)
    return np.asarray(np.einsum("mf,gqf->mgq", w, f) + offset)


def _share(guessing: Array, logit: Array) -> Array:
    """Derivative of log P + log(1 + e^logit) by the logit: e^logit / (g + e^logit), which is 1 without guessing."""
    if not guessing.any():
        return np.ones((1, 1, 1))
    with np.errstate(divide="ignore"):
        return np.asarray(expit(logit - np.log(guessing)[:, None]))


def _heights(data: ResponsePatterns, part: slice, logit: Array, nodes: Nodes, sd: Array) -> Array:
    """Log of likelihood times prior times node weight: shape (patterns, nodes)."""
    prior = (
        -0.5 * ((nodes.x[part] / sd) ** 2).sum(axis=-1)
        - np.log(sd).sum()
        - 0.5 * sd.size * np.log(2.0 * np.pi)
    )
    return np.asarray(_log_likelihood(data, part, logit) + prior + nodes.log_weight[part])


def _log_likelihood(data: ResponsePatterns, part: Index, logit: Array) -> Array:
    """Log likelihood without binomial coefficients: (models, patterns, nodes) -> (patterns, nodes)."""
    right, asked, guessing = data.correct[:, part], data.attempts[:, part], data.guessing[part]
    # log(1 + e^logit); an absolute error of 1e-16 is all that a sum of logarithms can keep.
    turned = np.maximum(logit, 0.0) + np.log(1.0 + np.exp(-np.abs(logit)))
    value = -np.einsum("mg,mgq->gq", asked, turned)
    if not guessing.any():
        return np.asarray(value + np.einsum("mg,mgq->gq", right, logit))
    with np.errstate(divide="ignore"):
        log_right = np.logaddexp(np.log(guessing)[:, None], logit)
    value += np.einsum("mg,mgq->gq", right, log_right)
    return np.asarray(value + ((asked - right).sum(axis=0) * np.log1p(-guessing))[:, None])


def _local(
    form: Form, data: ResponsePatterns, w: Array, sd: Array, x: Array, part: Index
) -> tuple[Array, Array, Array]:
    """Log integrand of some patterns at one x each, its gradient, and its expected curvature, which is positive."""
    logit = _logits(form, w, x[:, None, :])
    height = _log_likelihood(data, part, logit)[:, 0] - 0.5 * ((x / sd) ** 2).sum(axis=1)
    slope = form.slopes(x, w)
    success, share = expit(logit)[:, :, 0], _share(data.guessing[part], logit)[:, :, 0]
    asked = data.attempts[:, part]
    push = np.einsum("mg,mgd->gd", data.correct[:, part] * share - asked * success, slope) - x / sd**2
    bend = asked * success * (1.0 - success) * share
    return height, push, np.einsum("mg,mgd,mge->gde", bend, slope, slope) + np.diag(sd**-2.0)


def _spread_nodes(centre: Array, root: Array) -> Nodes:
    dimensions = centre.shape[1]
    rules = [np.polynomial.hermite.hermgauss(points) for points in _POINTS[dimensions]]
    grid = np.array(list(product(*(point for point, _ in rules))))
    log_mass = np.log(np.array(list(product(*(mass for _, mass in rules))))).sum(axis=1) + (grid**2).sum(
        axis=1
    )
    x = centre[:, None, :] + np.sqrt(2.0) * np.einsum("gde,qe->gqd", root, grid)
    log_size = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1) + 0.5 * dimensions * np.log(2.0)
    return Nodes(x, log_mass + log_size[:, None])


def _chunks(data: ResponsePatterns, nodes: Nodes) -> Iterator[slice]:
    patterns = data.size.size
    step = max(1, _CHUNK // (data.correct.shape[0] * nodes.log_weight.shape[1]))
    for start in range(0, patterns, step):
        yield slice(start, min(start + step, patterns))
