"""The making of a response log: a bar while it is made, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, TextIO

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from benchfill.display.console import make_console, print_table
from benchfill.display.no_answer import figures_table, print_no_answer
from benchfill.display.run import choose_mode
from benchfill.display.text import amount, cost, counted, duration, number, plain_text

__all__ = ["AnswerProgress", "print_answers"]

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
        self._console.print(Text(plain_text(line)), soft_wrap=True)

    def _spent(self) -> str:
        meter = self._meter()
        parts = [
            f"{counted(meter['calls'], 'call')} ({meter['from_ledger']:,} from the ledger)",
            f"{amount(meter['tokens_in'])} tokens in, {amount(meter['tokens_out'])} out",
            cost(meter["cost"], meter["calls"]),
        ]
        return " | ".join(parts)


def print_answers(stdout: TextIO, document: Mapping[str, Any]) -> None:
    """What the models answered: a row each, and replies without an answer where there are any."""
    console = make_console(stdout)
    table = figures_table(
        "Answers", "model", "attempts", "right", "wrong", "no answer", "other missing", "accuracy"
    )
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
