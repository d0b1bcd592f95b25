"""``benchfill merge``: accepted items become part of the benchmark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from benchfill.commands.axis_options import EngineOption, JsonOption, MapOption

__all__ = ["merge"]


def merge(
    run: Annotated[str, typer.Argument(help="Name of the run.")],
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="A new folder for the extended benchmark.")
    ],
    unreviewed: Annotated[
        bool, typer.Option("--unreviewed", help="Merge also what nobody has reviewed; the data card says so.")
    ] = False,
    items: Annotated[
        Path | None,
        typer.Option("--items", help="The item file the run began with, where the run did not keep it."),
    ] = None,
    map_: MapOption = None,
    licence: Annotated[
        str | None,
        typer.Option("--licence", help="Licence of the original items, where their file states none."),
    ] = None,
    engine: EngineOption = "nuts",
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Of the fits before and after; default the run's.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write the extended benchmark: items in their own format, response log, lineage and a data card.

    Merged is what reviewers accepted, and what `benchfill accept` takes against them. The card gives coverage before
    and after, the models' scores on original and added items apart, and a fit of everything as a check.

    Examples:

      benchfill merge my-run --out extended

      benchfill merge my-run --out extended --unreviewed --licence cc-by-4.0
    """
    from benchfill.display.diagnosis import FitProgress
    from benchfill.display.merging import print_merge
    from benchfill.logs.items import parse_mapping
    from benchfill.memory.pool import Pool
    from benchfill.memory.runs import find_run
    from benchfill.merge.folder import MergeRequest, merge_run
    from benchfill.settings import benchfill_home

    home = benchfill_home()
    folder = find_run(home, run)
    if seed is None:
        pool = Pool(folder.memory, create=False)
        seed = pool.run().seed
        pool.close()
    request = MergeRequest(out, unreviewed, items, parse_mapping(map_ or []), engine, seed, licence)
    with folder.lock(), FitProgress() as progress:
        card = merge_run(folder, home / "ledger.sqlite", request, progress)
    if as_json:
        typer.echo(json.dumps(card, ensure_ascii=False, allow_nan=False))
    else:
        print_merge(card)
