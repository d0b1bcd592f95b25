"""``benchfill runs``, ``status`` and ``path``: what there is and where it lies."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benchfill.errors import InputError

if TYPE_CHECKING:
    from benchfill.memory.runs import RunFolder

__all__ = ["path", "runs", "status"]


def runs(as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False) -> None:
    """List the runs, the one touched last at the end."""
    from benchfill.memory.runs import list_runs
    from benchfill.settings import benchfill_home

    rows = [_overview(folder) for folder in list_runs(benchfill_home())]
    if as_json:
        typer.echo(json.dumps({"v": 1, "runs": rows}, ensure_ascii=False))
        return
    from benchfill.display.tables import print_runs

    print_runs(rows)


def status(
    run: Annotated[str | None, typer.Argument(help="Name of the run, else the one touched last.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Show how far a run is: its gaps, and what was found for each."""
    from benchfill.graph.gap_check import gap_check_report
    from benchfill.graph.gap_report import gap_report
    from benchfill.memory.pool import Pool
    from benchfill.memory.runs import find_run
    from benchfill.settings import benchfill_home

    folder = find_run(benchfill_home(), run)
    pool = Pool(folder.memory, create=False)
    try:
        gaps = [gap_report(pool, gap) for gap in pool.gaps()]
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
            row, benchmark, gaps = pool.run(), pool.benchmark(), pool.gaps()
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
        "benchmark": None if benchmark is None else benchmark[1],
        "n_gaps": len(gaps),
        "filled": sum(gap.status == "filled" for gap in gaps),
        "path": str(folder.path),
    }


def path() -> None:
    """Print the folder that holds runs and ledger (BENCHFILL_HOME)."""
    from benchfill.settings import benchfill_home

    typer.echo(str(benchfill_home()))
