"""Where the review of a run stands: outcomes, agreement, reviewers, seals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchfill.display.console import make_console, print_table
from benchfill.display.text import duration, interval, number, plain_text

__all__ = ["print_review"]

Row = Mapping[str, Any]
STYLES = {"accepted": "green", "rejected": "red", "disputed": "yellow", "unreviewed": "dim"}
GROUPS = {"all": "all items", "new": "new items", "original": "original items"}


def print_review(document: Row, stream: TextIO) -> None:
    """Print what ``benchfill review status --json`` gives."""
    console = make_console(stream)
    outcomes = [row["outcome"] for row in document["items"].values()]
    said = ", ".join(f"{outcomes.count(name)} {name}" for name in STYLES if name in outcomes)
    console.print(
        f"Review of run {plain_text(document['run'])}: {said or 'no accepted item'}", soft_wrap=True
    )
    for table in (
        _items(document["items"]),
        _agreement(document["agreement"]),
        _reviewers(document["reviewers"]),
    ):
        if table.row_count:
            print_table(console, table)
    for round_ in document["rounds"]:
        _seal(console, round_)


def _items(items: Mapping[str, Row]) -> Table:
    table = _table("Items", "item", "outcome", "why", "verdicts", "adjudication", "void")
    for name, row in items.items():
        table.add_row(
            Text(plain_text(name)),
            Text(row["outcome"], style=STYLES[row["outcome"]]),
            Text(row["why"]),
            Text(_verdicts(row["decisions"])),
            Text(_verdicts(row["adjudication"])),
            Text(str(len(row["void"]) or "")),
        )
    return table


def _verdicts(decisions: Sequence[Row]) -> str:
    parts = []
    for each in decisions:
        answer = {True: "", False: " (answer differs)", None: " (answer not comparable)"}[each["agrees"]]
        if each["answer"] is None or each["verdict"] != "approve":
            answer = ""
        parts.append(f"{each['reviewer']} {each['verdict']}{answer}")
    return ", ".join(parts)


def _agreement(groups: Mapping[str, Row]) -> Table:
    table = _table(
        "Agreement, 90% intervals", "on", "items", "same verdict", "Cohen's kappa", "Krippendorff's alpha"
    )
    for name, row in groups.items():
        if row["items"]:
            table.add_row(
                GROUPS[name],
                str(row["items"]),
                *(_figure(row, figure) for figure in ("percent", "kappa", "alpha")),
            )
    return table


def _figure(row: Row, name: str) -> str:
    percent = name == "percent"
    figures = [row[key] for key in (name, f"{name}_lo90", f"{name}_hi90")]
    value, lo, hi = (each if each is None or not percent else 100 * each for each in figures)
    digits = 1 if percent else 2
    unit = " %" if percent and value is not None else ""
    return f"{number(value, digits)}{unit} {interval(lo, hi, digits)}".strip()


def _reviewers(rows: Sequence[Row]) -> Table:
    table = _table(
        "Reviewers",
        "reviewer",
        "decided",
        "approve / reject / unsure",
        "originals rejected",
        "time",
        "an item",
    )
    for row in rows:
        rate = _figure(
            {
                "percent": row["false_alarm_rate"],
                "percent_lo90": row["false_alarm_rate_lo90"],
                "percent_hi90": row["false_alarm_rate_hi90"],
            },
            "percent",
        )
        table.add_row(
            Text(plain_text(row["reviewer"])),
            f"{row['decided']} of {row['assigned']}",
            f"{row['approve']} / {row['reject']} / {row['unsure']}",
            f"{row['false_alarms']} of {row['originals']}: {rate}" if row["originals"] else "-",
            duration(row["seconds_total"]) if row["timed"] else "-",
            duration(row["seconds_median"]) if row["timed"] else "-",
        )
    return table


def _seal(console: Console, round_: Row) -> None:
    told = {
        "intact": "is what was committed to",
        "changed": "is NOT what was committed to: blind ids cannot be trusted",
        "missing": "is missing",
    }[round_["seal"]]
    style = "" if round_["seal"] == "intact" else "red"
    console.print(
        Text(
            f"Round {round_['round']} ({round_['kind']}): the sealed key {told} ({round_['key_sha256']}).",
            style,
        ),
        soft_wrap=True,
    )


def _table(title: str, *headers: str) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for header in headers:
        table.add_column(header, overflow="fold")
    return table
