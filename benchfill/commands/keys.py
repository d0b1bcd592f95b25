"""Before anything is asked: keys that do not grade true against themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from benchfill.errors import InputError

if TYPE_CHECKING:
    from benchfill.grading_settings import GradingSettings
    from benchfill.item import Item

__all__ = ["AcceptBadKeys", "refuse_bad_keys"]

SHOWN = 10

AcceptBadKeys = Annotated[
    bool,
    typer.Option("--accept-bad-keys", help="Go on although some keys do not grade true against themselves."),
]


def refuse_bad_keys(items: Sequence[Item], settings: GradingSettings, *, accept: bool) -> None:
    """List the keys that fail, and refuse to go on with them.

    No answer to such an item is graded right for certain, so that its difficulty would be the grader's mistake.

    Parameters
    ----------
    accept
        Only list them.

    Raises
    ------
    InputError
        ``bad_keys``.
    """
    from benchfill.tools.grading import Grader, failing_keys
    from benchfill.tools.sandbox import Sandbox

    with Sandbox() as sandbox:
        failing = asyncio.run(failing_keys(Grader(sandbox, settings), items))
    for item, grade in failing[:SHOWN]:
        typer.echo(
            f"Note: the key of {item.id!r} does not grade true ({grade.reason}): {item.answer[:80]!r}",
            err=True,
        )
    if failing and not accept:
        raise InputError(
            f"{len(failing)} of {len(items)} keys do not grade true against themselves.",
            "`benchfill grade --self-check ITEMS` lists them all. Correct them or the answer types, or go on with "
            "--accept-bad-keys.",
            kind="bad_keys",
        )
