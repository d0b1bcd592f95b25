"""The making of a response log: a bar while it is made, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, TextIO

from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from benchfill.display.console import make_console, print_table
from benchfill.display.run import choose_mode
from benchfill.display.text import amount, cost, counted, duration, interval, number, plain_text

__all__ = ["AnswerProgress", "print_answers", "print_no_answer"]

# Without a terminal a line is said at every tenth, and no more often than this many seconds.
EVERY = 5.0


class AnswerProgress:
    """A bar on a terminal; elsewhere a plain line now and then. On stderr, as all progress."""

    def __init__(self, stderr: TextIO, meter: Callable[[], Mapping[str, Any]]) -> None:
        animated = choose_mode("auto", stderr) == "full"
        self._console = make_console(stderr, animated=animated)
        self._meter = meter
        self._began = self._said = time.monotonic()
        self._bar: Progress | None = None
        if animated:
            columns = (
                TextColumn("answering"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("ETA"),
                TimeRemainingColumn(), TextColumn("{task.fields[spent]}"),
            )  # fmt: skip
            self._bar = Progress(*columns, console=self._console, transient=True, refresh_per_second=4)
            self._task = self._bar.add_task("", total=None, spent="")

    def __enter__(self) -> AnswerProgress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, done: int, total: int) -> None:
        """So many attempts are there."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total, spent=self._spent())
            return
        now = time.monotonic()
        if done == total or now - self._said >= EVERY:
            self._said = now
            elapsed = f"{duration(now - self._began)} elapsed"
            self.say(f"answering: {done:,} of {total:,} attempts | {self._spent()} | {elapsed}")

    def say(self, line: str) -> None:
        """One line above the bar."""
        self._console.print(Text(line), soft_wrap=True)

    def _spent(self) -> str:
        meter = self._meter()
        parts = [
            f"{counted(meter['calls'], 'call')} ({meter['from_ledger']:,} from the ledger)",
            f"{amount(meter['tokens_in'])} tokens in, {amount(meter['tokens_out'])} out",
            cost(meter["cost"]),
        ]
        return " | ".join(parts)


def print_answers(stdout: TextIO, document: Mapping[str, Any]) -> None:
    """What the models answered: a row each, and replies without an answer where there are any."""
    console = make_console(stdout)
    table = _table("Answers", "model", "attempts", "right", "wrong", "no answer", "other missing", "accuracy")
    for row in document["models"]:
        other = ", ".join(f"{plain_text(reason)} {times:,}" for reason, times in row["missing"].items())
        table.add_row(
            Text(plain_text(row["model"])),
            *(f"{row[name]:,}" for name in ("attempts", "correct", "wrong", "no_answer")),
            Text(other or "-"),
            number(row["accuracy"]),
        )
    print_table(console, table)
    print_no_answer(console, document["no_answer"], axis="share wrong")


def print_no_answer(console: Console, report: Mapping[str, Any], *, axis: str) -> None:
    """Rates of replies without an answer, and the figures under both readings; nothing when there are none."""
    if not report["no_answer"]:
        return
    table = _table(
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
    hard = _table("Against difficulty", f"{axis} from", "to", "items", "replies", "rate without an answer")
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


def _table(title: str, *headers: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.padding = (0, 1, 0, 0)
    for place, header in enumerate(headers):
        table.add_column(
            header, justify="left" if not place else "right", overflow="fold", no_wrap="90%" in header
        )
    return table
