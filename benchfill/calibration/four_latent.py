"""Marginal likelihood of the 4PL with random items: adaptive quadrature in four dimensions, gradient, Hessian.

Item i has a latent place ``x = (b, log a, logit c, logit q) ~ Normal(mean, diag(sd^2))`` and

    logit of model j = a (alpha_j - s_j b),    P = c + (1 - c) q sigmoid(logit),    d = c + (1 - c) q,

so that guessing c and feasibility d keep their order. The integrals over x are taken as in
`benchfill.calibration.latent`, on nodes that follow each response pattern's own mean and covariance: twelve answers
leave x about as wide as its prior, a thousand pin it down. Success is computed in single precision, which keeps a log
likelihood to 1e-6 of its size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.latent import Integral
from benchfill.calibration.patterns import ResponsePatterns
from benchfill.calibration.scoring import find_modes

__all__ = ["Frames", "Population", "integrate", "log_marginals", "place_frames", "success_on_frames"]

Array = NDArray[np.float64]
Single = NDArray[np.float32]
Rows = slice | NDArray[np.int64]

DIMENSIONS = 4
POINTS = (7, 5, 5, 4)  # nodes a dimension; (9, 7, 7, 7) move a log likelihood by less than 1e-3 an item
_CHUNK = 1_500_000  # cells of models x patterns x nodes worked on at once
_FLAT = 30.0  # logits beyond which a sigmoid is its limit in single precision
_TINY = 1e-30


@dataclass(frozen=True, eq=False)
class Population:
    """Parameters that are not an item's.

    ``phi`` holds w of every model, then the free spreads and means in the order log sd of b (only where slopes are not
    free: the unit of b is open there), log sd of log a, mean and log sd of logit c, mean and log sd of logit q.

    Parameters
    ----------
    slopes
        Whether every model has a slope s_j; w_j is then (alpha_j, s_j), else (alpha_j,).
    models
        How many.
    """

    slopes: bool
    models: int

    @property
    def features(self) -> int:
        """Parameters a model."""
        return 2 if self.slopes else 1

    @property
    def sd_at(self) -> tuple[tuple[int, int], ...]:
        """(dimension, position in phi) of every free log sd."""
        first = self.features * self.models
        every = ((0, first), (1, first + 1), (2, first + 3), (3, first + 5))
        return tuple((axis, at - 1) for axis, at in every[1:]) if self.slopes else every

    @property
    def mean_at(self) -> tuple[tuple[int, int], ...]:
        """(dimension, position in phi) of every free mean."""
        return tuple((axis, at - 1) for axis, at in self.sd_at if axis >= 2)

    @property
    def size(self) -> int:
        """Length of phi."""
        return self.features * self.models + (5 if self.slopes else 6)

    def split(self, phi: Array) -> tuple[Array, Array, Array]:
        """w of shape (models, features), and mean and sd of the places, shape (4,)."""
        mean, sd = np.zeros(DIMENSIONS), np.ones(DIMENSIONS)
        for axis, at in self.mean_at:
            mean[axis] = phi[at]
        for axis, at in self.sd_at:
            sd[axis] = np.exp(phi[at])
        return phi[: self.features * self.models].reshape(self.models, self.features), mean, sd


@dataclass(frozen=True, eq=False)
class Frames:
    """Quadrature nodes of each pattern, as the places and scales from which they are laid out when needed.

    Parameters
    ----------
    centre
        Shape (patterns, 4).
    root
        Shape (patterns, 4, 4). Cholesky factor of the covariance the nodes are scaled to.
    """

    centre: Array
    root: Array

    def nodes(self, rows: Rows) -> tuple[Array, Array]:
        """Places (rows, nodes, 4) and log weights (rows, nodes) of some patterns."""
        grid, log_mass = _rule()
        x = self.centre[rows][:, None, :] + np.sqrt(2.0) * grid @ np.swapaxes(self.root[rows], 1, 2)
        log_size = np.log(np.diagonal(self.root[rows], axis1=1, axis2=2)).sum(axis=1)
        return x, log_mass + (log_size + 0.5 * DIMENSIONS * np.log(2.0))[:, None]

    def moments(self, weight: Single | Array) -> tuple[Array, Array]:
        """Means (patterns, 4) and covariances (patterns, 4, 4) for weights (patterns, nodes) that sum to one."""
        grid, _ = _rule()
        weight = weight.astype(np.float64)
        first = weight @ grid
        pairs = (grid[:, :, None] * grid[:, None, :]).reshape(-1, DIMENSIONS**2)
        second = (weight @ pairs).reshape(-1, DIMENSIONS, DIMENSIONS) - first[:, :, None] * first[:, None, :]
        mean = self.centre + np.sqrt(2.0) * np.einsum("gde,ge->gd", self.root, first)
        return mean, 2.0 * self.root @ second @ np.swapaxes(self.root, 1, 2)


def place_frames(who: Population, data: ResponsePatterns, phi: Array, start: Array) -> Frames:
    """Frames that fit each pattern's integrand at phi; ``start``, (patterns, 4), is near the modes."""
    w, mean, sd = who.split(phi)
    mode, root = find_modes(lambda x, part: _local(data, w, mean, sd, x, part), start, sd)
    weight = log_marginals(who, data, phi, Frames(mode, root))[1]
    centre, covariance = Frames(mode, root).moments(weight)
    # Where a node has all the weight it says nothing of the spread, and the curvature at the mode stays.
    doubt = (weight.max(axis=1).astype(np.float64) ** 2)[:, None, None]
    covariance = (1.0 - doubt) * covariance + (doubt + 1e-6) * (root @ np.swapaxes(root, 1, 2))
    return Frames(centre, np.linalg.cholesky(covariance).astype(np.float64))


