"""``benchfill verify``: a finished run once more from its ledger, with zero calls."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["verify"]


def verify(
    run: Annotated[str | None, typer.Argument(help="Name of the run, else the one touched last.")] = None,
    refit: Annotated[
        bool,
        typer.Option("--refit", help="Fit the scale anew as well; by default it is taken as it was kept."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Make a finished run again from its ledger, without a single call, and compare what comes out.

    Exit code 0: gaps, candidates, judgements, attempts, places and exported items are the same. 1: they are not, or
    a call of the run is not in the ledger.

    Example:

      benchfill verify my-run
    """
    from benchfill.graph.verify import verify_run
    from benchfill.memory.runs import find_run
    from benchfill.settings import benchfill_home

    home = benchfill_home()
    folder = find_run(home, run)

    def emit(event: str, /, **fields: object) -> None:
        if event == "gap_started" and not as_json:
            typer.echo(f"gap {fields['gap']} of {fields['of']}", err=True)

    with folder.lock(), tempfile.TemporaryDirectory(prefix="benchfill-") as scratch:
        found = asyncio.run(verify_run(folder, home / "ledger.sqlite", Path(scratch), emit, refit=refit))
    if as_json:
        typer.echo(json.dumps({"v": 1, "run": folder.name, "same": not found, "differences": found}))
    elif found:
        typer.echo(f"{folder.name}: not the same. " + "; ".join(found))
    else:
        typer.echo(f"{folder.name}: the same from its ledger, with no call.")
    if found:
        raise typer.Exit(1)
