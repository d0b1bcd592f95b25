"""Item models on the public matrix of PSN-IRT: hidden answers and models, the table of benchmarks, the MMLU artefact.

python -m benchmarks.item_models --shared ../shared --keep documents
python -m benchmarks.item_models --shared ../shared --keep documents --only split:neural:joint

Every part is a process of its own, one after the other, and leaves a JSON file in the folder of ``--keep``; those that
are there are not made again. The tables are printed from the files.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import multiprocessing
import resource
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

BLOCKS = (
    *(("ARC-C", 295), ("BBH", 6511), ("ChineseSimpleQA", 3000), ("GPQA-Diamond", 198), ("GSM8K", 1319)),
    *(
        ("HellaSwag", 10042),
        ("HumanEval", 164),
        ("MATH", 5000),
        ("MBPP", 500),
        ("MMLU", 14042),
        ("TheoremQA", 800),
    ),
)
MODELS = tuple(f"psn_model_{at:02}" for at in range(12))
ARTEFACT = "psn_model_03"  # right on every item of MMLU
AUTHORS = (
    ("PSN-IRT, published", 0.7998, 0.8538, 0.8485, 0.4537),
    ("Deep-IRT, published", 0.7974, 0.8516, 0.8519, 0.4519),
)
COLUMNS = ("Difficulty", "Discrimination", "Guessing Rate", "Feasibility", "LEH", "Fisher Information")
SPLIT = (
    *(f"split:{name}:benchmark" for name in ("1pl", "model_slopes", "2pl", "4pl", "4pl_slopes")),
    *(f"split:{name}:joint" for name in ("1pl", "model_slopes", "2pl", "4pl", "4pl_slopes", "neural")),
)
HIDDEN = (
    *(f"hidden:{name}:benchmark" for name in ("1pl", "model_slopes", "2pl", "4pl")),
    *(f"hidden:{name}:joint" for name in ("1pl", "model_slopes", "2pl", "4pl", "neural")),
)
PARTS = (*SPLIT, *HIDDEN, "table:4pl", "table:4pl:without", "table:neural", "artefact:model_slopes")


def read_matrix(path: Path) -> list[Any]:
    """The logs of all blocks from one headerless matrix (models x items); an empty cell was not asked."""
    from benchfill.calibration.response_log import ResponseLog

    with gzip.open(path, "rt", newline="") as file:
        rows = np.array([[float(cell) if cell else -1.0 for cell in row] for row in csv.reader(file)])
    logs, start = [], 0
    for _, items in BLOCKS:
        part = rows[:, start : start + items]
        ids = tuple(f"{at:05}" for at in range(items))
        logs.append(ResponseLog(MODELS, ids, (part == 1).astype(int), (part >= 0).astype(int)))
        start += items
    return logs


def run_split(shared: Path, model: Any, scope: Any) -> dict[str, Any]:
    """Fit the authors' training part, foretell their test part."""
    from benchfill.calibration.model_comparison import compare_item_models

    train, test = (read_matrix(shared / f"data/psn_irt/{name}.csv.gz") for name in ("train", "test"))
    names = [name for name, _ in BLOCKS]
    found = compare_item_models(train, [model], hidden=test, names=names, scopes=[scope])
    return asdict(found.contenders[0])


def read_whole(shared: Path) -> list[Any]:
    """The logs of all blocks, both parts of the split together."""
    train, test = (read_matrix(shared / f"data/psn_irt/{name}.csv.gz") for name in ("train", "test"))
    return [
        type(one)(one.models, one.items, one.correct + two.correct, one.attempts + two.attempts)
        for one, two in zip(train, test, strict=True)
    ]


def run_hidden(shared: Path, model: Any, scope: Any) -> dict[str, Any]:
    """Four groups of three models hidden in turn: half of a model's answers place it, the others are foretold."""
    from benchfill.calibration.model_comparison import compare_item_models

    logs = read_whole(shared)
    found = compare_item_models(
        logs, [model], hide="models", names=[name for name, _ in BLOCKS], scopes=[scope], folds=4,
        most_cells=sum(log.attempts.size for log in logs),
    )  # fmt: skip
    return asdict(found.contenders[0])


def run_artefact(shared: Path) -> dict[str, Any]:
    """Model slopes on MMLU with and without the model at 100 %; answers of the other models foretold."""
    from benchfill.calibration.model_comparison import compare_item_models

    at = [name for name, _ in BLOCKS].index("MMLU")
    train, test = (read_matrix(shared / f"data/psn_irt/{name}.csv.gz")[at] for name in ("train", "test"))
    others = [model for model in MODELS if model != ARTEFACT]
    hidden_from_it = np.array([[model != ARTEFACT] for model in MODELS])
    test_others = type(test)(
        test.models, test.items, test.correct * hidden_from_it, test.attempts * hidden_from_it
    )
    found = {}
    for label, known, hidden in (
        ("with", train, test_others),
        ("without", train.select_models(others), test.select_models(others)),
    ):
        contender = compare_item_models([known], ["1pl", "model_slopes"], hidden=[hidden])
        found[label] = {each.model: each.scores.log_loss for each in contender.contenders if each.scores}
    return found


