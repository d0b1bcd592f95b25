"""The quality of benchmarks for a person: one table of figures, agreement of rankings, and the worst items."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchfill.display.console import make_console, print_table
from benchfill.display.text import interval, number, plain_text

__all__ = ["print_quality"]

_FIGURES = (("cbrc", "CBRC"), ("ds", "DS"), ("cad", "CAD"), ("bqs", "BQS"), ("stability", "stability"))
_ABOUT = (
    "CBRC: agreement of the ranking with those of the other benchmarks (mean tau-b). DS: spread of the scores, times "
    "the share of model pairs told apart; not bounded by 1. CAD: 1 where no stronger model of a family fails what a "
    "weaker one solves; 1PL: the same where the fitted 1PL holds and only chance inverts, so a benchmark below it "
    "inverts more. BQS: their weighted sum. stability: tau-b of the ranking on resampled items. In brackets 95 % "
    "intervals by resampled items, of these models (stability: 95 % of the resampled rankings)."
)


def print_quality(document: Mapping[str, Any], stream: TextIO | None = None) -> None:
    """Print the document (`benchfill.calibration.quality_report`) on stdout."""
    console = make_console(stream or sys.stdout)
    benchmarks = document["benchmarks"]
    _print_figures(console, benchmarks)
    console.print(Text(_ABOUT, style="dim"))
    titles = dict(_FIGURES)
    for each in benchmarks:
        for figure, reason in each["not_defined"].items():
            console.print(Text(f"{plain_text(each['name'])}: {titles[figure]} is not defined: {reason}."))
    if len(benchmarks) > 2:
        _print_agreements(console, document)
    _print_worst(console, benchmarks)
    for note in document["notes"]:
        console.print(Text(f"Note: {plain_text(note)}"), soft_wrap=True)


def _print_figures(console: Console, benchmarks: Sequence[Mapping[str, Any]]) -> None:
    table = _table(
        "Benchmarks", "benchmark", "items", "models", "CBRC", "DS", "CAD", "1PL", "BQS", "stability"
    )
    table.collapse_padding = True
    for column in (table.columns[0], *table.columns[3:]):
        column.no_wrap = True
    for each in benchmarks:
        cells = [number(each[key], 2) for key, _ in _FIGURES]
        cells.insert(3, number(each["cad_1pl"], 2))
        table.add_row(Text(plain_text(each["name"])), f"{each['n_items']:,}", str(each["n_models"]), *cells)
        ranges = [
            Text(interval(each[f"{key}_lo95"], each[f"{key}_hi95"], 2).replace("0.", "."), style="dim")
            for key, _ in _FIGURES
        ]
        ranges.insert(3, Text(""))
        if any(each.plain for each in ranges):
            table.add_row("", "", "", *ranges)
    print_table(console, table)


def _print_agreements(console: Console, document: Mapping[str, Any]) -> None:
    table = _table("Agreement of rankings", "benchmark", "other", "shared models", "tau-b", "95 % interval")
    for each in document["agreements"]:
        table.add_row(
            Text(plain_text(each["first"])),
            Text(plain_text(each["second"])),
            str(each["shared"]),
            number(each["tau_b"], 2),
            interval(each["tau_b_lo95"], each["tau_b_hi95"], 2),
        )
    table.columns[1].justify = "left"
    print_table(console, table)


def _print_worst(console: Console, benchmarks: Sequence[Mapping[str, Any]]) -> None:
    table = _table(
        "Items with the most inversions",
        *("benchmark", "item", "inversion", "1PL", "worst pair: larger, smaller"),
    )
    table.columns[1].justify = table.columns[4].justify = "left"
    for each in benchmarks:
        for place, item in enumerate(each["worst_items"]):
            table.add_row(
                Text(plain_text(each["name"]) if not place else ""),
                Text(plain_text(item["id"])),
                number(item["inversion"]),
                number(item["inversion_1pl"]),
                Text(f"{plain_text(item['stronger'])}, {plain_text(item['weaker'])}"),
            )
    if not table.row_count:
        return
    print_table(console, table)
    console.print(
        Text(
            "inversion: mean over pairs of one family of (1 - p of the larger) (p of the smaller); 1PL: what chance "
            "alone would show. An item far above it deserves a look at its key and its wording; or it is one that "
            "larger models overthink.",
            style="dim",
        )
    )


def _table(title: str, *headers: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for header in headers:
        table.add_column(header, justify="right")
    table.columns[0].justify = "left"
    return table
