"""Diagnose public response logs, every part of the report included, and print one table of the results.

python -m benchmarks.real_logs --shared ../shared
python -m benchmarks.real_logs --shared ../shared --only AIME24 MMLU --keep documents

Each log is what `benchfill diagnose LOG --pool-subsets --seed 1` makes of it. With ``--keep`` the documents are kept,
one JSON file a log, and those that are there are not made again.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

MATRICES, BLOCKS = "data/matrices", "data/psn_irt"
AIME24 = f"{MATRICES}/noises_highk_temp0.7__aime2024_cot"
# Name, domain, file. The last eleven are the blocks of one matrix of 12 models.
LOGS = (
    ("AIME24, k=1", "mathematics", f"{AIME24}/aime2024_k1_wide.csv"),
    ("AIME24, k=8", "mathematics", f"{AIME24}/aime2024_k8_samples.csv.gz"),
    ("AIME24", "mathematics", f"{AIME24}/responses_long.csv.gz"),
    ("MATH-500", "mathematics", f"{MATRICES}/noises_highk_temp0.7__math500_cot/responses_long.csv.gz"),
    ("GSM8K", "mathematics", f"{MATRICES}/evalarena_gsm8k/responses_wide.csv.gz"),
    ("CRUXEval-input", "code", f"{MATRICES}/evalarena_CRUXEval-input-T0.8/responses_long.csv.gz"),
    ("SWE-bench Lite", "code", f"{MATRICES}/evalarena_swebench-lite/responses_wide.csv.gz"),
    ("Terminal-Bench", "agents", f"{MATRICES}/terminal-bench-1.0/responses_long.csv.gz"),
    ("ARC-C", "science", f"{BLOCKS}/ARC-C_wide.csv.gz"),
    ("BBH", "reasoning", f"{BLOCKS}/BBH_wide.csv.gz"),
    ("ChineseSimpleQA", "knowledge", f"{BLOCKS}/ChineseSimpleQA_wide.csv.gz"),
    ("GPQA-Diamond", "science", f"{BLOCKS}/GPQA-Diamond_wide.csv.gz"),
    ("GSM8K, 12 models", "mathematics", f"{BLOCKS}/GSM8K_wide.csv.gz"),
    ("HellaSwag", "reasoning", f"{BLOCKS}/HellaSwag_wide.csv.gz"),
    ("HumanEval", "code", f"{BLOCKS}/HumanEval_wide.csv.gz"),
    ("MATH", "mathematics", f"{BLOCKS}/MATH_wide.csv.gz"),
    ("MBPP", "code", f"{BLOCKS}/MBPP_wide.csv.gz"),
    ("MMLU", "knowledge", f"{BLOCKS}/MMLU_wide.csv.gz"),
    ("TheoremQA", "mathematics", f"{BLOCKS}/TheoremQA_wide.csv.gz"),
)
HEADERS = (
    *(
        "log",
        "domain",
        "n",
        "models",
        "attempts",
        "DDM",
        "Max Gap",
        "top-5",
        "resolved",
        "p chance",
        "censored",
    ),
    *("z, posterior", "z, halves", "R-hat", "ESS", "s"),
)
REANCHORED = ("log", "axis of", "items", "axis, logits", "DDM", "Max Gap", "top-5")
FIGURES = ("ddm", "max_gap", "top5_sum")


def document_of(name: str, path: Path, seed: int) -> dict[str, Any]:
    """The diagnosis of a log, with its name, seconds (wall clock and processor), and figures on the other axis."""
    from benchfill.calibration.diagnosis import diagnose
    from benchfill.logs.importing import ImportOptions, load_responses

    began, used = time.perf_counter(), time.process_time()
    read = load_responses([path], ImportOptions())
    # Texts are of no use to a diagnosis.
    notes = replace(read.report, without_text={}).warnings()
    found = diagnose(
        read.log,
        engine="nuts",
        seed=seed,
        guessing=read.guessing(),
        pool_subsets=True,
        notes=notes,
    )
    document = found.document()
    seconds = {"wall": time.perf_counter() - began, "processor": time.process_time() - used}
    return {**document, "name": name, "seconds": seconds, "reanchored": reanchored(found)}


def reanchored(found: Any) -> dict[str, Any] | None:
    """Figures of the uncensored items on an axis of their own; None where no censored item sets an end of the axis."""
    from benchfill.calibration.measure import ddm, max_gap, top_k_gap_sum
    from benchfill.calibration.scale import minmax_scale

    fit = found.fit
    if found.scale is None or not fit.censored.any() or fit.censored.all():
        return None
    kept = [item for item, censored in zip(fit.items, fit.censored, strict=True) if not censored]
    scale = minmax_scale(fit, kept)
    if scale == found.scale:
        return None
    z = scale.to_z(fit.b[~fit.censored])
    figures = dict(zip(FIGURES, (ddm(z), max_gap(z), top_k_gap_sum(z, 5)), strict=True))
    return {"n_items": len(kept), "width": scale.width, **figures}


def main_row(document: dict[str, Any], domain: str) -> list[str]:
    gate, resolution, pool = document["gate"], document["resolution"], document["pool_dependence"]
    cells = document["n_items"] * document["n_models"]
    first = document["gaps"][0]["p_chance"] if document["gaps"] else None
    replicates = document["p_chance_replicates"]
    return [
        document["name"],
        domain,
        f"{document['n_items']:,}",
        str(document["n_models"]),
        f"{document['n_attempts'] / cells:,.0f}",
        *(figure(document, key) for key in FIGURES),
        "-" if resolution is None else f"{resolution['resolved']} of {resolution['examined']}",
        "-" if first is None else f"{first:.2f} of {replicates}",
        str(document["n_censored"]),
        *("-" if pool is None else spread(pool[key]) for key in ("median_posterior_sd", "median_z_sd")),
        f"{gate['rhat_max']:.4f}",
        f"{gate['ess_min']:,.0f}" + ("" if gate["passed"] else " FAILED"),
        f"{document['seconds']['processor']:.0f}",
    ]


def figure(document: dict[str, Any], key: str) -> str:
    if document[key] is None:
        return "-"
    median, lo, hi = (document[f"{key}_{part}"] for part in ("median", "lo90", "hi90"))
    return f"{document[key]:.3f}; {median:.3f} [{lo:.3f}, {hi:.3f}]"


def spread(sd: float | None) -> str:
    return "-" if sd is None else f"{sd:.3f}"


def reanchored_rows(document: dict[str, Any]) -> list[list[str]]:
    other = document["reanchored"]
    if other is None or document["scale"] is None:
        return []
    width = document["scale"]["hi"] - document["scale"]["lo"]
    return [
        [document["name"], axis, f"{count:,}", f"{long:.1f}", *(f"{values[key]:.3f}" for key in FIGURES)]
        for axis, count, long, values in (
            ("all items", document["n_items"], width, document),
            ("uncensored items", other["n_items"], other["width"], other),
        )
    ]


def table(headers: tuple[str, ...], rows: list[list[str]]) -> str:
    lines = [headers, ("---",) * len(headers), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shared", type=Path, default=Path(os.environ.get("BENCHFILL_SHARED", "../shared")))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=[name for name, _, _ in LOGS], help="These logs only.")
    parser.add_argument("--keep", type=Path, help="Folder for the documents.")
    options = parser.parse_args()
    rows: list[list[str]] = []
    others: list[list[str]] = []
    said: list[str] = []
    for name, domain, path in LOGS:
        if options.only and name not in options.only:
            continue
        kept = options.keep / f"{name.replace(', ', ' ').replace(' ', '_')}.json" if options.keep else None
        if kept is not None and kept.is_file():
            document = json.loads(kept.read_text(encoding="utf-8"))
        else:
            document = document_of(name, options.shared / path, options.seed)
            if kept is not None:
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(json.dumps(document), encoding="utf-8")
        rows.append(main_row(document, domain))
        others += reanchored_rows(document)
        resolution = document["resolution"]
        said.append(f"- {name}: {'no axis' if resolution is None else resolution['sentence']}")
        said += [f"  - {note}" for note in document["notes"] if "Always right" in note]
    print(table(HEADERS, rows))
    print(f"\n{table(REANCHORED, others)}")
    print("\n" + "\n".join(said))


if __name__ == "__main__":
    main()
