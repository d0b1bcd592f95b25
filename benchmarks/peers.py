"""One fit of a response log by another tool, for `benchmarks.fit_speed --peers`: runs under the peers' own Python.

    PYTHON -I benchmarks/peers.py plain-pymc LOG.npz --seconds 360

Reads ``correct`` and ``attempts``, both (models, items), one attempt a cell, and prints figures as one JSON line.
Nothing of BenchFill is imported. Plain PyMC samples its chains one after the other in this process and is stopped after
the given seconds of processor time, compilation included; the line says what it had reached.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
import warnings
from importlib.metadata import version
from typing import Any

import numpy as np

CHAINS, WARM_UP, DRAWS = 4, 1000, 1000
MODULES = {"plain-pymc": "pymc", "girth": "girth"}


def plain_pymc(correct: Any, seconds: float) -> dict[str, Any]:
    """The hierarchical 1PL as one would write it down, sampled by PyMC's defaults."""
    began = time.perf_counter()
    import arviz
    import pymc

    imported, used = time.perf_counter(), time.process_time()
    models, items = correct.shape
    steps = 0
    with pymc.Model():
        theta = pymc.ZeroSumNormal("theta", pymc.LogNormal("spread", 0.0, 0.75), shape=models)
        b = pymc.Normal("b", pymc.Normal("mu_b", 0.0, 5.0), pymc.LogNormal("sigma_b", 0.5, 1.0), shape=items)
        pymc.Bernoulli("right", logit_p=theta[:, None] - b, observed=correct)

        def count(trace: Any, draw: Any) -> None:
            nonlocal steps
            steps += 1
            if time.process_time() - used > seconds:
                raise KeyboardInterrupt

        try:
            found = pymc.sample(
                DRAWS, tune=WARM_UP, chains=CHAINS, cores=1, random_seed=1,
                nuts_sampler="pymc", progressbar=False, callback=count, compute_convergence_checks=False,
            )  # fmt: skip
        except (KeyboardInterrupt, ValueError):  # stopped before the first draw after warm-up
            found = None
    done, whole = time.perf_counter(), CHAINS * (WARM_UP + DRAWS)
    result: dict[str, Any] = {"import": imported - began, "fit": done - imported, "finished": steps == whole}
    result["reached"] = f"{steps:,} of {whole:,} steps"
    if found is not None and steps == whole:
        summary = arviz.summary(found, var_names=["theta", "mu_b", "sigma_b"])
        result |= {"rhat": float(summary["r_hat"].max()), "ess": float(summary["ess_bulk"].min())}
        result["b"] = found.posterior["b"].mean(("chain", "draw")).values.tolist()
    return result


def girth(correct: Any, seconds: float) -> dict[str, Any]:
    """Marginal maximum likelihood with a common slope; slope times difficulty is in logits."""
    began = time.perf_counter()
    from girth import onepl_mml

    imported = time.perf_counter()
    found = onepl_mml(correct.T)
    b = np.ravel(found["Discrimination"])[0] * np.ravel(found["Difficulty"])
    return {
        "import": imported - began,
        "fit": time.perf_counter() - imported,
        "finished": True,
        "reached": "",
        "b": b.tolist(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("peer", choices=MODULES)
    parser.add_argument("log")
    parser.add_argument("--seconds", type=float, default=360.0)
    options = parser.parse_args()
    if importlib.util.find_spec(MODULES[options.peer]) is None:
        print(json.dumps({"installed": False}))
        return
    correct = np.load(options.log)["correct"]
    warnings.simplefilter("ignore")
    fit = plain_pymc if options.peer == "plain-pymc" else girth
    found = {"installed": True, "version": version(MODULES[options.peer]), **fit(correct, options.seconds)}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
