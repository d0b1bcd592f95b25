"""``benchfill export``: the accepted items of a run as JSONL."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["export"]


def export(
    out: Annotated[Path, typer.Option("--out", help="File to write.")],
    run: Annotated[str | None, typer.Argument(help="Name of the run, else the one touched last.")] = None,
) -> None:
    """Write the accepted items, one JSON object a line, with difficulty, lineage and judgement.

    Example:

      benchfill export my-run --out new-items.jsonl
    """
    from benchfill.memory.export import accepted_items, write_jsonl
    from benchfill.memory.pool import Pool
    from benchfill.memory.runs import find_run
    from benchfill.settings import benchfill_home

    folder = find_run(benchfill_home(), run)
    pool = Pool(folder.memory, create=False)
    try:
        rows = accepted_items(pool)
        write_jsonl(out, rows)
    finally:
        pool.close()
    typer.echo(f"{out}: {len(rows)} accepted items of run {folder.name}.", err=True)
