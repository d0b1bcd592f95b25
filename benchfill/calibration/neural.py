"""PSN-IRT: a 4PL whose parameters come from two networks, one for models and one for items.

The architecture is that of Zhou et al. (2025, "Lost in Benchmarks?"): one-hot inputs, one hidden layer of 64 rectified
units each, one output for models (ability) and four for items (difficulty, discrimination, and the logits of guessing
and feasibility); binary cross entropy; Adam with L2 decay in the gradient (Kingma and Ba 2015). Training differs: the
parameters are averaged over the last four epochs (Izmailov et al. 2018) and training stops by the log loss of a tenth
of the cells, where theirs stops by the F1 of a fifth. Batches of a large log are four times theirs at twice the rate
(the square-root rule for Adam, Malladi et al. 2022); those of a small one are smaller, so that an epoch has a hundred.

A one-hot input makes the first layer a table of rows, so that the gradient is a few lines of array code and no library
of networks is needed. Nothing is pooled and nothing has a prior: the parameters of an item that few models answered
are whatever the network's start and its early stop left of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import expit

from benchfill.calibration.item_curves import ItemCurves
from benchfill.calibration.response_log import ResponseLog
from benchfill.errors import InputError

__all__ = ["Epoch", "Networks", "NeuralFit", "fit_neural"]

Array = NDArray[np.float64]
Single = NDArray[np.float32]
Rows = NDArray[np.int64]

HIDDEN = 64
SMALLEST_BATCH, LARGEST_BATCH, FEWEST_BATCHES = 16, 2048, 100
RATE = 0.003  # at batches of 512; it grows with the root of the batch
DECAY = 1e-4
PATIENCE = 4
AVERAGED = 4  # epochs
_FIRST, _SECOND = 0.9, 0.999  # Adam's memory of the gradient and of its square
_SMALL = 1e-8
_BLOCK = 2048  # rows of the items' table updated at once, so that they stay in the cache
_EDGE = 1e-7  # a chance is kept this far from 0 and 1 in the loss
_ABILITY_SD = 3.0  # of a new model's ability, in standard deviations of the pool's


@dataclass(frozen=True, slots=True)
class Epoch:
    """Log loss in nats an attempt: of the cells fitted, and of those set aside."""

    fitted: float
    aside: float


class Networks:
    """Both networks and their gradient.

    Parameters
    ----------
    models, items
        How many.
    generator
        Draws the start: uniform within 1 / sqrt(inputs) of zero.
    dtype
        Of all numbers; single precision is enough to fit.
    """

    def __init__(
        self, models: int, items: int, generator: np.random.Generator, *, dtype: type = np.float32
    ) -> None:
        def start(inputs: int, *shape: int) -> Single:
            edge = inputs**-0.5
            return generator.uniform(-edge, edge, shape).astype(dtype)

        # One side after the other: table of the first layer, its bias, second layer, its bias.
        self.parameters = [
            *(
                start(models, models, HIDDEN),
                start(models, HIDDEN),
                start(HIDDEN, HIDDEN, 1),
                start(HIDDEN, 1),
            ),
            *(start(items, items, HIDDEN), start(items, HIDDEN), start(HIDDEN, HIDDEN, 4), start(HIDDEN, 4)),
        ]

    def with_parameters(self, parameters: list[Single]) -> Networks:
        """Networks of the same shape with other parameters."""
        other = copy(self)
        other.parameters = parameters
        return other

    def outputs(self, side: int, rows: Rows | slice) -> tuple[Single, Single]:
        """Second layer's outputs and hidden units of some models (side 0) or items (side 1)."""
        table, bias, second, last = self.parameters[4 * side : 4 * side + 4]
        hidden = np.maximum(table[rows] + bias, 0)
        return hidden @ second + last, hidden

    def chances(self, theta: Single, item: Single) -> Single:
        """Chance of success for abilities (n,) and items' outputs (n, 4)."""
        c, d = expit(item[:, 2]), expit(item[:, 3])
        return np.asarray(c + (d - c) * expit(item[:, 1] * (theta - item[:, 0])))

    def gradient(
        self, model: Rows, item: Rows, rate: Single, weight: Single
    ) -> tuple[float, list[Single], list[Rows]]:
        """Weighted mean loss of a batch of cells and its gradient.

        Returns
        -------
        loss, gradients, rows
            The gradients in the order of `parameters`; those of the two tables only for their ``rows``.
        """
        (theta, model_hidden), (out, item_hidden) = self.outputs(0, model), self.outputs(1, item)
        b, a = out[:, 0], out[:, 1]
        c, d = expit(out[:, 2]), expit(out[:, 3])
        apart = theta[:, 0] - b
        able = expit(a * apart)
        chance = np.clip(c + (d - c) * able, _EDGE, 1 - _EDGE)
        share = weight / weight.sum()
        loss = -float(share @ (rate * np.log(chance) + (1 - rate) * np.log1p(-chance)))
        pull = share * (chance - rate) / (chance * (1 - chance))
        steep = pull * (d - c) * able * (1 - able)
        by_theta = (steep * a)[:, None]
        by_item = np.stack(
            [-steep * a, steep * apart, pull * (1 - able) * c * (1 - c), pull * able * d * (1 - d)], axis=1
        )
        gradients: list[Single] = []
        rows: list[Rows] = []
        for side, hidden, push, which in (
            (0, model_hidden, by_theta, model),
            (1, item_hidden, by_item, item),
        ):
            back = (push @ self.parameters[4 * side + 2].T) * (hidden > 0)
            order = np.argsort(which, kind="stable")
            distinct, first = np.unique(which[order], return_index=True)
            rows.append(distinct)
            table = np.add.reduceat(back[order], first, axis=0)
            gradients += [table, back.sum(axis=0), hidden.T @ push, push.sum(axis=0)]
        return loss, gradients, rows


