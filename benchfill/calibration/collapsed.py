"""The collapsed posterior: abilities and hyperparameters, every difficulty integrated out.

Parameters are ``phi = (v, mu_b, log sigma_b)`` of length models + 1, where ``theta = basis @ v`` has sum zero.
Priors, all weak, in logits:

- ``mu_b ~ Normal(0, 5)``;
- ``log sigma_b ~ Normal(0.5, 1)``: 95 % of sigma_b between 0.23 and 12; fitted benchmarks show 0.9 to 3.3;
- ``theta | spread ~ Normal(0, spread)`` on the zero-sum subspace, ``log spread ~ Normal(0, 0.75)``: 95 % of the
  spread between 0.23 and 4.3; fitted benchmarks show 0.4 to 2.9. The spread is integrated out too, so that few
  models make no funnel.

Both log-normal densities vanish at zero, where a hierarchical scale has a spurious attraction, and have all
moments, so that a model or an item that is always right keeps a finite place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.blocks import inner_product, product
from benchfill.calibration.grouping import ItemGroups
from benchfill.calibration.quadrature import Nodes

__all__ = [
    "LOG_SIGMA_MEAN",
    "LOG_SIGMA_SD",
    "LOG_SPREAD_SD",
    "MU_B_SD",
    "Collapsed",
    "Conditional",
    "zero_sum_basis",
]

Array = NDArray[np.float64]

MU_B_SD = 5.0
LOG_SIGMA_MEAN, LOG_SIGMA_SD = 0.5, 1.0
LOG_SPREAD_SD = 0.75
_FAR = 300.0  # logits; a success rate beyond is 0 or 1, and exp() of twice that is still finite


def zero_sum_basis(models: int) -> Array:
    """Orthonormal basis of the vectors with sum zero (Helmert): shape (models, models - 1)."""
    basis = np.zeros((models, models - 1))
    for column in range(1, models):
        basis[:column, column - 1] = 1.0
        basis[column, column - 1] = -float(column)
        basis[:, column - 1] /= np.sqrt(column * (column + 1.0))
    return basis


@dataclass(frozen=True, eq=False)
class Conditional:
    """Difficulties given abilities and hyperparameters.

    Parameters
    ----------
    log_z
        Shape (groups,). Log marginal likelihood of one item of each group.
    b, weight
        Shape (K,). Places of the nodes in use, logits, and their probabilities (sum one in each group).
    """

    log_z: Array
    b: Array
    weight: Array


@dataclass(frozen=True, eq=False)
class _State:
    sigma_b: float
    deviation: Array  # (U,) z of each node
    odds: Array  # (models, U) exp(theta - b)
    success: Array  # (models, U) sigmoid(theta - b)
    conditional: Conditional


class Collapsed:
    """Log density, gradient and Hessian of the collapsed posterior on given nodes.

    Parameters
    ----------
    groups
        The grouped response log.
    nodes
        Quadrature nodes; the values are exact as far as these cover the integrands.
    log_spread
        Log of the abilities' spread where it is held fixed; None integrates it out.
    """

    def __init__(self, groups: ItemGroups, nodes: Nodes, log_spread: float | None = None) -> None:
        self.groups = groups
        self.nodes = nodes
        self.basis = zero_sum_basis(groups.designs.shape[1])
        self.dimension = self.basis.shape[1] + 2
        design = groups.design[nodes.group]
        self._cell = design * nodes.place.size + nodes.index
        self._cells = (groups.designs.shape[0], nodes.place.size)
        self._asked = groups.designs if len(groups.designs) == 1 else groups.designs[design]
        rate = np.unique(groups.guessing, return_inverse=True)[1][design]
        guess_use = np.flatnonzero(groups.guessing[design] > 0.0)
        pair, first, self._guess_pair = np.unique(
            rate[guess_use] * nodes.place.size + nodes.index[guess_use],
            return_index=True,
            return_inverse=True,
        )
        self._guess_use = guess_use
        self._guess_node = pair % nodes.place.size
        self._chance = groups.guessing[design[guess_use[first]]]
        self._guess_correct = groups.correct[nodes.group[guess_use]].T
        self._total = groups.total[nodes.group]
        self._total[guess_use] = 0.0
        self._size = groups.size[nodes.group]
        self._moving = bool(nodes.relative.any())
        models = self.basis.shape[0]
        nodes_of_spread = _log_spread_grid(models) if log_spread is None else np.array([log_spread])
        rarity = 0.5 * (nodes_of_spread / LOG_SPREAD_SD) ** 2
        self._spread_height = -rarity - (models - 1.0) * nodes_of_spread
        self._precision = np.exp(-2.0 * nodes_of_spread)

    def split(self, phi: Array) -> tuple[Array, float, float]:
        """The vector of parameters as theta (models,), mu_b, sigma_b."""
        return self.basis @ phi[:-2], float(phi[-2]), float(np.exp(phi[-1]))

    def conditional(self, phi: Array) -> Conditional:
        """Posterior of each group's difficulty given the parameters phi, shape (models + 1,)."""
        return self._evaluate(phi).conditional

    def log_density(self, phi: Array) -> float:
        """Log posterior density of phi, shape (models + 1,), up to a constant."""
        return self._log_likelihood(phi, self._evaluate(phi)) + self._prior(phi)[0]

    def value_and_gradient(self, phi: Array) -> tuple[float, Array]:
        """Log posterior density of phi, shape (models + 1,), and its gradient, same shape."""
        state, nodes = self._evaluate(phi), self.nodes
        value, gradient = self._prior(phi)
        weight = self._size * state.conditional.weight
        fallen = self._on_nodes(weight) * state.success
        theta_part = self.groups.solved - fallen.sum(axis=1)
        right = self._total
        if self._guess_use.size:
            share = self._guess_share(state) * self._guess_correct
            theta_part += np.einsum("mk,k->m", share, weight[self._guess_use])
            right = right.copy()
            right[self._guess_use] = share.sum(axis=0)
        gradient[:-2] += self.basis.T @ theta_part
        z, places = state.deviation, nodes.place.size
        held = np.where(nodes.relative, 0.0, np.bincount(nodes.index, weight, places))
        gradient[-2] += float((held * z).sum()) / state.sigma_b
        gradient[-1] += float((held * (z * z - 1.0)).sum())
        if self._moving:
            slope = fallen.sum(axis=0) - np.bincount(nodes.index, weight * right, places)
            pushed = np.where(nodes.relative, slope, 0.0)
            gradient[-2] += float(pushed.sum())
            gradient[-1] += state.sigma_b * float((pushed * z).sum())
        return value + self._log_likelihood(phi, state), gradient

    def hessian(self, phi: Array) -> Array:
        """Hessian of the log posterior density: shape (models + 1, models + 1). Absolute nodes only."""
        state, nodes = self._evaluate(phi), self.nodes
        weight = self._size * state.conditional.weight
        models = self.basis.shape[0]
        score = np.empty((nodes.index.size, models + 2))
        score[:, :models] = -self._asked * state.success[:, nodes.index].T
        curvature = -(self._on_nodes(weight) * state.success * (1.0 - state.success)).sum(axis=1)
        if self._guess_use.size:
            share = self._guess_share(state)
            score[self._guess_use, :models] += (share * self._guess_correct).T
            bent = share * (1.0 - share) * self._guess_correct
            curvature += np.einsum("mk,k->m", bent, weight[self._guess_use])
        z = state.deviation[nodes.index]
        score[:, models] = z / state.sigma_b
        score[:, models + 1] = z * z - 1.0
        mean = np.add.reduceat(state.conditional.weight[:, None] * score, nodes.start, axis=0)
        score -= mean[nodes.group]
        full = inner_product(score, weight[:, None] * score)
        full[np.arange(models), np.arange(models)] += curvature
        full[models, models] -= weight.sum() / state.sigma_b**2
        cross = 2.0 * float((weight * z).sum()) / state.sigma_b
        full[models, models + 1] -= cross
        full[models + 1, models] -= cross
        full[models + 1, models + 1] -= 2.0 * float((weight * z * z).sum())
        outer = np.zeros((models + 2, self.dimension))
        outer[:models, :-2] = self.basis
        outer[models, -2] = outer[models + 1, -1] = 1.0
        return np.asarray(outer.T @ full @ outer + self._prior_hessian(phi))

    def centre_slopes(self, phi: Array) -> Array:
        """Derivatives of each group's conditional mean of b: shape (groups, models + 1). Absolute nodes only."""
        state, nodes = self._evaluate(phi), self.nodes
        given = state.conditional
        mean = np.add.reduceat(given.weight * given.b, nodes.start)
        pull = (given.weight * (given.b - mean[nodes.group]))[:, None]
        score = -self._asked * state.success[:, nodes.index].T
        if self._guess_use.size:
            score[self._guess_use] += (self._guess_share(state) * self._guess_correct).T
        z = state.deviation[nodes.index]
        full = np.add.reduceat(pull * np.column_stack([score, z / state.sigma_b, z * z]), nodes.start, axis=0)
        return np.column_stack([np.einsum("gm,md->gd", full[:, :-2], self.basis), full[:, -2:]])

    def _evaluate(self, phi: Array) -> _State:
        theta, mu_b, sigma_b = self.split(phi)
        nodes = self.nodes
        if self._moving:
            deviation = np.where(nodes.relative, nodes.place, (nodes.place - mu_b) / sigma_b)
            b = np.where(nodes.relative, mu_b + sigma_b * nodes.place, nodes.place)
            b = np.maximum(np.minimum(b, _FAR), -_FAR)
            log_width = np.where(nodes.relative, 0.0, phi[-1])
        else:
            deviation, b, log_width = (nodes.place - mu_b) / sigma_b, nodes.place, phi[-1]
        theta = np.maximum(np.minimum(theta, _FAR), -_FAR)
        odds = np.exp(theta)[:, None] * np.exp(-b)
        one_more = 1.0 + odds
        prior = -0.5 * deviation * deviation - log_width
        level = prior - product(self.groups.designs, np.log(one_more))
        height = level.ravel()[self._cell] + nodes.log_step - self._total * b[nodes.index]
        if self._guess_use.size:
            log_right = np.log(self._chance + odds[:, self._guess_node])
            height[self._guess_use] += np.einsum(
                "mk,mk->k", log_right[:, self._guess_pair], self._guess_correct
            )
        top = np.maximum.reduceat(height, nodes.start)
        weight = np.exp(height - top[nodes.group])
        sums = np.add.reduceat(weight, nodes.start)
        weight /= sums[nodes.group]
        given = Conditional(top + np.log(sums), b[nodes.index], weight)
        return _State(sigma_b, deviation, odds, 1.0 - 1.0 / one_more, given)

    def _guess_share(self, state: _State) -> Array:
        """Derivative of log P(correct) + log(1 + odds) by theta, odds / (g + odds): (models, uses with guessing)."""
        odds = state.odds[:, self._guess_node]
        return np.asarray((odds / (self._chance + odds))[:, self._guess_pair])

    def _on_nodes(self, weight: Array) -> Array:
        """Attempts of each model at each node, weighted by the items there: (K,) -> (models, U)."""
        on_cell = np.bincount(self._cell, weight, self._cells[0] * self._cells[1])
        return inner_product(self.groups.designs, on_cell.reshape(self._cells).astype(np.float64, copy=False))

    def _log_likelihood(self, phi: Array, state: _State) -> float:
        theta = self.basis @ phi[:-2]
        return float(self.groups.size @ state.conditional.log_z + self.groups.solved @ theta)

    def _prior(self, phi: Array) -> tuple[float, Array]:
        """Log prior density and its gradient, a sum over the nodes of the abilities' spread."""
        v, mu_b, off = phi[:-2], float(phi[-2]), (float(phi[-1]) - LOG_SIGMA_MEAN) / LOG_SIGMA_SD
        value = -0.5 * (mu_b / MU_B_SD) ** 2 - 0.5 * off**2
        gradient = np.empty(self.dimension)
        gradient[-2], gradient[-1] = -mu_b / MU_B_SD**2, -off / LOG_SIGMA_SD
        log_sum, weight = self._spread_posterior(v)
        gradient[:-2] = -(weight @ self._precision) * v
        return value + log_sum, gradient

    def _prior_hessian(self, phi: Array) -> Array:
        """Hessian of the log prior density."""
        v = phi[:-2]
        _, weight = self._spread_posterior(v)
        mean = weight @ self._precision
        hessian = np.zeros((self.dimension, self.dimension))
        hessian[:-2, :-2] = (weight @ (self._precision - mean) ** 2) * np.outer(v, v) - mean * np.eye(v.size)
        hessian[-2, -2], hessian[-1, -1] = -1.0 / MU_B_SD**2, -1.0 / LOG_SIGMA_SD**2
        return hessian

    def _spread_posterior(self, v: Array) -> tuple[float, Array]:
        """Log prior density of the abilities up to a constant, and the weights of the nodes of their spread."""
        height = self._spread_height - 0.5 * float(v @ v) * self._precision
        top = float(height.max())
        weight = np.exp(height - top)
        total = float(weight.sum())
        return top + float(np.log(total)), weight / total


def _log_spread_grid(models: int) -> Array:
    """Nodes of the trapezoid rule over the log of the abilities' spread."""
    return np.linspace(-6.0, 6.0, 2 * int(np.ceil(6.0 * max(10.0, np.sqrt(2.0 * models)))) + 1)
