"""``benchfill models``: which item model describes the logs, and what it says of their items."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

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
from benchfill.commands.benchmark_logs import benchmark_names, read_benchmark
from benchfill.errors import InputError

if TYPE_CHECKING:
    from benchfill.calibration.response_log import ResponseLog

__all__ = ["models"]

_DEFAULT = ("1pl", "model_slopes", "2pl", "4pl")


def models(
    logs: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOG...", help="One benchmark each: a response log of any format, or a folder."
        ),
    ],
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            help="Compare this one: 1pl, model_slopes, 2pl, 4pl, 4pl_slopes or neural; may be given several "
            "times. The first four without it.",
        ),
    ] = None,
    hide: Annotated[
        Literal["cells", "models"],
        typer.Option("--hide", help="What is to be foretold: cells, or answers of models the fit never saw."),
    ] = "cells",
    test: Annotated[
        list[Path] | None,
        typer.Option(
            "--test", metavar="LOG", help="Foretell these answers instead; one for each LOG, in order."
        ),
    ] = None,
    scope: Annotated[
        Literal["benchmark", "joint", "both"],
        typer.Option("--scope", help="A fit to each benchmark, one to all together, or both."),
    ] = "both",
    folds: Annotated[int, typer.Option("--folds", min=2, help="Parts of which each is hidden once.")] = 5,
    most_cells: Annotated[
        int,
        typer.Option("--most-cells", min=100, help="Compare on a random part of the items of larger logs."),
    ] = 26_000,
    high_guessing: Annotated[
        float, typer.Option("--high-guessing", min=0.0, max=1.0, help="Guessing that makes a suspect.")
    ] = 0.5,
    low_feasibility: Annotated[
        float, typer.Option("--low-feasibility", min=0.0, max=1.0, help="Feasibility that makes a suspect.")
    ] = 0.5,
    top: Annotated[int, typer.Option("--top", min=0, help="How many suspects to list.")] = 10,
    items_out: Annotated[
        Path | None, typer.Option("--items-out", metavar="FILE", help="Write every item's figures as CSV.")
    ] = None,
    rows: RowsOption = None,
    threshold: ThresholdOption = None,
    format_: FormatOption = None,
    filters: FilterOption = None,
    metrics: MetricOption = None,
    tasks: TaskOption = None,
    seed: SeedOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Compare item models on hidden answers, and show difficulty, discrimination, guessing and feasibility of items.

    A model that cannot be fitted is named with the reason, the others are reported, and the exit code is 1.

    Examples:

      benchfill models responses.csv

      benchfill models arc.csv gsm8k.csv --hide models --json

      \b
    benchfill models train.csv --test test.csv --model model_slopes \\
      --model neural
    """
    import json

    from benchfill.calibration.item_models import MODEL_NAMES, ModelName
    from benchfill.calibration.item_report import item_document, item_rows
    from benchfill.calibration.model_comparison import compare_item_models
    from benchfill.display.diagnosis import FitProgress
    from benchfill.display.models import comparison_document, print_models
    from benchfill.logs.importing import ImportOptions

    known: dict[str, ModelName] = {name: name for name in MODEL_NAMES}
    wrong = [name for name in model or () if name not in known]
    if wrong:
        raise InputError(f"There is no item model {wrong[0]!r}.", f"Choose from {', '.join(MODEL_NAMES)}.")
    chosen = [name for name in MODEL_NAMES if name in (model or _DEFAULT)]
    if items_out is not None and (items_out.is_dir() or not items_out.absolute().parent.is_dir()):
        raise InputError(f"Cannot write {items_out}: no such folder, or a folder itself.", kind="unwritable")
    options = ImportOptions(
        format=format_,
        filters=tuple(filters or ()),
        metrics=tuple(metrics or ()),
        tasks=tuple(tasks or ()),
        threshold=threshold,
        rows=rows,
    )
    names = benchmark_names(logs)
    read = [read_benchmark([path], options) for path in logs]
    own = [each.log for each in read]
    notes = [f"{name}: {note}" for name, each in zip(names, read, strict=True) for note in each.notes]
    hidden = None
    if test:
        if len(test) != len(logs):
            raise InputError(f"{len(logs)} logs take {len(logs)} --test, in their order, not {len(test)}.")
        hidden = [
            _aligned(log, read_benchmark([path], options).log, path)
            for log, path in zip(own, test, strict=True)
        ]
    with FitProgress() as progress:

        def show(fraction: float, message: str) -> None:
            progress(0.8 * fraction, message)

        found = compare_item_models(
            own,
            chosen,
            hide=hide,
            hidden=hidden,
            names=names,
            scopes=("benchmark", "joint") if scope == "both" else (scope,),
            folds=folds,
            most_cells=most_cells,
            seed=seed,
            progress=show,
        )
        progress(0.8, "4pl: all answers")
        figures, curves_of = item_document(
            names, own, high_guessing=high_guessing, low_feasibility=low_feasibility, top=top
        )
        progress(1.0, "fitted")
    document: dict[str, Any] = {
        "v": 1,
        "seed": seed,
        "comparison": comparison_document(found, names),
        **figures,
        "notes": notes,
    }
    if items_out is not None and curves_of is not None:
        from benchfill.atomic import write_whole

        write_whole(items_out, item_rows(names, own, curves_of).encode("utf-8"))
        typer.echo(f"Figures of items written to {items_out}", err=True)
    if as_json:
        typer.echo(json.dumps(document, ensure_ascii=False, allow_nan=False))
    else:
        print_models(document)
    if curves_of is None or any(each.scores is None for each in found.contenders):
        if items_out is not None and curves_of is None:
            typer.echo(f"{items_out} is not written: the 4PL could not be fitted.", err=True)
        raise typer.Exit(1)


def _aligned(log: ResponseLog, test: ResponseLog, path: Path) -> ResponseLog:
    """The test log with the models and items of the log it belongs to; what it lacks was not asked."""
    import numpy as np

    from benchfill.calibration.response_log import ResponseLog

    for side, ours, theirs in (("model", log.models, test.models), ("item", log.items, test.items)):
        new = sorted(set(theirs) - set(ours))
        if new:
            raise InputError(
                f"{path} has {side} {new[0]!r}, which the log does not have: nothing is known of it.",
                kind="unknown_id",
            )
    at = np.ix_(np.searchsorted(log.models, test.models), np.searchsorted(log.items, test.items))
    correct, attempts = np.zeros_like(log.correct), np.zeros_like(log.attempts)
    correct[at], attempts[at] = test.correct, test.attempts
    return ResponseLog(log.models, log.items, correct, attempts)
