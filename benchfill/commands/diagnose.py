"""``benchfill diagnose``: where a benchmark's items lie on the difficulty axis, and where its gaps are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from benchfill.errors import GateRefused, InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from benchfill.calibration.response_log import ResponseLog

__all__ = ["diagnose"]


def diagnose(
    log: Annotated[
        Path | None, typer.Argument(metavar="LOG", help="Response log (CSV or JSONL, plain or gzip).")
    ] = None,
    responses: Annotated[Path | None, typer.Option("--responses", help="The same as LOG.")] = None,
    items: Annotated[
        Path | None, typer.Option("--items", help="Items (JSONL): names them and gives guessing rates.")
    ] = None,
    map_: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="FIELD=PATH", help="Name of a field, e.g. question=doc.problem."),
    ] = None,
    rows: Annotated[
        Literal["models", "items"] | None,
        typer.Option("--rows", help="Rows of a wide log: models or items, where its header is silent."),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option("--threshold", help="Partial credit counts as right from here on.")
    ] = None,
    engine: Annotated[
        Literal["nuts", "laplace", "mml", "full"],
        typer.Option("--engine", help="Sampler of the fit; mml is a fast preview."),
    ] = "nuts",
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="Same seed, same figures.", envvar="BENCHFILL_SEED")
    ] = 1,
    accept_unconverged: Annotated[
        bool, typer.Option("--accept-unconverged", help="Show the figures of a fit that failed its gate.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Measure where the items of a benchmark lie, how evenly, and which gaps they leave.

    Examples:

      benchfill diagnose responses.csv

      benchfill diagnose --responses log.csv.gz --items items.jsonl --json
    """
    import json

    from benchfill.calibration.diagnosis import diagnose as run_diagnosis
    from benchfill.display.diagnosis import FitProgress, print_diagnosis

    path = log or responses
    if path is None or (log is not None and responses is not None):
        raise InputError("Name one response log.", "For example: benchfill diagnose responses.csv")
    found, guessing, notes = _read(path, items, map_ or [], rows, threshold)
    with FitProgress() as progress:
        result = run_diagnosis(
            found,
            engine=engine,
            seed=seed,
            guessing=guessing,
            progress=progress,
            accept_unconverged=accept_unconverged,
            notes=notes,
        )
    document = result.document()
    if as_json:
        typer.echo(json.dumps(document, ensure_ascii=False, allow_nan=False))
    else:
        print_diagnosis(document)
    if not (result.gate.passed or accept_unconverged):
        raise GateRefused(
            f"The fit failed its gate: {' '.join(result.gate.reasons)}",
            "Use another --engine or --seed, or see the figures with --accept-unconverged.",
        )


def _read(
    path: Path,
    items: Path | None,
    pairs: list[str],
    rows: Literal["models", "items"] | None,
    threshold: float | None,
) -> tuple[ResponseLog, NDArray[np.float64] | None, tuple[str, ...]]:
    """The log, restricted to the items named, their guessing rates in its order, and notes on both files."""
    import numpy as np

    from benchfill.logs.items import check_items_cover, parse_mapping, read_items
    from benchfill.logs.responses import read_responses

    file = read_responses(path, rows=rows, threshold=threshold)
    if items is None:
        if pairs:
            raise InputError("--map names fields of the items.", "Pass the file with --items.")
        return file.log, None, file.notes
    item_file = read_items(items, mapping=parse_mapping(pairs))
    notes = check_items_cover(item_file.items, file.log)
    rates = {item.id: item.guessing for item in item_file.items}
    log = file.log.select_items(rates)
    return log, np.array([rates[item] for item in log.items]), (*item_file.notes, *file.notes, *notes)
