"""``benchfill resume``: go on with a run that was stopped."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from benchfill.commands.budget_options import Money, money_flags
from benchfill.commands.engine_options import AddressOption, EngineOption, where_of

__all__ = ["resume"]


@money_flags(answers=False)
def resume(
    run: Annotated[str | None, typer.Argument(help="Name of the run, else the one touched last.")] = None,
    *,
    money: Money,
    accept_drift: Annotated[
        bool, typer.Option("--accept-drift", help="Go on although an ability differs from the log.")
    ] = False,
    engine: EngineOption = "local",
    address: AddressOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Events as NDJSON on stdout.")] = False,
) -> None:
    """Go on with a run where it was stopped. Calls that were paid for are not asked again.

    A limit given here replaces that of the run; what its earlier sessions have spent counts (but for the time).

    Examples:

      benchfill resume

      benchfill resume my-run --max-calls 20000
    """
    from benchfill.commands.session import work_on
    from benchfill.memory.runs import find_run
    from benchfill.settings import benchfill_home, load_settings

    changes: dict[str, dict[str, Any]] = dict(money)
    today = load_settings(**changes)
    if "budget" in changes:
        # As they were read: a time is in seconds.
        changes["budget"] = {name: getattr(today.budget, name) for name in changes["budget"]}
    if accept_drift:
        changes["search"] = {"accept_drift": True}
    where = where_of(engine, address)
    work_on(find_run(benchfill_home(), run), today, as_json=as_json, changes=changes, where=where)
