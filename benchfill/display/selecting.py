"""A chosen part of a benchmark for a person, and its JSON document."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, TextIO

from rich import box
from rich.table import Table
from rich.text import Text

from benchfill.calibration.item_subsets import Chooser
from benchfill.calibration.report_document import fingerprint, plain
from benchfill.calibration.response_log import ResponseLog
from benchfill.calibration.subset_trial import SubsetTrial
from benchfill.display.console import make_console, print_table
from benchfill.display.text import interval, number, plain_text

__all__ = ["print_selection", "selection_document"]

_IDS_SHOWN = 20
_TITLES = {
    "tau": "tau-b, all models",
    "tau_top": "tau-b, of interest",
    "se_top": "SE claimed",
    "error_top": "error held out",
    "stability": "stability",
    "held_out_models": "tau-b, models held out",
    "held_out_attempts": "tau-b, attempts held out",
}
_VERDICTS = {
    "better": Text("better", style="green"),
    "worse": Text("worse", style="yellow"),
    "none": Text("no advantage"),
    None: Text("not defined", style="dim"),
}
_CLAIMED = (
    "The claimed standard error is of an item model fitted to the answers that the items were chosen by, so it "
    "flatters the subset; the error against held-out items (of subsets of half of the items, same share) does not."
)


def selection_document(
    trial: SubsetTrial, chooser: Chooser, log: ResponseLog, *, subsets: int, notes: Sequence[str] = ()
) -> dict[str, Any]:
    """Plain Python values; undefined is None."""
    document = {
        "v": 1,
        "by": chooser.method,
        "n_items": len(log.items),
        "n_kept": len(trial.kept),
        "n_models": len(log.models),
        "fingerprint": fingerprint(log),
        "item_model": chooser.model,
        "models_of_interest": trial.top,
        "random_subsets": subsets,
        "seed": chooser.seed,
        "figures": {
            name: {
                **{
                    key: value for key, value in asdict(each).items() if key not in ("median", "lo95", "hi95")
                },
                **{f"random_{key}": getattr(each, key) for key in ("median", "lo95", "hi95")},
            }
            for name, each in trial.figures.items()
        },
        "folds": trial.folds,
        "kept": trial.kept,
        "notes": [_CLAIMED, *notes],
    }
    return dict(plain(document))


def print_selection(document: Mapping[str, Any], stream: TextIO | None = None) -> None:
    """Print the document on stdout."""
    console = make_console(stream or sys.stdout)
    console.print(
        Text(
            f"{document['n_kept']:,} of {document['n_items']:,} items kept by {document['by']}, "
            f"{document['n_models']:,} models, {len(document['models_of_interest']):,} of interest",
            style="bold",
        )
    )
    table = Table(box=box.SIMPLE_HEAD)
    for header in ("", "subset", "random", "95 % of random", "as good", "verdict"):
        table.add_column(header, justify="right" if header else "left")
    figures = document["figures"]
    for name, title in _TITLES.items():
        each = figures[name]
        table.add_row(
            title,
            number(each["value"]),
            number(each["random_median"]),
            interval(each["random_lo95"], each["random_hi95"]),
            "" if each["as_good"] is None else f"{100 * each['as_good']:.1f} %",
            _VERDICTS[each["verdict"]],
        )
    print_table(console, table)
    console.print(
        Text(
            f"Beside {document['random_subsets']:,} random subsets of the same size: their median, and the share that "
            "is at least as good. What lies inside their spread is no advantage of the rule. tau-b: with the ranking "
            "by all items. SE claimed: of the abilities of the models of interest, logits, by the items' information. "
            "error held out: how far these abilities are from those on items that had no part in the choice.",
            style="dim",
        )
    )
    for name, title in _TITLES.items():
        if figures[name]["reason"]:
            console.print(Text(f"Not defined: {title}: {plain_text(figures[name]['reason'])}."))
    shown = document["kept"][:_IDS_SHOWN]
    rest = len(document["kept"]) - len(shown)
    ids = ", ".join(plain_text(item) for item in shown)
    more = f" and {rest:,} more (all with --json or --out-ids)" if rest else ""
    console.print(Text(f"Kept: {ids}{more}"), soft_wrap=True)
    for note in document["notes"]:
        console.print(Text(f"Note: {plain_text(note)}"), soft_wrap=True)
