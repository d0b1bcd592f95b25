"""An ablation for a person, for a program, and as a picture."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, TextIO

from rich import box
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from benchfill.display.console import make_console, print_table

if TYPE_CHECKING:
    from benchfill.graph.ablation import MethodSummary

__all__ = ["ablation_document", "ablation_table", "print_ablation", "seeds_bar"]


@contextlib.contextmanager
def seeds_bar(total: int, stream: TextIO) -> Iterator[Callable[[], None]]:
    """A bar over seeds on a terminal, a line every tenth of them elsewhere; call it once a seed."""
    console = make_console(stream)
    if not console.is_terminal:
        done = 0

        def line() -> None:
            nonlocal done
            done += 1
            if done == total or done * 10 // total != (done - 1) * 10 // total:
                print(f"ablate: {done} of {total} seeds", file=stream, flush=True)

        yield line
        return
    columns = ("seeds", BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("seeds", total=total)
        yield lambda: progress.advance(task)


def ablation_table(summaries: Mapping[str, MethodSummary], title: str) -> Table:
    """One method a row."""
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.padding = (0, 1, 0, 0)
    headers = ("method", "searches", "met", "top-3 reduction", "true deviation", "claimed", "90% covers",
               "attempts", "over bound", "wrong keys")  # fmt: skip
    for header in headers:
        table.add_column(header, justify="left" if header == "method" else "right")
    for method, each in summaries.items():
        oracle = method == "oracle"
        table.add_row(
            method,
            str(each.searches),
            "-" if method in ("baseline", "oracle") else str(each.met),
            f"{100 * each.reduction:.1f}%",
            _four(each.true_deviation),
            "-" if oracle else _four(each.claimed_deviation),
            "-" if oracle or each.coverage90 is None else f"{100 * each.coverage90:.0f}%",
            "-" if oracle else f"{each.attempts:,.0f}",
            "-" if oracle else f"{each.attempts_over_bound:.1f}",
            str(each.wrong_keys),
        )
    return table


def _four(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def print_ablation(summaries: Mapping[str, MethodSummary], *, world: str, seeds: int, gaps: int) -> None:
    """The table on stdout, and what its words mean."""
    console = make_console(sys.stdout)
    label = "simulated world" if world == "simulated" else "replay world, logged answers"
    print_table(console, ablation_table(summaries, f"Ablation: {label}, {gaps} gaps, {seeds} seeds"))
    console.print(
        "Deviations and coverage over the searches that took an item, places and keys by the world's truth; attempts\n"
        "are all that were asked, confirmations included, and the bound is the least that tells an item on target.",
        soft_wrap=True,
    )


def ablation_document(summaries: Mapping[str, MethodSummary], *, world: str, seeds: int, seed: int) -> str:
    """The JSON document."""
    document = {
        "v": 1,
        "world": world,
        "simulated": world == "simulated",
        "first_seed": seed,
        "seeds": seeds,
        "methods": {method: dataclasses.asdict(each) for method, each in summaries.items()},
    }
    return json.dumps(document, allow_nan=False, indent=1)
