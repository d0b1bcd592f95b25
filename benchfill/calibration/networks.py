"""The two networks of PSN-IRT and Adam for them, in plain array code.

One network for models and one for items: one-hot inputs, one hidden layer of rectified units, one output for models
(ability) and four for items (difficulty, discrimination, and the logits of guessing and feasibility). A one-hot input
makes the first layer a table of rows, so that the gradient is a few lines and no library of networks is needed.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

__all__ = ["EDGE", "Adam", "Networks", "Rows", "Single"]

Single = NDArray[np.float32]
Rows = NDArray[np.int64]

EDGE = 1e-7  # a chance is kept this far from 0 and 1 in the loss
_FIRST, _SECOND = 0.9, 0.999  # Adam's memory of the gradient and of its square
_SMALL = 1e-8
# Difficulty, discrimination, logits of guessing and feasibility that items begin around.
_TYPICAL = (0.0, 1.0, -2.2, 3.0)
_BLOCK = 2048  # rows of the items' table updated at once, so that they stay in the cache


class Networks:
    """Both networks and their gradient.

    Parameters
    ----------
    models, items
        How many.
    hidden
        Units of the hidden layer.
    generator
        Draws the start: uniform within 1 / sqrt(inputs) of zero, the outputs of items of `_TYPICAL`. Around zero
        discrimination and abilities would begin as nothing, and decay keeps them there with some seeds: every model
        is then as able as any other.
    dtype
        Of all numbers; single precision is enough to fit.
    """

    def __init__(
        self,
        models: int,
        items: int,
        hidden: int,
        generator: np.random.Generator,
        *,
        dtype: type = np.float32,
    ) -> None:
        def start(inputs: int, *shape: int) -> Single:
            edge = inputs**-0.5
            return generator.uniform(-edge, edge, shape).astype(dtype)

        # One side after the other: table of the first layer, its bias, second layer, its bias.
        self.parameters = [
            *(start(models, models, hidden), start(models, hidden)),
            *(start(hidden, hidden, 1), start(hidden, 1)),
            *(start(items, items, hidden), start(items, hidden)),
            *(start(hidden, hidden, 4), start(hidden, 4) + np.array(_TYPICAL, dtype=dtype)),
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
        chance = np.clip(c + (d - c) * able, EDGE, 1 - EDGE)
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


class Adam:
    """Adam with L2 decay in the gradient, for parameters of which a table's rows are seldom in a batch.

    Parameters
    ----------
    parameters
        Changed in place; every fourth is a table.
    rate, decay
        Learning rate, and weight of the L2 decay.
    """

    def __init__(self, parameters: list[Single], rate: float, decay: float) -> None:
        self._rate = rate
        self._decay = decay
        self._parameters = parameters
        self._mean = [np.zeros_like(each) for each in parameters]
        self._square = [np.zeros_like(each) for each in parameters]
        self._steps = 0

    def step(self, gradients: list[Single], rows: list[Rows]) -> None:
        """One step along gradients as `Networks.gradient` gives them."""
        self._steps += 1
        for at, (parameter, gradient) in enumerate(zip(self._parameters, gradients, strict=True)):
            where = rows[at // 4] if at % 4 == 0 else slice(None)
            mean, square = self._mean[at], self._square[at]
            # Decay moves every row of a table; the loss moves only those of the batch.
            pull = self._decay * parameter[where]
            mean[where] += (1 - _FIRST) / _FIRST * gradient
            square[where] += (1 - _SECOND) / _SECOND * gradient * (gradient + 2 * pull)
            for start in range(0, parameter.shape[0], _BLOCK):
                part = slice(start, start + _BLOCK)
                self._move(parameter[part], mean[part], square[part])

    def _move(self, parameter: Single, mean: Single, square: Single) -> None:
        decay = parameter * self._decay
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
