"""The checks of a diagnosis as lines: before the fit, of the data, and of the item model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich.text import Text

from benchfill.display.text import counted, number, plain_text

__all__ = ["check_lines"]

Line = tuple[str | Text, Text]


def check_lines(document: Mapping[str, Any], *, shown: int = 3) -> Iterator[Line]:
    """Mark and text of each line: one a check, at most so many offenders below it."""
    for check in document["prefit"]:
        yield from _prefit(check, shown)
    yield from _data(document["data"], shown)
    yield from _item_fit(document["item_fit"], shown)
    yield from _shuffle(document["shuffle"])
    choice = document["model_choice"]
    if choice is not None:
        mark = Text("pass", "green") if choice["best"] == "1pl" else Text("see", "yellow")
        yield mark, Text(f"item model: {plain_text(choice['sentence'])}")
    ranks = document["rank_stability"]
    if ranks is not None:
        yield _ranks(ranks)


def _prefit(check: Mapping[str, Any], shown: int) -> Iterator[Line]:
    name = check["name"].replace("_", " ")
    wants = f"wants {'at least' if check['at_least'] else 'at most'} {check['limit']:g}"
    verdict = {True: ("pass", "green"), False: ("FAIL", "bold red"), None: ("none", "dim")}[check["passed"]]
    yield Text(*verdict), Text(f"{name} rate {number(check['value'])} ({wants})")
    if check["offenders"]:
        kind, about = check["name"].split("_")
        fault = "without information" if about == "information" else "above the limit"
        named = [f"{plain_text(each['id'])} {number(each['value'], 2)}" for each in check["offenders"]]
        yield "", Text(f"{counted(len(named), kind)} {fault}: {_some(named, shown)}", style="dim")


def _data(data: Mapping[str, Any], shown: int) -> Iterator[Line]:
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
            yield (
                "see",
                Text(f"{counted(len(data[key]), noun)} {what}: {_some(map(plain_text, data[key]), shown)}"),
            )
    if data["repeats"]:
        found = True
        named = [f"{plain_text(each['model'])} ({each['cells']:,} cells)" for each in data["repeats"]]
        yield (
            "see",
            Text(f"repeats identical in every cell, one attempt rather than several: {_some(named, shown)}"),
        )
    if data["reversed_items"]:
        found = True
        named = [
            f"{plain_text(each['item'])} {number(each['correlation'], 2)}" for each in data["reversed_items"]
        ]
        count = f"{counted(len(named), 'item')} of {data['correlated_items']:,}"
        yield (
            "see",
            Text(
                f"{count} that weak models solve rather than strong ones (wrong key?): {_some(named, shown)}"
            ),
        )
    for twins in data["twins"]:
        found = True
        yield (
            "see",
            Text(
                f"the same answers in every cell, perhaps one model: {_some(map(plain_text, twins), shown)}"
            ),
        )
    if not found:
        yield Text("pass", "green"), Text("data: no extreme or repeated models, no reversed items")


def _item_fit(found: Mapping[str, Any] | None, shown: int) -> Iterator[Line]:
    if found is None:
        return
    misfit = [each for each in found["flagged"] if "misfit" in each["reasons"]]
    mark = Text("see", "yellow") if misfit else Text("pass", "green")
    yield (
        mark,
        Text(
            f"item fit: {counted(len(misfit), 'item')} the 1PL does not describe;"
            f" residual misfit {number(found['overall_residual'], 2)} logits a cell"
        ),
    )
    if misfit:
        named = [f"{plain_text(each['id'])} {number(each['residual'], 2)}" for each in misfit]
        yield "", Text(_some(named, shown), style="dim")


def _shuffle(found: Mapping[str, Any] | None) -> Iterator[Line]:
    """Structure found in the real answers and in shuffled ones, in nats an attempt over the models' scores."""
    if found is None:
        return
    real, real_se = found["real"]["held_out_gain"], found["real"]["held_out_se"]
    most = max(each["held_out_gain"] for each in found["shuffled"])
    beside = f"{number(most, 4)} at most when shuffled"
    error = "" if real_se is None else f" (standard error {number(real_se, 4)})"
    gain = f"held-out gain {number(real, 4)}{error} nats an attempt"
    if not found["passed"]:
        mark, what = Text("FAIL", "bold red"), f"structure is found in shuffled answers too: {gain}, {beside}"
    elif found["structured"]:
        mark, what = Text("pass", "green"), f"{gain}, {beside}"
    elif real > most:
        mark, what = Text("see", "yellow"), f"{gain}, not clear of chance; {beside}"
    else:
        mark, what = Text("FAIL", "bold red"), f"no more structure than in shuffled answers: {gain}, {beside}"
    if found["items"] < found["of_items"]:
        what += f"; on a random {found['items']:,} of {found['of_items']:,} items"
    yield mark, Text(f"shuffle control: {what}")


def _ranks(found: Mapping[str, Any]) -> Line:
    counts = {
        verdict: sum(pair["verdict"] == verdict for pair in found["pairs"])
        for verdict in ("guaranteed", "likely_reversed", "possibly_reversed")
    }
    risky = counts["likely_reversed"] + counts["possibly_reversed"]
    return (
        Text("see", "yellow") if risky else Text("pass", "green"),
        Text(
            f"order of models under the target: of {counted(len(found['pairs']), 'pair')}"
            f" {counts['likely_reversed']:,} likely and {counts['possibly_reversed']:,} possibly reversed,"
            f" {counts['guaranteed']:,} guaranteed; curves of {found['crossing']:,} cross"
        ),
    )


def _some(names: Iterable[str], shown: int) -> str:
    every = list(names)
    more = f" and {len(every) - shown:,} more" if len(every) > shown else ""
    return ", ".join(every[:shown]) + more
