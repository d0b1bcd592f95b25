"""A diagnosis for a person: the gate, the axis, the figures, the gaps; and the fit's progress while it runs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Any, TextIO

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from benchfill.display.axis import View, axis
from benchfill.display.console import make_console, print_table
from benchfill.display.plain import PlainDisplay
from benchfill.display.text import number, plain_text

__all__ = ["FitProgress", "print_diagnosis"]

_GAPS_SHOWN = 10
_AXIS_WIDTH = 100


class FitProgress:
    """Progress of a fit on stderr: a bar in a terminal, plain lines elsewhere."""

    def __init__(self, stream: TextIO | None = None) -> None:
        console = make_console(stream or sys.stderr)
        self._plain: PlainDisplay | None = None
        self._bar: Progress | None = None
        if console.is_terminal and not console.is_dumb_terminal:
            columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
            self._bar = Progress(*columns, console=console, transient=True)
            self._task = self._bar.add_task("fit", total=1.0)
        else:
            self._plain = PlainDisplay(console)

    def __enter__(self) -> FitProgress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, fraction: float, message: str) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=fraction, description=plain_text(message))
        elif self._plain is not None:
            self._plain({"event": "stage", "name": "fit", "message": message, "fraction": fraction})


def print_diagnosis(document: Mapping[str, Any], stream: TextIO | None = None) -> None:
    """Print the document of a diagnosis (`benchfill.calibration.diagnosis`) on stdout."""
    console = make_console(stream or sys.stdout)
    console.print(
        Text.assemble(
            (f"{document['n_items']:,} items, {document['n_models']:,} models", "bold"),
            f"  engine {document['engine']}, seed {document['seed']}",
        )
    )
    console.print(_gate_line(document["gate"]))
    for reason in document["gate"]["reasons"]:
        console.print(Text(f"  {plain_text(reason)}", style="red"), soft_wrap=True)
    if document["scale"] is not None:
        _print_axis(console, document)
        print_table(console, _figures_table(document))
        print_table(console, _gaps_table(document["gaps"]))
        if len(document["gaps"]) > _GAPS_SHOWN:
            rest = len(document["gaps"]) - _GAPS_SHOWN
            console.print(Text(f"and {rest:,} narrower gaps (all with --json)", style="dim"))
    for note in document["notes"]:
        console.print(Text(f"Note: {plain_text(note)}"), soft_wrap=True)


def _gate_line(gate: Mapping[str, Any]) -> Text:
    figures = []
    if gate["rhat_max"] is not None:
        figures.append(f"R-hat {gate['rhat_max']:.4f}")
    if gate["ess_min"] is not None:
        figures.append(f"effective sample size {gate['ess_min']:,.0f}")
    if gate["divergences"] is not None:
        figures.append(f"divergences {gate['divergences']}")
    if gate["pareto_k"] is not None:
        figures.append(f"Pareto k {gate['pareto_k']:.2f}")
    verdict = ("passed", "bold green") if gate["passed"] else ("failed", "bold red")
    return Text.assemble("Gate ", verdict, f"  {', '.join(figures)}" if figures else "")


def _print_axis(console: Console, document: Mapping[str, Any]) -> None:
    scale, widest = document["scale"], document["gaps"][:_GAPS_SHOWN]
    view = View(0.0, 1.0, max(20, min(console.width - 1, _AXIS_WIDTH)))
    rows = axis(
        view,
        items=[item["z"] for item in document["items"]],
        gaps=[(gap["lo"], gap["hi"]) for gap in widest[:3]],
        target=None,
        labels=[0.0, 1.0, *(gap["target"] for gap in widest[:3])],
    )
    console.print()
    for row in rows[1:]:
        console.print(row)
    console.print(
        Text(
            f"easy (z 0: {number(scale['lo'], 2)} logits) to hard (z 1: {number(scale['hi'], 2)} logits); "
            "the three widest gaps shaded, with their targets",
            style="dim",
        )
    )


def _figures_table(document: Mapping[str, Any]) -> Table:
    table = _table("Point estimates (z)", "", "items", "DDM", "Max Gap", "top-5 gap sum")
    rows = [("all items", document)]
    if document["n_censored"]:
        rows.append(("without censored items", document["uncensored"]))
    for label, figures in rows:
        values = (number(figures[name]) for name in ("ddm", "max_gap", "top5_sum"))
        table.add_row(label, f"{figures['n_items']:,}", *values)
    table.columns[0].justify = "left"
    return table


def _gaps_table(gaps: list[Mapping[str, Any]]) -> Table:
    table = _table("Gaps (z)", "gap", "from", "to", "width", "target")
    for place, gap in enumerate(gaps[:_GAPS_SHOWN], 1):
        table.add_row(str(place), *(number(gap[name]) for name in ("lo", "hi", "width", "target")))
    return table


def _table(title: str, *headers: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for header in headers:
        table.add_column(header, justify="right")
    return table
