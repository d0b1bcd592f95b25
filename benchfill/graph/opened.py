"""A run opened for work: its endpoints reached, its clients behind the ledger and the budget; all closed at the end."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from benchfill.graph.endpoints import Roles, configured_roles, embedded_roles, with_todays_connections
from benchfill.graph.models import Models, open_models
from benchfill.graph.search import Emit
from benchfill.graph.spending import budget_of
from benchfill.graph.stopping import EMBEDDED_SECONDS, OTHERS_SECONDS, Stopping
from benchfill.graph.world_process import start_world
from benchfill.memory.ledger import FreshLedger, Ledger
from benchfill.memory.ledger_uses import NotingLedger
from benchfill.memory.pool import Pool
from benchfill.memory.records import RunRow
from benchfill.memory.runs import RunFolder
from benchfill.settings import Settings
from benchfill.tools.meter import Meter
from benchfill.tools.sandbox import Sandbox
from benchfill.tools.tracing import set_tracing

__all__ = ["OpenRun", "open_run"]


@dataclass(frozen=True, slots=True)
class OpenRun:
    """What work on a run needs beside its memory."""

    run: RunRow
    settings: Settings
    roles: Roles
    models: Models
    meter: Meter
    sandbox: Sandbox


@contextlib.asynccontextmanager
async def open_run(
    folder: RunFolder, pool: Pool, paid: Path, today: Settings, stopping: Stopping, emit: Emit, *, go_on: str
) -> AsyncIterator[OpenRun]:
    """Reach everybody a run asks.

    Parameters
    ----------
    paid
        The file of paid calls.
    today
        Settings of this session, from which the connections are taken.
    stopping
        Told what to drain when a signal comes.
    go_on
        The command that goes on when the budget is spent.

    Raises
    ------
    InputError
        An endpoint is not configured, or its key is not there.
    """
    run = pool.run()
    settings = with_todays_connections(Settings.model_validate(dict(run.settings)), today)
    set_tracing(settings.tracing.enabled)
    meter = Meter(
        on_wait=lambda endpoint, seconds, reason: emit(
            "waiting", endpoint=endpoint, seconds=seconds, reason=reason
        ),
        on_notice=lambda endpoint, what: emit(
            "stage", name="endpoint", message=f"{endpoint}: {what}", fraction=None
        ),
    )
    async with contextlib.AsyncExitStack() as closing:
        sandbox = Sandbox()
        closing.callback(sandbox.close)
        roles = await _who_is_asked(folder, pool, settings, closing)
        stopping.limits.extend(roles.limits.values())
        stopping.drain_seconds = EMBEDDED_SECONDS if run.world else OTHERS_SECONDS
        ledger = Ledger(paid)
        closing.callback(ledger.close)
        meter.budget = budget_of(settings.budget, roles.everyone(), ledger=ledger, run=run.id, go_on=go_on)
        seen = FreshLedger(ledger, run.id) if settings.fresh else NotingLedger(ledger, run.id)
        models = open_models(roles, ledger=seen, run=run.id, meter=meter)
        closing.push_async_callback(models.close)
        yield OpenRun(run, settings, roles, models, meter, sandbox)


async def _who_is_asked(
    folder: RunFolder, pool: Pool, settings: Settings, closing: contextlib.AsyncExitStack
) -> Roles:
    """The endpoints of the settings, or the embedded one, which runs until `closing` closes."""
    run, stored = pool.run(), pool.benchmark_outline()
    if stored is None:
        raise LookupError("the benchmark is not in the memory")
    if not run.world:
        return configured_roles(settings, stored[1])
    world = await start_world(folder.world, folder.requests)
    closing.push_async_callback(world.stop)
    pool.save_run(dataclasses.replace(run, world_version=world.version))
    return embedded_roles(world.base_url, world.name, stored[1], settings.search)
