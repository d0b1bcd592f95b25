"""A run is thrown away: its folder and, where that is wanted, the calls that only it used."""

from __future__ import annotations

import shutil
from pathlib import Path

from benchfill.errors import InputError
from benchfill.memory.ledger import Ledger
from benchfill.memory.ledger_uses import RemovedCalls, remove_calls
from benchfill.memory.runs import RunFolder, list_runs

__all__ = ["remove_run"]


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
        paid = home / "ledger.sqlite"
        if calls and paid.is_file():
            with Ledger(paid) as ledger:
                removed = remove_calls(ledger, folder.name, alone=not list_runs(home))
    return removed
