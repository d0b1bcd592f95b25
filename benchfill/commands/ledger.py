"""``benchfill ledger``: what was paid for, and the raw calls for whoever wants to check."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchfill.commands.groups import command_group
from benchfill.errors import InputError

if TYPE_CHECKING:
    from benchfill.memory.ledger import Ledger

__all__ = ["ledger_app"]

ledger_app = command_group(
    invoke_without_command=True,
    help="Show what was spent, by run, role and model. Replies taken from the ledger cost nothing.\n\n"
    "Examples:\n\n  benchfill ledger\n\n  benchfill ledger --run my-run --json\n\n"
    "  benchfill ledger export --out calls.jsonl\n\n  benchfill ledger prune --dry-run",
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
        rows = [dataclasses.asdict(row) for row in opened.spend(run, pruned=True)]
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


@ledger_app.command()
def prune(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    keep_requests: Annotated[
        bool,
        typer.Option("--keep-requests", help="Only calls of runs that are gone; every other stays whole."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Throw away what no run needs, say first what that is, and make the file smaller.

    Calls of runs that are gone, unless another run was served them, and the requests (not the replies) of finished
    runs and response logs. Finished runs can still be verified, all others can be gone on with for free, and what was
    spent stays in the sums of `benchfill ledger`. Refused while a run is at work.

    Examples:

      benchfill ledger prune --dry-run

      benchfill ledger prune --yes
    """
    from benchfill.display.ledger_pruning import print_pruning_plan, print_sizes, pruning_document
    from benchfill.memory.removal import plan_for, prune_ledger, refuse_active_runs
    from benchfill.settings import benchfill_home

    path, home = _path(), benchfill_home()
    if not dry_run:
        refuse_active_runs(home)
    if as_json and not (dry_run or yes):
        raise InputError("--json cannot ask.", "Add --dry-run or --yes.")
    plan, before = plan_for(home, keep_requests=keep_requests), path.stat().st_size
    if not as_json:
        print_pruning_plan(plan, before)
    if not dry_run:
        if not (yes or plan.empty):
            typer.confirm("Throw this away for good?", abort=True, err=True)
        # Where nothing goes, space may still be left by an earlier command that was stopped.
        prune_ledger(home, plan, keep_requests=keep_requests)
    after = path.stat().st_size
    if as_json:
        typer.echo(json.dumps(pruning_document(plan, before, after, pruned=not dry_run), ensure_ascii=False))
    elif not dry_run:
        print_sizes(before, after)


def _path() -> Path:
    from benchfill.settings import benchfill_home

    path = benchfill_home() / "ledger.sqlite"
    if not path.is_file():
        raise InputError("Nothing was asked yet.", f"The ledger will be {path}.", kind="missing_file")
    return path


def _open() -> Ledger:
    from benchfill.memory.ledger import Ledger

    return Ledger(_path())
