"""The checks of a diagnosis as lines: before the fit, of the data, and of the item model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.text import Text

from benchfill.display.text import counted, number, plain_text

__all__ = ["check_lines"]

_SHOWN = 3
Line = tuple[str | Text, Text]


def check_lines(document: Mapping[str, Any]) -> Iterator[Line]:
    """Mark and text of each line: one a check, offenders below it."""
    for check in document["prefit"]:
        yield from _prefit(check)
    yield from _data(document["data"])
    choice = document["model_choice"]
    if choice is not None:
        yield "item", Text(plain_text(choice["sentence"]))
    pool = document["pool_dependence"]
    if pool is not None:
        yield (
            "pool",
            Text(
                f"Halves of the pool ({pool['subsets']} refits): Max Gap {number(pool['max_gap'])}"
                f" [{number(pool['max_gap_lo90'])}, {number(pool['max_gap_hi90'])}],"
                f" an item's z +- {number(pool['median_z_sd'])} (posterior {number(pool['median_posterior_sd'])})"
            ),
        )


def _prefit(check: Mapping[str, Any]) -> Iterator[Line]:
    name = check["name"].replace("_", " ")
    wants = f"wants {'at least' if check['at_least'] else 'at most'} {check['limit']:g}"
    verdict = {True: ("pass", "green"), False: ("FAIL", "bold red"), None: ("none", "dim")}[check["passed"]]
    yield Text(*verdict), Text(f"{name} rate {number(check['value'])} ({wants})")
    if check["offenders"]:
        kind = check["name"].split("_")[0]
        named = [f"{plain_text(each['id'])} {number(each['value'], 2)}" for each in check["offenders"]]
        yield "", Text(f"{counted(len(named), kind)} beside it: {_some(named)}", style="dim")


def _data(data: Mapping[str, Any]) -> Iterator[Line]:
    """A line for each thing found; one when there is nothing."""
    found = False
    for key, noun, what in (
        ("always_right_models", "model", "right on every attempt: an artefact, or beyond this benchmark"),
        ("always_wrong_models", "model", "wrong on every attempt"),
        ("always_right_items", "item", "always solved"),
        ("always_wrong_items", "item", "never solved"),
        ("silent_models", "model", "without an answer"),
        ("unanswered_items", "item", "without an answer"),
    ):
        if data[key]:
            found = True
            yield "see", Text(f"{counted(len(data[key]), noun)} {what}: {_some(map(plain_text, data[key]))}")
    if data["repeats"]:
        found = True
        named = [f"{plain_text(each['model'])} ({each['cells']:,} cells)" for each in data["repeats"]]
        yield "see", Text(f"repeats identical in every cell, one attempt rather than several: {_some(named)}")
    if data["reversed_items"]:
        found = True
        named = [
            f"{plain_text(each['item'])} {number(each['correlation'], 2)}" for each in data["reversed_items"]
        ]
        count = f"{counted(len(named), 'item')} of {data['correlated_items']:,}"
        yield (
            "see",
            Text(f"{count} that weak models solve rather than strong ones (wrong key?): {_some(named)}"),
        )
    for twins in data["twins"]:
        found = True
        yield (
            "see",
            Text(f"the same answers in every cell, perhaps one model: {_some(map(plain_text, twins))}"),
        )
    if not found:
        yield Text("pass", "green"), Text("data: no extreme or repeated models, no reversed items")


def _some(names: Sequence[str] | Iterator[str]) -> str:
    every = list(names)
    more = f" and {len(every) - _SHOWN:,} more" if len(every) > _SHOWN else ""
    return ", ".join(every[:_SHOWN]) + more