def run_table(shared: Path, model: Any, *, without: bool) -> dict[str, Any]:
    """One fit to the whole matrix, and the authors' six figures of every benchmark from it."""
    from benchfill.calibration.folds import join_logs
    from benchfill.calibration.item_diagnostics import benchmark_figures
    from benchfill.calibration.item_models import fit_by_name
    from benchfill.calibration.response_log import ResponseLog

    logs = read_whole(shared)
    if without:
        at = [name for name, _ in BLOCKS].index("MMLU")
        keep = np.array([[model != ARTEFACT] for model in MODELS])
        mmlu = logs[at]
        logs[at] = ResponseLog(mmlu.models, mmlu.items, mmlu.correct * keep, mmlu.attempts * keep)
    whole, _, columns = join_logs(logs)
    fit = fit_by_name(whole, model)
    curves = fit.curves()
    rows = {
        name: asdict(benchmark_figures(curves, at)) for (name, _), at in zip(BLOCKS, columns, strict=True)
    }
    share = getattr(fit, "prior_share", None)
    return {
        "theta": curves.theta.tolist(),
        "rows": rows,
        "population": getattr(fit, "population", np.empty(0)).tolist(),
        "prior_share": None if share is None else share.mean(axis=0).tolist(),
        "prior_share_by_block": None
        if share is None
        else [share[at].mean(axis=0).tolist() for at in columns],
    }


def make(part: str, shared: Path, file: Path) -> None:
    """One part, with its processor time and peak memory, into its file."""
    started = time.process_time()
    kind, *rest = part.split(":")
    if kind == "split":
        document = run_split(shared, *rest)
    elif kind == "hidden":
        document = run_hidden(shared, *rest)
    elif kind == "table":
        document = run_table(shared, rest[0], without="without" in rest)
    else:
        document = run_artefact(shared)
    document["cpu_seconds"] = time.process_time() - started
    document["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    file.write_text(json.dumps(document), encoding="utf-8")


def main() -> None:
    """Make what is missing, and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=PARTS)
    options = parser.parse_args()
    options.keep.mkdir(exist_ok=True)
    for part in options.only:
        file = options.keep / f"{part.replace(':', '-')}.json"
        if not file.exists():
            child = multiprocessing.get_context("spawn").Process(
                target=make, args=(part, options.shared, file)
            )
            child.start()
            child.join()
        print(f"{part}: {'made' if file.exists() else 'FAILED'}", flush=True)
    documents = {
        part: json.loads(file.read_text(encoding="utf-8"))
        for part in PARTS
        if (file := options.keep / f"{part.replace(':', '-')}.json").exists()
    }
    print_scores(documents, SPLIT)
    print_scores(documents, HIDDEN)
    print_tables(documents, options.shared)
    if "artefact:model_slopes" in documents:
        print(
            "\nLog loss of the other models' hidden MMLU answers, fitted with and without the model at 100 %:"
        )
        print(json.dumps({key: documents["artefact:model_slopes"][key] for key in ("with", "without")}))


def print_scores(documents: dict[str, Any], parts: tuple[str, ...]) -> None:
    """Foretold answers: all models, for the authors' split beside their figures."""
    print(
        "\n| model | fitted | log loss | s.e. | accuracy | F1 | AUC | calibration error | CPU s | peak MB |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, accuracy, f1, auc, log_loss in AUTHORS if parts is SPLIT else ():
        print(f"| {name} | joint | {log_loss:.4f} | | {accuracy:.4f} | {f1:.4f} | {auc:.4f} | | | |")
    for part in parts:
        if part not in documents:
            continue
        each = documents[part]
        _, model, scope = part.split(":")
        fitted = "joint" if scope == "joint" else "per benchmark"
        if each["scores"] is None:
            print(f"| {model} | {fitted} | not fitted: {each['failure']} |")
            continue
        scores = each["scores"]
        print(
            f"| {model} | {fitted} | {scores['log_loss']:.4f} | {each['log_loss_se']:.4f} | {scores['accuracy']:.4f} |"
            f" {scores['f1']:.4f} | {scores['auc']:.4f} | {scores['calibration_error']:.4f} |"
            f" {each['cpu_seconds']:.0f} | {each['peak_mb']:.0f} |"
        )


def print_tables(documents: dict[str, Any], shared: Path) -> None:
    """The authors' table beside ours, rank correlation a column, and Kendall's tau of abilities."""
    from scipy.stats import kendalltau, spearmanr

    folder = shared / "data/psn_irt"
    with (folder / "dataset_analysis.csv").open(newline="", encoding="utf-8") as file:
        theirs = [[float(row[name]) for name in COLUMNS] for row in csv.DictReader(file)]
    with (folder / "student_abilities.csv").open(newline="", encoding="utf-8") as file:
        abilities = [float(row["ability"]) for row in csv.DictReader(file)]
    for part in ("table:4pl", "table:4pl:without", "table:neural"):
        if part not in documents:
            continue
        each = documents[part]
        print(f"\n{part}: CPU {each['cpu_seconds']:.0f} s, peak {each['peak_mb']:.0f} MB")
        print(f"abilities: Kendall tau with theirs {kendalltau(abilities, each['theta']).statistic:.3f}")
        print(" ".join(f"{theta:.2f}" for theta in each["theta"]))
        print(f"population {each['population']}, share of prior {each['prior_share']}")
        ours = [list(row.values()) for row in each["rows"].values()]
        print("| benchmark | " + " | ".join(f"{name}, theirs | ours" for name in COLUMNS) + " |")
        print("| --- |" + " --- |" * 12)
        for name, left, right in zip(each["rows"], theirs, ours, strict=True):
            cells = " | ".join(f"{a:.4g} | {b:.4g}" for a, b in zip(left, right, strict=False))
            print(f"| {name} | {cells} |")
        columns = [
            f"{spearmanr([row[at] for row in theirs], [row[at] for row in ours]).statistic:.2f}"
            for at in range(6)
        ]
        print("| rank correlation | " + " | ".join(f" | {each}" for each in columns) + " |")


if __name__ == "__main__":
    main()
