"""The new items of a run, and one item with its whole story, for a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchfill.display.console import make_console, print_table
from benchfill.display.tables import STATUS_STYLE, status_tables
from benchfill.display.text import deviation, interval, number, plain_text, z_interval

__all__ = ["print_item", "print_run"]

KINDS = {"removed": "red strike", "added": "green", "same": "dim"}
MARKS = {"removed": ("[-", "-]"), "added": ("{+", "+}"), "same": ("", "")}


def print_run(document: Mapping[str, Any], stream: TextIO | None = None) -> None:
    """Gaps and candidates of a run; what stands, what replaced it and what reviewers said beside each."""
    console = make_console(stream or sys.stdout)
    gaps, _ = status_tables(document["gaps"], ())
    if gaps.row_count:
        print_table(console, gaps)
    table = Table(title="New items", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.padding = (0, 1, 0, 0)
    for header in ("item", "parent", "z, 90% interval", "attempts", "status"):
        table.add_column(header, overflow="fold", no_wrap=header == "item" or "90%" in header)
    for row in document["candidates"]:
        attempts, place = row["attempts"], z_interval(row["z_mean"], row["z_lo90"], row["z_hi90"])
        table.add_row(
            _plain(row["item"] or row["candidate"]),
            _plain(row["parent"] or "-"),
            Text(place),
            "-" if attempts is None else f"{attempts:,}",
            _standing(row),
        )
    print_table(console, table)


def _standing(row: Mapping[str, Any]) -> Text:
    status = Text(row["status"].replace("_", " "), style=STATUS_STYLE.get(row["status"], ""))
    if row["reason"]:
        status.append(f": {plain_text(row['reason']).replace('_', ' ')}")
    if row["by_hand"]:
        status.append(f", {row['by_hand']} by hand")
    if row["replaced_by"]:
        status.append(f", replaced by {plain_text(row['replaced_by'])}", style="yellow")
    elif row["stands"] == "maintainer":
        status.append(", stands by the maintainer's decision", style="yellow")
    elif row["status"] == "accepted" and row["stands"] is None:
        status.append(", rejected by the maintainer", style="red")
    if row["review"] not in (None, "unreviewed"):
        status.append(f", review: {row['review']}")
    return status


def print_item(document: Mapping[str, Any], stream: TextIO | None = None) -> None:
    """Everything that is known of one item."""
    console = make_console(stream or sys.stdout)
    item, candidate = document["item"], document.get("candidate")
    name = document["candidate"]["id"] if item is None else item["id"]
    console.print(
        Text(f"{plain_text(name)} of run {plain_text(document['run'])}", style="bold"), soft_wrap=True
    )
    if candidate is not None:
        _candidate(console, document)
    else:
        _line(console, "origin", "an item of the original benchmark")
    if item:
        _item(console, item)
    if document.get("difference"):
        _difference(console, document["difference"])
    if document["posterior"] is not None:
        _posterior(console, document["posterior"])
    if document["fit"] is not None:
        _fit(console, document["fit"])
    if document["attempts"]:
        print_table(console, _attempts(document["attempts"]))
    if candidate is not None:
        _judgement(console, document["judgement"])
        _calls(console, document["tool_calls"])
        _people(console, document)
    if document["children"]:
        _line(console, "children", ", ".join(map(plain_text, document["children"])))


def _candidate(console: Console, document: Mapping[str, Any]) -> None:
    candidate, lineage = document["candidate"], document["lineage"]
    status = Text(candidate["status"].replace("_", " "), style=STATUS_STYLE.get(candidate["status"], ""))
    if candidate["reason"]:
        status.append(f": {plain_text(candidate['reason']).replace('_', ' ')}")
    if candidate["replaced_by"]:
        status.append(f"; replaced by {plain_text(candidate['replaced_by'])}", style="yellow")
    stands = {"search": "accepted by the search", "hand": "written by hand", "maintainer": "by decision"}
    if candidate["stands"]:
        status.append(f"; stands ({stands[candidate['stands']]})")
    _line(console, "status", status)
    if lineage["gap"] is not None:
        where = f"gap {lineage['gap']} [{number(lineage['gap_lo'])}, {number(lineage['gap_hi'])}]"
        made = (
            f", round {lineage['round']}, writer {lineage['writer']}"
            if document["origin"] == "search"
            else ""
        )
        _line(console, "made for", f"{where}, target {number(lineage['target'])}{made}")
    _line(console, "parents", " <- ".join(map(plain_text, lineage["parents"])) or "none")
    if lineage["references"]:
        _line(console, "references", ", ".join(map(plain_text, lineage["references"])))
    if document["origin"] == "search":
        who = f"{plain_text(lineage['rewriter'])}, prompts {plain_text(lineage['prompt_version'])}"
    else:
        who = f"{document['origin']} by hand"
    _line(console, "written by", who)
    if lineage["rationale"]:
        _line(console, "rationale", plain_text(lineage["rationale"]))
    for refusal in document["refusals"]:
        reason = f"{plain_text(refusal['reason'])}: {plain_text(refusal.get('detail', ''))}"
        _line(console, "refused", Text(reason, style="red"))


def _item(console: Console, item: Mapping[str, Any]) -> None:
    _line(console, "question", _block(item["question"]))
    for letter, choice in zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", item["choices"], strict=False):
        _line(console, f"  {letter}", plain_text(choice))
    _line(console, "key", f"{plain_text(item['answer'])} ({item['answer_type']})")
    if item["solution"]:
        _line(console, "solution", _block(item["solution"]))


def _difference(console: Console, difference: Sequence[Mapping[str, str]]) -> None:
    """Words that went and came; marks beside the colours, for terminals without any."""
    fields = dict.fromkeys(each["field"] for each in difference)
    for field in fields:
        text = Text()
        for each in difference:
            if each["field"] == field:
                before, after = MARKS[each["kind"]]
                text.append(f"{before}{plain_text(each['text'])}{after}", style=KINDS[each["kind"]])
                text.append(" ")
        _line(console, "difference" if field == "question" else f"  {field}", text)


def _posterior(console: Console, found: Mapping[str, Any]) -> None:
    place = f"{number(found['z'])} {interval(found['z_lo90'], found['z_hi90'])}, {number(found['b_logits'], 2)} logits"
    parts = [place, f"{found['attempts']:,} attempts"]
    if found["source"] == "online":
        parts.append("confirmed" if found["confirmed"] else "unconfirmed")
        parts.append("ML none" if found["z_ml"] is None else f"ML {number(found['z_ml'])}")
    if found["expected_deviation"] is not None:
        parts.append(f"expected deviation {deviation(found['expected_deviation'])}")
    _line(console, "z", ", ".join(parts))


def _fit(console: Console, fit: Mapping[str, Any]) -> None:
    said = (
        f"p {number(fit['p'])}, residual misfit {number(fit['residual'], 2)} logits (the benchmark's own items "
        f"{number(fit['own_residual'], 2)})"
    )
    _line(console, "fit", Text(f"misfits: {said}", style="yellow") if fit["misfits"] else said)


def _attempts(attempts: Mapping[str, Mapping[str, Any]]) -> Table:
    table = Table(title="Attempts", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for header in ("model", "correct", "wrong", "missing"):
        table.add_column(
            header, justify="left" if header in ("model", "missing") else "right", overflow="fold"
        )
    for model, cell in attempts.items():
        missing = ", ".join(f"{plain_text(reason)} {count}" for reason, count in cell["missing"].items())
        table.add_row(_plain(model), str(cell["correct"]), str(cell["wrong"]), missing or "-")
    return table


def _judgement(console: Console, judgement: Mapping[str, Any] | None) -> None:
    if judgement is None:
        _line(console, "judgement", "none")
        return
    agrees = {True: "agrees with the key", False: "differs from the key", None: "not compared"}
    parts = [judgement["status"].replace("_", " ")]
    if judgement["blind_answer"] is not None:
        parts.append(
            f"blind answer {plain_text(judgement['blind_answer'])} ({agrees[judgement['blind_agrees']]})"
        )
    if judgement["problems"]:
        parts.append(", ".join(map(plain_text, judgement["problems"])))
    if judgement["reason"]:
        parts.append(plain_text(judgement["reason"]))
    _line(console, "judgement", "; ".join(parts))


def _calls(console: Console, calls: Mapping[str, Iterable[Mapping[str, Any]]]) -> None:
    for role, made in calls.items():
        for call in made:
            if call["tool"]:
                given = ", ".join(
                    f"{name}={plain_text(str(value))}" for name, value in call["arguments"].items()
                )
                said = f"{plain_text(call['tool'])}({given})"
            else:
                said = f"no call: {plain_text(str(call['text']))}"
            _line(console, f"{role} {call['turn'] + 1}", said)


def _people(console: Console, document: Mapping[str, Any]) -> None:
    for each in document["decisions"]:
        verdict = {"accept": "accepted", "reject": "rejected"}.get(each["verdict"], each["verdict"])
        _line(
            console,
            "decision",
            f"{verdict} by {plain_text(each['who'])}, {each['at']}{_seen(each)}: {plain_text(each['reason'])}",
        )
    review = document["review"]
    if review is None:
        return
    _line(console, "review", f"{review['outcome']}: {plain_text(review['why'])}")
    for each in review["decisions"]:
        said = [each["verdict"], *map(plain_text, each["reasons"])]
        said += [plain_text(each["comment"])] if each["comment"] else []
        _line(console, f"  {plain_text(each['reviewer'])}", ", ".join(said))


def _seen(decision: Mapping[str, Any]) -> str:
    return f" (review then: {decision['review']})" if decision["review"] else ""


def _line(console: Console, label: str, value: str | Text) -> None:
    """A labelled value, its further lines below its beginning."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(min_width=10, no_wrap=True, style="dim")
    grid.add_column(overflow="fold")
    grid.add_row(label, value if isinstance(value, Text) else Text(value))
    console.print(grid)


def _block(text: str) -> str:
    """Text with its own line breaks."""
    return "\n".join(plain_text(line) for line in text.splitlines())


def _plain(value: str) -> Text:
    return Text(plain_text(value))
