"""One process working on one run: create it, drive the graph to its end, leave cleanly when told to."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.runnables import RunnableConfig

import benchfill
from benchfill.calibration.response_log import ResponseLog
from benchfill.calibration.scale import Scale
from benchfill.errors import RunPaused
from benchfill.graph.checkpoints import open_checkpoints
from benchfill.graph.models import open_models
from benchfill.graph.plan import GapRequest, aim_of
from benchfill.graph.prepare import SCALE_ID, Benchmark, Inputs, freeze_scale, make_plan, world_config
from benchfill.graph.search import Emit, Search
from benchfill.graph.stopping import Interrupted, Stopping, in_daemon_thread
from benchfill.graph.summary import diagnosis_event, plan_event, summarise
from benchfill.graph.world_process import WorldProcess, start_world
from benchfill.memory.pool import Pool
from benchfill.memory.records import RunRow, ScaleRow
from benchfill.memory.runs import RunFolder, find_run, make_run_folder
from benchfill.prompts.render import PromptBook
from benchfill.settings import SearchSettings, Settings
from benchfill.tools.grading import Grader
from benchfill.tools.meter import Meter
from benchfill.tools.sandbox import Sandbox

__all__ = ["create_run", "run_to_end"]

METER_SECONDS = 0.5


def create_run(
    home: Path, name: str, *, seed: int, inputs: Inputs, request: GapRequest, settings: Settings
) -> RunFolder:
    """Make the folder of a new run, with everything in it that the run needs from outside."""
    benchmark = inputs.benchmark
    config = json.dumps(world_config(inputs, settings), ensure_ascii=False)
    # Prompts of the user's that cannot be used are known now, not after the fit.
    PromptBook(settings.search.prompts)
    with make_run_folder(home, name) as folder:
        folder.world.write_text(config, encoding="utf-8")
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


async def run_to_end(folder: RunFolder, ledger: Path, emit: Emit) -> dict[str, Any]:
    """Bring a run to its end, from wherever it stands.

    Parameters
    ----------
    folder
        Of the run, held by its lock.
    ledger
        The file of paid calls.
    emit
        Takes the events of the session.

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
        pool.save_run(dataclasses.replace(run, status="running"))
        stopping = Stopping(
            lambda: emit("stage", name="stop", message="stopping: calls in flight may finish", fraction=None)
        )
        with stopping.listening():
            try:
                await stopping.unless_stopped(_work(folder, pool, ledger, stopping, emit, started))
            except Interrupted:
                pool.save_run(dataclasses.replace(pool.run(), status="interrupted"))
                raise
            except RunPaused:
                pool.save_run(dataclasses.replace(pool.run(), status="paused"))
                raise
        summary = dict(pool.run().summary or {})
        emit("summary", **summary)
        return summary
    finally:
        pool.close()


async def _work(
    folder: RunFolder, pool: Pool, ledger: Path, stopping: Stopping, emit: Emit, started: float
) -> None:
    run = pool.run()
    settings = Settings.model_validate(dict(run.settings))
    meter = Meter(on_wait=lambda endpoint, seconds, reason: emit(
        "waiting", endpoint=endpoint, seconds=seconds, reason=reason
    ))  # fmt: skip
    world = await start_world(folder.world, folder.requests)
    sandbox = Sandbox()
    models = None
    try:
        _announce(pool, run, world, emit)
        pool.save_run(dataclasses.replace(pool.run(), world_version=world.version))
        if pool.scale() is None:
            await _fit(pool, run, emit)
        if not pool.gaps():
            make_plan(pool, GapRequest(**_request(run.request)), settings)
        emit("diagnosis", **diagnosis_event(pool))
        emit("plan", **plan_event(pool))
        scale = pool.scale()
        if scale is None:
            raise LookupError("the scale is not frozen")
        _say_what_is_out_of_reach(pool, scale, settings.search, emit)
        models = open_models(
            world.base_url,
            ledger_name=world.name,
            ledger_path=ledger,
            run=run.id,
            pool_models=scale.models,
            settings=settings.search,
            meter=meter,
        )
        stopping.limits.append(models.limit)
        search = Search(
            run=run.id,
            seed=run.seed,
            settings=settings.search,
            pool=pool,
            scale=Scale(scale.name, scale.lo, scale.hi),
            scale_id=SCALE_ID,
            models=tuple(scale.models),
            theta=np.asarray(scale.theta),
            theta_draws=np.asarray(scale.theta_draws),
            prompts=PromptBook(settings.search.prompts),
            rewriter=models.rewriter,
            judge=models.judge,
            respondents=models.respondents,
            grader=Grader(sandbox),
            sandbox=sandbox,
            emit=emit,
        )
        with _metered(meter, pool, emit, started):
            await _drive(folder, search)
        summary = summarise(pool, run.id, meter, elapsed=time.monotonic() - started)
        pool.save_run(dataclasses.replace(pool.run(), status="finished", summary=summary))
    finally:
        if models is not None:
            await models.close()
        sandbox.close()
        await world.stop()