def log_marginals(
    who: Population, data: ResponsePatterns, phi: Array, frames: Frames
) -> tuple[Array, Single]:
    """Log marginal likelihood of one item of each pattern, (patterns,), and the nodes' posterior weights."""
    w, mean, sd = who.split(phi)
    value, weight = np.empty(data.size.size), np.empty((data.size.size, len(_rule()[1])), dtype=np.float32)
    for part in _chunks(data.size.size, who.models):
        x, log_weight = frames.nodes(part)
        right, wrong, _, _, _ = _chances(w, x)
        value[part], weight[part] = _weights(data, part, x, log_weight, right, wrong, mean, sd)
    return value, weight


def success_on_frames(frames: Frames, weight: Single, w: Array, rows: NDArray[np.int64]) -> Array:
    """Posterior mean chance of success of models with parameters w (models, features): shape (models, rows)."""
    found = np.empty((w.shape[0], rows.size))
    for part in _chunks(rows.size, w.shape[0]):
        x, _ = frames.nodes(rows[part])
        found[:, part] = np.einsum("mgq,gq->mg", _chances(w, x)[0], weight[rows[part]])
    return found


def integrate(who: Population, data: ResponsePatterns, phi: Array, frames: Frames) -> Integral:
    """Value, gradient and Hessian of the log marginal likelihood, by the identities of Fisher and Louis."""
    w, mean, sd = who.split(phi)
    ends, size = who.features * who.models, phi.size
    value, gradient, hessian = 0.0, np.zeros(size), np.zeros((size, size))
    for part in _chunks(data.size.size, who.models):
        (x, log_weight), many = frames.nodes(part), data.size[part]
        right, wrong, able, rise, slope = _chances(w, x)
        log_z, weight = _weights(data, part, x, log_weight, right, wrong, mean, sd)
        value += float(many @ log_z)
        one, none = _counts(data, part)
        pull = one / right - none / wrong
        bend = pull * rise * (1 - 2 * able) - (one / right**2 + none / wrong**2) * rise**2
        pull *= rise
        f = [slope, -slope * x[..., 0].astype(np.float32)][: who.features]
        mass = many[:, None] * weight
        score = np.zeros((size, *weight.shape), dtype=np.float32)
        for at, feature in enumerate(f):
            score[at : ends : who.features] = pull * feature
            for to, other in enumerate(f):
                diagonal = np.einsum("mgq,gq->m", bend, mass * feature * other)
                rows = np.arange(who.models) * who.features
                hessian[rows + at, rows + to] += diagonal
        off = (x - mean) / sd
        for axis, at in who.sd_at:
            square = off[..., axis] ** 2
            score[at] = square - 1.0
            hessian[at, at] -= 2.0 * float((mass * square).sum())
        for axis, at in who.mean_at:
            score[at] = off[..., axis] / sd[axis]
            hessian[at, at] -= float(mass.sum()) / sd[axis] ** 2
            cross = 2.0 * float((mass * off[..., axis]).sum()) / sd[axis]
            hessian[at, at + 1] -= cross
            hessian[at + 1, at] -= cross
        middle = np.einsum("pgq,gq->pg", score, weight)
        gradient += middle @ many
        score -= middle[:, :, None].astype(np.float32)
        flat = (score * np.sqrt(mass).astype(np.float32)).reshape(size, -1)
        hessian += flat @ flat.T
    return Integral(value, gradient, hessian)


