"""Constants by which the networks of PSN-IRT are trained, chosen within the training part of the authors' split.

python -m benchmarks.neural_training --shared ../shared --keep documents

A tenth of the training cells is foretold by networks trained on the others; the test part is never read. One constant
after the other takes the value with the lowest log loss of that tenth, begun at the authors' own, which stand where
nothing is gained; narrower networks stand beside. What was measured is kept in the folder of ``--keep``.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.item_models import read_matrix

BEGIN = {"aside": 0.2, "averaged": 1, "rate": 0.003, "decay": 1e-4, "hidden": 64}  # the authors'
TRIED: dict[str, tuple[float, ...]] = {
    "aside": (0.1,),
    "averaged": (4,),
    "rate": (0.0015, 0.006),
    "decay": (1e-5, 1e-3),
}
BESIDE = {
    "hidden": 32
}  # looked at and not taken: the width is the authors' architecture and no constant of training
GAIN = 0.001  # of log loss, about a third of its standard error, for which a constant of the authors' is given up
VALIDATION = 10  # one cell in so many
SEED = 20


def validate(log: Any, training: Any, seed: int) -> dict[str, Any]:
    """Train on nine tenths of the cells, foretell the tenth."""
    from benchfill.calibration.folds import hide_cells
    from benchfill.calibration.held_out import Foretold, score
    from benchfill.calibration.neural import fit_neural

    started = time.process_time()
    fold = hide_cells([log], VALIDATION, seed)[0]
    fit = fit_neural(fold.known[0], seed=seed, training=training)
    scores = score(Foretold.of(fit.success(), fold.hidden[0].correct, fold.hidden[0].attempts))
    return {
        **asdict(training),
        "log_loss": scores.log_loss,
        "accuracy": scores.accuracy,
        "epochs_run": len(fit.epochs),
        "cpu_seconds": time.process_time() - started,
    }


def main() -> None:
    """One constant after the other; the table and the choice."""
    from benchfill.calibration.folds import join_logs
    from benchfill.calibration.neural import Training

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--keep", type=Path, required=True)
    options = parser.parse_args()
    options.keep.mkdir(exist_ok=True)
    log, _, _ = join_logs(read_matrix(options.shared / "data/psn_irt/train.csv.gz"))
    print("| aside | averaged | rate | decay | hidden | epochs | log loss | accuracy | CPU s |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)

    def look(training: Training) -> float:
        name = "-".join(f"{getattr(training, each):g}" for each in BEGIN)
        file = options.keep / f"training-{name}.json"
        if not file.exists():
            file.write_text(json.dumps(validate(log, training, SEED)), encoding="utf-8")
        found = json.loads(file.read_text(encoding="utf-8"))
        cells = [f"{found[each]:g}" for each in BEGIN]
        print(
            f"| {' | '.join(cells)} | {found['epochs_run']} | {found['log_loss']:.4f} | {found['accuracy']:.4f} |"
            f" {found['cpu_seconds']:.0f} |",
            flush=True,
        )
        return float(found["log_loss"])

    best = replace(Training(), **BEGIN)
    lowest = look(best)
    for constant, values in TRIED.items():
        tried = {value: replace(best, **{constant: value}) for value in values}
        losses = {value: look(training) for value, training in tried.items()}
        value = min(losses, key=lambda each: (losses[each], each))
        if losses[value] < lowest - GAIN:
            best, lowest = tried[value], losses[value]
    look(replace(best, **BESIDE))
    print(
        f"chosen: {', '.join(f'{each} {getattr(best, each):g}' for each in BEGIN)}; default: {best == Training()}"
    )


if __name__ == "__main__":
    main()