def _say_what_is_out_of_reach(pool: Pool, scale: ScaleRow, settings: SearchSettings, emit: Emit) -> None:
    axis = Scale(scale.name, scale.lo, scale.hi)
    for gap in pool.gaps():
        aim = aim_of(gap, scale=axis, theta=np.asarray(scale.theta), settings=settings)
        if gap.status == "open" and aim.tolerance > gap.tolerance:
            message = (
                f"gap {gap.gap}: tolerance {gap.tolerance:.4f} is out of reach of {settings.max_attempts} attempts a "
                f"model; the search aims at {aim.tolerance:.4f} (search.max_attempts allows more)"
            )
            emit("stage", name="plan", message=message, fraction=None)


def _request(stored: Any) -> dict[str, Any]:
    """A request as JSON keeps it, with its interval a tuple again."""
    request = dict(stored)
    if request.get("interval") is not None:
        request["interval"] = tuple(request["interval"])
    return request


def _announce(pool: Pool, run: RunRow, world: WorldProcess, emit: Emit) -> None:
    benchmark = pool.benchmark()
    models = [] if benchmark is None else benchmark[2]
    where = f"{world.world} endpoint, embedded"
    emit(
        "run_started",
        run=run.id,
        seed=run.seed,
        world=world.world,
        version=benchfill.__version__,
        endpoints=[{"role": role, "model": role, "where": where} for role in ("rewriter", "judge")]
        + [{"role": "pool", "model": model, "where": where} for model in models],
        n_items=0 if benchmark is None else len(benchmark[3]),
        n_models=len(models),
        resume=f"benchfill resume {run.id}",
    )


async def _fit(pool: Pool, run: RunRow, emit: Emit) -> None:
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


@contextlib.contextmanager
def _metered(meter: Meter, pool: Pool, emit: Emit, started: float) -> Iterator[None]:
    """Say what was spent, twice a second."""
    expected = sum(gap.expected_attempts or 0 for gap in pool.gaps())

    def say() -> None:
        elapsed = time.monotonic() - started
        answered = meter.calls + meter.from_ledger
        # Calls of all roles against attempts expected: rough, and hidden until there is something to go by.
        # Past the expectation nothing is known of what is left.
        known = 200 < answered < expected
        left = (expected - answered) * elapsed / answered if known else None
        emit(
            "meter",
            calls=meter.calls,
            from_ledger=meter.from_ledger,
            tokens_in=meter.input_tokens,
            tokens_out=meter.output_tokens,
            cost=meter.cost,
            retries=meter.retries,
            elapsed=elapsed,
            eta=left,
        )

    async def tick() -> None:
        while True:
            await asyncio.sleep(METER_SECONDS)
            say()

    task = asyncio.get_running_loop().create_task(tick())
    try:
        yield
    finally:
        task.cancel()
        say()


async def _drive(folder: RunFolder, search: Search) -> None:
    """Run the graph from its last checkpoint to the end of the line."""
    from benchfill.graph.build import compile_graph

    if not search.pool.gaps():
        return
    async with open_checkpoints(folder.checkpoints) as saver:
        graph = compile_graph(saver)
        # A search ends by its own rule; the step limit of the library must never be what ends it.
        config: RunnableConfig = {"configurable": {"thread_id": search.run}, "recursion_limit": 1_000_000_000}
        before = await graph.aget_state(config)
        begin: Any = None if before.values else {"gap": 1, "round": 1}
        if not before.values.get("done"):
            await graph.ainvoke(begin, config, context=search, durability="sync")
        after = await graph.aget_state(config)
        if after.next or not after.values.get("done"):
            raise RunPaused(
                "The search stopped before its end.", f"Go on with it: benchfill resume {search.run}"
            )
