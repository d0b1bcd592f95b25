"""Integrating a difficulty out: where the nodes of each group of items lie.

The integrand over b is smooth and bell-shaped, so the trapezoid rule on equidistant nodes converges
exponentially: at a spacing of 0.75 standard deviations its error is below 1e-9, as long as the nodes cover
the bell (Trefethen and Weideman 2014, SIAM Review 56). It therefore does not matter where exactly the nodes
lie, they may stay fixed while abilities move, and gradients through fixed nodes are exact.

Two frames keep that true over a whole posterior:

- absolute: nodes at fixed b, for groups whose answers say much about b. The bell hardly depends on the prior.
- relative: nodes at ``b = mu_b + sigma_b z`` with fixed z, for groups about which the prior says most. There
  the bell follows the prior, whatever ``mu_b`` and ``sigma_b`` become.

All nodes lie on lattices of spacing 2**-k, so groups share nodes, and the costly part, ``log(1 + exp(theta_j - b))``
for every model, is computed once for each distinct node.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.grouping import ItemGroups

__all__ = ["Bell", "Nodes", "Reach", "locate", "log_integrand", "place_nodes"]

Array = NDArray[np.float64]

_SPACING = 0.75  # in standard deviations of the bell
_WIDEST = 1.0  # logits: the logistic function has poles at +-i pi, which bound the spacing
_DEPTH = 32.0  # the bell ends where it has fallen by exp(-32): 8 standard deviations of a normal one
_REACH = 4.0  # how many standard deviations of the parameters the nodes must still cover
_RELATIVE_FROM = 0.5  # sd of the bell over sigma_b from which the prior says most
_RELATIVE_RANGE = 9.0
_ZOOM_POINTS = 33


@dataclass(frozen=True, eq=False)
class Bell:
    """Where the integrand of each group is not negligible: shape (groups,) each, logits."""

    lo: Array
    hi: Array
    mean: Array
    sd: Array


@dataclass(frozen=True, eq=False)
class Reach:
    """How far the posterior lets the integrands move.

    Parameters
    ----------
    drift
        Shape (groups,). Posterior standard deviation of the bell's centre, logits.
    log_sigma_sd
        Posterior standard deviation of log sigma_b.
    """

    drift: Array
    log_sigma_sd: float


@dataclass(frozen=True, eq=False)
class Nodes:
    """Quadrature nodes: ``place`` and its neighbours live on distinct nodes (U,), the rest on (K,) uses of them.

    Parameters
    ----------
    place
        Shape (U,). b of an absolute node, z of a relative one.
    relative
        Shape (U,). Which frame.
    index, group, log_step
        Shape (K,). Node, group and log of the spacing of each use; sorted by group, then place.
    start
        Shape (groups,). First use of each group.
    """

    place: Array
    relative: NDArray[np.bool_]
    index: NDArray[np.int64]
    group: NDArray[np.int64]
    log_step: Array
    start: NDArray[np.int64]


def log_integrand(groups: ItemGroups, theta: Array, mu_b: float, sigma_b: float, b: Array) -> Array:
    """Log of likelihood times prior, up to a constant of each group.

    Parameters
    ----------
    b
        Shape (groups, points), logits.

    Returns
    -------
    Array
        Shape (groups, points).
    """
    gap = theta - b[:, :, None]
    attempts, guessing = groups.designs[groups.design], groups.guessing[groups.design]
    value = -np.einsum("gpm,gm->gp", np.logaddexp(0.0, gap), attempts)
    value -= groups.total[:, None] * np.where(guessing[:, None] > 0.0, 0.0, b)
    guessed = np.flatnonzero(guessing > 0.0)
    if guessed.size:
        chance = np.log(guessing[guessed])[:, None, None]
        value[guessed] += np.einsum("gpm,gm->gp", np.logaddexp(chance, gap[guessed]), groups.correct[guessed])
    return np.asarray(value - 0.5 * ((b - mu_b) / sigma_b) ** 2)


def locate(groups: ItemGroups, theta: Array, mu_b: float, sigma_b: float) -> Bell:
    """Find each group's bell by zooming in on it: no starting point, no assumption that it has one peak.

    Parameters
    ----------
    theta
        Shape (models,), logits.
    """
    far = np.log(groups.designs.sum(axis=1).max() + 2.0) + 2.0
    count = groups.size.size
    lo = np.full(count, min(mu_b - 9.0 * sigma_b, float(theta.min()) - far))
    hi = np.full(count, max(mu_b + 9.0 * sigma_b, float(theta.max()) + far))
    unit = np.linspace(0.0, 1.0, _ZOOM_POINTS)
    while True:
        b = lo[:, None] + (hi - lo)[:, None] * unit
        height = log_integrand(groups, theta, mu_b, sigma_b, b)
        height -= height.max(axis=1, keepdims=True)
        inside = height > -_DEPTH
        first = np.maximum(inside.argmax(axis=1) - 1, 0)
        last = np.minimum(_ZOOM_POINTS - inside[:, ::-1].argmax(axis=1), _ZOOM_POINTS - 1)
        rows = np.arange(count)
        tighter = (last - first) < 0.75 * (_ZOOM_POINTS - 1)
        if not tighter.any():
            weight = np.exp(height)
            weight /= weight.sum(axis=1, keepdims=True)
            mean = (weight * b).sum(axis=1)
            sd = np.sqrt((weight * (b - mean[:, None]) ** 2).sum(axis=1))
            return Bell(b[rows, first], b[rows, last], mean, sd)
        lo, hi = b[rows, first], b[rows, last]


def place_nodes(
    groups: ItemGroups,
    theta: Array,
    mu_b: float,
    sigma_b: float,
    *,
    reach: Reach | None = None,
    refine: int = 0,
) -> Nodes:
    """Place nodes that serve at these parameters, and within a reach around them.

    Parameters
    ----------
    theta
        Shape (models,), logits.
    reach
        How far the parameters will move; None when they will not (then all nodes are absolute).
    refine
        Spacing is halved this many times and the covered range grows by half as often: for checks.

    Returns
    -------
    Nodes
    """
    bell = locate(groups, theta, mu_b, sigma_b)
    count = groups.size.size
    if reach is None:
        relative = np.zeros(count, dtype=bool)
        lo, hi, narrow, widest = bell.lo, bell.hi, bell.sd, np.full(count, _WIDEST)
    else:
        relative = bell.sd > _RELATIVE_FROM * sigma_b
        factor = np.exp(_REACH * reach.log_sigma_sd)
        tight = locate(groups, theta, mu_b, sigma_b / factor)
        loose = locate(groups, theta, mu_b, sigma_b * factor)
        drift = _REACH * reach.drift
        lo = np.where(relative, -_RELATIVE_RANGE, np.minimum(np.minimum(bell.lo, loose.lo), tight.lo) - drift)
        hi = np.where(relative, _RELATIVE_RANGE, np.maximum(np.maximum(bell.hi, loose.hi), tight.hi) + drift)
        narrow = np.where(
            relative,
            np.minimum(bell.sd / sigma_b, loose.sd / (sigma_b * factor)),
            np.minimum(bell.sd, np.minimum(tight.sd, loose.sd)),
        )
        widest = np.where(relative, _WIDEST / (sigma_b * np.sqrt(factor)), _WIDEST)
    widen = 0.25 * refine * (hi - lo)
    lo, hi = np.where(relative, lo, lo - widen), np.where(relative, hi, hi + widen)
    level = np.ceil(-np.log2(np.minimum(_SPACING * narrow, widest))).astype(np.int64) + refine
    return _lay(relative, lo, hi, level)


def _lay(relative: NDArray[np.bool_], lo: Array, hi: Array, level: NDArray[np.int64]) -> Nodes:
    """Turn windows and lattice levels into nodes, shared where frame and place agree."""
    finest = int(level.max())
    step = np.exp2(-level.astype(np.float64))
    first = np.floor(lo / step).astype(np.int64)
    uses = np.ceil(hi / step).astype(np.int64) - first + 1
    start = np.concatenate([[0], np.cumsum(uses)[:-1]])
    group = np.repeat(np.arange(uses.size), uses)
    tick = (first[group] + np.arange(group.size) - start[group]) << (finest - level)[group]
    lowest, span = int(tick.min()), int(tick.max() - tick.min()) + 1
    keys, index = np.unique(relative[group] * span + tick - lowest, return_inverse=True)
    return Nodes(
        place=(keys % span + lowest) * 2.0**-finest,
        relative=keys >= span,
        index=index,
        group=group,
        log_step=np.log(step)[group],
        start=start,
    )
