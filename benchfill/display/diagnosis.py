"""A diagnosis for a person: gate, axis, figures, gaps, checks and limits; and the fit's progress while it runs."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, TextIO

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from benchfill.display.axis import View, axis
from benchfill.display.console import make_console, print_table
from benchfill.display.diagnosis_checks import check_lines
from benchfill.display.diagnosis_pool import POOL_HEADERS, pool_rows, residual_lines, resolved_of
from benchfill.display.plain import PlainDisplay
from benchfill.display.text import interval, number, plain_text

__all__ = ["FitProgress", "print_comparison", "print_diagnosis"]

_GAPS_SHOWN = 10
_FIGURES = (("ddm", "DDM"), ("max_gap", "Max Gap"), ("top5_sum", "Top-5 sum"))
_AXIS_WIDTH = 100


class FitProgress:
    """Progress of fits on stderr: a bar in a terminal, and one of the logs done where there are several; plain lines
    elsewhere.
    """

    def __init__(self, stream: TextIO | None = None, *, logs: int = 1) -> None:
        console = make_console(stream or sys.stderr)
        self._plain: PlainDisplay | None = None
        self._bar: Progress | None = None
        if console.is_terminal and not console.is_dumb_terminal:
            columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
            self._bar = Progress(*columns, console=console, transient=True)
            self._logs = self._bar.add_task(f"{logs} logs", total=logs, visible=logs > 1)
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

    def finish_log(self) -> None:
        """One of the logs is done."""
        if self._bar is not None:
            self._bar.advance(self._logs)

    def __call__(self, fraction: float, message: str) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=fraction, description=plain_text(message))
        elif self._plain is not None:
            self._plain({"event": "stage", "name": "fit", "message": message, "fraction": fraction})


def print_diagnosis(document: Mapping[str, Any], stream: TextIO | None = None) -> None:
    """Print the document of a diagnosis (`benchfill.calibration.report_document`) on stdout."""
    console = make_console(stream or sys.stdout)
    name = plain_text(document.get("name") or "")
    console.print(
        Text.assemble(
            (f"{name}: " if name else "", "bold"),
            (
                f"{document['n_items']:,} items, {document['n_models']:,} models,"
                f" {document['n_attempts']:,} attempts",
                "bold",
            ),
            f"  engine {document['engine']}, seed {document['seed']}",
        )
    )
    console.print(_gate_line(document["gate"]))
    for reason in document["gate"]["reasons"]:
        console.print(Text(f"  {plain_text(reason)}", style="red"), soft_wrap=True)
    if document["scale"] is not None:
        _print_axis(console, document)
        print_table(console, _figures_table(document))
        _print_gaps(console, document)
    _print_section(console, "Checks", check_lines(document))
    if document["pool_dependence"] is not None:
        _print_pool(console, document)
    _print_section(console, "Notes", (("-", Text(plain_text(each))) for each in document["notes"]))
    _print_section(
        console,
        "What these figures do not say",
        (("-", Text(plain_text(each))) for each in document["limits"]),
    )
    console.print(Text(f"\nData {document['fingerprint'][:23]}", style="dim"))


def print_comparison(documents: Sequence[Mapping[str, Any]], stream: TextIO | None = None) -> None:
    """Print one table of several benchmarks: figures of the point estimates, and below the 90 % intervals."""
    console = make_console(stream or sys.stdout)
    table = _table("Benchmarks (z)", "benchmark", "n", "DDM", "Max Gap", "top-5", "resolved", "gate")
    table.columns[0].justify = "left"
    for column in table.columns[2:5]:
        column.no_wrap = True
    for document in documents:
        gate = Text("passed", style="green") if document["gate"]["passed"] else Text("failed", style="red")
        points = (number(document[key]) for key, _ in _FIGURES)
        table.add_row(
            Text(plain_text(document["name"])),
            f"{document['n_items']:,}",
            *points,
            resolved_of(document["resolution"]),
            gate,
        )
        ranges = [interval(document[f"{key}_lo90"], document[f"{key}_hi90"]) for key, _ in _FIGURES]
        if any(ranges):
            table.add_row("", "", *(Text(_short(each), style="dim") for each in ranges), "", "")
    print_table(console, table)
    brackets = "; in brackets 90 % intervals of the figure of the true item set"
    if not any(document["ddm_lo90"] is not None for document in documents):
        brackets = ""
    console.print(
        Text(
            f"Figures of the point estimates{brackets}. resolved: of the widest gaps, how many are known to be empty "
            "of items; the others are not resolvable with that design.",
            style="dim",
        )
    )
    for document in documents:
        always = document["data"]["always_right_models"]
        if always:
            name, models = plain_text(document["name"]), ", ".join(map(plain_text, always))
            console.print(
                Text(f"{name}: right on every attempt, an artefact or beyond the benchmark: {models}")
            )


def _short(figures: str) -> str:
    """Without the zeros in front of the points: they take the columns that would break intervals at a width of 80."""
    return re.sub(r"\b0\.", ".", figures)


def _print_section(console: Console, title: str, lines: Iterable[tuple[str | Text, Text]]) -> None:
    """Lines behind their marks, wrapped beside these; nothing where there are no lines."""
    grid = Table.grid(padding=(0, 1))
    for mark, line in lines:
        grid.add_row(mark, line)
    if grid.row_count:
        console.print(Text(f"\n{title}", style="bold"))
        console.print(grid)


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
    table = _table(
        f"Figures (z), target {plain_text(document['target'])}",
        *("", "items", "estimates", "true items", "90 % interval"),
    )
    table.columns[0].justify = "left"
    rows = [("", document["n_items"], document)]
    if document["n_censored"]:
        rows.append((", without censored", document["uncensored"]["n_items"], document["uncensored"]))
    if document["scale"]["name"] != "pool":
        rows.append((", pool anchors", document["n_items"], document["pool_anchors"]))
    for key, title in _FIGURES:
        for label, count, figures in rows:
            table.add_row(
                f"{title}{label}",
                f"{count:,}",
                number(figures[key]),
                number(figures[f"{key}_median"]),
                interval(figures[f"{key}_lo90"], figures[f"{key}_hi90"]),
            )
    return table


def _print_gaps(console: Console, document: Mapping[str, Any]) -> None:
    gaps, resolution, replicates = (document[key] for key in ("gaps", "resolution", "p_chance_replicates"))
    examined = [gap for gap in gaps if gap["p_empty"] is not None][:_GAPS_SHOWN]
    table = _table("Gaps (z)", "gap", "from", "to", "width", "target", "p empty", "p chance", "resolved")
    table.columns[-1].justify = "left"
    for place, gap in enumerate(examined, 1):
        figures = (number(gap[name]) for name in ("lo", "hi", "width", "target", "p_empty"))
        table.add_row(str(place), *figures, number(gap["p_chance"], 2), _resolution(gap))
    print_table(console, table)
    rest = len(gaps) - len(examined)
    more = f" {rest:,} narrower gaps are in --json." if rest else ""
    console.print(
        Text(
            "p empty: chance that no item truly lies in the middle half of the gap; resolved from 0.95 on. "
            f"p chance: share of {'' if replicates is None else f'{replicates} '}gap-free benchmarks of this design "
            f"with as wide a gap.{more}",
            style="dim",
        )
    )
    needed = [
        f"gap {place}: {gap['attempts_to_resolve']:,} or {gap['models_to_resolve']:,}"
        for place, gap in enumerate(examined, 1)
        if gap["attempts_to_resolve"] is not None
    ]
    if resolution is not None:
        style = "" if resolution["resolved"] else "bold yellow"
        console.print(Text(plain_text(resolution["sentence"]), style=style))
    if needed:
        console.print(
            Text(
                "About so many attempts of every model at every item, or models like these, would resolve them: "
                f"{'; '.join(needed)}."
            )
        )


def _print_pool(console: Console, document: Mapping[str, Any]) -> None:
    pool = document["pool_dependence"]
    table = _table(f"Another pool: {pool['subsets']} halves of the models, refitted (z, 90 %)", *POOL_HEADERS)
    table.columns[0].justify = table.columns[-1].justify = "left"
    for row in pool_rows(document):
        table.add_row(*(_short(cell) for cell in row))
    print_table(console, table)
    console.print(
        Text(
            "halves: laid on the frozen axis by common items, which holds their mean and spread. own axis: what each "
            "half would have published; this is compared for the figures. Gaps: share of halves that leave the "
            "middle half empty.",
            style="dim",
        )
    )
    for line in residual_lines(document):
        console.print(Text(line))


def _resolution(gap: Mapping[str, Any]) -> Text:
    if gap["resolved"] is None:
        return Text("-")
    if gap["resolved"]:
        return Text("yes", style="green")
    return Text("no, pool blind" if gap["out_of_reach"] else "no", style="yellow")


def _table(title: str, *headers: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for header in headers:
        table.add_column(header, justify="right")
    return table