def _chances(w: Array, x: Array) -> tuple[Single, Single, Single, Single, Single]:
    """P, 1 - P, sigmoid, dP/dlogit, each (models, patterns, nodes), and a (patterns, nodes)."""
    place, w = x.astype(np.float32), w.astype(np.float32)
    slope: Single = np.exp(place[..., 1])
    b = place[..., 0] if w.shape[1] == 1 else w[:, 1, None, None] * place[..., 0]
    turned: Single = np.exp(np.clip(slope * (b - w[:, 0, None, None]), -_FLAT, _FLAT)).astype(np.float32)
    able: Single = np.float32(1) / (1 + turned)
    turned *= able  # 1 - able
    c, q = (1 / (1 + np.exp(-place[..., axis])) for axis in (2, 3))
    share = ((1 - c) * q).astype(np.float32)
    # (1 - c) (1 - q) from its own logit, since q tends to 1.
    wrong: Single = share * turned + (1 - c) / (1 + np.exp(place[..., 3]))
    right: Single = np.maximum(c + share * able, np.float32(_TINY))
    turned *= share * able
    return right, np.maximum(wrong, np.float32(_TINY)), able, turned, slope


def _counts(data: ResponsePatterns, part: slice) -> tuple[Single, Single]:
    right = data.correct[:, part, None].astype(np.float32)
    return right, data.attempts[:, part, None].astype(np.float32) - right


def _weights(
    data: ResponsePatterns,
    part: slice,
    x: Array,
    log_weight: Array,
    right: Single,
    wrong: Single,
    mean: Array,
    sd: Array,
) -> tuple[Array, Single]:
    """Log marginals of some patterns, and the posterior weights of their nodes."""
    one, none = _counts(data, part)
    if data.attempts[:, part].max() <= 1.0:
        # One logarithm a cell, of the answer that was given.
        height = np.log(np.where(one > 0, right, np.where(none > 0, wrong, np.float32(1)))).sum(axis=0)
    else:
        height = (one * np.log(right)).sum(axis=0) + (none * np.log(wrong)).sum(axis=0)
    height = height + (log_weight - 0.5 * (((x - mean) / sd) ** 2).sum(axis=-1))
    height -= np.log(sd).sum() + 0.5 * DIMENSIONS * np.log(2.0 * np.pi)
    top = height.max(axis=1, keepdims=True)
    weight = np.exp((height - top).astype(np.float32))
    total = weight.sum(axis=1, keepdims=True)
    return (top + np.log(total))[:, 0], weight / total


def _local(
    data: ResponsePatterns, w: Array, mean: Array, sd: Array, x: Array, part: Rows
) -> tuple[Array, Array, Array]:
    """Log integrand of some patterns at one x each, its gradient, and its expected curvature."""
    right, wrong, able, rise, slope = (each[..., 0].astype(np.float64) for each in _chances(w, x[:, None, :]))
    one, asked = data.correct[:, part], data.attempts[:, part]
    off = (x - mean) / sd
    height = (one * np.log(right) + (asked - one) * np.log(wrong)).sum(axis=0) - 0.5 * (off**2).sum(axis=1)
    s = 1.0 if w.shape[1] == 1 else w[:, 1, None]
    c, q = 1.0 / (1.0 + np.exp(-x[:, 2])), 1.0 / (1.0 + np.exp(-x[:, 3]))
    steep = np.stack(
        [
            -rise * slope * s,
            rise * slope * (w[:, 0, None] - s * x[:, 0]),
            c * wrong,
            (1.0 - c) * q * (1.0 - q) * able,
        ],
        axis=-1,
    )
    push = np.einsum("mg,mgd->gd", one / right - (asked - one) / wrong, steep) - off / sd
    curvature = np.einsum("mg,mgd,mge->gde", asked / (right * wrong), steep, steep, optimize=True)
    return height, push, curvature + np.diag(sd**-2.0)


@cache
def _rule() -> tuple[Array, Array]:
    """Gauss-Hermite points, (nodes, 4), and their log weights for an integrand without the normal density."""
    rules = [np.polynomial.hermite.hermgauss(points) for points in POINTS]
    grid = np.array(list(product(*(point for point, _ in rules))))
    mass = np.array(list(product(*(weight for _, weight in rules))))
    return grid, np.log(mass).sum(axis=1) + (grid**2).sum(axis=1)


def _chunks(patterns: int, models: int) -> Iterator[slice]:
    step = max(1, _CHUNK // (models * len(_rule()[1])))
    for start in range(0, patterns, step):
        yield slice(start, min(start + step, patterns))
