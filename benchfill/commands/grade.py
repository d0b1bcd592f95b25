"""``benchfill grade``: grade answers one case a line, or check that every key grades true against itself."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchfill.errors import InputError

if TYPE_CHECKING:
    from benchfill.item import Item
    from benchfill.tools.grading import Grade, GradingSettings

__all__ = ["grade"]

AT_ONCE = 64


def grade(
    cases: Annotated[
        Path | None,
        typer.Argument(metavar="CASES", help="JSONL: id, reference, response, answer_type, choices."),
    ] = None,
    self_check: Annotated[
        Path | None, typer.Option("--self-check", metavar="ITEMS", help="List keys that do not grade true.")
    ] = None,
    map_: Annotated[
        list[str] | None,
        typer.Option(
            "--map", metavar="FIELD=PATH", help="Name of a field of ITEMS, e.g. question=doc.problem."
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A grading setting, e.g. rounding=both."),
    ] = None,
) -> None:
    """Grade responses against references, one JSON line a case: id, verdict, extracted, reason.

    Verdicts: correct, wrong, no_answer (finished or cut without an answer), ungraded (nobody can tell; missing).
    A case may also give tolerance, finish_reason and shown_order (place i showed option shown_order[i]);
    instruction_id_list and kwargs stand for a reference.
    Settings come from [grading] of benchfill.toml; --set overrides them.

    Examples:

      benchfill grade cases.jsonl

      benchfill grade cases.jsonl --set percent_as_fraction=true

      benchfill grade --self-check items.jsonl
    """
    from benchfill.settings import load_settings

    nothing = InputError("Nothing to grade.", "Name a file of cases, or --self-check ITEMS.")
    if cases is not None and self_check is not None:
        raise nothing
    flags = _settings_of(set_ or [])
    settings = load_settings(**({"grading": flags} if flags else {})).grading
    if cases is not None:
        asyncio.run(_grade_cases(cases, settings))
        return
    if self_check is None:
        raise nothing
    failed, total = asyncio.run(_check_items(self_check, map_, settings))
    typer.echo(f"{total - failed} of {total} keys grade true against themselves.", err=True)
    if failed:
        raise typer.Exit(1)


def _settings_of(pairs: list[str]) -> dict[str, str]:
    """Grading settings from texts like ``rounding=both``."""
    values: dict[str, str] = {}
    for pair in pairs:
        name, mark, value = (part.strip() for part in pair.partition("="))
        if not (name and mark and value):
            raise InputError(f"--set {pair!r} is not NAME=VALUE.", "For example: --set rounding=both")
        values[name] = value
    return values


async def _grade_cases(path: Path, settings: GradingSettings) -> None:
    from benchfill.tools.grading import Grader
    from benchfill.tools.sandbox import Sandbox

    cases = _read_cases(path)
    with Sandbox() as sandbox:
        grader = Grader(sandbox, settings)

        for start in range(0, len(cases), AT_ONCE):
            block = cases[start : start + AT_ONCE]
            grades = await asyncio.gather(
                *(grader.grade(item, response, finish_reason=end) for item, response, end in block)
            )
            for (item, _, _), grade in zip(block, grades, strict=True):
                _print(item, grade)


async def _check_items(path: Path, mapping: list[str] | None, settings: GradingSettings) -> tuple[int, int]:
    from benchfill.logs.items import parse_mapping, read_items
    from benchfill.tools.grading import Grader, failing_keys
    from benchfill.tools.sandbox import Sandbox

    file = read_items(path, mapping=parse_mapping(mapping or []))
    # Options that stand twice or characters that were repaired change what an item asks, though its key grades true.
    for note in file.notes:
        typer.echo(f"Note: {note}", err=True)
    items = file.items
    with Sandbox() as sandbox:
        failing = await failing_keys(Grader(sandbox, settings), items)
    for item, grade in failing:
        _print(item, grade)
    return len(failing), len(items)


def _print(item: Item, grade: Grade) -> None:
    line = {"id": item.id, "verdict": grade.verdict, "extracted": grade.extracted, "reason": grade.reason}
    typer.echo(json.dumps(line, ensure_ascii=False))


def _read_cases(path: Path) -> list[tuple[Item, str, str]]:
    from benchfill.logs.constraints import constraint_key
    from benchfill.logs.json_records import read_json_records
    from benchfill.logs.text import read_text
    from benchfill.tools.grading.cases import read_case

    cases = []
    for line, record in read_json_records(read_text(path), str(path)):
        constraints = constraint_key(record)
        if constraints and "reference" not in record:
            record = {**record, "reference": constraints, "answer_type": "instructions"}
        cases.append(read_case(record, str(path), line))
    return cases