class _Adam:
    def __init__(self, parameters: list[Single], rate: float) -> None:
        self._rate = rate
        self._parameters = parameters
        self._mean = [np.zeros_like(each) for each in parameters]
        self._square = [np.zeros_like(each) for each in parameters]
        self._steps = 0

    def step(self, gradients: list[Single], rows: list[Rows]) -> None:
        self._steps += 1
        for at, (parameter, gradient) in enumerate(zip(self._parameters, gradients, strict=True)):
            where = rows[at // 4] if at % 4 == 0 else slice(None)
            mean, square = self._mean[at], self._square[at]
            # Decay moves every row of a table; the loss moves only those of the batch.
            pull = DECAY * parameter[where]
            mean[where] += (1 - _FIRST) / _FIRST * gradient
            square[where] += (1 - _SECOND) / _SECOND * gradient * (gradient + 2 * pull)
            for start in range(0, parameter.shape[0], _BLOCK):
                part = slice(start, start + _BLOCK)
                self._move(parameter[part], mean[part], square[part])

    def _move(self, parameter: Single, mean: Single, square: Single) -> None:
        decay = parameter * DECAY
        mean *= _FIRST
        mean += (1 - _FIRST) * decay
        square *= _SECOND
        decay *= decay
        decay *= 1 - _SECOND
        square += decay
        np.maximum(square, 0, out=square)
        root = np.sqrt(square, out=decay)
        root *= (1 - _SECOND**self._steps) ** -0.5
        root += _SMALL
        np.divide(mean, root, out=root)
        root *= self._rate / (1 - _FIRST**self._steps)
        parameter -= root


@dataclass(frozen=True, eq=False)
class NeuralFit:
    """What the networks say of the models and items they were trained on.

    Parameters
    ----------
    point
        Curves. The networks leave the unit and the sign of ability open: here abilities have mean zero, the median
        absolute discrimination is one, and the mean discrimination is positive.
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
            chance = np.clip(self.point.success(theta)[0, asked], _EDGE, 1 - _EDGE)
            right, wrong = correct[asked], (attempts - correct)[asked]
            return float(0.5 * (theta / spread) ** 2 - right @ np.log(chance) - wrong @ np.log1p(-chance))

        found = minimize_scalar(cost, bounds=(-3.0 * spread, 3.0 * spread), method="bounded")
        return np.asarray(self.point.success(float(found.x))[0])


def fit_neural(
    log: ResponseLog,
    *,
    seed: int = 0,
    epochs: int = 50,
    aside: float = 0.1,
    progress: Callable[[float, str], None] | None = None,
) -> NeuralFit:
    """Train both networks.

    Parameters
    ----------
    log
        Counts; a cell without attempts is missing, one with several weighs as many.
    seed
        Of the start, the cells set aside and their order.
    epochs
        At most; training stops earlier when the loss of the cells set aside has not improved for `PATIENCE` of them.
    aside
        Share of the cells set aside.
    progress
        Called with the fraction done and a short message.

    Raises
    ------
    InputError
        There are fewer than ten cells (kind ``too_few_answers``).
    """
    generator = np.random.default_rng(seed)
    model, item = np.nonzero(log.attempts)
    if model.size < 10:
        raise InputError("A network takes a log of at least 10 answered cells.", kind="too_few_answers")
    weight = log.attempts[model, item].astype(np.float32)
    rate = (log.correct[model, item] / weight).astype(np.float32)
    networks = Networks(len(log.models), len(log.items), generator)
    order = generator.permutation(model.size)
    hidden, fitted = np.split(order, [max(1, round(aside * model.size))])
    batch_size = int(np.clip(fitted.size // FEWEST_BATCHES, SMALLEST_BATCH, LARGEST_BATCH))
    adam = _Adam(networks.parameters, RATE * (batch_size / 512) ** 0.5)
    history: list[Epoch] = []
    best, kept, last = 0, networks.parameters, deque[list[Single]](maxlen=AVERAGED)
    for epoch in range(epochs):
        if progress is not None:
            progress(epoch / epochs, f"neural: epoch {epoch + 1} of at most {epochs}")
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
        elif epoch - best >= PATIENCE:
            break
    return NeuralFit(_oriented(log, networks.with_parameters(kept)), tuple(history), best)


def _loss(networks: Networks, model: Rows, item: Rows, rate: Single, weight: Single) -> float:
    theta, out = networks.outputs(0, slice(None))[0], networks.outputs(1, slice(None))[0]
    chance = np.clip(networks.chances(theta[model, 0], out[item]).astype(np.float64), _EDGE, 1 - _EDGE)
    return -float(weight @ (rate * np.log(chance) + (1 - rate) * np.log1p(-chance))) / float(weight.sum())


def _oriented(log: ResponseLog, networks: Networks) -> ItemCurves:
    theta = networks.outputs(0, slice(None))[0][:, 0].astype(np.float64)
    b, a, c, d = networks.outputs(1, slice(None))[0].astype(np.float64).T
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
