"""``benchfill edit`` and ``add``: items written by hand, screened, judged and calibrated like any other."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from benchfill.commands.axis_options import JsonOption, MapOption
from benchfill.commands.budget_options import Money, money_flags
from benchfill.commands.decide import ReasonOption, RunOption, WhoOption, who_decides
from benchfill.errors import InputError

if TYPE_CHECKING:
    from benchfill.graph.by_hand import HandResult, HandWritten
    from benchfill.item import Item
    from benchfill.memory.runs import RunFolder

__all__ = ["add", "edit"]

NOT_TAKEN = 1


@money_flags(answers=False)
def edit(
    item: Annotated[str, typer.Argument(help="Id of a new item of the run.")],
    reason: ReasonOption,
    run: RunOption = None,
    question: Annotated[str | None, typer.Option("--question", help="New question.")] = None,
    answer: Annotated[str | None, typer.Option("--answer", help="New key.")] = None,
    solution: Annotated[str | None, typer.Option("--solution", help="New solution.")] = None,
    choice: Annotated[
        list[str] | None, typer.Option("--choice", help="New options, one each time, in order.")
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--from", help="A file with one JSON object of the fields that change.")
    ] = None,
    by: WhoOption = None,
    *,
    money: Money,
    as_json: JsonOption = False,
) -> None:
    """Put an edited text in the place of a new item: without a text given, in your $EDITOR.

    The edited item is another item: it is screened, judged and calibrated anew, marked as edited by hand, and reviews
    of the old text do not count for it. The old one stands aside once the new one is accepted.

    Examples:

      benchfill edit bf-1a2b3c4d5e6f --reason "unit was missing"

      \b
    benchfill edit bf-1a2b3c4d5e6f --reason "key was wrong" --answer 42 \\
      --solution "6 * 7 = 42"
    """
    from benchfill.commands.item_text import edit_in_editor
    from benchfill.graph.by_hand import HandWritten
    from benchfill.memory.pool import Pool
    from benchfill.memory.runs import find_run
    from benchfill.settings import benchfill_home

    folder = find_run(benchfill_home(), run)
    pool = Pool(folder.memory, create=False)
    old = pool.item(item)
    pool.close()
    if old is None:
        raise InputError(
            f"Run {folder.name} has no item {item}.", "`benchfill show` lists them.", kind="unknown_item"
        )
    given = {
        "question": question,
        "answer": answer,
        "solution": solution,
        "choices": tuple(choice) if choice else None,
        **(_fields_of(source) if source else {}),
    }
    changed: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if changed:
        new: Item | None = dataclasses.replace(old, **changed)
    else:
        new = edit_in_editor(old, os.environ.get("VISUAL") or os.environ.get("EDITOR"))
    if new is None or new == old:
        typer.echo("Nothing was changed.", err=True)
        raise typer.Exit
    _take_in(
        folder,
        [HandWritten(new, replaces=item)],
        who=who_decides(by),
        reason=reason,
        money=money,
        as_json=as_json,
        go_on=f"benchfill edit {item} again, with the same text",
    )


@money_flags(answers=False)
def add(
    items: Annotated[Path, typer.Argument(metavar="ITEMS", help="Items (JSONL) written by hand.")],
    reason: ReasonOption = "written by hand",
    run: RunOption = None,
    map_: MapOption = None,
    by: WhoOption = None,
    *,
    money: Money,
    as_json: JsonOption = False,
) -> None:
    """Screen, judge and calibrate items written by hand, and add those that pass to the run's new items.

    Each needs a question, an answer and a solution, and a type that the benchmark has.

    Example:

      benchfill add mine.jsonl --run my-run
    """
    from benchfill.graph.by_hand import HandWritten
    from benchfill.logs.items import parse_mapping, read_items
    from benchfill.memory.runs import find_run
    from benchfill.settings import benchfill_home

    file = read_items(items, mapping=parse_mapping(map_ or []))
    for note in file.notes:
        typer.echo(f"Note: {note}", err=True)
    _take_in(
        find_run(benchfill_home(), run),
        [HandWritten(item) for item in file.items],
        who=who_decides(by),
        reason=reason,
        money=money,
        as_json=as_json,
        go_on=f"benchfill add {items}",
    )


def _fields_of(path: Path) -> dict[str, object]:
    from benchfill.logs.json_records import plain_value, read_json_records
    from benchfill.logs.text import read_text

    records = read_json_records(read_text(path), str(path))
    known = {"question", "answer", "solution", "choices"}
    fields = plain_value(records[0][1])
    unknown = sorted(set(fields) - known)
    if len(records) != 1 or unknown:
        raise InputError(
            f"{path} is not one object of the fields that change.",
            f"Fields are {', '.join(sorted(known))}.",
            kind="bad_field",
            path=str(path),
        )
    if not all(isinstance(value, str) for name, value in fields.items() if name != "choices"):
        raise InputError(
            f"{path}: a field is not text.", "Put it in quotes.", kind="bad_field", path=str(path)
        )
    if "choices" in fields:
        fields["choices"] = tuple(str(each) for each in fields["choices"])
    return dict(fields)


def _take_in(
    folder: RunFolder,
    written: Sequence[HandWritten],
    *,
    who: str,
    reason: str,
    money: Money,
    as_json: bool,
    go_on: str,
) -> NoReturn:
    from benchfill.display.by_hand import print_results, result_line
    from benchfill.graph.hand_session import take_in_items
    from benchfill.graph.stopping import Interrupted
    from benchfill.settings import benchfill_home, load_settings

    def emit(event: str, /, **fields: object) -> None:
        if event == "stage":
            typer.echo(str(fields["message"]), err=True)
        elif event == "waiting":
            typer.echo(f"waiting for {fields['endpoint']}: {fields['reason']}", err=True)

    def on_result(each: HandWritten, result: HandResult) -> None:
        if not as_json:
            typer.echo(result_line(each, result), err=True)

    today = load_settings(**money)
    # As they were read: a time is in seconds.
    changes = (
        {"budget": {name: getattr(today.budget, name) for name in money["budget"]}}
        if "budget" in money
        else {}
    )
    with folder.lock():
        try:
            results = asyncio.run(
                take_in_items(
                    folder,
                    benchfill_home() / "ledger.sqlite",
                    written,
                    who=who,
                    reason=reason,
                    today=today,
                    changes=changes,
                    emit=emit,
                    go_on=go_on,
                    on_result=on_result,
                )
            )
        except Interrupted as stop:
            typer.echo(f"Stopped. What was paid for is kept: {go_on}", err=True)
            raise typer.Exit(128 + stop.signum) from None
    if as_json:
        document = {"v": 1, "run": folder.name, "items": [dataclasses.asdict(each) for each in results]}
        typer.echo(json.dumps(document, ensure_ascii=False))
    else:
        print_results(results)
    raise typer.Exit(0 if all(each.status == "accepted" for each in results) else NOT_TAKEN)
