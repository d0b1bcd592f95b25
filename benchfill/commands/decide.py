"""``benchfill accept`` and ``reject``: the maintainer's own decision, kept beside everything else."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

__all__ = ["ReasonOption", "RunOption", "WhoOption", "accept", "reject", "who_decides"]

RunOption = Annotated[str | None, typer.Option("--run", help="Name of the run, else the one touched last.")]
ReasonOption = Annotated[str, typer.Option("--reason", help="Why; kept, and shown wherever the item is.")]
WhoOption = Annotated[
    str | None, typer.Option("--by", help="Who decides; default the user's name.", envvar="BENCHFILL_WHO")
]
ItemArgument = Annotated[str, typer.Argument(help="Id of a new item of the run.")]


def accept(item: ItemArgument, reason: ReasonOption, run: RunOption = None, by: WhoOption = None) -> None:
    """Let a new item stand, whatever search or reviewers made of it. It must have been judged and calibrated.

    It overrules what reviewers have said by now, not what they say later. An item that nobody has reviewed still needs
    `merge --unreviewed`.

    Example:

      benchfill accept bf-1a2b3c4d5e6f --reason "the reviewer misread the unit"
    """
    _decide(item, "accept", reason, run, by)


def reject(item: ItemArgument, reason: ReasonOption, run: RunOption = None, by: WhoOption = None) -> None:
    """Take a new item out of export, review and merge.

    Example:

      benchfill reject bf-1a2b3c4d5e6f --reason "too close to item 12"
    """
    _decide(item, "reject", reason, run, by)


def _decide(
    item: str, verdict: Literal["accept", "reject"], reason: str, run: str | None, by: str | None
) -> None:
    from benchfill.memory.pool import Pool
    from benchfill.memory.runs import find_run
    from benchfill.review.overruling import overrule
    from benchfill.settings import benchfill_home

    folder = find_run(benchfill_home(), run)
    with folder.lock():
        pool = Pool(folder.memory, create=False)
        try:
            overrule(pool, item, verdict, reason=reason, who=who_decides(by))
        finally:
            pool.close()
    typer.echo(f"{item}: {verdict}ed in run {folder.name}.", err=True)


def who_decides(named: str | None) -> str:
    """The name given, else that of the user of this machine."""
    if named:
        return named
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "maintainer"
