"""``benchfill run``: find the gaps of a benchmark and fill them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from benchfill.commands.budget_options import Money, money_flags, print_forecast
from benchfill.commands.engine_options import AddressOption, EngineOption, where_of
from benchfill.commands.keys import AcceptBadKeys, refuse_bad_keys
from benchfill.errors import InputError

__all__ = ["run"]


@money_flags(answers=True)
def run(
    gaps: Annotated[
        int | None, typer.Option("--gaps", help="Fill the N largest gaps (3 when nothing is named).")
    ] = None,
    gap: Annotated[
        str | None, typer.Option("--gap", metavar="LO,HI", help="Fill this gap, ends in z.")
    ] = None,
    target: Annotated[float | None, typer.Option("--target", help="Fill at this place, in z.")] = None,
    items: Annotated[Path | None, typer.Option("--items", help="Items of the benchmark (JSONL).")] = None,
    responses: Annotated[
        Path | None,
        typer.Option("--responses", help="Its response log, of any format that import reads, or a folder."),
    ] = None,
    world: Annotated[
        str | None,
        typer.Option(
            "--world",
            metavar="WORLD",
            help="Embedded endpoint: simulated (sample benchmark) or replay (logged answers). Without it the "
            "endpoints of benchfill.toml are asked, or the simulated ones where it names none.",
        ),
    ] = None,
    bank_items: Annotated[
        Path | None, typer.Option("--bank-items", help="Replay: further items to choose from.")
    ] = None,
    bank_responses: Annotated[
        Path | None, typer.Option("--bank-responses", help="Replay: their response log.")
    ] = None,
    map_: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="FIELD=PATH", help="Name of a field, e.g. question=doc.problem."),
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="Name of the run, else made up.")] = None,
    seed: Annotated[
        int,
        typer.Option("--seed", min=0, max=2**53 - 1, help="Same seed, same run.", envvar="BENCHFILL_SEED"),
    ] = 1,
    rounds: Annotated[int | None, typer.Option("--rounds", help="Rounds a gap at most.")] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(
            "--tolerance", help="Expected |z - z*| that fills a gap (default: min(0.02, 0.05 x width))."
        ),
    ] = None,
    relative_tolerance: Annotated[
        bool | None,
        typer.Option(
            "--relative-tolerance",
            help="Where the pool is too blind for the tolerance, fill at what it can tell, up to a sixth of the gap.",
        ),
    ] = None,
    until_max_gap: Annotated[
        float | None,
        typer.Option(
            "--until-max-gap",
            metavar="Z",
            help="Go on with the widest gap left until none is wider than this.",
        ),
    ] = None,
    confirm: Annotated[
        bool | None,
        typer.Option(
            "--confirm/--no-confirm",
            help="Confirm each chosen item by fresh attempts of all models (default); without, it is marked "
            "unconfirmed.",
        ),
    ] = None,
    confirm_gaps: Annotated[
        bool | None,
        typer.Option(
            "--confirm-gaps/--no-confirm-gaps",
            help="Before writing for a gap that may not be there, ask the original items again that may lie in it.",
        ),
    ] = None,
    record: Annotated[
        bool | None,
        typer.Option(
            "--record/--no-record",
            help="Begin with where this rewriter's items of earlier runs landed (default with models of your own).",
        ),
    ] = None,
    resolved_only: Annotated[
        bool | None,
        typer.Option("--resolved-only", help="Leave out gaps that may not be there (p_empty below 0.95)."),
    ] = None,
    at_once: Annotated[
        int | None,
        typer.Option(
            "--at-once",
            min=1,
            help="Search so many gaps at the same time (default 1: one after the other, each learns from those "
            "before); the first gap of a rewriter that nothing is known of goes alone.",
        ),
    ] = None,
    strategy: Annotated[
        Literal["adaptive", "fixed"] | None,
        typer.Option("--strategy", help="How attempts are bought; fixed: the same for every candidate."),
    ] = None,
    allow_http: Annotated[
        bool, typer.Option("--allow-http", help="Let texts and keys go to other machines without encryption.")
    ] = False,
    *,
    money: Money,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Take no replies that other runs paid for from the ledger.")
    ] = False,
    accept_bad_keys: AcceptBadKeys = False,
    accept_drift: Annotated[
        bool, typer.Option("--accept-drift", help="Go on although an ability differs from the log.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would ask and cost, and ask nothing.")
    ] = False,
    engine: EngineOption = "local",
    address: AddressOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Events as NDJSON on stdout.")] = False,
) -> None:
    """Find the coverage gaps of a benchmark and fill them with calibrated new items.

    Examples:

      benchfill run --gaps 3

      benchfill run --gap 0.53,0.65 --seed 7

      benchfill run --items I.jsonl --responses R.csv --max-cost 20

      benchfill run --items I.jsonl --responses R.csv --dry-run

      \b
    benchfill run --world replay --items I.jsonl --responses R.csv \\
      --bank-items B.jsonl --bank-responses BR.csv
    """
    from benchfill.commands.answer import offer_log
    from benchfill.commands.session import work_on
    from benchfill.graph.plan import GapRequest
    from benchfill.graph.prepare import read_inputs
    from benchfill.graph.session import create_run
    from benchfill.logs.items import parse_mapping
    from benchfill.memory.runs import run_name_from_seed
    from benchfill.settings import benchfill_home, load_settings

    where = where_of(engine, address)
    nothing_named = gaps is None and gap is None and target is None
    request = GapRequest(
        count=3 if nothing_named else gaps, interval=None if gap is None else _interval(gap), target=target
    )
    flags: dict[str, Any] = {
        "rounds": rounds,
        "tolerance": tolerance,
        "relative_tolerance": relative_tolerance,
        "until_max_gap": until_max_gap,
        "at_once": at_once,
        "confirm": confirm,
        "confirm_gaps": confirm_gaps,
        "resolved_only": resolved_only,
        "record": record,
        "strategy": strategy,
        "accept_drift": True if accept_drift else None,
    }
    given = {key: value for key, value in flags.items() if value is not None}
    settings = load_settings(
        **({"search": given} if given else {}),
        **({"allow_http": True} if allow_http else {}),
        **({"fresh": True} if fresh else {}),
        **money,
    )
    configured = any(True for _ in settings.endpoints())
    if settings.pool and not world and items is not None and responses is None:
        responses = offer_log(items, settings, map_, seed=seed)
    inputs = read_inputs(
        world=world or ("" if configured else "simulated"),
        items=items,
        responses=responses,
        bank_items=bank_items,
        bank_responses=bank_responses,
        mapping=parse_mapping(map_ or []),
    )
    for note in (*inputs.benchmark.notes, *inputs.notes):
        typer.echo(f"Note: {note}", err=True)
    if dry_run:
        from benchfill.graph.dry_run import expected_search

        print_forecast(expected_search(inputs, request, settings), settings, as_json=as_json)
        return
    asked = [*inputs.benchmark.items, *(inputs.bank.items if inputs.bank is not None else ())]
    refuse_bad_keys(asked, settings.grading, accept=accept_bad_keys)
    home = benchfill_home()
    folder = create_run(
        home,
        run_name_from_seed(home, seed) if name is None else name,
        seed=seed,
        inputs=inputs,
        request=request,
        settings=settings,
    )
    work_on(folder, settings, as_json=as_json, where=where)


def _interval(text: str) -> tuple[float, float]:
    try:
        lo, hi = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--gap {text} is not LO,HI.", "For example: --gap 0.53,0.65") from None
    return lo, hi
