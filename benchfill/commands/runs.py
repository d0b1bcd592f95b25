"""``benchfill runs``, ``status`` and ``path``: what there is and where it lies."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benchfill.commands.groups import command_group
from benchfill.errors import InputError

if TYPE_CHECKING:
    from benchfill.memory.runs import RunFolder

__all__ = ["path", "runs_app", "status"]


runs_app = command_group(
    invoke_without_command=True,
    help="List the runs, the one touched last at the end; compare two; throw one away.\n\n"
    "Examples:\n\n  benchfill runs\n\n  benchfill runs compare first second\n\n  benchfill runs rm old --ledger",
)
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document.")]


@runs_app.callback()
def runs(context: typer.Context, as_json: JsonOption = False) -> None:
    if context.invoked_subcommand is not None:
        return
    from benchfill.memory.runs import list_runs
    from benchfill.settings import benchfill_home

    rows = [_overview(folder) for folder in list_runs(benchfill_home())]
    if as_json:
        typer.echo(json.dumps({"v": 1, "runs": rows}, ensure_ascii=False))
        return
    from benchfill.display.tables import print_runs

    print_runs(rows)


@runs_app.command()
def compare(
    first: Annotated[str, typer.Argument(help="Name of a run.")],
    second: Annotated[str, typer.Argument(help="Name of another.")],
    as_json: JsonOption = False,
) -> None:
    """Show two runs side by side: accepted items, figures, cost, and the settings that differ.

    Example:

      benchfill runs compare first second
    """
    from benchfill.graph.run_comparison import compare_runs
    from benchfill.memory.ledger import Ledger
    from benchfill.memory.pool import Pool
    from benchfill.memory.runs import find_run
    from benchfill.settings import benchfill_home

    home = benchfill_home()
    folders = [find_run(home, name) for name in (first, second)]
    paid = home / "ledger.sqlite"
    with contextlib.ExitStack() as closing:
        pools = [Pool(folder.memory, create=False) for folder in folders]
        for pool in pools:
            closing.callback(pool.close)
        ledger = closing.enter_context(Ledger(paid)) if paid.is_file() else None
        document = compare_runs(pools[0], pools[1], ledger)
    if as_json:
        typer.echo(json.dumps({"v": 1, **document}, ensure_ascii=False))
        return
    from benchfill.display.comparison import print_comparison

    print_comparison(document)


@runs_app.command()
def rm(
    run: Annotated[str, typer.Argument(help="Name of the run.")],
    ledger: Annotated[
        bool, typer.Option("--ledger", help="Also its calls in the ledger that no other run used.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Throw a run away for good: its folder with memory and checkpoints. The ledger stays unless --ledger is given.

    Example:

      benchfill runs rm old-run --ledger
    """
    from benchfill.memory.removal import remove_run
    from benchfill.memory.runs import find_run
    from benchfill.settings import benchfill_home

    home = benchfill_home()
    folder = find_run(home, run)
    with folder.lock():
        # A run that is at work is refused before anything is asked.
        pass
    if not yes:
        what = "and the calls only it used" if ledger else "(its paid calls stay in the ledger)"
        typer.confirm(f"Delete run {folder.name} {what} for good?", abort=True, err=True)
    removed = remove_run(home, folder, calls=ledger)
    said = f"Run {folder.name} is deleted."
    if removed is not None:
        said += f" {removed.calls + removed.failures:,} calls left the ledger"
        kept = [
            (removed.kept_for_others, "that other runs used"),
            (removed.kept_unknown, "of before uses were noted"),
        ]
        stay = [f"{count:,} {why}" for count, why in kept if count]
        said += f"; {' and '.join(stay)} stay." if stay else "."
    typer.echo(said, err=True)


def status(
    run: Annotated[str | None, typer.Argument(help="Name of the run, else the one touched last.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Show how far a run is: its gaps, and what was found for each."""
    from benchfill.graph.gap_report import gap_check_report, gap_report
    from benchfill.memory.accepted import fates
    from benchfill.memory.pool import Pool
    from benchfill.memory.runs import find_run
    from benchfill.settings import benchfill_home

    folder = find_run(benchfill_home(), run)
    pool = Pool(folder.memory, create=False)
    try:
        since, reports = fates(pool), [gap_report(pool, gap) for gap in pool.gaps()]
        gaps = [{**report, "since": since.get(str(report["accepted"]), "")} for report in reports]
        document = {**_overview(folder), "gaps": gaps, "gap_check": gap_check_report(pool)}
    finally:
        pool.close()
    if as_json:
        typer.echo(json.dumps({"v": 1, **document}, ensure_ascii=False))
        return
    from benchfill.display.tables import print_status

    print_status(document)


def _overview(folder: RunFolder) -> dict[str, Any]:
    from benchfill.memory.pool import Pool

    try:
        pool = Pool(folder.memory, create=False)
        try:
            row, benchmark, gaps = pool.run(), pool.benchmark_outline(), pool.gaps()
        finally:
            pool.close()
    except InputError:
        # One damaged run must not hide the others.
        return {"run": folder.name, "status": "unreadable", "path": str(folder.path)}
    # A process that was killed could not say that it ended.
    stopped = row.status == "running" and not folder.in_use()
    return {
        "run": folder.name,
        "status": "stopped" if stopped else row.status,
        "world": row.world,
        "seed": row.seed,
        "benchmark": None if benchmark is None else benchmark[0],
        "n_gaps": len(gaps),
        "filled": sum(gap.status == "filled" for gap in gaps),
        "path": str(folder.path),
    }


def path() -> None:
    """Print the folder that holds runs and ledger (BENCHFILL_HOME)."""
    from benchfill.settings import benchfill_home

    typer.echo(str(benchfill_home()))
