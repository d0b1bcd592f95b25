"""``benchfill grade``: grade answers one case a line, or check that every key grades true against itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from benchfill.errors import InputError

if TYPE_CHECKING:
    from benchfill.item import Item
    from benchfill.tools.grading import Grade, GradingSettings

__all__ = ["grade"]

AT_ONCE = 64
Case = TypeVar("Case")


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
    A case may also give tolerance, finish_reason and shown_order (place i showed option shown_order[i]).

    Examples:

      benchfill grade cases.jsonl

      benchfill grade cases.jsonl --set percent_as_fraction=true

      benchfill grade --self-check items.jsonl
    """
    from benchfill.tools.grading import read_settings

    if (cases is None) == (self_check is None):
        raise InputError("Nothing to grade.", "Name a file of cases, or --self-check ITEMS.")
    settings = read_settings(set_ or [])
    if cases is not None:
        asyncio.run(_grade_cases(cases, settings))
        return
    assert self_check is not None  # noqa: S101 - for the type checker
    failed, total = asyncio.run(_check_items(self_check, map_, settings))
    typer.echo(f"{total - failed} of {total} keys grade true against themselves.", err=True)
    if failed:
        raise typer.Exit(1)


async def _grade_cases(path: Path, settings: GradingSettings) -> None:
    from benchfill.tools.grading import Grader
    from benchfill.tools.sandbox import Sandbox

    cases = _read_cases(path)
    with Sandbox() as sandbox:
        grader = Grader(sandbox, settings)

        async def one(case: tuple[Item, str, str]) -> Grade:
            item, response, finish_reason = case
            return await grader.grade(item, response, finish_reason=finish_reason)

        await _print_grades([(case[0].id, case) for case in cases], one, only_failed=False)


async def _check_items(path: Path, mapping: list[str] | None, settings: GradingSettings) -> tuple[int, int]:
    from benchfill.logs.items import parse_mapping, read_items
    from benchfill.tools.grading import Grader
    from benchfill.tools.sandbox import Sandbox

    items = read_items(path, mapping=parse_mapping(mapping or [])).items
    with Sandbox() as sandbox:
        grader = Grader(sandbox, settings)
        failed = await _print_grades([(item.id, item) for item in items], grader.self_check, only_failed=True)
    return failed, len(items)


async def _print_grades(
    cases: Sequence[tuple[str, Case]], grade_one: Callable[[Case], Awaitable[Grade]], *, only_failed: bool
) -> int:
    """Print the grades in the order of the cases, as blocks of them are done; the number that are not correct."""
    failed = 0
    for start in range(0, len(cases), AT_ONCE):
        block = cases[start : start + AT_ONCE]
        grades = await asyncio.gather(*(grade_one(case) for _, case in block))
        for (name, _), grade in zip(block, grades, strict=True):
            failed += grade.verdict != "correct"
            if not only_failed or grade.verdict != "correct":
                line = {
                    "id": name,
                    "verdict": grade.verdict,
                    "extracted": grade.extracted,
                    "reason": grade.reason,
                }
                typer.echo(json.dumps(line, ensure_ascii=False))
    return failed


def _read_cases(path: Path) -> list[tuple[Item, str, str]]:
    from benchfill.logs.json_records import read_json_records
    from benchfill.logs.text import read_text
    from benchfill.tools.grading.cases import read_case

    return [
        read_case(record, str(path), line) for line, record in read_json_records(read_text(path), str(path))
    ]
