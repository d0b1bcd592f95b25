"""A finished run once more from its ledger, without a single call: does the same come out?

What a model replied is read again from the ledger, parsed, graded, judged and calibrated anew. The frozen scale is
taken as it was kept, for it is the ruler and not a result of the search; it can be fitted anew as well. What failed
then fails again: failed attempts as the memory has them, failed calls of rewriter and judge as the ledger has them.
"""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from benchfill.call import StoredCall, StoredReply
from benchfill.errors import BenchfillError, CallFailed, InputError
from benchfill.graph.anchors import check_anchors
from benchfill.graph.endpoints import Roles, configured_roles, embedded_roles, without_keys
from benchfill.graph.gap_check import check_gaps
from benchfill.graph.models import open_models
from benchfill.graph.open_search import make_search
from benchfill.graph.probe import find_tool_modes
from benchfill.graph.search import Emit
from benchfill.graph.session import fit_scale, plan_search
from benchfill.graph.waves import drive
from benchfill.memory.export import accepted_items
from benchfill.memory.ledger import FreshLedger, Ledger
from benchfill.memory.pool import Pool
from benchfill.memory.records import AttemptRow, JudgementRow
from benchfill.memory.runs import RunFolder
from benchfill.settings import Settings
from benchfill.tools.meter import Meter
from benchfill.tools.sandbox import Sandbox
from benchfill.worlds import world_name

__all__ = ["LedgerMiss", "SealedLedger", "differences", "failed_attempts", "prepare_copy", "verify_run"]

# Tables that a search fills, in an order in which they can be emptied.
SEARCHED = ("item_fits", "confirmations", "judgements", "candidates", "rechecks", "attempts")
# What reviewers and the maintainer decided about its items, likewise.
OF_PEOPLE = ("review_decisions", "review_assignments", "review_rounds", "maintainer_decisions")
# Reasons of missing attempts that are made of a reply, and are made of it again.
OF_A_REPLY = frozenset({"no_answer", "ungraded", "refusal", "content_filter"})
# Stands for the address of the embedded endpoint, which is not started.
NOWHERE = "http://127.0.0.1:9/v1"


class LedgerMiss(BenchfillError):
    """A call that the run made is not in the ledger: it cannot be verified."""


class SealedLedger:
    """A ledger that gives and takes nothing: what is not in it ends the work.

    Parameters
    ----------
    kept
        Finds the run's calls by their keys: the ledger, or what a fresh run sees of it.
    ledger
        The ledger itself, for what failed.
    run
        The run that is verified.
    """

    def __init__(self, kept: Ledger | FreshLedger, ledger: Ledger, run: str) -> None:
        self._kept, self._ledger, self._run = kept, ledger, run

    def look_up(self, key: str) -> StoredReply:
        """The reply that was kept.

        Raises
        ------
        CallFailed
            The run's call failed.
        LedgerMiss
            The run never made this call, or the ledger is not the one it was made with.
        """
        stored = self._kept.look_up(key)
        own = self._kept.own_key(key) if isinstance(self._kept, FreshLedger) else key
        failure = self._ledger.last_failure(own, self._run)
        # Another run may have succeeded later with what failed here.
        if failure is not None and (stored is None or self._ledger.run_of(own) != self._run):
            raise CallFailed(f"failed in the run ({failure[0]})", failure[0])
        if stored is None:
            raise LedgerMiss(
                "A call that this run makes is not in the ledger.",
                "The ledger, the prompts or the version are not those of the run, or the run was changed.",
            )
        return stored

    def commit(self, call: StoredCall) -> bool:
        raise LedgerMiss(f"A call went out while nothing may ({call.tag}).")

    def commit_failure(self, call: StoredCall) -> None:
        raise LedgerMiss(f"A call went out while nothing may ({call.tag}).")


async def verify_run(
    folder: RunFolder, ledger_path: Path, scratch: Path, emit: Emit, *, refit: bool
) -> list[str]:
    """Make a finished run again from its ledger.

    Parameters
    ----------
    scratch
        A folder for the copy.
    refit
        Whether the scale is fitted anew as well.

    Returns
    -------
    list
        What came out differently, in words; empty when all is the same.

    Raises
    ------
    InputError
        The run is not finished (kind ``not_finished``).
    LedgerMiss
        A call is not in the ledger.
    """
    before = Pool(folder.memory, create=False)
    try:
        if before.run().status != "finished":
            raise InputError(
                f"Run {folder.name} is not finished.",
                f"Go on with it first: benchfill resume {folder.name}",
                kind="not_finished",
            )
        copy = prepare_copy(folder, scratch, refit=refit)
        after = Pool(copy.memory, create=False)
        try:
            with Ledger(ledger_path) as ledger:
                made = {gap.gap: gap.wave for gap in before.gaps() if gap.wave is not None}
                await _again(copy, after, ledger, emit, failed_attempts(before), made)
            return differences(before, after)
        finally:
            after.close()
    finally:
        before.close()


async def _again(
    copy: RunFolder,
    pool: Pool,
    ledger: Ledger,
    emit: Emit,
    failed: Mapping[tuple[str, str, int], AttemptRow],
    made: Mapping[int, int],
) -> None:
    run = pool.run()
    settings = without_keys(Settings.model_validate(dict(run.settings)))
    roles = _with_one_try(_roles(copy, pool, settings))
    kept = FreshLedger(ledger, run.id) if settings.fresh else ledger
    sandbox = Sandbox()
    models = open_models(roles, ledger=SealedLedger(kept, ledger, run.id), run=run.id, meter=Meter())
    try:
        if not run.world:
            await find_tool_modes(models.structured(), lambda message: None)
        if pool.scale() is None:
            await fit_scale(pool, run, emit)
        if not pool.gaps():
            plan_search(pool, run, settings, sorted(roles.pool))
        search = make_search(pool, settings, models, sandbox, emit)
        search.failed = failed
        if not run.world:
            # Whether drift was found or accepted is no matter now; the attempts are.
            await check_anchors(search)
        await check_gaps(search)
        await drive(copy, search, made=made)
    finally:
        await models.close()
        sandbox.close()


