"""One process working on one run: create it, drive the graph to its end, leave cleanly when told to."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import benchfill
from benchfill.calibration.response_log import ResponseLog
from benchfill.engines.protocol import Engine
from benchfill.errors import BudgetSpent, RunPaused
from benchfill.graph.anchors import DriftFound, check_anchors, refuse_drift
from benchfill.graph.announce import announce, metered, say_what_is_out_of_reach
from benchfill.graph.benchmark import Benchmark
from benchfill.graph.endpoints import configured_roles
from benchfill.graph.gap_check import check_gaps, request_of
from benchfill.graph.no_answer import no_answer_report
from benchfill.graph.open_search import make_search
from benchfill.graph.opened import open_run
from benchfill.graph.plan import GapRequest
from benchfill.graph.prepare import Inputs, freeze_scale, make_plan, world_config
from benchfill.graph.probe import check_before_work
from benchfill.graph.rewriter_memory import REWRITERS, begin_with_record, keep_record
from benchfill.graph.search import Emit
from benchfill.graph.stopping import (
    Interrupted,
    Stopping,
    in_daemon_thread,
)
from benchfill.graph.summary import diagnosis_event, plan_event, summarise
from benchfill.graph.waves import Workers, drive
from benchfill.memory.pool import Pool
from benchfill.memory.records import RunRow
from benchfill.memory.runs import RunFolder, find_run, make_run_folder
from benchfill.memory.source import keep_source
from benchfill.prompts.render import PromptBook
from benchfill.settings import Settings

__all__ = ["changed_settings", "create_run", "fit_scale", "plan_search", "run_to_end"]


def create_run(
    home: Path, name: str, *, seed: int, inputs: Inputs, request: GapRequest, settings: Settings
) -> RunFolder:
    """Make the folder of a new run, with everything in it that the run needs from outside."""
    benchmark = inputs.benchmark
    if inputs.world:
        config = json.dumps(world_config(inputs, settings), ensure_ascii=False)
    else:
        # A pool that does not fit the log, or a key that is not there, is known before anything is written.
        configured_roles(settings, benchmark.log.models)
    # Prompts of the user's that cannot be used are known now, not after the fit.
    PromptBook(settings.search.prompts)
    with make_run_folder(home, name) as folder:
        if inputs.world:
            folder.world.write_text(config, encoding="utf-8")
        if benchmark.source is not None:
            keep_source(folder, benchmark.source, benchmark.mapping)
        pool = Pool(folder.memory)
        pool.save_benchmark(
            benchmark.fingerprint,
            benchmark.name,
            benchmark.items,
            benchmark.log.models,
            benchmark.responses(),
        )
        pool.save_run(
            RunRow(
                id=name,
                seed=seed,
                world=inputs.world,
                version=benchfill.__version__,
                settings=settings.model_dump(mode="json"),
                request=dataclasses.asdict(request),
            )
        )
        pool.close()
    return find_run(home, name)


async def run_to_end(
    folder: RunFolder,
    ledger: Path,
    emit: Emit,
    *,
    today: Settings,
    changes: Mapping[str, Mapping[str, Any]] | None = None,
    engine: Engine | None = None,
) -> dict[str, Any]:
    """Bring a run to its end, from wherever it stands.

    Parameters
    ----------
    folder
        Of the run, held by its lock.
    ledger
        The file of paid calls.
    emit
        Takes the events of the session.
    today
        The settings as they are now: where the endpoints of the run are reached is taken from them, everything
        else from the start of the run.
    changes
        Sections of the settings that this session changes for good: the budget, whether drift is accepted.
    engine
        Where gaps are searched that are searched at the same time; None: in this process, one after the other.

    Returns
    -------
    dict
        The summary event.

    Raises
    ------
    Interrupted
        A signal came; the run can be resumed.
    BenchfillError
        It cannot go on; what was reached is kept.
    """
    pool = Pool(folder.memory, create=False)
    started = time.monotonic()
    try:
        run = pool.run()
        if run.status == "finished" and run.summary is not None:
            emit("summary", **run.summary)
            return dict(run.summary)
        settings = changed_settings(run.settings, changes or {})
        pool.save_run(dataclasses.replace(run, settings=settings, status="running"))
        stopping = Stopping(
            lambda: emit("stage", name="stop", message="stopping: calls in flight may finish", fraction=None)
        )
        with stopping.listening():
            try:
                await stopping.unless_stopped(
                    _work(folder, pool, ledger, today, stopping, emit, started, engine)
                )
            except Interrupted:
                pool.save_run(dataclasses.replace(pool.run(), status="interrupted"))
                raise
            except (RunPaused, DriftFound):
                pool.save_run(dataclasses.replace(pool.run(), status="paused"))
                raise
            except BudgetSpent:
                pool.save_run(dataclasses.replace(pool.run(), status="budget_spent"))
                raise
        summary = dict(pool.run().summary or {})
        emit("summary", **summary)
        return summary
    finally:
        pool.close()


async def _work(
    folder: RunFolder,
    pool: Pool,
    paid: Path,
    today: Settings,
    stopping: Stopping,
    emit: Emit,
    started: float,
    engine: Engine | None,
) -> None:
    go_on = f"benchfill resume {pool.run().id}"
    async with open_run(folder, pool, paid, today, stopping, emit, go_on=go_on) as opened:
        run, settings, roles, models = opened.run, opened.settings, opened.roles, opened.models
        announce(pool, run, roles, emit)
        if not run.world:
            await check_before_work(pool, run, models, settings, emit)
        if pool.scale() is None:
            await fit_scale(pool, run, emit)
        if not pool.gaps():
            begin_with_record(pool, run, models.rewriter.endpoint, paid.with_name(REWRITERS), emit)
            plan_search(pool, run, settings, sorted(roles.pool))
        emit("diagnosis", **diagnosis_event(pool))
        emit("plan", **plan_event(pool))
        search = make_search(pool, settings, models, opened.sandbox, emit)
        say_what_is_out_of_reach(search)
        with metered(opened.meter, pool, emit, started):
            if not run.world:
                refuse_drift(search, await check_anchors(search))
            planned = pool.gaps()
            await check_gaps(search)
            if pool.gaps() != planned:
                emit("plan", **plan_event(pool))
                say_what_is_out_of_reach(search)
            workers = None if engine is None else Workers(engine, models, roles, settings)
            await drive(folder, search, workers=workers)
        keep_record(search, paid.with_name(REWRITERS))
        summary = summarise(pool, run.id, opened.meter, elapsed=time.monotonic() - started)
        summary["no_answer"] = no_answer_report(search)
        pool.save_run(dataclasses.replace(pool.run(), status="finished", summary=summary))


def plan_search(pool: Pool, run: RunRow, settings: Settings, models: Sequence[str]) -> None:
    """Choose the gaps that were asked for, as these models can search them."""
    make_plan(pool, request_of(run), settings, models=models)


def changed_settings(settings: Mapping[str, Any], changes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Settings of a run with some sections changed."""
    sections = {name: {**dict(settings.get(name) or {}), **section} for name, section in changes.items()}
    return Settings.model_validate({**settings, **sections}).model_dump(mode="json")


async def fit_scale(pool: Pool, run: RunRow, emit: Emit) -> None:
    """Fit the response log and freeze the scale."""
    stored = pool.benchmark()
    if stored is None:
        raise LookupError("the benchmark is not in the memory")
    _, name, models, responses = stored
    items = sorted(responses)
    counts = np.asarray([responses[item] for item in items])
    log = ResponseLog(tuple(models), tuple(items), counts[:, :, 0].T, counts[:, :, 1].T)
    known = {item.id: item for item in pool.items("original")}
    benchmark = Benchmark(name, tuple(known[item] for item in items), log)
    loop = asyncio.get_running_loop()

    def progress(fraction: float, message: str) -> None:
        with contextlib.suppress(RuntimeError):
            # The loop is closed when the user has left during the fit.
            loop.call_soon_threadsafe(lambda: emit("stage", name="fit", message=message, fraction=fraction))

    await in_daemon_thread(lambda: freeze_scale(pool, benchmark, seed=run.seed, progress=progress))
