"""``benchfill import``: harness logs as responses and items, with a report of everything that was decided."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from benchfill.commands.axis_options import FilterOption, MetricOption, TaskOption
from benchfill.errors import InputError

if TYPE_CHECKING:
    from benchfill.logs.harness.report import ImportReport

__all__ = ["import_"]


def import_(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Logs, or folders of logs.")],
    out: Annotated[Path, typer.Option("--out", help="Folder to write.")],
    format_: Annotated[
        str | None, typer.Option("--format", help="Format of all logs; detected by content without it.")
    ] = None,
    filters: FilterOption = None,
    metrics: MetricOption = None,
    tasks: TaskOption = None,
    threshold: Annotated[
        float | None, typer.Option("--threshold", help="Partial scores count as right from here on.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="Name of the model of logs that do not say it.")
    ] = None,
    models: Annotated[
        Path | None, typer.Option("--models", help="Table model,family,size_b; overrides what names say.")
    ] = None,
    rows: Annotated[
        Literal["models", "items"] | None,
        typer.Option("--rows", help="Rows of a wide table, where its header is silent."),
    ] = None,
    merge: Annotated[
        Literal["auto", "id"],
        typer.Option("--merge", help="Same items by id and text, or by id alone."),
    ] = "auto",
    collapse_repeats: Annotated[
        bool,
        typer.Option("--collapse-repeats", help="Repeats that are identical in every cell count once."),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier import.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The report as one JSON document.")] = False,
) -> None:
    """Turn logs of evaluation harnesses into responses and items.

    Writes responses.csv, items.jsonl, missing.csv, models.csv and report.json; nothing appears unless all of it does.

    Examples:

      benchfill import results/ --out gsm8k

      benchfill import results/ --out gsm8k --filter flexible-extract

      benchfill import logs/*.eval --out aime --threshold 0.5
    """
    import json

    from benchfill.logs.harness.output import check_free, write_import
    from benchfill.logs.importing import ImportOptions, load_responses

    check_free(out, force=force)
    if any(out.absolute() == path.absolute() for path in paths):
        raise InputError(f"{out} is one of the logs.", "Name another folder with --out.")
    options = ImportOptions(
        format=format_,
        filters=tuple(filters or ()),
        metrics=tuple(metrics or ()),
        tasks=tuple(tasks or ()),
        threshold=threshold,
        model=model,
        rows=rows,
        merge=merge,
        models=models,
        collapse_repeats=collapse_repeats,
    )
    imported = load_responses(paths, options)
    write_import(imported, out, force=force)
    if as_json:
        typer.echo(json.dumps(imported.report.document(), ensure_ascii=False, allow_nan=False))
        return
    _print(imported.report, len(imported.items))
    typer.echo(f"Written to {out}. Next: benchfill diagnose {out / 'responses.csv'}", err=True)


def _print(report: ImportReport, texts: int) -> None:
    from benchfill.display.text import counted

    missing = sum(report.missing.values())
    logs = (
        f"{counted(len(report.files), 'log')} ({', '.join(sorted({each.format for each in report.files}))})"
    )
    typer.echo(
        f"{logs}: {counted(len(report.models), 'model')}, {counted(report.items, 'item')} ({texts:,} with text), "
        f"{counted(report.attempts, 'attempt')}, {missing:,} missing."
    )
    width = max(map(len, report.models))
    typer.echo(
        f"\n{'model':{width}}  {'items':>7}  {'attempts':>8}  {'mean':>6}  {'missing':>7}  family, size"
    )
    for name, model in report.models.items():
        mean = "-" if model.mean_score is None else f"{model.mean_score:.4f}"
        size = "" if model.size_b is None else f" {model.size_b:g}B"
        typer.echo(
            f"{name:{width}}  {model.items:>7}  {model.attempts:>8}  {mean:>6}  {model.missing:>7}  "
            f"{model.family or '-'}{size}"
        )
    for what, choices in (("filter", report.filters), ("metric", report.metrics)):
        for task, choice in choices.items():
            typer.echo(f"{what} of {task or 'the log'}: {choice.chosen} ({choice.rule})")
    for reason, times in report.missing.items():
        typer.echo(f"missing: {times} x {reason}")
    for warning in report.warnings():
        typer.echo(f"note: {warning}")
