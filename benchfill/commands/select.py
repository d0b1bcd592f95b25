"""``benchfill select``: a part of a benchmark's items by a rule, always beside random parts of the same size."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from benchfill.commands.axis_options import (
    FilterOption,
    FormatOption,
    ItemsOption,
    JsonOption,
    MapOption,
    MetricOption,
    RowsOption,
    SeedOption,
    TaskOption,
    ThresholdOption,
)
from benchfill.commands.benchmark_logs import read_benchmark
from benchfill.errors import InputError

__all__ = ["select"]


def select(
    logs: Annotated[
        list[Path],
        typer.Argument(metavar="LOG...", help="Response log of the benchmark; several are its parts."),
    ],
    by: Annotated[
        Literal["cad-ds", "fisher", "quantile", "random"],
        typer.Option("--by", help="Alignment and discriminability, information, places, or chance."),
    ],
    keep: Annotated[
        float | None,
        typer.Option("--keep", metavar="N|SHARE", help="Items to keep: a number, or a share below 1 (0.35)."),
    ] = None,
    top_models: Annotated[
        int | None,
        typer.Option("--top-models", min=1, help="Models of interest: the so many best; all without it."),
    ] = None,
    model: Annotated[
        Literal["1pl", "model_slopes", "2pl"],
        typer.Option("--model", help="Item model that gives information and abilities."),
    ] = "2pl",
    models: Annotated[
        Path | None,
        typer.Option("--models", help="Table model,family,size_b; else models.csv beside a log, else names."),
    ] = None,
    subsets: Annotated[
        int, typer.Option("--random-subsets", min=20, help="Random subsets to compare with.")
    ] = 1000,
    items: ItemsOption = None,
    map_: MapOption = None,
    out_items: Annotated[
        Path | None, typer.Option("--out-items", help="Write the kept lines of --items here, unchanged.")
    ] = None,
    out_ids: Annotated[
        Path | None, typer.Option("--out-ids", help="Write the kept ids here, one a line.")
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
    """Keep a part of the items by a rule, and say whether that is better than a random part of the same size.

    What lies inside the spread of the random parts is no advantage. Without --keep it is that of [quality] in
    benchfill.toml.

    Examples:

      benchfill select responses.csv --by cad-ds --keep 0.35 --out-ids kept.txt

      benchfill select responses.csv --by fisher --top-models 5 --keep 200 --json
    """
    import json

    from benchfill.calibration.item_subsets import Chooser
    from benchfill.calibration.pruning import kept_count
    from benchfill.calibration.subset_trial import try_subset
    from benchfill.display.diagnosis import FitProgress
    from benchfill.display.selecting import print_selection, selection_document
    from benchfill.logs.importing import ImportOptions
    from benchfill.logs.item_lines import select_item_lines, write_lines
    from benchfill.logs.items import check_items_cover, parse_mapping, read_items
    from benchfill.settings import load_settings

    if out_items is not None and items is None:
        raise InputError("--out-items writes lines of the item file.", "Name it with --items.")
    if map_ and items is None:
        raise InputError("--map names fields of the items.", "Pass the file with --items.")
    options = ImportOptions(
        format=format_,
        filters=tuple(filters or ()),
        metrics=tuple(metrics or ()),
        tasks=tuple(tasks or ()),
        threshold=threshold,
        rows=rows,
        models=models,
    )
    found = read_benchmark(logs, options)
    log, notes = found.log, list(found.notes)
    if items is not None:
        file = read_items(items, mapping=parse_mapping(map_ or []))
        notes += [*file.notes, *check_items_cover(file.items, log)]
        log = log.select_items({item.id for item in file.items})
    if keep is None:
        keep = load_settings().quality.keep
    count = kept_count(keep, len(log.items))
    if top_models is not None and top_models > len(log.models):
        raise InputError(f"--top-models {top_models} of {len(log.models)} models.", "Name fewer.")
    chooser = Chooser(by, count, found.families, top_models, model, seed)
    with FitProgress() as progress:
        trial = try_subset(log, chooser, subsets=subsets, seed=seed, progress=progress)
    if out_items is not None and items is not None:
        write_lines(out_items, select_item_lines(items, trial.kept, mapping=parse_mapping(map_ or [])))
    if out_ids is not None:
        if any("\n" in item or "\r" in item for item in trial.kept):
            raise InputError("An id holds a line break, so ids cannot stand one a line.", "Use --json.")
        write_lines(out_ids, trial.kept)
    document = selection_document(trial, chooser, log, subsets=subsets, notes=notes)
    if as_json:
        typer.echo(json.dumps(document, ensure_ascii=False, allow_nan=False))
    else:
        print_selection(document)
