"""Diagnose real logs: time, gate and figures, on the axis of all items and on that of the uncensored ones.

python -m benchmarks.real_logs --shared ../shared
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from benchfill.calibration.fit import fit_1pl
from benchfill.calibration.measure import ddm, max_gap, top_k_gap_sum
from benchfill.calibration.scale import Scale, minmax_scale
from benchfill.logs.responses import read_responses

LOGS = {
    "AIME24": "data/matrices/noises_highk_temp0.7__aime2024_cot/responses_long.csv.gz",
    "GSM8K": "data/matrices/evalarena_gsm8k/responses_wide.csv.gz",
}


def figures(b: np.ndarray, scale: Scale) -> str:
    z = scale.to_z(b)
    return f"{ddm(z):.3f} | {max_gap(z):.3f} | {top_k_gap_sum(z, 5):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(
        "| log | models x items | axis of | items | axis, logits | DDM | Max Gap | top-5 | R-hat | ESS | fit, s |"
    )
    print("|" + " --- |" * 11)
    for name, path in LOGS.items():
        log = read_responses(options.shared / path).log
        began = time.perf_counter()
        fit = fit_1pl(log, engine="nuts", seed=options.seed)
        took = time.perf_counter() - began
        kept = [item for item, censored in zip(fit.items, fit.censored, strict=True) if not censored]
        for axis, items, b in (("all items", None, fit.b), ("uncensored items", kept, fit.b[~fit.censored])):
            scale = minmax_scale(fit, items)
            print(
                f"| {name} | {len(log.models)} x {len(log.items)} | {axis} | {len(b)} | {scale.width:.1f} "
                f"| {figures(b, scale)} | {fit.gate.rhat_max:.4f} | {fit.gate.ess_min:.0f} | {took:.0f} |"
            )


if __name__ == "__main__":
    main()
