"""The main job on real items and real answers: MATH-500 split into a benchmark and a bank, replayed.

    python -m benchmarks.replay --shared ../shared [--gaps 3] [--seed 1]

Twelve models spread over ability, 60 items as the benchmark, 440 as the bank. Prints for every accepted item the
reported place with its interval and expected deviation beside the true one: the maximum of the expected likelihood of
all its logged answers under the frozen abilities.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from benchfill.memory.pool import Pool
from benchfill.worlds.bank import full_log_z

LOG = "matrices/noises_highk_temp0.7__math500_cot/responses_long.csv.gz"
ITEMS = "items/math500.jsonl"
MODELS, BENCHMARK = 12, 60
# A model needs attempts enough on every item: asked 256 times at most, it must not run dry at once.
FEWEST = 200

Cell = tuple[int, int]


def read_log(path: Path) -> dict[str, dict[str, Cell]]:
    """{model: {item: (correct, attempts)}}"""
    cells: dict[str, dict[str, Cell]] = defaultdict(dict)
    with gzip.open(path, "rt", encoding="utf-8", newline="") as handle:
        for row in csv.DictReader(handle):
            cells[row["model"]][row["item_id"]] = (int(row["correct"]), int(row["count"]))
    return cells


def spread_models(log: dict[str, dict[str, Cell]], count: int) -> list[str]:
    """Models with attempts enough everywhere, evenly spread over their mean score."""
    items = {item for cells in log.values() for item in cells}
    score = {
        model: sum(right / asked for right, asked in cells.values()) / len(cells)
        for model, cells in log.items()
        if set(cells) == items and min(asked for _, asked in cells.values()) >= FEWEST
    }
    ranked = sorted(score, key=lambda model: (score[model], model))
    return [ranked[round(step * (len(ranked) - 1) / (count - 1))] for step in range(count)]


def write_split(shared: Path, folder: Path, seed: int) -> None:
    """items.jsonl, responses.csv, bank_items.jsonl, bank_responses.csv"""
    log = read_log(shared / LOG)
    models = spread_models(log, MODELS)
    lines = (shared / ITEMS).read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    random.Random(seed).shuffle(rows)
    for name, part in (("", rows[:BENCHMARK]), ("bank_", rows[BENCHMARK:])):
        with (folder / f"{name}items.jsonl").open("w", encoding="utf-8") as handle:
            handle.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in part)
        with (folder / f"{name}responses.csv").open("w", encoding="utf-8", newline="") as handle:
            writer = csv.writer(handle)
            writer.writerow(["model", "item_id", "correct", "count"])
            for row in part:
                writer.writerows([model, row["item_id"], *log[model][row["item_id"]]] for model in models)


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "BENCHFILL_HOME": str(folder / "home")}
    return subprocess.run([sys.executable, "-m", "benchfill", *arguments], env=environment, check=False)


def report(folder: Path, name: str) -> list[dict[str, float | str]]:
    """Reported beside true, an accepted item a row."""
    pool = Pool(folder / "home" / "runs" / name / "memory.sqlite", create=False)
    scale = pool.scale()
    if scale is None:
        raise SystemExit("the run has no scale")
    theta = dict(zip(scale.models, scale.theta, strict=True))
    counts: dict[str, dict[str, Cell]] = defaultdict(dict)
    with (folder / "bank_responses.csv").open(encoding="utf-8", newline="") as handle:
        for line in csv.DictReader(handle):
            counts[line["item_id"]][line["model"]] = (int(line["correct"]), int(line["count"]))
    lines = (folder / "bank_items.jsonl").read_text(encoding="utf-8").splitlines()
    by_text = {row["question"].strip(): row["item_id"] for row in map(json.loads, lines)}
    estimates, rows = pool.estimates(), []
    for gap in pool.gaps():
        if gap.accepted is None:
            rows.append({"gap": gap.gap, "status": gap.status})
            continue
        item = pool.item(str(pool.candidate(gap.accepted).item))
        if item is None:
            raise SystemExit("an accepted item is not in the memory")
        estimate = estimates[item.id]
        true = full_log_z(theta, counts[by_text[item.question.strip()]], scale.lo, scale.hi)
        rows.append(
            {
                "gap": gap.gap,
                "status": gap.status,
                "target": gap.target,
                "tolerance": gap.tolerance,
                "z": estimate.z,
                "z_lo90": estimate.z_lo90,
                "z_hi90": estimate.z_hi90,
                "expected_deviation": float(estimate.expected_deviation or 0.0),
                "true_z": true,
                "true_deviation": abs(true - gap.target),
                "attempts": estimate.attempts,
            }
        )
    pool.close()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--gaps", default="3")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_split(options.shared / "data", folder, options.seed)
        files = {
            flag: str(folder / name)
            for flag, name in {
                "--items": "items.jsonl",
                "--responses": "responses.csv",
                "--bank-items": "bank_items.jsonl",
                "--bank-responses": "bank_responses.csv",
            }.items()
        }
        arguments = [part for pair in files.items() for part in pair]
        ended = run(
            folder, "run", "--world", "replay", *arguments, "--gaps", options.gaps, "--seed", str(options.seed),
            "--name", "replay",
        )  # fmt: skip
        print(f"exit code {ended.returncode}")
        columns = ["gap", "status", "target", "tolerance", "z", "z_lo90", "z_hi90", "expected_deviation", "true_z",
                   "true_deviation", "attempts"]  # fmt: skip
        print("| " + " | ".join(columns) + " |")
        print("|" + " --- |" * len(columns))
        for row in report(folder, "replay"):
            cells = [row.get(column, "") for column in columns]
            print(
                "| "
                + " | ".join(f"{each:.4f}" if isinstance(each, float) else str(each) for each in cells)
                + " |"
            )


if __name__ == "__main__":
    main()