def _roles(copy: RunFolder, pool: Pool, settings: Settings) -> Roles:
    """Who was asked; the embedded endpoint by its name alone, without starting it."""
    stored = pool.benchmark()
    if stored is None:
        raise LookupError("the benchmark is not in the memory")
    if not pool.run().world:
        return configured_roles(settings, stored[2])
    name = world_name(json.loads(copy.world.read_text(encoding="utf-8")))
    return embedded_roles(NOWHERE, name, stored[2], settings.search)


def _with_one_try(roles: Roles) -> Roles:
    """What failed is not tried again: it failed after all its tries."""
    return dataclasses.replace(
        roles,
        rewriter=dataclasses.replace(roles.rewriter, tries=1),
        judge=dataclasses.replace(roles.judge, tries=1),
        grader=None if roles.grader is None else dataclasses.replace(roles.grader, tries=1),
        pool={model: dataclasses.replace(endpoint, tries=1) for model, endpoint in roles.pool.items()},
    )


def failed_attempts(pool: Pool) -> dict[tuple[str, str, int], AttemptRow]:
    """Attempts of a run that got no reply, by item, model and number."""
    items = [*pool.items("original"), *pool.items("candidate")]
    rows = [row for item in items for row in pool.attempts(item.id)]
    return {
        (row.item, row.model, row.attempt): row
        for row in rows
        if row.outcome == "missing" and row.reason not in OF_A_REPLY
    }


def prepare_copy(folder: RunFolder, target: Path, *, refit: bool) -> RunFolder:
    """The run as it stood when its scale had just been frozen (before that, with ``refit``), in another folder."""
    copy = RunFolder(target / folder.name)
    copy.path.mkdir(parents=True, mode=0o700)
    if folder.world.is_file():
        copy.world.write_bytes(folder.world.read_bytes())
    source, written = sqlite3.connect(folder.memory), sqlite3.connect(copy.memory)
    try:
        source.backup(written)
        with written:
            for table in SEARCHED:
                written.execute(f"DELETE FROM {table}")  # noqa: S608 - our own names
            written.execute("DELETE FROM estimates WHERE source = 'online' OR ?", (refit,))
            for table in OF_PEOPLE:
                written.execute(f"DELETE FROM {table}")  # noqa: S608 - our own names
            written.execute("DELETE FROM items WHERE origin != 'original'")
            written.execute("UPDATE runs SET status = 'prepared', summary = NULL")
            # Gaps whose check is known are planned anew, as they were before it.
            written.execute("DELETE FROM gaps WHERE EXISTS (SELECT 1 FROM gap_checks)")
            written.execute("DELETE FROM gap_checks")
            if refit:
                written.execute("DELETE FROM scales")
                written.execute("DELETE FROM gaps")
            # What was never searched stays so.
            written.execute(
                "UPDATE gaps SET status = 'open', accepted = NULL, rounds = 0, wave = NULL "
                "WHERE status NOT IN ('skipped', 'refused')"
            )
    finally:
        source.close()
        written.close()
    return copy


def differences(before: Pool, after: Pool) -> list[str]:
    """What came out differently, in words; nothing when the run is verified."""
    found = []
    # What was written by hand is no part of the search.
    hand = {item.id for item in before.items("hand")}
    parts = (
        ("the plan and the end of gaps", _rows(before.gaps(), "gap"), _rows(after.gaps(), "gap")),
        ("candidates", _rows(before.candidates(), "id"), _rows(after.candidates(), "id")),
        ("judgements", _values(_of_search(before)), _values(_of_search(after))),
        ("places of items", _values(before.estimates(), hand), _values(after.estimates())),
        ("attempts", _attempts(before, hand), _attempts(after)),
        ("exported items", _exported(before), _exported(after)),
    )
    for what, old, new in parts:
        names = sorted(
            {name for name in {*old, *new} if old.get(name) != new.get(name)}, key=lambda name: str(name)
        )
        if names:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            found.append(f"{what}: {', '.join(map(str, names[:3]))}{more}")
    return found


def _rows(rows: list[Any], name: str) -> dict[Any, Any]:
    plain = [row if isinstance(row, dict) else dataclasses.asdict(row) for row in rows]
    return {row[name]: row for row in plain}


def _exported(pool: Pool) -> dict[Any, Any]:
    return _rows(accepted_items(pool, by_search_alone=True), "id")


def _of_search(pool: Pool) -> dict[str, JudgementRow]:
    searched = {candidate.id for candidate in pool.candidates()}
    return {name: row for name, row in pool.judgements().items() if name in searched}


def _values(rows: Mapping[str, Any], without: Collection[str] = ()) -> dict[str, Any]:
    return {name: dataclasses.asdict(row) for name, row in rows.items() if name not in without}


def _attempts(pool: Pool, without: Collection[str] = ()) -> dict[Any, Any]:
    rows = [row for item in pool.items() if item.id not in without for row in pool.attempts(item.id)]
    return {f"{row.item} {row.model} {row.attempt}": dataclasses.asdict(row) for row in rows}
