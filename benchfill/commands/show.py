"""``benchfill show``: the candidates of a run, or everything that is known of one item."""

from __future__ import annotations

import json
from typing import Annotated

import typer

__all__ = ["show"]


def show(
    run: Annotated[str | None, typer.Argument(help="Name of the run, else the one touched last.")] = None,
    item: Annotated[
        str | None, typer.Argument(help="Id of an item or candidate; all of the run without.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Show the new items of a run, or one item: lineage, difference to its parent, tool calls, judgement, answers.

    Examples:

      benchfill show my-run

      benchfill show my-run bf-1a2b3c4d5e6f
    """
    from benchfill.display.show import print_item, print_run
    from benchfill.graph.item_story import item_story, run_story
    from benchfill.memory.ledger import Ledger
    from benchfill.memory.pool import Pool
    from benchfill.memory.runs import find_run
    from benchfill.settings import benchfill_home

    home = benchfill_home()
    folder = find_run(home, run)
    paid = home / "ledger.sqlite"
    pool = Pool(folder.memory, create=False)
    ledger = Ledger(paid) if item is not None and paid.is_file() else None
    try:
        story = run_story(pool) if item is None else item_story(pool, ledger, item)
    finally:
        pool.close()
        if ledger is not None:
            ledger.close()
    document = {"v": 1, "run": folder.name, **story}
    if as_json:
        typer.echo(json.dumps(document, ensure_ascii=False, allow_nan=False))
    elif item is None:
        print_run(document)
    else:
        print_item(document)
