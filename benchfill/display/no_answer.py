"""Replies without an answer: rates, and the figures under both readings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchfill.display.console import print_table
from benchfill.display.text import interval, number, plain_text

__all__ = ["figures_table", "print_no_answer"]


def print_no_answer(console: Console, report: Mapping[str, Any], *, axis: str) -> None:
    """Rates of replies without an answer, and the figures under both readings; nothing when there are none."""
    if not report["no_answer"]:
        return
    table = figures_table(
        "Replies without an answer", "model", "replies", "rate", "accuracy", "90% interval", "as wrong"
    )
    for row in report["models"]:
        table.add_row(
            Text(plain_text(row["model"])),
            f"{row['replies']:,}",
            number(row["rate"]),
            number(row["accuracy"]),
            interval(row["accuracy_lo90"], row["accuracy_hi90"]) or "-",
            Text(number(row["accuracy_as_wrong"]), style="yellow" if row["differs"] else ""),
        )
    print_table(console, table)
    hard = figures_table(
        "Against difficulty", f"{axis} from", "to", "items", "replies", "rate without an answer"
    )
    for part in report["by_difficulty"]:
        hard.add_row(
            number(part["lo"]),
            number(part["hi"]),
            f"{part['items']:,}",
            f"{part['replies']:,}",
            number(part["rate"]),
        )
    print_table(console, hard)
    for item in report.get("accepted", ()):
        wrong = f"{number(item['z_as_wrong'])} {interval(item['z_lo90_as_wrong'], item['z_hi90_as_wrong'])}"
        missing = (
            f"{number(item['z_as_missing'])} {interval(item['z_lo90_as_missing'], item['z_hi90_as_missing'])}"
        )
        line = (
            f"{plain_text(item['item'])}: z {missing} without {item['no_answer']:,} replies, {wrong} as wrong"
        )
        console.print(Text(line), soft_wrap=True)
    if warning := _warning(report):
        console.print(Text(warning, style="yellow"), soft_wrap=True)


def _warning(report: Mapping[str, Any]) -> str:
    moved = [row["model"] for row in report["models"] if row["differs"]]
    moved += [item["item"] for item in report.get("accepted", ()) if item["differs"]]
    if not moved:
        return ""
    return (
        "Warning: whether replies without an answer are missing or wrong changes more than the interval of: "
        f"{', '.join(map(plain_text, moved))}. Allow more max_tokens, or decide by --no-answer."
    )


def figures_table(title: str, *headers: str) -> Table:
    """A table of figures: the first column to the left, the others to the right."""
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.padding = (0, 1, 0, 0)
    for place, header in enumerate(headers):
        table.add_column(
            header, justify="left" if not place else "right", overflow="fold", no_wrap="90%" in header
        )
    return table
