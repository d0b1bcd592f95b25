"""``benchfill export``: the accepted items of a run as JSONL."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["export"]


def export(
    out: Annotated[Path, typer.Option("--out", help="File to write.")],
    run: Annotated[str | None, typer.Argument(help="Name of the run, else the one touched last.")] = None,
    blind: Annotated[
        bool, typer.Option("--blind", help="A packet for one reviewer: nothing tells origin or difficulty.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Order of the blind packet; default the run's.")
    ] = None,
) -> None:
    """Write the accepted items, one JSON object a line, with difficulty, lineage and judgement.

    Examples:

      benchfill export my-run --out new-items.jsonl

      benchfill export my-run --blind --out packet.jsonl
    """
    from benchfill.memory.export import accepted_items, write_blind_packet, write_jsonl
    from benchfill.memory.pool import Pool
    from benchfill.memory.runs import find_run
    from benchfill.settings import benchfill_home

    folder = find_run(benchfill_home(), run)
    pool = Pool(folder.memory, create=False)
    try:
        rows = accepted_items(pool)
        if blind:
            sealed = write_blind_packet(pool, out, seed=pool.run().seed if seed is None else seed)
            typer.echo(
                f"{out}: {2 * len(rows)} items at most, half of them original. Sealed key: {sealed}", err=True
            )
        else:
            write_jsonl(out, rows)
            typer.echo(f"{out}: {len(rows)} accepted items of run {folder.name}.", err=True)
    finally:
        pool.close()
