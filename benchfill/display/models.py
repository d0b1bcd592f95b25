"""A comparison of item models and the figures of items, for a person."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, TextIO

from rich import box
from rich.table import Table
from rich.text import Text

from benchfill.calibration.model_comparison import Comparison, Contender
from benchfill.display.console import make_console, print_table
from benchfill.display.text import counted, number, plain_text

__all__ = ["comparison_document", "print_models"]

NAMES = {
    "1pl": "1PL",
    "model_slopes": "1PL, a slope a model",
    "2pl": "2PL",
    "4pl": "4PL",
    "4pl_slopes": "4PL, a slope a model",
    "neural": "neural 4PL (PSN-IRT)",
}
_SCOPES = {"benchmark": "each benchmark", "joint": "all together"}
_HIDDEN = {"cells": "hidden cells", "models": "answers of hidden models", "split": "the given answers"}


def comparison_document(found: Comparison, names: Sequence[str]) -> dict[str, Any]:
    """Plain Python values; undefined is None."""

    def one(each: Contender) -> dict[str, Any]:
        rest = {key: value for key, value in asdict(each).items() if key not in ("scores", "by_log")}
        by_log = zip(names, each.by_log, strict=True) if each.by_log else ()
        return {
            **rest,
            "scores": None if each.scores is None else asdict(each.scores),
            "by_log": {name: asdict(scores) for name, scores in by_log},
        }

    return {
        "hide": found.hide,
        "items": found.items,
        "of_items": found.of_items,
        "contenders": [one(each) for each in found.contenders],
        "best": found.best,
        "lowest": found.lowest,
        "sentence": _sentence(found),
    }


def _sentence(found: Comparison) -> str:
    if found.best is None or found.lowest is None:
        return "No item model could be fitted."
    best, lowest = found.contenders[found.best], found.contenders[found.lowest]
    text = f"Recommended: {_name(best.model, best.scope, found)}."
    if best is not lowest:
        text += (
            f" {_name(lowest.model, lowest.scope, found)} has the lowest log loss, by no more than two standard "
            "errors."
        )
    if found.items < found.of_items:
        text += f" Compared on a random {found.items:,} of {found.of_items:,} items."
    return text


def _name(model: str, scope: str, found: Comparison) -> str:
    several = len({each.scope for each in found.contenders}) > 1
    return f"{NAMES[model]}{f', fitted to {_SCOPES[scope]}' if several else ''}"


def print_models(document: Mapping[str, Any], stream: TextIO | None = None) -> None:
    """Show a document of ``benchfill models``."""
    console = make_console(stream or sys.stdout)
    comparison = document["comparison"]
    table = _table(
        f"Item models, by {_HIDDEN[comparison['hide']]}",
        *("model", "fitted to", "log loss", "gain", "s.e.", "accuracy", "F1", "AUC", "calibration error"),
    )
    for at, each in enumerate(comparison["contenders"]):
        scores = each["scores"]
        style = "bold" if at == comparison["best"] else ""
        cells: list[Text | str] = [Text(NAMES[each["model"]], style=style), _SCOPES[each["scope"]].split()[0]]
        if scores is None:
            cells += ["not fitted", *[""] * 6]
        else:
            cells += [
                number(scores["log_loss"], 4),
                number(each["gain"], 4),
                number(each["gain_se"], 4),
                *(number(scores[name]) for name in ("accuracy", "f1", "auc", "calibration_error")),
            ]
        table.add_row(*cells)
    print_table(console, table)
    for each in comparison["contenders"]:
        if each["failure"]:
            console.print(
                Text(f"{NAMES[each['model']]} not fitted: {plain_text(each['failure'])}"), soft_wrap=True
            )
    console.print(Text(comparison["sentence"]), soft_wrap=True)
    if comparison["best"] is not None:
        best = comparison["contenders"][comparison["best"]]
        _calibration(console, best["scores"]["calibration"])
    failure = document["item_model"]["failure"]
    if failure:
        console.print(Text(f"Figures of items: 4PL not fitted: {plain_text(failure)}"), soft_wrap=True)
    else:
        _benchmarks(console, document)
        _suspects(console, document["benchmarks"])
    for line in (*document["reservations"], *document["notes"]):
        console.print(Text(f"- {plain_text(line)}"), soft_wrap=True)


def _calibration(console: Any, bins: Sequence[Mapping[str, Any]]) -> None:
    table = _table("Calibration of the recommended model", "chance", "foretold", "came right", "answers")
    for each in bins:
        table.add_row(
            f"{each['lo']:.1f}-{each['hi']:.1f}",
            number(each["foretold"]),
            number(each["observed"]),
            f"{each['attempts']:,}",
        )
    print_table(console, table)


def _benchmarks(console: Any, document: Mapping[str, Any]) -> None:
    names = ("difficulty", "discrimination", "guessing", "feasibility")
    table = _table(
        f"Items under one 4PL, headroom and information at the ability of "
        f"{plain_text(document['item_model']['highest'])}",
        *("benchmark", "items", *names, "headroom", "information"),
    )
    shares = _table("Share of each estimate that is prior (mean; not identified)", "benchmark", *names)
    for each in document["benchmarks"]:
        figures = each["figures"]
        table.add_row(
            Text(plain_text(each["name"])),
            f"{each['n_items']:,}",
            *(number(figures[name]) for name in (*names, "headroom")),
            number(figures["information"], 4),
        )
        shares.add_row(
            Text(plain_text(each["name"])),
            *(
                f"{number(each['prior_share'][name], 2)}; {100 * each['not_identified'][name]:.0f}%"
                for name in names
            ),
        )
    print_table(console, table)
    print_table(console, shares)


def _suspects(console: Any, benchmarks: Sequence[Mapping[str, Any]]) -> None:
    table = _table("Items to look at", "benchmark", "item", "reason", "value", "probability")
    for each in benchmarks:
        for kind in each["suspects"]:
            for item in kind["first"]:
                table.add_row(
                    Text(plain_text(each["name"])),
                    Text(plain_text(item["item"])),
                    kind["reason"],
                    number(item["value"], 2),
                    number(item["probability"], 2),
                )
            more = kind["n"] - len(kind["first"])
            if more > 0:
                table.add_row(
                    Text(plain_text(each["name"])), f"and {counted(more, 'item')}", kind["reason"], "", ""
                )
    if table.row_count:
        print_table(console, table)
    else:
        console.print(
            Text(
                "No item is named: no item's own answers put its guessing or feasibility beyond the limit with a "
                "probability of 0.9. A log with few models and attempts can name none."
            ),
            soft_wrap=True,
        )


def _table(title: str, *headers: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.padding = (0, 1, 0, 0)
    for at, header in enumerate(headers):
        table.add_column(header, justify="left" if at == 0 else "right", overflow="fold")
    return table
