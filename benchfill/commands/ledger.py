"""``benchfill ledger``: what was paid for, and the raw calls for whoever wants to check."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchfill.errors import InputError

if TYPE_CHECKING:
    from benchfill.memory.ledger import Ledger

__all__ = ["ledger_app"]

ledger_app = typer.Typer(
    invoke_without_command=True,
    help="Show what was spent, by run, role and model. Replies taken from the ledger cost nothing.\n\n"
    "Examples:\n\n  benchfill ledger\n\n  benchfill ledger --run my-run --json\n\n"
    "  benchfill ledger export --out calls.jsonl",
)

RunOption = Annotated[str | None, typer.Option("--run", help="Of this run only.")]


@ledger_app.callback()
def ledger(
    context: typer.Context,
    run: RunOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    if context.invoked_subcommand is not None:
        return
    with _open() as opened:
        rows = [dataclasses.asdict(row) for row in opened.spend(run)]
    from benchfill.display.spending import spend_table, totals_row

    if as_json:
        typer.echo(json.dumps({"v": 1, "spend": rows, "totals": totals_row(rows)}, ensure_ascii=False))
        return
    from benchfill.display.console import make_console, print_table

    print_table(make_console(sys.stdout), spend_table(rows))


@ledger_app.command()
def export(
    out: Annotated[Path, typer.Option("--out", help="File to write (JSONL).")],
    run: RunOption = None,
) -> None:
    """Write every request and reply as they went over the wire, one JSON object a line, for audit.

    Failed and repeated requests are among them. Headers are not kept, so no API key is.

    Example:

      benchfill ledger export --out calls.jsonl
    """
    from benchfill.atomic import write_whole

    count = 0

    def lines(opened: Ledger) -> Iterator[bytes]:
        nonlocal count
        for row in opened.export(run):
            count += 1
            yield (json.dumps(row, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")

    with _open() as opened:
        write_whole(out, lines(opened))
    typer.echo(f"{out}: {count:,} calls.", err=True)


def _open() -> Ledger:
    from benchfill.memory.ledger import Ledger
    from benchfill.settings import benchfill_home

    path = benchfill_home() / "ledger.sqlite"
    if not path.is_file():
        raise InputError("Nothing was asked yet.", f"The ledger will be {path}.", kind="missing_file")
    return Ledger(path)
