"""A pruned benchmark for a person, and its JSON document."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from rich import box
from rich.table import Table
from rich.text import Text

from benchfill.calibration.fit import Fit
from benchfill.calibration.pruning import Pruning
from benchfill.calibration.scale import Scale
from benchfill.display.console import make_console, print_table
from benchfill.display.text import number, plain_text

__all__ = ["print_pruning", "pruning_document"]

_IDS_SHOWN = 20
_CHOSEN = (
    "The items are chosen by their estimated places, so DDM after is that of the estimates and flatters the true "
    "places where few attempts place an item; benchfill diagnose on the kept items gives it with an interval."
)
_NEVER = "Pruning takes items away, so it can never reduce Max Gap: a gap is closed by a new item only (benchfill run)."


def pruning_document(
    result: Pruning, fit: Fit, scale: Scale, target: str, notes: Sequence[str]
) -> dict[str, Any]:
    """Plain Python values; undefined is None."""
    kept = set(result.kept)
    censored = [item for item, each in zip(fit.items, fit.censored.tolist(), strict=True) if each]
    return {
        "v": 1,
        "target": target,
        "before": {
            "n_items": result.n_before,
            "n_censored": len(censored),
            "ddm": result.ddm_before,
            "max_gap": result.max_gap_before,
        },
        "after": {
            "n_items": result.n_after,
            "n_censored": sum(item in kept for item in censored),
            "ddm": result.ddm_after,
            "max_gap": result.max_gap_after,
        },
        "n_models": len(fit.models),
        "kendall_tau_b": result.tau,
        "reversed_pairs": result.reversed_pairs,
        "engine": fit.engine,
        "seed": fit.seed,
        "versions": dict(fit.versions),
        "scale": {"name": scale.name, "lo": scale.lo, "hi": scale.hi},
        "kept": list(result.kept),
        "notes": [_NEVER, _CHOSEN, *notes],
    }


def print_pruning(document: Mapping[str, Any], stream: TextIO | None = None) -> None:
    """Print the document on stdout."""
    console = make_console(stream or sys.stdout)
    before, after = document["before"], document["after"]
    console.print(
        Text(
            f"{after['n_items']:,} of {before['n_items']:,} items kept, {document['n_models']:,} models",
            style="bold",
        )
    )
    target = plain_text(document["target"])
    console.print(Text(f"Figures of the point estimates (z), target {target}"), soft_wrap=True)
    table = Table(box=box.SIMPLE_HEAD)
    for header in ("", "items", "censored", "DDM", "Max Gap"):
        table.add_column(header, justify="right" if header else "left")
    for name, figures in (("before", before), ("after", after)):
        table.add_row(
            name,
            f"{figures['n_items']:,}",
            f"{figures['n_censored']:,}",
            number(figures["ddm"], 4),
            number(figures["max_gap"]),
        )
    print_table(console, table)
    order = f"Order of the models before and after: Kendall tau-b {number(document['kendall_tau_b'])}"
    if document["reversed_pairs"] is not None:
        order += f", {document['reversed_pairs']:,} pairs reversed"
    console.print(Text(order), soft_wrap=True)
    shown = document["kept"][:_IDS_SHOWN]
    rest = len(document["kept"]) - len(shown)
    ids = ", ".join(plain_text(item) for item in shown)
    more = f" and {rest:,} more (all with --json or --out-ids)" if rest else ""
    console.print(Text(f"Kept: {ids}{more}"), soft_wrap=True)
    for note in document["notes"]:
        console.print(Text(f"Note: {plain_text(note)}"), soft_wrap=True)
