"""Success curves along the axis under the 1PL with a slope a model, with draws of their posterior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from benchfill.calibration.fit import Fit
from benchfill.calibration.model_slopes import ItemModelFit
from benchfill.calibration.scale import Scale
from benchfill.calibration.targets import Target

__all__ = ["CROSSING", "ModelCurves", "curves_of"]

Array = NDArray[np.float64]

CROSSING = 0.01  # of score: what is less is no crossing that anyone could see

_LEVELS = 400  # points of the integral over the target
_GRID = 101  # points of the axis on which slopes are compared


@dataclass(frozen=True, eq=False)
class ModelCurves:
    """Curves ``P_j(z) = sigmoid(c_j - s_j u(z))`` of an item without guessing.

    Parameters
    ----------
    mean
        Shape (models,). Integral of each estimated curve over the target.
    mean_draws
        Shape (draws, models). The same of draws from the posterior.
    slope_draws
        Shape (draws, models, points). Derivatives by z on an even grid of [0, 1].
    success
        Shape (models, points). The estimated curves on that grid.
    c, s
        Shape (models,). Their parameters.
    scale, to_latent
        z to difficulty, and difficulty to u by ``to_latent[0] + to_latent[1] b``.
    """

    mean: Array
    mean_draws: Array
    slope_draws: Array
    success: Array
    c: Array
    s: Array
    scale: Scale
    to_latent: tuple[float, float]

    def differences(self, one: NDArray[np.int64], two: NDArray[np.int64]) -> Array:
        """D_mu of pairs of models at the estimates: shape (pairs,)."""
        return np.asarray(self.mean[one] - self.mean[two])

    def difference_draws(self, one: NDArray[np.int64], two: NDArray[np.int64]) -> Array:
        """D_mu of the draws: shape (draws, pairs)."""
        return np.asarray(self.mean_draws[:, one] - self.mean_draws[:, two])

    def crossings(self, one: NDArray[np.int64], two: NDArray[np.int64]) -> Array:
        """Where the estimated curves of pairs cross on the axis, in z: shape (pairs,), NaN where they do not.

        Logistic curves of different slopes cross somewhere, if only where both are next to 1. A crossing counts
        where each curve lies above the other by `CROSSING` at some point of the axis.
        """
        apart = self.success[one] - self.success[two]
        crosses = (apart.max(axis=1) >= CROSSING) & (apart.min(axis=1) <= -CROSSING)
        found = np.full(one.shape, np.nan)
        first, second = one[crosses], two[crosses]
        u = (self.c[first] - self.c[second]) / (self.s[first] - self.s[second])
        shift, factor = self.to_latent
        found[crosses] = np.asarray(self.scale.to_z((u - shift) / factor))
        return found

    def steepest95(self, one: NDArray[np.int64], two: NDArray[np.int64]) -> Array:
        """95 % posterior quantile of the largest absolute slope of the difference curve: shape (pairs,)."""
        largest = np.stack([np.abs(draw[one] - draw[two]).max(axis=1) for draw in self.slope_draws])
        return np.asarray(np.quantile(largest, 0.95, axis=0))


def curves_of(
    slopes: ItemModelFit, fit: Fit, scale: Scale, target: Target, *, draws: int, rng: np.random.Generator
) -> ModelCurves:
    """Curves of a fit by ``model_slopes`` on the axis of the 1PL.

    The two fits place items on axes of their own; u(z) is linear in difficulty and gives the items the mean and the
    standard deviation that they have under the slopes.
    """
    latent = slopes.b / slopes.sigma_b
    spread = float(fit.b.std())
    factor = float(latent.std()) / spread if spread > 0.0 else 1.0
    shift = float(latent.mean()) - factor * float(fit.b.mean())

    def u_of(z: Array) -> Array:
        return shift + factor * np.asarray(scale.to_b(z))

    c = slopes.theta * slopes.slope
    s = slopes.slope * slopes.sigma_b
    c_draws, s_draws = slopes.draw_curves(draws, rng)
    levels = (np.arange(_LEVELS) + 0.5) / _LEVELS
    on_target = u_of(target.quantile(levels))
    grid = np.linspace(0.0, 1.0, _GRID)
    u = u_of(grid)
    stretch = np.gradient(u, grid)
    success = expit(c_draws[:, :, None] - s_draws[:, :, None] * u)
    return ModelCurves(
        mean=expit(c[:, None] - s[:, None] * on_target).mean(axis=1),
        mean_draws=np.stack(
            [
                expit(each[0][:, None] - each[1][:, None] * on_target).mean(axis=1)
                for each in zip(c_draws, s_draws, strict=True)
            ]
        ),
        slope_draws=-s_draws[:, :, None] * success * (1.0 - success) * stretch,
        success=expit(c[:, None] - s[:, None] * u),
        c=c,
        s=s,
        scale=scale,
        to_latent=(shift, factor),
    )
