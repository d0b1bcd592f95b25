"""What pruning the ledger throws away, and what it left."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from benchfill.display.console import make_console, print_table
from benchfill.display.spending import cost_text, plain_table
from benchfill.display.text import counted, plain_text

if TYPE_CHECKING:
    from benchfill.memory.ledger_pruning import PrunedRun, PruningPlan

__all__ = ["print_pruning_plan", "print_sizes", "pruning_document"]


def print_pruning_plan(plan: PruningPlan, size: int) -> None:
    """Say what goes, of which runs, and what it had cost; on stdout."""
    console = make_console(sys.stdout)
    if plan.empty:
        console.print("Nothing goes: every call is needed as it is.")
    if plan.gone:
        console.print("Of runs that are gone, with request and reply: no other run was served them.")
        print_table(console, _table(plan.gone))
    if plan.requests:
        console.print("Requests alone, of what no unfinished run needs; the replies stay.")
        print_table(console, _table(plan.requests))
    kept = [
        (plan.kept_for_others, "other runs were served them"),
        (plan.kept_unknown, "it was not noted yet who was served them"),
    ]
    for count, why in kept:
        if count:
            console.print(f"The replies of {counted(count, 'call')} of runs that are gone stay: {why}.")
    bodies = sum(run.bytes for run in (*plan.gone, *plan.requests))
    console.print(
        f"The file is {_megabytes(size)}; what goes is {_megabytes(bodies)} of it, and its entries."
    )
    if not plan.empty:
        console.print("What it cost stays in the sums of `benchfill ledger`.")


def print_sizes(before: int, after: int) -> None:
    """Say how large the file is now."""
    make_console(sys.stderr).print(f"The ledger is {_megabytes(after)} now; it was {_megabytes(before)}.")


def pruning_document(plan: PruningPlan, before: int, after: int, *, pruned: bool) -> dict[str, Any]:
    """The plan as plain data, and the sizes of the file in bytes."""
    return {
        "v": 1,
        "pruned": pruned,
        **dataclasses.asdict(plan),
        "bytes_before": before,
        "bytes_after": after,
    }


def _table(runs: Sequence[PrunedRun]) -> Table:
    table = plain_table("What goes", "run")
    for header in ("calls", "failed", "MB", "cost"):
        table.add_column(header, justify="right", overflow="fold")
    for run in runs:
        figures = (f"{run.calls:,}", f"{run.failed:,}", f"{run.bytes / 1e6:,.2f}", cost_text(run.price))
        table.add_row(Text(plain_text(run.run)), *figures)
    return table


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
