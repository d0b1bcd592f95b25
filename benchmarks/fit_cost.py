"""What a fit costs as a log grows: items, models, attempts, and missing cells. Simulated logs.

    python -m benchmarks.fit_cost
    python -m benchmarks.fit_cost --engines mml laplace --designs 50x1000x1 50x1000x1-30%

A design is MODELS x ITEMS x ATTEMPTS, with the share of cells that are missing at random behind a hyphen. Times are
processor time, imports left out: on an idle machine, the time one waits.
"""

from __future__ import annotations

import argparse
import re
import time
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from benchfill.calibration.response_log import ResponseLog

DESIGNS = (
    *(f"12x{items}x1" for items in (100, 1_000, 10_000, 41_871)),
    *(f"{models}x1000x1" for models in (6, 50, 200)),
    *(f"12x1000x{attempts}" for attempts in (16, 256)),
    "50x10000x16",
    *(f"{design}-30%" for design in ("12x1000x1", "50x1000x1")),
)
ENGINES = ("mml", "laplace", "nuts")


def simulated(design: str, seed: int) -> ResponseLog:
    """Abilities Normal(0, 1.2), difficulties Normal(0, 1.5)."""
    from benchfill.calibration.response_log import ResponseLog

    found = re.fullmatch(r"(\d+)x(\d+)x(\d+)(?:-(\d+)%)?", design)
    if found is None:
        raise SystemExit(f"{design!r} is no design: write 12x1000x1 or 12x1000x1-30%.")
    models, items, attempts, missing = (int(each or 0) for each in found.groups())
    rng = np.random.default_rng([seed, models, items, attempts, missing])
    theta, b = rng.normal(0.0, 1.2, (models, 1)), rng.normal(0.0, 1.5, items)
    asked = np.where(rng.random((models, items)) < missing / 100.0, 0, attempts)
    correct = rng.binomial(asked, 1.0 / (1.0 + np.exp(b - theta)))
    ids = tuple(f"m{each:03d}" for each in range(models)), tuple(f"i{each:05d}" for each in range(items))
    return ResponseLog(*ids, correct, asked)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--designs", nargs="+", default=list(DESIGNS))
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    from benchfill.calibration.fit import fit_1pl
    from benchfill.calibration.nuts import import_pymc

    if "nuts" in options.engines:
        import_pymc()
        fit_1pl(simulated("6x20x1", 0), engine="nuts")  # what is compiled once is not part of a fit
    columns = ["models x items x attempts", *(f"{engine}, s" for engine in options.engines), "gates"]
    print("| " + " | ".join(columns) + " |\n|" + " --- |" * len(columns))
    for design in options.designs:
        log = simulated(design, options.seed)
        cells, gates = [design.replace("x", " x ").replace("-", ", ").replace("%", " % missing")], []
        for engine in options.engines:
            began = time.process_time()
            gate = fit_1pl(log, engine=engine, seed=options.seed).gate
            cells.append(f"{time.process_time() - began:.1f}")
            if gate.rhat_max is not None:
                gates.append(f"R-hat {gate.rhat_max:.4f}, ESS {gate.ess_min:.0f}")
            elif gate.pareto_k is not None:
                gates.append(f"Pareto k {gate.pareto_k:.2f}")
            gates += [] if gate.passed else [f"{engine}: {' '.join(gate.reasons)}"]
        print("| " + " | ".join([*cells, "; ".join(gates)]) + " |", flush=True)


if __name__ == "__main__":
    main()
