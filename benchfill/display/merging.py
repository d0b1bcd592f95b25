"""A merge for a person: what was added, the figures before and after, and where it all lies."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, TextIO

from rich import box
from rich.table import Table
from rich.text import Text

from benchfill.display.console import make_console, print_table
from benchfill.display.text import counted, interval, number, plain_text, z_interval

__all__ = ["print_merge"]

NAMES = {"ddm": "DDM", "max_gap": "Max Gap", "top5_sum": "top-5 gap sum"}
MANY_SD = 2.0


def print_merge(card: Mapping[str, Any], stream: TextIO | None = None) -> None:
    """Print the card of a merge in short; all of it is in the files it names."""
    console = make_console(stream or sys.stdout)
    simulated = " (simulated)" if card["simulated"] else ""
    title = f"{counted(len(card['items']), 'item')} merged into {plain_text(card['name'])}{simulated}"
    console.print(Text(title, style="bold"))
    if card["unreviewed_merged"]:
        console.print(Text("Not reviewed by people; the data card says so.", style="yellow"))
    print_table(console, _items(card))
    print_table(console, _figures(card))
    refit = card["effects"]["refit"]
    largest, drift = refit["largest_difference_in_sd"], refit["largest_drift_logits"]
    check = (
        f"A fit of everything puts the added items within {number(largest, 2)} sd of their online places; "
        f"abilities drift by up to {number(drift, 3)} logits"
    )
    off = largest is not None and largest > MANY_SD
    console.print(Text(check, style="yellow" if off else ""), soft_wrap=True)
    scores = card["effects"]["scores"]
    console.print(
        Text(
            f"Order of the models changes for {counted(len(scores['order_changes']), 'pair')} (original against both)"
        ),
        soft_wrap=True,
    )
    for item, why in card["left_out"].items():
        console.print(Text(f"Left out: {plain_text(item)}, {plain_text(why)}"), soft_wrap=True)
    for file in card["files"].values():
        console.print(Text(file), soft_wrap=True)


def _items(card: Mapping[str, Any]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.padding = (0, 1, 0, 0)
    for header in ("item", "parent", "target", "z, 90% interval", "basis"):
        table.add_column(header, overflow="fold", no_wrap=header != "basis")
    for item in card["items"]:
        parent = item["parents"][0] if item["parents"] else "-"
        table.add_row(
            plain_text(item["id"]),
            plain_text(parent),
            number(item["target"]),
            z_interval(item["z"], item["z_lo90"], item["z_hi90"]),
            item["basis"] + ("" if item["confirmed"] else ", unconfirmed"),
        )
    return table


def _figures(card: Mapping[str, Any]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for header in ("", "before", "90% interval", "after", "90% interval"):
        table.add_column(header, no_wrap="90%" in header)
    before, after = card["effects"]["before"], card["effects"]["after"]
    for name, label in NAMES.items():
        cells = []
        for side in (before, after):
            each = side["figures"][name]
            cells += [number(each["point"]), interval(each["lo90"], each["hi90"])]
        table.add_row(label, *cells)
    resolved = [
        f"{sum(gap['resolved'] for gap in side['gaps'])} of {len(side['gaps'])}" for side in (before, after)
    ]
    table.add_row("widest gaps resolved", resolved[0], "", resolved[1], "")
    return table
