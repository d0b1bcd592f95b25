"""A test of a gain, and its power, for a person; and their JSON documents."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, TextIO, get_args

from rich import box
from rich.table import Table
from rich.text import Text

from benchfill.calibration.detection import Detection, GainTest
from benchfill.calibration.pairing import Pairing
from benchfill.calibration.power import MOST_ATTEMPTS, Design, Test, WorstCase
from benchfill.display.console import make_console, print_table
from benchfill.display.text import counted, number, plain_text

__all__ = ["detection_document", "power_document", "print_detection", "print_power"]

_IDS_SHOWN = 8
_MODELS_SHOWN = 5
_SOURCES = {
    "difficulties": "from the difficulty files",
    "pool": "from the pool's log",
    "both_logs": "from both logs together",
    "none": "undefined",
}


def detection_document(
    result: Detection, pairing: Pairing, source: str, level: float, notes: Sequence[str]
) -> dict[str, Any]:
    """Plain Python values; undefined is None."""
    return {
        "v": 1,
        "models": [{"before": before, "after": after} for before, after in pairing.models],
        "attempts": {
            side: {"total": int(log.attempts.sum()), "correct": int(log.correct.sum())}
            for side, log in (("before", pairing.before), ("after", pairing.after))
        },
        "axis": source,
        "level": level,
        "width": result.width,
        "randomisations": result.randomisations,
        "seed": result.seed,
        "groups": {name: _group(test) for name, test in result.groups.items()},
        "notes": list(notes),
    }


def _group(test: GainTest) -> dict[str, Any]:
    window, gap = test.window, test.gap
    return {
        "n_items": test.n_items,
        "n_placed": test.n_placed,
        "gain": test.gain,
        "gain_sd": test.gain_sd,
        "p_mean": test.p_mean,
        "p_scan": test.p_scan,
        "window": None
        if window is None
        else {
            "lo": window.lo,
            "hi": window.hi,
            "gain": window.gain,
            "statistic": window.statistic,
            "items": list(window.items),
        },
        "max_gap": None if gap is None else gap.width,
        "gap": None if gap is None else {"lo": gap.lo, "hi": gap.hi},
        "hides": test.hides,
    }


def print_detection(document: Mapping[str, Any], stream: TextIO | None = None) -> None:
    """Print the document on stdout."""
    console = make_console(stream or sys.stdout)
    for pair in document["models"][:_MODELS_SHOWN]:
        before, after = plain_text(pair["before"]), plain_text(pair["after"])
        names = f"{before}, before and after" if before == after else f"{before} -> {after}"
        console.print(Text(names, style="bold"), soft_wrap=True)
    if len(document["models"]) > 1:
        total = f"{len(document['models']):,} models: each is compared with itself, and an item's gain is their mean"
        console.print(Text(total), soft_wrap=True)
    console.print(
        Text(
            f"axis {_SOURCES[document['axis']]}; {document['randomisations']:,} re-deals, seed {document['seed']}; "
            "p-values are one-sided"
        ),
        soft_wrap=True,
    )
    table = Table(title="Gain", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for header in ("items", "n", "mean gain", "p (mean)", "p (scan)", "window z", "gain there", "Max Gap"):
        table.add_column(
            header,
            justify="left" if header == "items" else "right",
            no_wrap=header in ("items", "window z"),
            min_width=len("original") if header == "items" else None,
        )
    for name, group in document["groups"].items():
        window = group["window"]
        table.add_row(
            name,
            f"{group['n_items']:,}",
            _signed(group["gain"]),
            number(group["p_mean"], 4),
            number(group["p_scan"], 4),
            "-" if window is None else f"{number(window['lo'])} to {number(window['hi'])}",
            "-" if window is None else _signed(window["gain"]),
            number(group["max_gap"]),
        )
    print_table(console, table)
    for name, group in document["groups"].items():
        for sentence in _sentences(name, group, document):
            console.print(Text(sentence), soft_wrap=True)
    for note in document["notes"]:
        console.print(Text(f"Note: {plain_text(note)}"), soft_wrap=True)


def _sentences(name: str, group: Mapping[str, Any], document: Mapping[str, Any]) -> list[str]:
    level, width, window, gap = document["level"], document["width"], group["window"], group["gap"]
    seen = [
        label
        for label, p in (("mean", group["p_mean"]), ("scan", group["p_scan"]))
        if p is not None and p <= level
    ]
    found = [
        f"{name}: "
        + (f"a gain is seen ({' and '.join(seen)})" if seen else f"no gain seen at level {level:g}")
    ]
    if "scan" in seen and window is not None:
        ids = [plain_text(item) for item in window["items"][:_IDS_SHOWN]]
        rest = len(window["items"]) - len(ids)
        found[0] += f"; most of it on {', '.join(ids)}" + (f" and {rest} more" if rest else "")
    found[0] += "."
    if gap is not None:
        where = f"the gap z {number(gap['lo'])} to {number(gap['hi'])}"
        if group["hides"]:
            found.append(
                f"{name}: a lift {width:g} wide can lie inside {where} without touching an item: these items could not "
                "have shown it, at any number of attempts."
            )
        elif group["hides"] is False:
            found.append(
                f"{name}: a lift {width:g} wide touches at least one item wherever it lies; how surely it is seen with "
                "these attempts says benchfill power."
            )
        elif not seen:
            found.append(f"{name}: a lift narrower than {where} would not show on these items.")
    return found


def _signed(value: float) -> str:
    text = number(value)
    return text if text.startswith("-") or float(text) == 0.0 else f"+{text}"


def power_document(
    design: Design,
    worst: WorstCase | None,
    widths: Mapping[Test, float | None],
    needed: Mapping[Test, int | None] | None,
    *,
    items_needed: int | None,
    model: Mapping[str, Any],
    asked: Mapping[str, Any],
    notes: Sequence[str],
) -> dict[str, Any]:
    """What `print_power` shows: plain Python values; undefined is None."""
    gap = design.gap
    return {
        "v": 1,
        "n_items": int(design.z.size),
        "max_gap": gap.width,
        "gap": {"lo": gap.lo, "hi": gap.hi},
        "model": dict(model),
        "lift": design.lift,
        "level": design.level,
        **asked,
        "invisible": None if worst is None else worst.invisible,
        "items_needed": items_needed,
        "tests": {
            test: {
                "worst_case": None if worst is None else asdict(getattr(worst, test)),
                "attempts_needed": None if needed is None else needed[test],
                "smallest_width": widths[test],
            }
            for test in get_args(Test)
        },
        "most_attempts": MOST_ATTEMPTS,
        "simulations": design.simulations,
        "seed": design.seed,
        "notes": list(notes),
    }


def print_power(document: Mapping[str, Any], stream: TextIO | None = None) -> None:
    """Print the document on stdout."""
    console = make_console(stream or sys.stdout)
    model, width, gap = document["model"], document["width"], document["gap"]
    name = plain_text(model["name"]) if model["name"] is not None else "a model"
    console.print(
        Text.assemble(
            (f"{document['n_items']:,} items, {name}", "bold"),
            f" of ability {number(model['theta'], 2)} logits, mean success {number(model['accuracy'])}",
        ),
        soft_wrap=True,
    )
    console.print(
        Text(
            f"lift {document['lift']:g} wherever it lies, {document['attempts']:,} attempts before and after, "
            f"level {document['level']:g}; simulated, {document['simulations']:,} pairs of logs a figure"
        ),
        soft_wrap=True,
    )
    console.print(
        Text(
            f"Max Gap {number(document['max_gap'])} (z {number(gap['lo'])} to {number(gap['hi'])}): "
            "a lift narrower than that can be invisible, at any number of attempts."
        ),
        soft_wrap=True,
    )
    wanted = f"{document['power']:g}"
    table = Table(title="Worst case", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    headers = ["test", f"smallest width seen (power {wanted})"]
    if width is not None:
        headers += [f"power at width {width:g}", "where z", f"attempts for power {wanted}"]
    for header in headers:
        table.add_column(header, justify="left" if header == "test" else "right")
    for test, found in document["tests"].items():
        row = [test, number(found["smallest_width"], 2)]
        if width is not None:
            worst, needed = found["worst_case"], found["attempts_needed"]
            power = f"{number(worst['power'], 2)}{' (the level)' if document['invisible'] else ''}"
            row += [
                power,
                f"{number(worst['lo'])} to {number(worst['hi'])}",
                "-" if needed is None else f"{needed:,}",
            ]
        table.add_row(*row)
    print_table(console, table)
    if document["invisible"]:
        console.print(
            Text(
                f"A lift {width:g} wide can lie in a gap: no number of attempts shows it. At least "
                f"{counted(document['items_needed'], 'item')} must be added so that it cannot (benchfill run)."
            ),
            soft_wrap=True,
        )
    for note in document["notes"]:
        console.print(Text(f"Note: {plain_text(note)}"), soft_wrap=True)
