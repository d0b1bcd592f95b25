"""``benchfill quality``: how good are benchmarks as instruments, judged by each other and by ladders of models?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from benchfill.commands.axis_options import (
    FilterOption,
    FormatOption,
    JsonOption,
    MetricOption,
    RowsOption,
    SeedOption,
    TaskOption,
    ThresholdOption,
)
from benchfill.commands.benchmark_logs import Benchmark, benchmark_names, merge_families, read_benchmark
from benchfill.errors import InputError

__all__ = ["quality"]


def quality(
    logs: Annotated[
        list[Path], typer.Argument(metavar="LOG...", help="One benchmark each: a response log, or a folder.")
    ],
    models: Annotated[
        Path | None,
        typer.Option("--models", help="Table model,family,size_b; else models.csv beside a log, else names."),
    ] = None,
    pool: Annotated[
        Literal["common", "own"],
        typer.Option("--pool", help="Judge all by the models they share, or each by all of its own."),
    ] = "common",
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", help="DS: scores that differ by more are told apart (0.02).")
    ] = None,
    steepness: Annotated[
        float | None, typer.Option("--lambda", help="CAD is exp(-lambda mean inversion) (12).")
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option("--weights", metavar="C,D,A", help="Weights of CBRC, DS and CAD in BQS (0.3,0.3,0.4)."),
    ] = None,
    draws: Annotated[int | None, typer.Option("--draws", min=2, help="Bootstrap samples (1000).")] = None,
    worst: Annotated[
        int, typer.Option("--worst", min=0, help="How many items with the most inversions to name.")
    ] = 5,
    rows: RowsOption = None,
    threshold: ThresholdOption = None,
    format_: FormatOption = None,
    filters: FilterOption = None,
    metrics: MetricOption = None,
    tasks: TaskOption = None,
    seed: SeedOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Judge benchmarks of one domain: do they rank models alike, tell them apart, and favour the stronger?

    CBRC, DS, CAD and BQS as Benchmark^2 defines them, and the stability of the ranking, with 95 % intervals.
    What is not given here comes from [quality] of benchfill.toml.

    Examples:

      benchfill quality aime.csv math500.csv gpqa.csv --models models.csv

      benchfill quality results/aime results/gpqa --pool own --worst 20 --json
    """
    import json

    from benchfill.calibration.benchmark_quality import QualityRules, benchmark_qualities
    from benchfill.calibration.quality_report import quality_document
    from benchfill.display.quality import print_quality
    from benchfill.logs.importing import ImportOptions
    from benchfill.settings import load_settings

    given = {
        "epsilon": epsilon,
        "steepness": steepness,
        "weights": None if weights is None else _weights(weights),
        "draws": draws,
    }
    flags = {name: value for name, value in given.items() if value is not None}
    chosen = load_settings(**({"quality": flags} if flags else {})).quality
    rules = QualityRules(chosen.epsilon, chosen.steepness, chosen.weights, chosen.draws)
    options = ImportOptions(
        format=format_,
        filters=tuple(filters or ()),
        metrics=tuple(metrics or ()),
        tasks=tuple(tasks or ()),
        threshold=threshold,
        rows=rows,
        models=models,
    )
    found = {
        name: read_benchmark([path], options) for name, path in zip(benchmark_names(logs), logs, strict=True)
    }
    if len(found) < len(logs):
        raise InputError("Two of the logs have one name.", "Rename a file or its folder.", kind="same_name")
    families = merge_families(found)
    judged, notes = _judged_by(found, pool)
    qualities, agreements = benchmark_qualities(
        {name: each.log for name, each in judged.items()}, families, rules, seed=seed
    )
    document: dict[str, Any] = quality_document(
        qualities, agreements, families, rules, pool=pool, worst=worst, seed=seed, notes=notes
    )
    if as_json:
        typer.echo(json.dumps(document, ensure_ascii=False, allow_nan=False))
    else:
        print_quality(document)


def _weights(text: str) -> tuple[float, float, float]:
    try:
        first, second, third = (float(each) for each in text.split(","))
    except ValueError:
        raise InputError(
            f"--weights takes three numbers, not {text!r}.", "For example: --weights 0.3,0.3,0.4"
        ) from None
    return first, second, third


def _judged_by(found: dict[str, Benchmark], pool: str) -> tuple[dict[str, Benchmark], list[str]]:
    """The logs with the models that judge them, and notes."""
    from benchfill.calibration.benchmark_quality import LEAST_SHARED

    notes = [f"{name}: {note}" for name, each in found.items() for note in each.notes]
    for name, each in found.items():
        if (each.log.attempts == 0).any():
            notes.append(
                f"{name}: cells are missing; a score is over the items the model was asked, which may be easier ones."
            )
    if pool == "own" or len(found) == 1:
        return found, notes
    common = set.intersection(*(set(each.log.models) for each in found.values()))
    if len(common) < LEAST_SHARED:
        notes.append(
            f"The logs have {len(common)} models in common, too few to judge all by them: each is judged by its own "
            "models, so DS and CAD of different benchmarks are no comparison."
        )
        return found, notes
    return {name: each._replace(log=each.log.select_models(common)) for name, each in found.items()}, notes
