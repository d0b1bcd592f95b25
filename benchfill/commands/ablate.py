"""``benchfill ablate``: BenchFill, the fixed batch loop, the paper's baseline and the oracle, against the truth."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchfill.commands.engine_options import AddressOption, EngineOption, JobsOption, Where, where_of
from benchfill.errors import InputError

if TYPE_CHECKING:
    from benchfill.graph.ablation import Ablation, SearchRecord

__all__ = ["ablate"]

SEEDS, QUICK_SEEDS = 40, 8


def ablate(
    world: Annotated[
        str, typer.Option("--world", help="simulated (sample benchmark) or replay (logged answers).")
    ] = "simulated",
    items: Annotated[Path | None, typer.Option("--items", help="Replay: items of the benchmark.")] = None,
    responses: Annotated[Path | None, typer.Option("--responses", help="Replay: its response log.")] = None,
    bank_items: Annotated[
        Path | None, typer.Option("--bank-items", help="Replay: further items to choose from.")
    ] = None,
    bank_responses: Annotated[
        Path | None, typer.Option("--bank-responses", help="Replay: their response log.")
    ] = None,
    gaps: Annotated[int, typer.Option("--gaps", min=1, help="The so many widest gaps.")] = 3,
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, help=f"So many seeds from --seed on (default {SEEDS}).")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help=f"{QUICK_SEEDS} seeds only.")] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The first seed.")] = 1,
    tolerance: Annotated[
        float | None,
        typer.Option("--tolerance", help="Expected |z - z*| (default: min(0.02, 0.05 x width))."),
    ] = None,
    fixed_attempts: Annotated[
        int, typer.Option("--fixed-attempts", min=1, help="k of the fixed batch loop.")
    ] = 16,
    fixed_tau: Annotated[float, typer.Option("--fixed-tau", help="tau of the fixed batch loop.")] = 0.01,
    jobs: JobsOption = None,
    engine: EngineOption = "local",
    address: AddressOption = None,
    picture: Annotated[Path | None, typer.Option("--svg", help="Write a picture of the result.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One document on stdout.")] = False,
) -> None:
    """Compare ways to fill gaps on a world that knows the truth: true deviation, claims, coverage, attempts.

    Nothing is asked of an endpoint: the world's answers are worked out directly, by the decisions of a run.

    Examples:

      benchfill ablate --quick

      benchfill ablate --seeds 100 --svg ablation.svg

      \b
    benchfill ablate --world replay --items I.jsonl --responses R.csv \\
      --bank-items B.jsonl --bank-responses BR.csv
    """
    from benchfill.atomic import write_whole
    from benchfill.display.ablation import ablation_document, print_ablation
    from benchfill.graph.ablation import summarise_methods
    from benchfill.graph.ablation_setup import prepare_ablation
    from benchfill.report.ablation import ablation_picture
    from benchfill.settings import load_settings

    if world not in {"simulated", "replay"}:
        raise InputError(f"There is no world {world!r}.", "Use --world simulated or --world replay.")
    where = where_of(engine, address)
    number = seeds if seeds is not None else QUICK_SEEDS if quick else SEEDS
    given = {} if tolerance is None else {"search": {"tolerance": tolerance}}
    prepared = prepare_ablation(
        world=world,
        items=items,
        responses=responses,
        bank_items=bank_items,
        bank_responses=bank_responses,
        gaps=gaps,
        settings=load_settings(**given),
        fixed_attempts=fixed_attempts,
        fixed_tau=fixed_tau,
    )
    records = _in_parallel(prepared, range(seed, seed + number), jobs=jobs, where=where)
    summaries = summarise_methods(list(prepared.places.values()), records)
    if picture is not None:
        write_whole(picture, ablation_picture(records, simulated=world == "simulated").encode())
    if as_json:
        typer.echo(ablation_document(summaries, world=world, seeds=number, seed=seed))
    else:
        print_ablation(summaries, world=world, seeds=number, gaps=len(prepared.gaps))


def _in_parallel(prepared: Ablation, seeds: range, *, jobs: int | None, where: Where) -> list[SearchRecord]:
    """Seeds shared by workers; the records in the order of seeds, whoever finished first."""
    from benchfill.display.ablation import seeds_bar
    from benchfill.engines.opening import open_engine, run_all
    from benchfill.engines.protocol import Unit
    from benchfill.graph.ablation import run_seed

    units = [Unit(f"seed {seed}", run_seed, (prepared, seed)) for seed in seeds]
    with open_engine(where.name, where.address) as engine, seeds_bar(len(seeds), sys.stderr) as done:
        found = run_all(engine, units, at_once=where.at_once(jobs, len(units)), done=lambda _: done())
    return [record for records in found for record in records]
