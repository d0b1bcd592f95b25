"""Two runs side by side, for a terminal."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, TextIO

from rich import box
from rich.table import Table
from rich.text import Text

from benchfill.display.console import make_console, print_table
from benchfill.display.text import amount, cost, deviation, number, plain_text, z_interval

__all__ = ["print_comparison"]


def print_comparison(document: Mapping[str, Any], stream: TextIO | None = None) -> None:
    """Figures and cost, what was found for each gap, and the settings that differ."""
    console = make_console(stream or sys.stdout)
    first, second = document["runs"]
    names = [plain_text(first["run"]), plain_text(second["run"])]
    if not document["same_benchmark"]:
        note = (
            "They are of different benchmarks or logs: places and figures of one say nothing about the other."
        )
        console.print(Text(note, style="yellow"), soft_wrap=True)
    table = _table("", "", *names)
    for label, values in _rows(first, second):
        table.add_row(label, *values)
    print_table(console, table)
    gaps = _table("Gaps", "gap", *names)
    for gap in document["gaps"]:
        gaps.add_row(
            f"{number(gap['lo'])} to {number(gap['hi'])}", _found(gap["first"]), _found(gap["second"])
        )
    if gaps.row_count:
        print_table(console, gaps)
    if document["items_in_both"]:
        console.print(
            Text(f"In both: {', '.join(map(plain_text, document['items_in_both']))}"), soft_wrap=True
        )
    settings = _table("Settings that differ", "setting", *names)
    for name, values in document["settings"].items():
        settings.add_row(
            plain_text(name), *(Text("-" if each is None else plain_text(str(each))) for each in values)
        )
    if settings.row_count:
        print_table(console, settings)
    else:
        console.print(Text("All settings are the same."))


def _rows(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    def both(name: str) -> list[str]:
        return [plain_text(str("-" if side[name] is None else side[name])) for side in (first, second)]

    def figure(when: str, name: str) -> list[str]:
        return [number(None if side[when] is None else side[when][name]) for side in (first, second)]

    return [
        ("status", both("status")),
        ("benchmark", both("benchmark")),
        ("world", both("world")),
        ("gaps filled", both("filled")),
        ("items that stand", [str(len(side["standing"])) for side in (first, second)]),
        ("Max Gap before", figure("before", "max_gap")),
        ("Max Gap after", figure("after", "max_gap")),
        ("top-3 gap sum before", figure("before", "top3_sum")),
        ("top-3 gap sum after", figure("after", "top3_sum")),
        ("attempts", [f"{side['attempts']:,}" for side in (first, second)]),
        ("calls paid for", [f"{side['calls']:,}" for side in (first, second)]),
        (
            "tokens in, out",
            [f"{amount(side['tokens_in'])}, {amount(side['tokens_out'])}" for side in (first, second)],
        ),
        ("cost", [cost(side["cost"], side["calls"]) for side in (first, second)]),
    ]


def _found(gap: Mapping[str, Any] | None) -> Text:
    if gap is None:
        return Text("not searched", style="dim")
    if gap["accepted"] is None:
        return Text(gap["status"].replace("_", " "), style="red")
    place = z_interval(gap["z_mean"], gap["z_lo90"], gap["z_hi90"])
    said = f"{plain_text(gap['accepted'])}\n{place}\ndeviation {deviation(gap['expected_deviation'])}"
    return Text(f"{said}, {gap['attempts']:,} attempts" + ("" if gap["confirmed"] else ", unconfirmed"))


def _table(title: str, *headers: str) -> Table:
    table = Table(title=title or None, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.padding = (0, 1, 0, 0)
    for header in headers:
        table.add_column(header, overflow="fold")
    return table
