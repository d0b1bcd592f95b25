"""Difficulties given a draw of abilities and hyperparameters: distribution functions and exact draws.

A fit keeps draws of ``theta, mu_b, sigma_b``. Given one of them the items are independent, and each group of
items with equal response keys has one distribution, known on nodes adapted to its own width (at most 0.38 of its
standard deviations apart). Between nodes its distribution function is a parabola over each node's cell, of fourth
order in the spacing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.collapsed import Collapsed, Conditional, zero_sum_basis
from benchfill.calibration.difficulty import Difficulties, summarise_difficulties
from benchfill.calibration.fit import Fit
from benchfill.calibration.grouping import ItemGroups, group_items
from benchfill.calibration.quadrature import Reach, locate, place_nodes
from benchfill.calibration.response_log import ResponseLog
from benchfill.errors import InputError

__all__ = ["Conditionals", "GivenDraw", "conditionals_of"]

Array = NDArray[np.float64]

_REFINE = 1  # halvings of the spacing of 0.75 sd: an integral over part of a bell needs more nodes
_PILOTS = 24  # draws that tell how far the bells move


@dataclass(frozen=True, eq=False)
class GivenDraw:
    """The difficulties given one draw.

    Parameters
    ----------
    theta
        Shape (models,), logits.
    mu_b, sigma_b
        Mean and standard deviation of the difficulties' distribution.
    """

    theta: Array
    mu_b: float
    sigma_b: float
    _given: Conditional
    start: NDArray[np.int64]
    _of_item: NDArray[np.int64]

    @property
    def nodes(self) -> Array:
        """Places of the nodes of all groups, one group after the other: shape (nodes,), logits."""
        return self._given.b

    def likelihood(self) -> Array:
        """Of each node's place, without the normal prior, the largest value 1 in each group: shape (nodes,)."""
        with np.errstate(divide="ignore"):
            height = np.log(self._given.weight) + 0.5 * ((self.nodes - self.mu_b) / self.sigma_b) ** 2
        highest = np.maximum.reduceat(height, self.start)
        return np.asarray(np.exp(height - highest.repeat(np.diff(self.start, append=height.size))))

    def under(self, mass: Array) -> GivenDraw:
        """The same with other masses of the nodes, shape (nodes,); those of a group need not sum to one."""
        total = np.add.reduceat(mass, self.start).repeat(np.diff(self.start, append=mass.size))
        return replace(self, _given=replace(self._given, weight=mass / total))

    def cdf(self, b: Array) -> Array:
        """P(difficulty <= b) of one item of each group: shape (groups, points), for b of shape (points,)."""
        weight, nodes = self._given.weight, self._given.b
        start, stop = self.start, np.append(self.start[1:], weight.size)
        first, step = nodes[start], nodes[start + 1] - nodes[start]
        # Mass below each cell: the midpoint rule with its end correction, which vanishes at the ends.
        below = np.cumsum(weight) - weight
        below -= below[start].repeat(stop - start)
        rise = np.diff(weight, prepend=0.0)
        rise[start] = 0.0
        below += rise / 24.0
        above = np.append(below[1:], 1.0)
        above[stop - 1] = 1.0
        bend = 0.25 * (rise + np.append(rise[1:], 0.0))
        place = (b - first[:, None]) / step[:, None] + 0.5
        cell = np.clip(np.floor(place), 0, (stop - start - 1)[:, None]).astype(np.int64)
        share = np.clip(place - cell, 0.0, 1.0)
        cell += start[:, None]
        value = below[cell] + share * (above[cell] - below[cell]) - bend[cell] * share * (1.0 - share)
        return np.asarray(np.clip(value, 0.0, 1.0))

    def sd(self) -> Array:
        """Standard deviation of every item's difficulty: shape (items,), logits."""
        weight, nodes, start = self._given.weight, self._given.b, self.start
        mean = np.add.reduceat(weight * nodes, start)
        square = np.add.reduceat(
            weight * (nodes - mean.repeat(np.diff(start, append=nodes.size))) ** 2, start
        )
        return np.asarray(np.sqrt(square)[self._of_item])

    def draw(self, generator: np.random.Generator) -> Array:
        """One exact draw of every item's difficulty: shape (items,), logits."""
        weight, nodes, start, group = self._given.weight, self._given.b, self.start, self._of_item
        step = nodes[start + 1] - nodes[start]
        total = np.cumsum(weight)
        before = total[start] - weight[start]
        stop = np.append(start[1:], weight.size)
        # One search for all: the cumulative mass of group g runs from about g to g + 1.
        mass = total[stop - 1] - before
        aim = before[group] + generator.random(group.size) * mass[group]
        cell = np.clip(np.searchsorted(total, aim, side="right"), start[group], stop[group] - 1)
        share = (aim - (total[cell] - weight[cell])) / np.maximum(weight[cell], 1e-300)
        return np.asarray(nodes[cell] + (np.clip(share, 0.0, 1.0) - 0.5) * step[group])


@dataclass(frozen=True, eq=False)
class Conditionals:
    """The conditional distributions of a fit's difficulties over its draws.

    Parameters
    ----------
    groups
        Items with equal response keys.
    """

    groups: ItemGroups
    _density: Collapsed
    _draws: Array

    def __len__(self) -> int:
        return int(self._draws.shape[0])

    def difficulties(self) -> Difficulties:
        """What is known of every item's difficulty over these draws: shape (items,) each, logits."""
        return summarise_difficulties(self._density, self._draws).of(self.groups.of_item)

    def __iter__(self) -> Iterator[GivenDraw]:
        for phi in self._draws:
            theta, mu_b, sigma_b = self._density.split(phi)
            given = self._density.conditional(phi)
            yield GivenDraw(theta, mu_b, sigma_b, given, self._density.nodes.start, self.groups.of_item)


def conditionals_of(fit: Fit, log: ResponseLog, *, draws: int) -> Conditionals:
    """Conditional distributions of the difficulties, for draws spread evenly over those of a fit.

    Parameters
    ----------
    fit
        Any engine's. ``mml`` has a single draw, its estimate: what follows then takes abilities as known.
    log
        The response log that was fitted.
    draws
        At most so many.

    Raises
    ------
    InputError
        The log holds other models or items than the fit (kind ``bad_log``).
    """
    if fit.models != log.models or fit.items != log.items:
        raise InputError("The response log is not the one that was fitted.", kind="bad_log")
    groups = group_items(log, fit.guessing)
    kept = np.unique(np.linspace(0, len(fit.theta_draws) - 1, draws).astype(int))
    theta = fit.theta_draws[kept] - fit.theta_draws[kept].mean(axis=1, keepdims=True)
    mu_b, log_sigma = fit.mu_b_draws[kept], np.log(fit.sigma_b_draws[kept])
    phi = np.column_stack([theta @ zero_sum_basis(len(log.models)), mu_b, log_sigma])
    pilots = np.unique(np.linspace(0, len(kept) - 1, _PILOTS).astype(int))
    centres = [locate(groups, theta[at], float(mu_b[at]), float(np.exp(log_sigma[at]))).mean for at in pilots]
    reach = Reach(np.std(centres, axis=0), float(np.std(log_sigma)))
    nodes = place_nodes(
        groups,
        theta.mean(axis=0),
        float(mu_b.mean()),
        float(np.exp(log_sigma.mean())),
        reach=reach,
        refine=_REFINE,
    )
    return Conditionals(groups, Collapsed(groups, nodes), phi)
