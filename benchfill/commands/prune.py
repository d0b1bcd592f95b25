"""``benchfill prune``: a smaller benchmark whose items lie as close to the target distribution as any subset's can."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchfill.commands.axis_options import (
    AcceptOption,
    EngineOption,
    ItemsOption,
    JsonOption,
    MapOption,
    RowsOption,
    SeedOption,
    ThresholdOption,
    fit_axis,
    read_log,
)
from benchfill.errors import InputError

__all__ = ["prune"]


def prune(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="Response log (CSV or JSONL, plain or gzip).")],
    keep: Annotated[
        float, typer.Option("--keep", metavar="N|SHARE", help="Items to keep: a number, or a share below 1.")
    ],
    items: ItemsOption = None,
    map_: MapOption = None,
    out_items: Annotated[
        Path | None, typer.Option("--out-items", help="Write the kept lines of --items here, unchanged.")
    ] = None,
    out_ids: Annotated[
        Path | None, typer.Option("--out-ids", help="Write the kept ids here, one a line.")
    ] = None,
    target_dist: Annotated[
        str, typer.Option("--target-dist", help="uniform, beta:2,3 or histogram:1,2,4,2.")
    ] = "uniform",
    rows: RowsOption = None,
    threshold: ThresholdOption = None,
    engine: EngineOption = "nuts",
    seed: SeedOption = 1,
    accept_unconverged: AcceptOption = False,
    as_json: JsonOption = False,
) -> None:
    """Keep the items whose difficulties come closest to the target distribution, exactly.

    Pruning evens out crowded stretches. It takes items away, so it can never reduce the widest gap.

    Examples:

      benchfill prune responses.csv --keep 0.5 --out-ids kept.txt

      \b
    benchfill prune responses.csv --keep 200 --items items.jsonl \\
      --out-items smaller.jsonl
    """
    import json

    from benchfill.calibration.pruning import kept_count
    from benchfill.calibration.pruning import prune as choose
    from benchfill.calibration.targets import parse_target
    from benchfill.display.pruning import print_pruning, pruning_document
    from benchfill.logs.item_lines import select_item_lines, write_lines
    from benchfill.logs.items import parse_mapping

    if out_items is not None and items is None:
        raise InputError("--out-items writes lines of the item file.", "Name it with --items.")
    target = parse_target(target_dist)
    found = read_log(log, items=items, mapping=map_, rows=rows, threshold=threshold)
    kept_count(keep, len(found.log.items))  # what cannot be kept is said before the fit
    fit, scale = fit_axis(
        found.log, engine=engine, seed=seed, guessing=found.guessing, accept_unconverged=accept_unconverged
    )
    result = choose(fit.items, scale.to_z(fit.b), keep, target=target, log=found.log)
    if out_items is not None and items is not None:
        write_lines(out_items, select_item_lines(items, result.kept, mapping=parse_mapping(map_ or [])))
    if out_ids is not None:
        if any("\n" in item or "\r" in item for item in result.kept):
            raise InputError("An id holds a line break, so ids cannot stand one a line.", "Use --json.")
        write_lines(out_ids, result.kept)
    document = pruning_document(result, fit, scale, target.name, (*found.notes, *fit.notes))
    if as_json:
        typer.echo(json.dumps(document, ensure_ascii=False, allow_nan=False))
    else:
        print_pruning(document)
