"""``benchfill diagnose``: where a benchmark's items lie on the difficulty axis, and where its gaps are."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, cast

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
    read_places,
)
from benchfill.commands.benchmark_logs import benchmark_names
from benchfill.commands.engine_options import AddressOption, JobsOption, Where, spread_over, where_of
from benchfill.errors import GateRefused, InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from benchfill.calibration.response_log import ResponseLog
    from benchfill.calibration.targets import Target
    from benchfill.commands.diagnose_one import Sampler
    from benchfill.logs.importing import ImportOptions

__all__ = ["diagnose"]


class DiagnosisEngine(enum.StrEnum):
    """What ``--engine`` may name here: samplers of the fit, and places of the work."""

    nuts = "nuts"
    laplace = "laplace"
    mml = "mml"
    full = "full"
    local = "local"
    ray = "ray"


def diagnose(
    logs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="LOG...", help="One benchmark each: a response log of any format, or a folder."
        ),
    ] = None,
    responses: Annotated[Path | None, typer.Option("--responses", help="The same as LOG.")] = None,
    items: ItemsOption = None,
    map_: MapOption = None,
    rows: RowsOption = None,
    threshold: ThresholdOption = None,
    format_: FormatOption = None,
    filters: FilterOption = None,
    metrics: MetricOption = None,
    tasks: TaskOption = None,
    collapse_repeats: Annotated[
        bool,
        typer.Option("--collapse-repeats", help="Repeats that are identical in every cell count once."),
    ] = False,
    engines: Annotated[
        list[DiagnosisEngine] | None,
        typer.Option(
            "--engine",
            help="Sampler of the fit; nuts without it, mml is a fast preview. Given a second time, local or ray: where "
            "several logs, and the refits of --pool-subsets, are worked on.",
        ),
    ] = None,
    address: AddressOption = None,
    jobs: JobsOption = None,
    scale: Annotated[
        Literal["minmax", "pool", "failure"],
        typer.Option("--scale", help="What the ends of the axis are: items, the pool's range, or failure."),
    ] = "minmax",
    target_dist: Annotated[
        str,
        typer.Option(
            "--target-dist",
            metavar="DIST",
            help="Target of DDM: uniform, beta:a,b, histogram:1,2,1, or a file with places of items.",
        ),
    ] = "uniform",
    top: Annotated[int, typer.Option("--top", min=1, help="How many of the widest gaps to examine.")] = 5,
    seed: SeedOption = 1,
    pool_subsets: Annotated[
        bool, typer.Option("--pool-subsets", help="Refit on halves of the models: what the pool does.")
    ] = False,
    fast: Annotated[
        bool, typer.Option("--fast", help="A preview in seconds: mml, and nothing that takes refits.")
    ] = False,
    accept_unconverged: Annotated[
        bool, typer.Option("--accept-unconverged", help="Show the figures of a fit that failed its gate.")
    ] = False,
    as_json: JsonOption = False,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Also write a page with plots, in one file.")
    ] = None,
) -> None:
    """Measure where the items of a benchmark lie, how evenly, and which gaps they leave.

    Several logs are compared in one table. A fit that fails its gate exits 1, its figures withheld.

    Examples:

      benchfill diagnose responses.csv --html report.html

      benchfill diagnose results/ --items items.jsonl --json

      benchfill diagnose aime.csv gsm8k.csv --fast
    """
    from benchfill.commands.diagnose_one import Asked, diagnose_one
    from benchfill.display.diagnosis import FitProgress
    from benchfill.engines.opening import open_engine, run_each
    from benchfill.engines.protocol import Failed, Unit
    from benchfill.logs.importing import ImportOptions

    paths = _paths(logs, responses)
    sampler, where = _engines([each.value for each in engines or []], address)
    if fast and sampler not in (None, "mml"):
        raise InputError(f"--fast is a preview with mml, not {sampler}.", "Leave one of them out.")
    if fast and pool_subsets:
        raise InputError("--fast leaves out refits, --pool-subsets asks for them.", "Leave one of them out.")
    if html is not None and (html.is_dir() or not html.absolute().parent.is_dir()):
        raise InputError(f"Cannot write {html}: no such folder, or a folder itself.", kind="unwritable")
    target = _target(target_dist)
    options = ImportOptions(
        format=format_,
        filters=tuple(filters or ()),
        metrics=tuple(metrics or ()),
        tasks=tuple(tasks or ()),
        threshold=threshold,
        rows=rows,
        collapse_repeats=collapse_repeats,
    )
    # All are read before the first is fitted: a wrong name should not take a minute to be seen.
    found = [_read(path, items, map_ or [], options) for path in paths]
    names = benchmark_names(paths)
    asked = [
        Asked(
            log=each.log,
            name=name if len(found) > 1 else "",
            engine=sampler or ("mml" if fast else "nuts"),
            seed=seed,
            guessing=each.guessing,
            scale=scale,
            target=target,
            top=top,
            fast=fast,
            pool_subsets=pool_subsets,
            accept_unconverged=accept_unconverged,
            notes=each.notes,
        )
        for name, each in zip(names, found, strict=True)
    ]
    with contextlib.ExitStack() as opened:
        spread = None
        if len(asked) > 1 or pool_subsets:
            engine = opened.enter_context(open_engine(where.name, where.address))
            spread = spread_over(engine, where, jobs)
        progress = opened.enter_context(FitProgress(logs=len(found)))
        if len(asked) > 1:
            units = [
                Unit(f"{each.name} (log {number} of {len(asked)})", diagnose_one, (each,))
                for number, each in enumerate(asked, start=1)
            ]
            jobs = where.at_once(jobs, len(units))
            answers = run_each(engine, units, at_once=jobs, done=lambda _: progress.finish_log())
        else:
            answers = [diagnose_one(asked[0], progress=progress, spread=spread)]
            progress.finish_log()
    errors = [answer.error for answer in answers if isinstance(answer, Failed)]
    documents = [
        {**answer, "name": name}
        for name, answer in zip(names, answers, strict=True)
        if not isinstance(answer, Failed)
    ]
    if documents:
        _output(documents, several=len(found) > 1, as_json=as_json, html=html)
    for error in errors[:-1]:
        typer.echo(f"Error: {error}", err=True)
    if errors:
        raise errors[-1]
    failed = [each for each in documents if not (each["gate"]["passed"] or accept_unconverged)]
    if failed:
        named = "" if len(found) == 1 else f" ({', '.join(each['name'] for each in failed)})"
        raise GateRefused(
            f"The fit failed its gate{named}: {' '.join(failed[0]['gate']['reasons'])}",
            "Use another --engine or --seed, or see the figures with --accept-unconverged.",
        )


def _engines(named: Sequence[str], address: str | None) -> tuple[Sampler | None, Where]:
    """The sampler of the fit and the place of the work, which share a flag."""
    samplers = [name for name in named if name not in ("local", "ray")]
    places = [name for name in named if name in ("local", "ray")]
    if len(samplers) > 1 or len(places) > 1:
        raise InputError(
            f"--engine {' --engine '.join(named)} is more than one of a kind.",
            "Name one of nuts, laplace, mml and full, and one of local and ray.",
        )
    place: Literal["local", "ray"] = "ray" if places == ["ray"] else "local"
    return cast("Sampler | None", samplers[0] if samplers else None), where_of(place, address)


def _output(documents: list[dict[str, Any]], *, several: bool, as_json: bool, html: Path | None) -> None:
    import json

    from benchfill.display.diagnosis import print_comparison, print_diagnosis

    if html is not None:
        from benchfill.atomic import write_whole
        from benchfill.report.page import render_page

        write_whole(html, render_page(documents).encode("utf-8"))
        typer.echo(f"Report written to {html}", err=True)
    if as_json:
        whole = {"v": 1, "benchmarks": documents} if several else documents[0]
        typer.echo(json.dumps(whole, ensure_ascii=False, allow_nan=False))
    elif several:
        print_comparison(documents)
    else:
        print_diagnosis(documents[0])


def _paths(logs: list[Path] | None, responses: Path | None) -> list[Path]:
    paths = [*(logs or []), *([] if responses is None else [responses])]
    if not paths or (logs and responses is not None):
        raise InputError(
            "Name one response log, or several.", "For example: benchfill diagnose responses.csv"
        )
    return paths


def _target(text: str) -> Target:
    import numpy as np

    from benchfill.calibration.targets import Sample, parse_target

    if text.partition(":")[0] in ("uniform", "beta", "histogram"):
        return parse_target(text)
    path = Path(text.removeprefix("sample:"))
    return Sample(np.array(list(read_places([path]).z.values())), path.name)


class _Read(NamedTuple):
    """A log restricted to the items named, their guessing rates in its order, and notes on both files."""

    log: ResponseLog
    guessing: NDArray[np.float64]
    notes: tuple[str, ...]


def _read(path: Path, items: Path | None, pairs: list[str], options: ImportOptions) -> _Read:
    from dataclasses import replace

    import numpy as np

    from benchfill.logs.importing import load_responses
    from benchfill.logs.items import check_items_cover, parse_mapping, read_items

    found = load_responses([path], options)
    # Texts are of no use to a diagnosis, so their absence is no news.
    notes = tuple(replace(found.report, without_text={}).warnings())
    if items is None:
        if pairs:
            raise InputError("--map names fields of the items.", "Pass the file with --items.")
        return _Read(found.log, found.guessing(), notes)
    file = read_items(items, mapping=parse_mapping(pairs))
    covered = check_items_cover(file.items, found.log)
    rates = {item.id: item.guessing for item in file.items}
    log = found.log.select_items(rates)
    return _Read(log, np.array([rates[item] for item in log.items]), (*file.notes, *notes, *covered))
