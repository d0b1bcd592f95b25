"""Tables: the plan of a run, what came of it, and the lists of runs and candidates."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from benchfill.display.console import make_console, print_table
from benchfill.display.text import (
    amount,
    cost,
    counted,
    deviation,
    duration,
    interval,
    number,
    plain_text,
)

__all__ = [
    "STATUS_STYLE",
    "coverage_table",
    "gap_check_line",
    "missing_line",
    "plan_table",
    "print_runs",
    "print_status",
    "result_table",
    "runs_table",
    "status_tables",
    "there",
    "totals_line",
]

Row = Mapping[str, Any]

STATUS_STYLE = {
    "filled": "green",
    "accepted": "green",
    "finished": "green",
    "accepted_outside_tolerance": "yellow",
    "calibrating": "cyan",
    "searching": "cyan",
    "unfilled": "red",
    "refused": "red",
    "rejected": "red",
    "failed": "red",
    "skipped": "dim",
    "dropped": "dim",
    "open": "dim",
    "interrupted": "yellow",
    "paused": "yellow",
}


def plan_table(gaps: Sequence[Row]) -> Table:
    """What will be searched, before anything is asked."""
    table = _table(
        "Plan", "gap", "from", "to", "width", "target", "tolerance", "expected attempts", "is it there",
        right=True,
    )  # fmt: skip
    for gap in gaps:
        expected = gap.get("expected_attempts")
        table.add_row(
            str(gap["gap"]),
            number(gap["lo"]),
            number(gap["hi"]),
            number(gap["width"]),
            number(gap["target"]),
            deviation(gap.get("tolerance")),
            "-" if expected is None else _expected(expected),
            there(gap),
        )
    return table


def _expected(expected: int) -> str:
    """The forecast of a plan, with what eight of ten searches stay between."""
    from benchfill.calibration.forecast import usual_range

    low, high = usual_range(expected)
    return f"{expected:,.0f} ({low:,.0f} to {high:,.0f})"


def there(gap: Row) -> str:
    """Whether a gap is there: the probability that no item truly lies in its middle half, and what follows."""
    p_empty = gap.get("p_empty")
    if p_empty is None:
        return "-"
    skipped = ", skipped" if gap.get("status") == "skipped" else ""
    return f"{'resolved' if gap['resolved'] else 'not resolved'} (p_empty {p_empty:.2f}){skipped}"


def gap_check_line(check: Row) -> str:
    """What was asked again of the original items, and what became of the gaps."""
    resolved = sum(bool(gap["resolved"]) for gap in check["after"])
    before = sum(bool(gap["resolved"]) for gap in check["before"])
    return (
        f"{counted(check['items'], 'original item')} asked again, {counted(check['attempts'], 'attempt')}; "
        f"{resolved} of {counted(len(check['after']), 'gap')} resolved, {before} before"
    )


def result_table(gaps: Sequence[Row], beside: str = "") -> Table:
    """What came of each gap; `beside` stands behind the title."""
    table = _table(
        f"Result{beside}",
        "gap",
        "target",
        "item",
        "z",
        "90% interval",
        "ML z",
        "expected deviation",
        "attempts",
        "status",
    )
    for gap in gaps:
        table.add_row(
            str(gap["gap"]),
            number(gap["target"]),
            _text(gap["accepted"]),
            *_place(gap),
            _ml(gap),
            deviation(gap["expected_deviation"]),
            f"{gap['attempts']:,}",
            _outcome(gap),
        )
    return table


def _outcome(gap: Row) -> Text:
    """The status of a gap; an item that fresh attempts have not confirmed says so."""
    status = _status(gap["status"])
    if gap.get("accepted") is not None and not gap.get("confirmed"):
        status.append(", unconfirmed", style="yellow")
    if (gap.get("fit") or {}).get("misfits"):
        status.append(", misfits", style="yellow")
    if gap.get("since"):
        status.append(f", {plain_text(gap['since'])}", style="yellow")
    return status


def _ml(gap: Row) -> str:
    """The maximum-likelihood place; an item that has no maximum says so."""
    if gap["accepted"] is None:
        return "-"
    return "none" if gap.get("z_ml") is None else number(gap["z_ml"])


def coverage_table(before: Row, after: Row, oracle: Row, beside: str = "") -> Table:
    """Gaps of the benchmark before and after, beside an oracle that hits every midpoint."""
    headers = ("", "before", "after", "oracle", "share of the oracle's reduction")
    table = _table(f"Coverage{beside}", *headers, right=True)
    table.columns[0].justify = "left"
    for label, name in (("Max Gap", "max_gap"), ("top-3 gap sum", "top3_sum")):
        values = (before[name], after[name], oracle[name])
        share = "-"
        if None not in values and before[name] > oracle[name]:
            share = f"{100 * (before[name] - after[name]) / (before[name] - oracle[name]):.1f}%"
        table.add_row(label, *(number(value) for value in values), share)
    return table


def totals_line(totals: Row) -> str:
    """What the run took."""
    parts = [
        f"{counted(totals['calls'], 'call')} ({totals['from_ledger']:,} from the ledger)",
        counted(totals["attempts"], "attempt"),
        f"{amount(totals['tokens_in'])} tokens in, {amount(totals['tokens_out'])} out",
        cost(totals["cost"], totals["calls"]),
        f"{duration(totals['elapsed'])} elapsed",
    ]
    return " | ".join(parts)


def missing_line(missing: Row) -> str:
    """Attempts without an outcome, by model and reason; empty when there are none."""
    parts = []
    for model, reasons in missing.items():
        named = ", ".join(f"{plain_text(reason)} {count:,}" for reason, count in reasons.items())
        parts.append(f"{plain_text(model)} {sum(reasons.values()):,} ({named})")
    return f"missing attempts: {'; '.join(parts)}" if parts else ""


def runs_table(runs: Sequence[Row]) -> Table:
    """Runs, one a row: `run, status, world, benchmark, seed, filled, n_gaps`; what is absent is shown as "-"."""
    table = _table("", "run", "status", "world", "benchmark", "seed", "gaps filled")
    for run in runs:
        filled, gaps = run.get("filled"), run.get("n_gaps")
        table.add_row(
            _text(run["run"]),
            _status(run.get("status")),
            _text(run.get("world") or None),
            _text(run.get("benchmark")),
            _text(run.get("seed")),
            "-" if filled is None or gaps is None else f"{filled} of {gaps}",
        )
    return table


def status_tables(gaps: Sequence[Row], candidates: Sequence[Row]) -> list[Table]:
    """State of one run: its gaps as `gap_finished` has them, and its candidates.

    Parameters
    ----------
    gaps
        `gap, lo, hi, target, status` and, once known, `rounds, accepted, z_mean, z_lo90, z_hi90,
        expected_deviation, attempts`.
    candidates
        `gap, round, candidate, status` and, once known, `reason, z_mean, z_lo90, z_hi90, expected_deviation,
        attempts`.
    """
    first = _table("Gaps", "gap", "target", "rounds", "item", "z", "90% interval", "attempts", "status")
    for gap in gaps:
        first.add_row(
            str(gap["gap"]),
            number(gap["target"]),
            _text(gap.get("rounds")),
            _text(gap.get("accepted")),
            *_place(gap),
            _count(gap.get("attempts")),
            _outcome(gap),
        )
    second = _table(
        "Candidates", "gap, round", "candidate", "z", "90% interval", "deviation", "attempts", "status"
    )
    for row in candidates:
        status = _status(row["status"])
        if row.get("reason"):
            status.append(f": {plain_text(row['reason']).replace('_', ' ')}")
        second.add_row(
            f"{row['gap']}, {row['round']}",
            _text(row["candidate"]),
            *_place(row),
            deviation(row.get("expected_deviation")),
            _count(row.get("attempts")),
            status,
        )
    return [first, second]


def print_runs(runs: Sequence[Row]) -> None:
    """List runs on stdout; that there is none yet is said on stderr."""
    if not runs:
        print("There is no run yet. Start one: benchfill run --gaps 3", file=sys.stderr)
        return
    print_table(make_console(sys.stdout), runs_table(runs))


def print_status(run: Row) -> None:
    """Show one run on stdout: a row of :func:`runs_table` with its `gaps` and, where given, its `candidates`."""
    console = make_console(sys.stdout)
    print_table(console, runs_table([run]))
    if run.get("gap_check"):
        console.print(Text(gap_check_line(run["gap_check"])), soft_wrap=True)
    for table in status_tables(run["gaps"], run.get("candidates", ())):
        if table.row_count:
            print_table(console, table)


def _table(title: str, *headers: str, right: bool = False) -> Table:
    table = Table(title=title or None, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.padding = (0, 1, 0, 0)
    for header in headers:
        # An interval broken over two lines is hard to read; ids and reasons fold instead.
        table.add_column(
            header, justify="right" if right else "left", overflow="fold", no_wrap="90%" in header
        )
    return table


def _place(row: Row) -> tuple[str, Text]:
    return number(row.get("z_mean")), Text(interval(row.get("z_lo90"), row.get("z_hi90")) or "-")


def _text(value: object) -> Text:
    return Text("-" if value is None else plain_text(str(value)))


def _count(count: int | None) -> str:
    return "-" if count is None else f"{count:,}"


def _status(status: str | None) -> Text:
    if status is None:
        return Text("-")
    return Text(plain_text(status).replace("_", " "), style=STATUS_STYLE.get(status, ""))
