"""PSN-IRT: a 4PL whose parameters come from two networks, one for models and one for items.

The architecture is that of Zhou et al. (2025, "Lost in Benchmarks?"): one-hot inputs, one hidden layer of 64 rectified
units each, one output for models (ability) and four for items (difficulty, discrimination, and the logits of guessing
and feasibility); binary cross entropy; Adam with L2 decay in the gradient (Kingma and Ba 2015). Training differs: items
begin as typical ones and not as items that tell no model from another, parameters are averaged over the last four
epochs (Izmailov et al. 2018), and training stops by the log loss of a tenth of the cells, where theirs stops by the F1
of a fifth. Batches of a large log are four times theirs at twice the rate (the square-root rule for Adam, Malladi et
al. 2022); those of a small one are smaller, so that an epoch has a hundred.

A one-hot input makes the first layer a table of rows, so that the gradient is a few lines of array code and no library
of networks is needed. Nothing is pooled and nothing has a prior: the parameters of an item that few models answered
are whatever the network's start and its early stop left of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import expit

from benchfill.calibration.item_curves import ItemCurves
from benchfill.calibration.networks import EDGE, Adam, Networks, Rows, Single
from benchfill.calibration.response_log import ResponseLog
from benchfill.errors import InputError

__all__ = ["Epoch", "NeuralFit", "Training", "fit_neural"]

Array = NDArray[np.float64]

SMALLEST_BATCH, LARGEST_BATCH, FEWEST_BATCHES = 16, 2048, 100
_ABILITY_SD = 3.0  # of a new model's ability, in standard deviations of the pool's


@dataclass(frozen=True, slots=True)
class Training:
    """How the networks are trained.

    Parameters
    ----------
    hidden
        Units of the hidden layer of each network.
    rate
        Learning rate at batches of 512 cells; it grows with the root of the batch.
    decay
        Weight of the L2 decay.
    averaged
        Last epochs whose parameters are averaged; 1 averages nothing.
    aside
        Share of the cells that are set aside to stop by.
    patience
        Epochs without a better loss of the cells set aside after which training stops.
    epochs
        At most.
    """

    hidden: int = 64
    rate: float = 0.003
    decay: float = 1e-4
    averaged: int = 4
    aside: float = 0.1
    patience: int = 4
    epochs: int = 50


@dataclass(frozen=True, slots=True)
class Epoch:
    """Log loss in nats an attempt: of the cells fitted, and of those set aside."""

    fitted: float
    aside: float


@dataclass(frozen=True, eq=False)
class NeuralFit:
    """What the networks say of the models and items they were trained on.

    Parameters
    ----------
    point
        Curves. The networks leave the unit and the sign of ability open: here abilities have mean zero, the median
        absolute discrimination is one, the mean discrimination is positive, and guessing is the lower end of a curve.
    epochs
        Log loss along the way.
    best
        Which epoch's parameters were kept, from zero.
    """

    point: ItemCurves
    epochs: tuple[Epoch, ...]
    best: int

    def curves(self) -> ItemCurves:
        """Point estimates as curves."""
        return self.point

    def success(self) -> Array:
        """Chance of success of every cell, asked or not: shape (models, items)."""
        return self.point.success(self.point.theta)

    def success_of(self, correct: NDArray[np.int64], attempts: NDArray[np.int64]) -> Array:
        """Chance of success on every item of a model the networks never saw, placed by its counts: shape (items,)."""
        spread = _ABILITY_SD * max(float(self.point.theta.std()), 1e-3)
        asked = attempts > 0

        def cost(theta: float) -> float:
            chance = np.clip(self.point.success(theta)[0, asked], EDGE, 1 - EDGE)
            right, wrong = correct[asked], (attempts - correct)[asked]
            return float(0.5 * (theta / spread) ** 2 - right @ np.log(chance) - wrong @ np.log1p(-chance))

        found = minimize_scalar(cost, bounds=(-3.0 * spread, 3.0 * spread), method="bounded")
        return np.asarray(self.point.success(float(found.x))[0])


def fit_neural(
    log: ResponseLog,
    *,
    seed: int = 0,
    training: Training | None = None,
    progress: Callable[[float, str], None] | None = None,
) -> NeuralFit:
    """Train both networks.

    Parameters
    ----------
    log
        Counts; a cell without attempts is missing, one with several weighs as many.
    seed
        Of the start, the cells set aside and their order.
    training
        None: the defaults.
    progress
        Called with the fraction done and a short message.

    Raises
    ------
    InputError
        There are fewer than ten cells (kind ``too_few_answers``).
    """
    how = training or Training()
    generator = np.random.default_rng(seed)
    model, item = np.nonzero(log.attempts)
    if model.size < 10:
        raise InputError("A network takes a log of at least 10 answered cells.", kind="too_few_answers")
    weight = log.attempts[model, item].astype(np.float32)
    rate = (log.correct[model, item] / weight).astype(np.float32)
    networks = Networks(len(log.models), len(log.items), how.hidden, generator)
    order = generator.permutation(model.size)
    hidden, fitted = np.split(order, [max(1, round(how.aside * model.size))])
    batch_size = int(np.clip(fitted.size // FEWEST_BATCHES, SMALLEST_BATCH, LARGEST_BATCH))
    adam = Adam(networks.parameters, how.rate * (batch_size / 512) ** 0.5, how.decay)
    history: list[Epoch] = []
    best, kept, last = 0, networks.parameters, deque[list[Single]](maxlen=how.averaged)
    for epoch in range(how.epochs):
        if progress is not None:
            progress(epoch / how.epochs, f"neural: epoch {epoch + 1} of at most {how.epochs}")
        losses = 0.0
        order = generator.permutation(fitted)
        for start in range(0, order.size, batch_size):
            batch = order[start : start + batch_size]
            loss, gradients, rows = networks.gradient(model[batch], item[batch], rate[batch], weight[batch])
            adam.step(gradients, rows)
            losses += loss * float(weight[batch].sum())
        last.append([each.copy() for each in networks.parameters])
        average = networks.with_parameters([np.mean(each, axis=0) for each in zip(*last, strict=True)])
        history.append(
            Epoch(
                losses / float(weight[fitted].sum()),
                _loss(average, model[hidden], item[hidden], rate[hidden], weight[hidden]),
            )
        )
        if epoch == 0 or history[-1].aside < history[best].aside:
            best, kept = epoch, average.parameters
        elif epoch - best >= how.patience:
            break
    return NeuralFit(_oriented(log, networks.with_parameters(kept)), tuple(history), best)


def _loss(networks: Networks, model: Rows, item: Rows, rate: Single, weight: Single) -> float:
    theta, out = networks.outputs(0, slice(None))[0], networks.outputs(1, slice(None))[0]
    chance = np.clip(networks.chances(theta[model, 0], out[item]).astype(np.float64), EDGE, 1 - EDGE)
    return -float(weight @ (rate * np.log(chance) + (1 - rate) * np.log1p(-chance))) / float(weight.sum())


def _oriented(log: ResponseLog, networks: Networks) -> ItemCurves:
    theta = networks.outputs(0, slice(None))[0][:, 0].astype(np.float64)
    b, a, c, d = networks.outputs(1, slice(None))[0].astype(np.float64).T
    # Guessing above feasibility with a falling curve between them is the same curve as the other way round.
    a = np.where(d < c, -a, a)
    c, d = np.minimum(c, d), np.maximum(c, d)
    unit = float(np.median(np.abs(a))) or 1.0
    if a.mean() < 0.0:
        unit = -unit
    centre = theta.mean()
    return ItemCurves(
        models=log.models,
        items=log.items,
        theta=(theta - centre) * unit,
        slope=np.ones(theta.size),
        b=(b - centre) * unit,
        a=a / unit,
        c=expit(c),
        d=expit(d),
    )
