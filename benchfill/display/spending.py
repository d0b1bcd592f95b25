"""What calls have cost, and what a run is expected to cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from benchfill.display.text import amount, duration, plain_text

__all__ = ["cost_text", "forecast_table", "plain_table", "spend_table", "totals_row"]

Row = Mapping[str, Any]


def spend_table(rows: Sequence[Row]) -> Table:
    """One row a run, role and model, as the ledger sums them, and their total."""
    table = plain_table("Spent", "run", "role", "model")
    for header in ("calls", "failed", "tokens in", "tokens out", "cost", "waited"):
        table.add_column(header, justify="right", overflow="fold")
    for row in rows:
        gone = " (pruned)" if row.get("pruned") else ""
        names = (f"{row['run']}{gone}", str(row["role"]), str(row["model"]))
        table.add_row(*(Text(plain_text(name)) for name in names), *_figures(row))
    if len(rows) > 1:
        table.add_section()
        table.add_row(Text("all"), "", "", *_figures(totals_row(rows)))
    return table


def totals_row(rows: Sequence[Row]) -> dict[str, Any]:
    """Sums over rows of the ledger; the cost is None when none of them has a price."""
    costs = [row["price"] for row in rows if row["price"] is not None]
    counts = ("calls", "failed", "input_tokens", "output_tokens", "unpriced", "unmetered", "seconds")
    return {
        **{name: sum(row[name] for row in rows) for name in counts},
        "price": sum(costs) if costs else None,
    }


def forecast_table(rows: Sequence[Row], totals: Row) -> Table:
    """What is expected to be asked: ``role, model, calls, input_tokens, output_tokens, cost, basis``."""
    table = plain_table("Expected", "role", "model")
    for header in ("calls", "tokens in", "tokens out", "cost"):
        table.add_column(header, justify="right", overflow="fold")
    table.add_column("tokens of a call from", overflow="fold")
    for row in rows:
        table.add_row(
            Text(plain_text(str(row["role"]))),
            Text(plain_text(str(row["model"]))),
            f"{row['calls']:,}",
            amount(row["input_tokens"]),
            amount(row["output_tokens"]),
            cost_text(row["cost"]),
            Text(plain_text(str(row["basis"]))),
        )
    table.add_section()
    table.add_row(
        "all",
        "",
        f"{totals['calls']:,}",
        amount(totals["input_tokens"]),
        amount(totals["output_tokens"]),
        cost_text(totals["cost"]),
        "",
    )
    return table


def _figures(row: Row) -> list[str]:
    return [
        f"{row['calls']:,}",
        f"{row['failed']:,}",
        amount(row["input_tokens"]),
        amount(row["output_tokens"]),
        # Some calls without a price leave a sum that is too small.
        cost_text(row["price"]) + (" +?" if row["price"] is not None and row["unpriced"] else ""),
        duration(row["seconds"]),
    ]


def cost_text(value: float | None) -> str:
    """A cost; "-" where there are no prices."""
    return "-" if value is None else f"{value:.4f}" if value < 1 else f"{value:,.2f}"


def plain_table(title: str, *headers: str) -> Table:
    """A table with some columns of text."""
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.padding = (0, 1, 0, 0)
    for header in headers:
        table.add_column(header, overflow="fold")
    return table
