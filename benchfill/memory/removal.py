"""What is thrown away: a run with its folder and the calls that only it used, or calls that no run needs."""

from __future__ import annotations

import shutil
from pathlib import Path

from benchfill.errors import BenchfillError, InputError
from benchfill.memory.ledger import Ledger
from benchfill.memory.ledger_pruning import (
    PruningPlan,
    RemovedCalls,
    plan_pruning,
    prune_calls,
    remove_calls,
    shrink_file,
)
from benchfill.memory.pool import Pool
from benchfill.memory.runs import RunFolder, list_runs

__all__ = ["LEDGER", "plan_for", "prune_ledger", "refuse_active_runs", "remove_run"]

LEDGER = "ledger.sqlite"


def remove_run(home: Path, folder: RunFolder, *, calls: bool) -> RemovedCalls | None:
    """Delete a run for good.

    Parameters
    ----------
    calls
        Also the calls of the ledger that no other run used.

    Returns
    -------
    RemovedCalls or None
        None where the ledger was left alone.

    Raises
    ------
    InputError
        Another process works in the run (kind ``run_in_use``), or the folder cannot be deleted.
    """
    removed = None
    with folder.lock():
        # Its name goes first: what is left of a deletion that fails is no run any more.
        away = folder.path.with_name(f".{folder.name}.removed")
        try:
            shutil.rmtree(away, ignore_errors=True)
            folder.path.rename(away)
            shutil.rmtree(away)
        except OSError as error:
            raise InputError(
                f"The run folder {folder.path} cannot be deleted: {error.strerror}.",
                "Close what uses it, and check its permissions.",
                kind="unwritable",
                path=str(folder.path),
            ) from None
        paid = home / LEDGER
        if calls and paid.is_file():
            with Ledger(paid) as ledger:
                removed = remove_calls(ledger, folder.name, alone=not list_runs(home))
    return removed


def plan_for(home: Path, *, keep_requests: bool) -> PruningPlan:
    """What pruning the ledger would throw away, as the runs stand."""
    with Ledger(home / LEDGER) as ledger:
        finished, unfinished = _standing(home)
        return plan_pruning(ledger, finished=finished, unfinished=unfinished, keep_requests=keep_requests)


def refuse_active_runs(home: Path) -> None:
    """Refuse while a process works in a run.

    Raises
    ------
    InputError
        It names the first such run (kind ``run_in_use``).
    """
    for folder in list_runs(home):
        with folder.lock():
            pass


def prune_ledger(home: Path, plan: PruningPlan, *, keep_requests: bool) -> None:
    """Throw away what the plan says, in one transaction, and make the file smaller.

    Killed at any moment, either everything or nothing of the plan is gone, and the same command goes on.

    Raises
    ------
    InputError
        A process works in a run (kind ``run_in_use``), or the disk has no room for the smaller file (``disk_full``).
    BenchfillError
        The ledger is in use, or what would go is no longer what the plan says.
    """
    refuse_active_runs(home)
    # From here on no run can begin to look anything up.
    with Ledger(home / LEDGER, alone=True) as ledger:
        finished, unfinished = _standing(home)
        now = plan_pruning(ledger, finished=finished, unfinished=unfinished, keep_requests=keep_requests)
        if now != plan:
            raise BenchfillError(
                "The ledger or its runs changed meanwhile; nothing was thrown away.", "Look again."
            )
        prune_calls(ledger, finished=finished, unfinished=unfinished, keep_requests=keep_requests)
        shrink_file(ledger)


def _standing(home: Path) -> tuple[set[str], set[str]]:
    """Runs by what their calls are kept for: those that can be verified, and those that can be gone on with."""
    finished: set[str] = set()
    unfinished: set[str] = set()
    for folder in list_runs(home):
        try:
            pool = Pool(folder.memory, create=False)
            try:
                run = pool.run()
            finally:
                pool.close()
        except InputError:
            # A damaged memory may be mended.
            unfinished.add(folder.name)
            continue
        (finished if run.status == "finished" else unfinished).add(run.id)
    return finished, unfinished
