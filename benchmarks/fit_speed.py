"""Time of every engine on real logs, whole processes side by side, and how far each is from ``nuts``.

    python -m benchmarks.fit_speed --shared ../shared --cold
    python -m benchmarks.fit_speed --shared ../shared --logs "PSN GSM8K" PSN --peers PEERS/bin/python
    python -m benchmarks.fit_speed --shared ../shared --logs AIME24 --engines nuts full

One process a measurement. ``--cold`` adds the first fit of a new machine: no compiled code of PyTensor, numba or
Python, no font list. ``full`` is plain PyMC with every difficulty sampled and takes many minutes; it runs only when
asked for. ``--peers`` names a Python with girth and PyMC: girth, and plain PyMC as one would write it down, fit the
same logs (`benchmarks.peers`). ``of nuts`` is processor time over that of ``nuts`` with warm caches, which a busy
machine changes little. The last columns hold difficulties and abilities against those of ``nuts`` on the same log;
girth's difficulties have a free mean, and it pins items that all or none solve, so those are left out of its RMSE.
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

from benchmarks.peers import MODULES

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
    "log | models x items | engine | caches | process, s | CPU, s | of nuts | import, s | fit, s | R-hat | ESS"
    " | Pareto k | gate | b RMSE, logits | b max, sd | ability max, sd"
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
                "censored": fit.censored.tolist(),
            }
        )
    )


def measure(options: argparse.Namespace, name: str, engine: str, cold: bool) -> dict[str, Any]:
    """Fit in a process of its own, with empty caches if cold."""
    command = [sys.executable, "-m", "benchmarks.fit_speed", "--shared", str(options.shared)]
    return time_process([*command, "--seed", str(options.seed), "--one", name, engine], cold)


def measure_peer(options: argparse.Namespace, name: str, peer: str) -> dict[str, Any]:
    """The same of another tool, under the Python that has it."""
    log = read(options.shared, name)
    if log.attempts.min() < 1 or log.attempts.max() > 1:
        raise SystemExit(f"{name}: the peers' script fits logs with one attempt a cell.")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "log.npz"
        np.savez(file, correct=log.correct, attempts=log.attempts)
        script = Path(__file__).with_name("peers.py")
        seconds = ["--seconds", str(options.peer_seconds)]
        found = time_process([str(options.peers), "-I", str(script), peer, str(file), *seconds], cold=False)
    return {**found, "shape": f"{len(log.models)} x {len(log.items)}"}


def time_process(command: list[str], cold: bool) -> dict[str, Any]:
    """Run a process to its end and read the JSON it prints."""
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
        raise SystemExit(f"{' '.join(command[1:])}: {done.stderr.strip().splitlines()[-1]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall": wall, "cpu": cpu, **json.loads(done.stdout)}


def row(name: str, engine: str, cold: bool, found: dict[str, Any], nuts: dict[str, Any] | None) -> str:
    """One line of the table."""
    cells = [name, found["shape"], engine, "empty" if cold else "warm", *_times(found, nuts)]
    rhat, ess, pareto_k, verdict = found["gate"]
    cells += ["" if rhat is None else f"{rhat:.4f}", "" if ess is None else f"{ess:.0f}"]
    cells += ["" if pareto_k is None else f"{pareto_k:.2f}", verdict]
    if nuts is None or nuts is found:
        return " | ".join([*cells, "", "", ""])
    off = np.array(found["b"]) - np.array(nuts["b"])
    moved = np.abs(np.array(found["theta"]) - np.array(nuts["theta"])) / np.array(nuts["theta_sd"])
    cells += [f"{np.sqrt(np.mean(off**2)):.4f}", f"{np.abs(off / np.array(nuts['b_sd'])).max():.3f}"]
    return " | ".join([*cells, f"{moved.max():.3f}"])


def peer_row(name: str, peer: str, found: dict[str, Any], nuts: dict[str, Any] | None) -> str:
    """The line of another tool: what it reached, and its difficulties where it has any."""
    if not found["installed"]:
        return " | ".join([name, found["shape"], peer, "", *[""] * 8, "not installed", "", "", ""])
    cells = [name, found["shape"], f"{peer} {found['version']}", "warm", *_times(found, nuts)]
    cells += [
        f"{found[each]:{form}}" if each in found else "" for each, form in (("rhat", ".4f"), ("ess", ".0f"))
    ]
    cells += ["", "none" if found["finished"] else f"stopped: {found['reached']}"]
    if "b" not in found or nuts is None:
        return " | ".join([*cells, "", "", ""])
    kept = ~np.array(nuts["censored"])
    off = (np.array(found["b"]) - np.array(nuts["b"]))[kept]
    return " | ".join([*cells, f"{off.std():.4f}", "", ""])


def _times(found: dict[str, Any], nuts: dict[str, Any] | None) -> list[str]:
    cells = [f"{found[each]:.1f}" for each in ("wall", "cpu")]
    cells += ["" if nuts is None else f"{found['cpu'] / nuts['cpu']:.2f}"]
    return cells + [f"{found[each]:.1f}" for each in ("import", "fit")]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--logs", nargs="+", choices=LOGS, default=["simulated", "AIME24", "GSM8K", "PSN"])
    parser.add_argument("--engines", nargs="+", choices=[*ENGINES, "full"], default=list(ENGINES))
    parser.add_argument("--cold", action="store_true", help="measure with empty caches as well")
    parser.add_argument("--peers", type=Path, metavar="PYTHON", help="a Python with girth and PyMC")
    parser.add_argument(
        "--peer-seconds", type=float, default=360.0, help="processor time after which plain PyMC is stopped"
    )
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
        for peer in MODULES if options.peers else ():
            print(f"| {peer_row(name, peer, measure_peer(options, name, peer), nuts)} |", flush=True)


if __name__ == "__main__":
    main()
