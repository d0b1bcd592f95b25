"""NUTS on the collapsed posterior: PyMC's sampler, driven draw by draw.

The density is `Collapsed`, value and gradient in numpy, so nothing is compiled: the first fit on a machine is as
fast as the next. The sampler is `pymc.NUTS` itself, not whatever `pymc.sample` would choose, and it is stepped
here, so that a fit ends as soon as its gate is met with room.

Sampled are whitened parameters ``x``, ``phi = mode + factor @ x``: abilities known to 0.02 logits and abilities
hardly known then have one scale.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.collapsed import Collapsed
from benchfill.calibration.difficulty import Sample, quadrature_error, quadrature_faults, some
from benchfill.calibration.gate import ESS_WANTED, RHAT_WANTED, bulk_ess, judge_fit, split_rhat
from benchfill.calibration.grouping import ItemGroups
from benchfill.calibration.mml import Mode
from benchfill.calibration.quadrature import Reach, place_nodes
from benchfill.errors import BenchfillError

__all__ = ["CHAINS", "import_pymc", "sample_nuts"]

Array = NDArray[np.float64]

CHAINS = 4
_WARM_UP = 150
_FIRST_DRAWS = 250  # of each chain, before the first look at the gate
_BLOCK = 125  # between two looks
_MOST_DRAWS = 5000  # of each chain
_TARGETS = (0.8, 0.95, 0.99)  # acceptance; the next one is tried where transitions diverged
_QUADRATURE_WANTED = (
    0.001  # log-likelihood of a group; more than this after warm-up and nodes are placed anew
)
_CHECKED_DRAWS = 40

_importing = threading.Lock()


def import_pymc() -> Any:
    """Import PyMC so that PyTensor compiles by numba alone, without looking for a C compiler or a BLAS.

    Raises
    ------
    BenchfillError
        PyMC cannot be imported.
    """
    with _importing:
        flags = os.environ.get("PYTENSOR_FLAGS")
        try:
            if "pytensor" not in sys.modules:
                os.environ["PYTENSOR_FLAGS"] = ",".join(filter(None, [flags, "cxx=", "mode=NUMBA"]))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                import pymc
        except Exception as error:
            reason = " ".join(str(error).split())[:200]
            raise BenchfillError(
                f"PyMC cannot be loaded: {reason}",
                "Check its installation and that the home folder is writable, or use the engine laplace.",
            ) from error
        finally:
            if flags is None:
                os.environ.pop("PYTENSOR_FLAGS", None)
            else:
                os.environ["PYTENSOR_FLAGS"] = flags
        return pymc


@contextmanager
def _readable() -> Iterator[None]:
    """Any failure inside PyMC becomes one line."""
    try:
        yield
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise BenchfillError(
            f"PyMC's sampler failed: {type(error).__name__}: {reason}", "Use the engine laplace."
        ) from error


class _Chain:
    """One chain of `pymc.NUTS` over whitened parameters."""

    def __init__(
        self, pymc: Any, density: Collapsed, mode: Mode, seed: np.random.SeedSequence, accept: float
    ):
        generator, own = (np.random.default_rng(each) for each in seed.spawn(2))

        def value_and_gradient(x: Array) -> tuple[Array, Array]:
            value, gradient = density.value_and_gradient(mode.phi + mode.factor @ x)
            return np.asarray(value), mode.factor.T @ gradient

        # What pymc.NUTS asks of a compiled density. Handing it one keeps PyTensor from compiling its own.
        given = SimpleNamespace(
            _pytensor_function=value_and_gradient,
            _raveled_inputs=True,
            _extra_vars_shared={},
            dtype="float64",
        )
        with _readable(), pymc.Model():
            x = pymc.Flat("x", shape=density.dimension)
            self._step = pymc.NUTS(
                [x],
                logp_dlogp_func=given,
                initial_point={"x": np.zeros(density.dimension)},
                rng=generator,
                target_accept=accept,
            )
        self._mode = mode
        self._point = {"x": own.normal(size=density.dimension)}
        self.divergences = 0

    def draw(self, count: int) -> Array:
        """The next draws, shape (count, models + 1)."""
        found = np.empty((count, self._mode.phi.size))
        with _readable():
            for row in range(count):
                self._point, stats = self._step.step(self._point)
                found[row] = self._mode.phi + self._mode.factor @ self._point["x"]
                self.divergences += bool(stats[0]["diverging"])
        return found

    def end_warm_up(self) -> None:
        self._step.stop_tuning()
        self.divergences = 0


def sample_nuts(
    groups: ItemGroups, mode: Mode, *, seed: int, progress: Callable[[float, str], None]
) -> Sample:
    """Sample the collapsed posterior until its gate is met with room.

    Parameters
    ----------
    mode
        The pilot: where the posterior is, how wide, and how far it moves the integrands.
    seed
        Same seed, same draws.
    progress
        Called with the fraction done and a short message.

    Raises
    ------
    BenchfillError
        PyMC cannot be loaded or its sampler gives up.
    """
    progress(0.0, "loading PyMC")
    pymc = import_pymc()
    seeds = np.random.SeedSequence(seed).spawn(len(_TARGETS))
    for accept, each in zip(_TARGETS, seeds, strict=True):
        found = _sample_once(pymc, groups, mode, each, accept, progress)
        if not found.gate.divergences:
            break
    return found


def _sample_once(
    pymc: Any,
    groups: ItemGroups,
    mode: Mode,
    seed: np.random.SeedSequence,
    accept: float,
    progress: Callable[[float, str], None],
) -> Sample:
    seeds = seed.spawn(CHAINS)
    coarse, fine = _densities(groups, mode.density, mode.phi, mode.reach)
    chains, last = _warm_up(pymc, coarse, mode, seeds, accept, progress)
    if quadrature_error(coarse, fine, last) > _QUADRATURE_WANTED:
        centre = last.mean(axis=0)
        wider = Reach(2.0 * mode.reach.drift, 1.5 * mode.reach.log_sigma_sd)
        coarse, fine = _densities(groups, mode.density, centre, wider)
        chains, last = _warm_up(pymc, coarse, mode, [each.spawn(1)[0] for each in seeds], accept, progress)
    draws = np.empty((CHAINS, 0, mode.phi.size))
    while True:
        count = _BLOCK if draws.size else _FIRST_DRAWS
        draws = np.concatenate([draws, np.stack([chain.draw(count) for chain in chains])], axis=1)
        theta = draws[:, :, :-2] @ coarse.basis.T
        watched = np.concatenate([theta, draws[:, :, -2:]], axis=2)
        rhat, ess = float(split_rhat(watched).max()), float(bulk_ess(watched).min())
        progress(
            0.3 + 0.65 * min(1.0, draws.shape[1] / 1000.0),
            f"sampling: {draws.shape[1]} draws a chain, R-hat {rhat:.4f}, effective sample size {ess:.0f}",
        )
        enough = rhat <= RHAT_WANTED and ess >= ESS_WANTED
        if enough or draws.shape[1] >= _MOST_DRAWS:
            break
    flat = draws.reshape(-1, draws.shape[2])
    reasons = quadrature_faults(quadrature_error(coarse, fine, some(flat, _CHECKED_DRAWS)))
    divergences = sum(chain.divergences for chain in chains)
    gate = judge_fit(rhat_max=rhat, ess_min=ess, divergences=divergences, reasons=reasons)
    return Sample(flat, gate, coarse)


def _densities(groups: ItemGroups, at: Collapsed, phi: Array, reach: Reach) -> tuple[Collapsed, Collapsed]:
    """The collapsed posterior on nodes to sample with, and on twice as many over a wider range."""
    theta, mu_b, sigma_b = at.split(phi)
    coarse, fine = (
        Collapsed(groups, place_nodes(groups, theta, mu_b, sigma_b, reach=reach, refine=refine))
        for refine in (0, 1)
    )
    return coarse, fine


def _warm_up(
    pymc: Any,
    density: Collapsed,
    mode: Mode,
    seeds: list[np.random.SeedSequence],
    accept: float,
    progress: Callable[[float, str], None],
) -> tuple[list[_Chain], Array]:
    """Chains after their warm-up, and the last draws of it, shape (draws, models + 1)."""
    chains, last = [], []
    for number, seed in enumerate(seeds):
        progress(0.05 + 0.25 * number / len(seeds), f"warming up chain {number + 1} of {len(seeds)}")
        chain = _Chain(pymc, density, mode, seed, accept)
        last.append(chain.draw(_WARM_UP)[-_CHECKED_DRAWS // CHAINS :])
        chain.end_warm_up()
        chains.append(chain)
    return chains, np.concatenate(last)
