"""The shape of the difficulties' distribution, learned beside the fit.

Every engine gives the difficulties the prior ``b_i ~ Normal(mu_b, sigma_b)``. For the items' own intervals that is
enough, whatever their true density is. For figures of the whole set (DDM, Max Gap) it is not: what few answers leave
open is then filled in with a normal bell. So the item sets behind those figures are drawn under a density whose
shape is learned, given each draw of the abilities:

    b_i | w ~ sum_k w_k Normal(c_k, h)          kernels on a lattice, h = 0.3 sigma_b wide and apart
    w ~ Dirichlet(alpha base)                   base: Student t of a scale and df; alpha, scale, df on small grids

a smooth histogram that leans on a heavy- or light-tailed bell as far as the data leave it alone. Abilities keep
their posterior under the normal prior (a cut, as of Plummer 2015, Statistics and Computing 25:37): all they learn from
the difficulties' density is its centre and spread. Gibbs sampling with the difficulties integrated out: kernels of
the items given w, then (alpha, base) given the counts with w integrated out, then w.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice, repeat

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from benchfill.calibration.conditionals import Conditionals, GivenDraw

__all__ = ["shaped_draws"]

Array = NDArray[np.float64]

WIDTH = 0.3  # of a kernel, and between neighbours; in sigma_b, as are all below
REACH = 6.0  # outermost kernel
SCALES = (0.5, 0.7, 1.0, 1.25)
DEGREES = (2.0, 4.0, 10.0, np.inf)
ALPHAS = (2.0, 8.0, 30.0, 120.0, 1000.0)
_BINS_PER_UNIT = 64
_MARGIN = 1.5  # beyond the outermost kernel; farther nodes count as there
_WARM_UP = 60
_SWEEPS = (
    1000  # for each draw of the abilities, shared by the groups: where these are few, the kernels mix slowly
)
_MOST_SWEEPS = 6
_FLOOR = 1e-12


class _Shape:
    """State of the Gibbs sampler: the weights of the kernels."""

    def __init__(self, centre: float, unit: float, generator: np.random.Generator) -> None:
        reach = round(REACH / WIDTH)
        self.places: Array = np.arange(-reach, reach + 1, dtype=np.float64) * WIDTH
        self._centre, self._unit, self._generator = centre, unit, generator
        self._bases = np.array([base_weights(scale, df, self.places) for scale in SCALES for df in DEGREES])
        self._alphas = np.array(ALPHAS)
        self._counts = self._alphas[:, None, None] * self._bases
        self._log_counts = gammaln(self._counts)
        count = int(2 * (REACH + _MARGIN) * _BINS_PER_UNIT) + 1
        self._bins = np.linspace(-REACH - _MARGIN, REACH + _MARGIN, count)
        height = np.exp(-0.5 * ((self._bins[:, None] - self.places) / WIDTH) ** 2)
        self._kernels = height / height.sum(axis=0)
        self.weights = base_weights(1.0, np.inf, self.places)

    def given(self, draw: GivenDraw, size: NDArray[np.int64], sweeps: int) -> GivenDraw:
        """The difficulties given a draw of the abilities and, after some sweeps, of the shape."""
        from scipy.sparse import csr_array  # 0.2 s, only where a report is made

        place = (draw.nodes - self._centre) / self._unit
        bins = np.rint((place - self._bins[0]) * _BINS_PER_UNIT).astype(np.int64).clip(0, self._bins.size - 1)
        likelihood = draw.likelihood()
        ends = np.append(draw.start, draw.nodes.size)
        marginal = (
            csr_array((likelihood, bins, ends), shape=(draw.start.size, self._bins.size)) @ self._kernels
        )
        for _ in range(sweeps):
            self._sweep(marginal, size)
        return draw.under(likelihood * (self._kernels @ self.weights)[bins])

    def _sweep(self, marginal: Array, size: NDArray[np.int64]) -> None:
        generator = self._generator
        share = marginal * self.weights
        share /= share.sum(axis=1, keepdims=True)
        single = size == 1
        total = np.cumsum(share[single], axis=1)
        kernel = (total < generator.random(len(total))[:, None] * total[:, -1:]).sum(axis=1)
        counts = np.bincount(kernel, minlength=self.places.size) + (
            generator.multinomial(size[~single], share[~single]).sum(axis=0)
        )
        # Dirichlet-multinomial probability of the counts under every (alpha, base); an empty kernel adds nothing.
        used = np.flatnonzero(counts)
        log_p = (gammaln(self._counts[..., used] + counts[used]) - self._log_counts[..., used]).sum(axis=2)
        log_p += (gammaln(self._alphas) - gammaln(self._alphas + counts.sum()))[:, None]
        p = np.exp(log_p - log_p.max()).ravel()
        alpha, base = divmod(int(generator.choice(p.size, p=p / p.sum())), len(self._bases))
        weights = generator.gamma(self._counts[alpha, base] + counts) + np.finfo(float).tiny
        self.weights = weights / weights.sum()


def base_weights(scale: float, df: float, places: Array) -> Array:
    """Weights of the kernels whose mixture is about a Student t of that scale and df (inf: a normal)."""
    if np.isinf(df):
        height = np.exp(-0.5 * places**2 / max(scale**2 - WIDTH**2, 0.01))
    else:
        height = (1.0 + (places / scale) ** 2 / df) ** (-0.5 * (df + 1.0))
    height += _FLOOR
    return np.asarray(height / height.sum())


def shaped_draws(
    conditionals: Conditionals, draws: int, generator: np.random.Generator
) -> Iterator[GivenDraw]:
    """The difficulties given draws of the abilities and of the shape of their density.

    Parameters
    ----------
    conditionals
        Of a fit.
    draws
        How many; the fit's draws are gone through again where it has fewer.
    generator
        Of the shapes.

    Yields
    ------
    GivenDraw
        Items are independent given each of them.
    """
    given = list(conditionals)
    centre = float(np.mean([each.mu_b for each in given]))
    unit = float(np.exp(np.mean([np.log(each.sigma_b) for each in given])))
    shape, size = _Shape(centre, unit, generator), conditionals.groups.size.astype(np.int64)
    shape.given(given[0], size, _WARM_UP)
    sweeps = max(1, min(_MOST_SWEEPS, _SWEEPS // size.size))
    for draw in islice(chain.from_iterable(repeat(given)), draws):
        yield shape.given(draw, size, sweeps)
