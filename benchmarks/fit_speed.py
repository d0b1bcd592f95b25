"""Time of every engine on real logs, whole processes side by side, and how far each is from ``nuts``.

    python -m benchmarks.fit_speed --shared ../shared --cold
    python -m benchmarks.fit_speed --shared ../shared --logs AIME24 --engines nuts full

One process a measurement. ``--cold`` adds the first fit of a new machine: no compiled code of PyTensor, numba or
Python, no font list. ``full`` is plain PyMC with every difficulty sampled and takes many minutes; it runs only when
asked for. The last columns hold an engine's difficulties and abilities against those of ``nuts`` on the same log.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

DATA = "data/matrices"
LOGS = {
    "simulated": None,
    "AIME24": f"{DATA}/noises_highk_temp0.7__aime2024_cot/responses_long.csv.gz",
    "GSM8K": f"{DATA}/evalarena_gsm8k/responses_wide.csv.gz",
    "MATH-500": f"{DATA}/noises_highk_temp0.7__math500_cot/responses_long.csv.gz",
    "CRUXEval": f"{DATA}/evalarena_CRUXEval-input-T0.8/responses_long.csv.gz",
    "SWE-bench Lite": f"{DATA}/evalarena_swebench-lite/responses_wide.csv.gz",
    "Terminal-Bench": f"{DATA}/terminal-bench-1.0/responses_long.csv.gz",
    "PSN GSM8K": "data/psn_irt/GSM8K_wide.csv.gz",
    "PSN": "data/psn_irt",
}
ENGINES = ("nuts", "laplace", "mml")
COLUMNS = (
    "log | models x items | engine | caches | process, s | CPU, s | import, s | fit, s | R-hat | ESS | Pareto k"
    " | gate | b RMSE, logits | b max, sd | ability max, sd"
)


def read(shared: Path, name: str) -> Any:
    """The named log; PSN is all eleven blocks of 12 models in one."""
    from benchfill.calibration.response_log import ResponseLog
    from benchfill.logs.responses import read_responses

    path = LOGS[name]
    if path is None:
        rng = np.random.default_rng(1)
        theta, b = rng.normal(0.0, 1.2, (12, 1)), rng.normal(0.0, 1.5, 40)
        correct = rng.binomial(64, 1.0 / (1.0 + np.exp(b - theta)))
        ids = tuple(f"m{each:02d}" for each in range(12)), tuple(f"i{each:02d}" for each in range(40))
        return ResponseLog(*ids, correct, np.full((12, 40), 64))
    if name != "PSN":
        return read_responses(shared / path).log
    blocks = [read_responses(each).log for each in sorted((shared / path).glob("*_wide.csv.gz"))]
    items = np.concatenate([np.array(each.items) for each in blocks])
    order = np.argsort(items)
    correct, attempts = (
        np.concatenate([getattr(each, side) for each in blocks], axis=1)[:, order]
        for side in ("correct", "attempts")
    )
    return ResponseLog(blocks[0].models, tuple(items[order].tolist()), correct, attempts)


def measure_here(shared: Path, name: str, engine: str, seed: int) -> None:
    """Fit in this process; figures as one JSON line."""
    began = time.perf_counter()
    log = read(shared, name)
    from benchfill.calibration.fit import fit_1pl

    if engine in ("nuts", "full"):
        from benchfill.calibration.nuts import import_pymc

        import_pymc()
    imported = time.perf_counter()
    fit = fit_1pl(log, engine=engine, seed=seed)  # type: ignore[arg-type]
    gate = fit.gate
    print(
        json.dumps(
            {
                "shape": f"{len(log.models)} x {len(log.items)}",
                "import": imported - began,
                "fit": time.perf_counter() - imported,
                "gate": [gate.rhat_max, gate.ess_min, gate.pareto_k, "passed" if gate.passed else "failed"],
                "b": fit.b.tolist(),
                "b_sd": fit.b_sd.tolist(),
                "theta": fit.theta.tolist(),
                "theta_sd": fit.theta_sd.tolist(),
            }
        )
    )


def measure(options: argparse.Namespace, name: str, engine: str, cold: bool) -> dict[str, Any]:
    """Fit in a process of its own, with empty caches if cold."""
    command = [sys.executable, "-m", "benchmarks.fit_speed", "--shared", str(options.shared)]
    command += ["--seed", str(options.seed), "--one", name, engine]
    with tempfile.TemporaryDirectory() as empty:
        environment = dict(os.environ)
        if cold:
            environment |= dict.fromkeys(
                ("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "PYTHONPYCACHEPREFIX"), empty
            )
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.perf_counter()
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        wall = time.perf_counter() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{name}, {engine}: {done.stderr.strip().splitlines()[-1]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall": wall, "cpu": cpu, **json.loads(done.stdout)}


def row(name: str, engine: str, cold: bool, found: dict[str, Any], nuts: dict[str, Any] | None) -> str:
    """One line of the table."""
    cells = [name, found["shape"], engine, "empty" if cold else "warm"]
    cells += [f"{found[each]:.1f}" for each in ("wall", "cpu", "import", "fit")]
    rhat, ess, pareto_k, verdict = found["gate"]
    cells += ["" if rhat is None else f"{rhat:.4f}", "" if ess is None else f"{ess:.0f}"]
    cells += ["" if pareto_k is None else f"{pareto_k:.2f}", verdict]
    if nuts is None or nuts is found:
        return " | ".join([*cells, "", "", ""])
    off = np.array(found["b"]) - np.array(nuts["b"])
    moved = np.abs(np.array(found["theta"]) - np.array(nuts["theta"])) / np.array(nuts["theta_sd"])
    cells += [f"{np.sqrt(np.mean(off**2)):.4f}", f"{np.abs(off / np.array(nuts['b_sd'])).max():.3f}"]
    return " | ".join([*cells, f"{moved.max():.3f}"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--logs", nargs="+", choices=LOGS, default=["simulated", "AIME24", "GSM8K", "PSN"])
    parser.add_argument("--engines", nargs="+", choices=[*ENGINES, "full"], default=list(ENGINES))
    parser.add_argument("--cold", action="store_true", help="measure with empty caches as well")
    parser.add_argument("--one", nargs=2, metavar=("LOG", "ENGINE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        measure_here(options.shared, *options.one, options.seed)
        return
    print(f"| {COLUMNS} |")
    print("|" + " --- |" * (COLUMNS.count("|") + 1))
    for name in options.logs:
        nuts = None
        for engine in options.engines:
            for cold in (False, True) if options.cold else (False,):
                found = measure(options, name, engine, cold)
                nuts = found if engine == "nuts" and not cold else nuts
                print(f"| {row(name, engine, cold, found, nuts)} |", flush=True)


if __name__ == "__main__":
    main()
