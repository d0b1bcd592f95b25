"""What commands on response logs share: their options, reading a log with its items, and the axis fitted to it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from benchfill.errors import GateRefused, InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from benchfill.calibration.fit import Engine, Fit
    from benchfill.calibration.response_log import ResponseLog
    from benchfill.calibration.scale import Scale
    from benchfill.logs.difficulties import DifficultyFile

__all__ = [
    "AcceptOption",
    "EngineOption",
    "FilterOption",
    "FormatOption",
    "ItemsOption",
    "JsonOption",
    "MapOption",
    "MetricOption",
    "RowsOption",
    "SeedOption",
    "TaskOption",
    "ThresholdOption",
    "fit_axis",
    "read_log",
    "read_places",
]

ItemsOption = Annotated[
    Path | None, typer.Option("--items", help="Items (JSONL): names them and gives guessing rates.")
]
MapOption = Annotated[
    list[str] | None,
    typer.Option("--map", metavar="FIELD=PATH", help="Name of a field, e.g. question=doc.problem."),
]
RowsOption = Annotated[
    Literal["models", "items"] | None,
    typer.Option("--rows", help="Rows of a wide log: models or items, where its header is silent."),
]
ThresholdOption = Annotated[
    float | None, typer.Option("--threshold", help="Partial credit counts as right from here on.")
]
FormatOption = Annotated[
    str | None, typer.Option("--format", help="Format of the logs; detected by content without it.")
]
FilterOption = Annotated[
    list[str] | None, typer.Option("--filter", help="Which way of extracting answers counts (lm-eval).")
]
MetricOption = Annotated[
    list[str] | None, typer.Option("--metric", help="Which metric counts, where several differ.")
]
TaskOption = Annotated[
    list[str] | None, typer.Option("--task", help="Only this task; may be given several times.")
]
EngineOption = Annotated[
    Literal["nuts", "laplace", "mml", "full"],
    typer.Option("--engine", help="Sampler of the fit; mml is a fast preview."),
]
SeedOption = Annotated[
    int, typer.Option("--seed", min=0, help="Same seed, same figures.", envvar="BENCHFILL_SEED")
]
AcceptOption = Annotated[
    bool, typer.Option("--accept-unconverged", help="Go on with a fit that failed its gate.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]


class ReadLog(NamedTuple):
    """A log restricted to the items named, their guessing rates in its order, and notes on both files."""

    log: ResponseLog
    guessing: NDArray[np.float64] | None
    notes: tuple[str, ...]


def read_log(
    path: Path,
    *,
    items: Path | None = None,
    mapping: list[str] | None = None,
    rows: Literal["models", "items"] | None = None,
    threshold: float | None = None,
) -> ReadLog:
    """Read a log and, where they are named, the items it is about."""
    import numpy as np

    from benchfill.logs.items import check_items_cover, parse_mapping, read_items
    from benchfill.logs.responses import read_responses

    file = read_responses(path, rows=rows, threshold=threshold)
    if items is None:
        if mapping:
            raise InputError("--map names fields of the items.", "Pass the file with --items.")
        return ReadLog(file.log, None, file.notes)
    item_file = read_items(items, mapping=parse_mapping(mapping or []))
    notes = check_items_cover(item_file.items, file.log)
    rates = {item.id: item.guessing for item in item_file.items}
    log = file.log.select_items(rates)
    guessing = np.array([rates[item] for item in log.items])
    return ReadLog(log, guessing, (*item_file.notes, *file.notes, *notes))


def fit_axis(
    log: ResponseLog,
    *,
    engine: Engine,
    seed: int,
    guessing: NDArray[np.float64] | None = None,
    accept_unconverged: bool = False,
) -> tuple[Fit, Scale]:
    """Fit the 1PL with progress on stderr, and lay the min-max axis on its items.

    Raises
    ------
    GateRefused
        The fit failed its gate and that was not accepted.
    InputError
        No two items differ in difficulty, so that there is no axis.
    """
    from benchfill.calibration.fit import fit_1pl
    from benchfill.calibration.scale import minmax_scale
    from benchfill.display.diagnosis import FitProgress

    with FitProgress() as progress:
        fit = fit_1pl(log, engine=engine, guessing=guessing, seed=seed, progress=progress)
    if not (fit.gate.passed or accept_unconverged):
        raise GateRefused(
            f"The fit failed its gate: {' '.join(fit.gate.reasons)}",
            "Use another --engine or --seed, or go on with --accept-unconverged.",
        )
    return fit, minmax_scale(fit)


def read_places(paths: list[Path]) -> DifficultyFile:
    """Places of items from one or several difficulty files of one axis."""
    from benchfill.logs.difficulties import merge_difficulties, read_difficulties

    return merge_difficulties([read_difficulties(path) for path in paths])
