"""One process that takes items written by hand into a run, through the endpoints of the run."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchfill.errors import InputError
from benchfill.graph.by_hand import HandResult, HandWritten, take_in
from benchfill.graph.open_search import make_search
from benchfill.graph.opened import open_run
from benchfill.graph.probe import check_before_work
from benchfill.graph.search import Emit
from benchfill.graph.session import changed_settings
from benchfill.graph.stopping import Stopping
from benchfill.memory.pool import Pool
from benchfill.memory.runs import RunFolder
from benchfill.settings import Settings

__all__ = ["take_in_items"]


async def take_in_items(
    folder: RunFolder,
    ledger: Path,
    written: Sequence[HandWritten],
    *,
    who: str,
    reason: str,
    today: Settings,
    changes: Mapping[str, Mapping[str, Any]],
    emit: Emit,
    go_on: str,
    on_result: Callable[[HandWritten, HandResult], None],
) -> list[HandResult]:
    """Take in one item after the other, each screened against those before it.

    Parameters
    ----------
    folder
        Of the run, held by its lock.
    changes
        Sections of the run's settings that are changed for good: the budget.
    go_on
        The command that goes on where this one stops.
    on_result
        Told of each as it is settled.

    Raises
    ------
    InputError
        The run has no frozen scale yet (kind ``not_ready``), and what `take_in` raises.
    Interrupted, RunPaused, BudgetSpent
        What was paid for is in the ledger: the same command goes on there.
    """
    pool = Pool(folder.memory, create=False)
    try:
        if pool.scale() is None:
            raise InputError(
                f"Run {folder.name} has no scale to calibrate an item on.",
                f"Go on with it first: benchfill resume {folder.name}",
                kind="not_ready",
            )
        run = pool.run()
        pool.save_run(dataclasses.replace(run, settings=changed_settings(run.settings, changes)))
        stopping = Stopping(
            lambda: emit("stage", name="stop", message="stopping: calls in flight may finish", fraction=None)
        )

        async def work() -> list[HandResult]:
            found = []
            async with open_run(folder, pool, ledger, today, stopping, emit, go_on=go_on) as opened:
                if not opened.run.world:
                    await check_before_work(pool, opened.run, opened.models, opened.settings, emit)
                search = make_search(pool, opened.settings, opened.models, opened.sandbox, emit)
                for each in written:
                    result = await take_in(search, each, who=who, reason=reason)
                    on_result(each, result)
                    found.append(result)
            return found

        with stopping.listening():
            return await stopping.unless_stopped(work())
    finally:
        pool.close()
