"""``benchfill resume``: go on with a run that was stopped."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["resume"]


def resume(
    run: Annotated[str | None, typer.Argument(help="Name of the run, else the one touched last.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Events as NDJSON on stdout.")] = False,
) -> None:
    """Go on with a run where it was stopped. Calls that were paid for are not asked again.

    Example:

      benchfill resume
    """
    from benchfill.commands.session import work_on
    from benchfill.memory.runs import find_run
    from benchfill.settings import benchfill_home, load_settings

    work_on(find_run(benchfill_home(), run), load_settings(), as_json=as_json)
