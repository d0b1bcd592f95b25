"""The plain PyMC model, every difficulty sampled: slow, nothing collapsed, the reference of the other engines."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.collapsed import LOG_SIGMA_MEAN, LOG_SIGMA_SD, LOG_SPREAD_SD, MU_B_SD
from benchfill.calibration.difficulty import Difficulties
from benchfill.calibration.gate import Gate, bulk_ess, judge_fit, split_rhat
from benchfill.calibration.nuts import CHAINS, import_pymc
from benchfill.calibration.response_log import ResponseLog
from benchfill.errors import BenchfillError

__all__ = ["plain_model", "sample_full"]

Array = NDArray[np.float64]

_TUNE = 1000
_DRAWS = 1000
_TARGET_ACCEPT = 0.9


def plain_model(pymc: Any, log: ResponseLog, guessing: Array) -> Any:
    """The model as it is written down, with the same priors as the collapsed one.

    Parameters
    ----------
    pymc
        The module, from `import_pymc`.
    guessing
        Shape (items,).
    """
    asked = np.nonzero(log.attempts)
    models = len(log.models)
    with pymc.Model() as model:
        mu_b = pymc.Normal("mu_b", 0.0, MU_B_SD)
        sigma_b = pymc.LogNormal("sigma_b", LOG_SIGMA_MEAN, LOG_SIGMA_SD)
        b = pymc.Normal("b", mu_b, sigma_b, shape=len(log.items))
        if models > 1:
            spread = pymc.LogNormal("spread", 0.0, LOG_SPREAD_SD)
            theta = pymc.ZeroSumNormal("theta", sigma=spread, shape=models)
        else:
            theta = pymc.Deterministic("theta", 0.0 * mu_b[None])
        success = pymc.math.sigmoid(theta[asked[0]] - b[asked[1]])
        chance = guessing[asked[1]]
        pymc.Binomial(
            "correct", n=log.attempts[asked], p=chance + (1.0 - chance) * success, observed=log.correct[asked]
        )
    return model


def sample_full(
    log: ResponseLog, guessing: Array, *, seed: int, progress: Callable[[float, str], None]
) -> tuple[Array, Array, Array, Difficulties, Gate]:
    """Draws of theta (draws, models), of mu_b and sigma_b (draws,), the difficulties of the items, the gate.

    Raises
    ------
    BenchfillError
        PyMC could not build, compile or start the model.
    """
    progress(0.0, "loading PyMC")
    pymc = import_pymc()
    steps = CHAINS * (_TUNE + _DRAWS)
    done = 0

    def count(trace: Any, draw: Any) -> None:
        nonlocal done
        done += 1
        if done % 100 == 0:
            progress(0.1 + 0.85 * done / steps, f"sampling the plain model: {done} of {steps} draws")

    progress(0.02, "compiling the plain model")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with plain_model(pymc, log, guessing):
                trace = pymc.sample(
                    _DRAWS,
                    tune=_TUNE,
                    chains=CHAINS,
                    cores=1,
                    random_seed=[int(each) for each in np.random.SeedSequence(seed).generate_state(CHAINS)],
                    nuts_sampler="pymc",
                    target_accept=_TARGET_ACCEPT,
                    compile_kwargs={"mode": "NUMBA"},
                    callback=count,
                    progressbar=False,
                    quiet=True,
                    compute_convergence_checks=False,
                    return_inferencedata=False,
                )
        except Exception as error:
            reason = " ".join(str(error).split())[:200]
            raise BenchfillError(
                f"PyMC could not run the plain model: {type(error).__name__}: {reason}",
                "Use the engine nuts.",
            ) from error
    if len(trace) < _DRAWS:  # pymc.sample ends early, without saying so, when it is interrupted
        raise KeyboardInterrupt
    found = {
        name: np.stack(trace.get_values(name, combine=False)) for name in ("theta", "mu_b", "sigma_b", "b")
    }
    watched = np.concatenate([each.reshape(CHAINS, _DRAWS, -1) for each in found.values()], axis=2)
    if len(log.models) == 1:
        watched = watched[:, :, 1:]
    gate = judge_fit(
        rhat_max=float(split_rhat(watched).max()),
        ess_min=float(bulk_ess(watched).min()),
        divergences=int(np.sum(trace.get_sampler_stats("diverging"))),
    )
    b = found["b"].reshape(CHAINS * _DRAWS, -1)
    lo90, hi90 = np.quantile(b, [0.05, 0.95], axis=0)
    theta = found["theta"].reshape(CHAINS * _DRAWS, -1)
    difficulties = Difficulties(b.mean(axis=0), b.std(axis=0), lo90, hi90)
    return theta, found["mu_b"].ravel(), found["sigma_b"].ravel(), difficulties, gate
