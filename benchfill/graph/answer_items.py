"""A response log from scratch: the pool answers the original items, as it would answer new ones in a search."""

from __future__ import annotations

import asyncio
import contextlib
import csv
import io
import json
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

from benchfill.errors import RunPaused
from benchfill.graph.attempts import Panel, counted_as
from benchfill.graph.endpoints import configured_grader, configured_pool, embedded_roles, without_keys
from benchfill.graph.models import open_clients
from benchfill.graph.probe import find_faults, find_tool_modes, refuse_faults
from benchfill.graph.spending import Asked, budget_of
from benchfill.graph.stopping import Stopping
from benchfill.graph.world_process import start_world
from benchfill.item import Item
from benchfill.logs.responses import read_responses
from benchfill.memory.ledger import FreshLedger, Ledger
from benchfill.memory.records import AttemptRow
from benchfill.prompts.render import PromptBook
from benchfill.settings import Settings
from benchfill.tools.endpoint import Endpoint
from benchfill.tools.grading import Grader
from benchfill.tools.limits import ServerLimit
from benchfill.tools.meter import Meter
from benchfill.tools.sandbox import Sandbox

__all__ = [
    "LOG_HEADER",
    "LogRequest",
    "ask_all",
    "expected_calls",
    "log_bytes",
    "make_log",
    "simulated_models",
]

LOG_HEADER = ("model", "item_id", "attempt", "correct", "reason")
# Calls that one model has under way or waiting; its server's own limit decides how many are sent.
WORKERS = 64


@dataclass(frozen=True, slots=True)
class LogRequest:
    """What a log is made of.

    Parameters
    ----------
    benchmark
        Name under which replies are found again.
    attempts
        Of every model at every item.
    label
        Under which the ledger books what is spent.
    fresh
        Whether replies that others paid for are left alone.
    go_on
        The command that goes on where this one stops.
    """

    items: tuple[Item, ...]
    benchmark: str
    attempts: int
    seed: int
    label: str
    fresh: bool
    go_on: str


async def make_log(
    request: LogRequest,
    settings: Settings,
    *,
    ledger_path: Path,
    meter: Meter,
    on_row: Callable[[AttemptRow, int], None],
    say: Callable[[str], None],
) -> list[AttemptRow]:
    """Ask everything that is not in the ledger yet.

    Parameters
    ----------
    meter
        Counts; its budget is set here.
    on_row
        Told every attempt and how many there are in all.

    Returns
    -------
    list
        Attempts by model, item and number.

    Raises
    ------
    Interrupted, BudgetSpent
        What was paid for is in the ledger: the same command goes on there.
    RunPaused
        No model answered.
    """
    stopping = Stopping(lambda: say("stopping: calls in flight may finish"))
    with stopping.listening():
        rows = await stopping.unless_stopped(
            _work(request, settings, ledger_path, meter, stopping, on_row, say)
        )
    if rows and all(row.outcome == "missing" and row.reason != "no_answer" for row in rows):
        reasons = sorted({row.reason for row in rows})
        raise RunPaused(
            f"No model answered ({', '.join(reasons[:3])}).", f"When the endpoints are back: {request.go_on}"
        )
    return rows


async def _work(
    request: LogRequest,
    settings: Settings,
    ledger_path: Path,
    meter: Meter,
    stopping: Stopping,
    on_row: Callable[[AttemptRow, int], None],
    say: Callable[[str], None],
) -> list[AttemptRow]:
    sandbox = Sandbox()
    try:
        with Ledger(ledger_path) as ledger:
            async with _pool(settings) as (endpoints, limits):
                stopping.limits.extend(limits.values())
                grader = configured_grader(settings) if settings.pool else None
                graders = {} if grader is None else {"grader": grader}
                meter.budget = budget_of(
                    settings.budget,
                    [*endpoints.values(), *graders.values()],
                    ledger=ledger,
                    run=request.label,
                    go_on=request.go_on,
                )
                seen = FreshLedger(ledger, request.label) if request.fresh else ledger
                clients, graders_opened = (
                    open_clients(role, asked, limits, ledger=seen, run=request.label, meter=meter)
                    for role, asked in (("pool", endpoints), ("grader", graders))
                )
                everyone = [*clients.values(), *graders_opened.values()]
                panel = Panel(
                    request.benchmark,
                    request.seed,
                    clients,
                    PromptBook(settings.search.prompts),
                    Grader(sandbox, settings.grading),
                    grader_model=graders_opened.get("grader"),
                    shuffle=settings.answer.shuffle_options,
                    twins=_twins(request.items),
                )
                try:
                    if settings.pool:
                        refuse_faults(await find_faults(everyone), go_on=request.go_on)
                        await find_tool_modes(list(graders_opened.values()), say)
                    return await ask_all(panel, request.items, request.attempts, on_row=on_row)
                finally:
                    await asyncio.gather(*(client.aclose() for client in everyone))
    finally:
        sandbox.close()


def _twins(items: Sequence[Item]) -> dict[str, int]:
    """By item, how many before it have the same text; they are counted in the order of ids."""
    seen: Counter[tuple[str, ...]] = Counter()
    twins = {}
    for item in sorted(items, key=lambda item: item.id):
        text = (item.question, *item.choices)
        if seen[text]:
            twins[item.id] = seen[text]
        seen[text] += 1
    return twins


@contextlib.asynccontextmanager
async def _pool(
    settings: Settings,
) -> AsyncIterator[tuple[Mapping[str, Endpoint], Mapping[str, ServerLimit]]]:
    """The configured pool or, when there is none, the simulated models of the embedded endpoint."""
    if settings.pool:
        yield configured_pool(settings)
        return
    with tempfile.TemporaryDirectory(prefix="benchfill-") as folder:
        config = Path(folder) / "world.json"
        config.write_text(json.dumps({"world": "simulated", "settings": settings.world.given()}))
        world = await start_world(config, Path(folder) / "requests.log")
        try:
            roles = embedded_roles(world.base_url, world.name, simulated_models(), settings.search)
            yield roles.pool, roles.limits
        finally:
            await world.stop()


def expected_calls(request: LogRequest, settings: Settings) -> list[Asked]:
    """What the whole log takes, whatever of it the ledger has already."""
    grader = None
    if settings.pool:
        keyless = without_keys(settings)
        endpoints, _ = configured_pool(keyless)
        grader = configured_grader(keyless)
    else:
        # Nothing is started: only names and the absence of prices matter.
        endpoints = dict(
            embedded_roles("http://127.0.0.1/v1", "embedded", simulated_models(), settings.search).pool
        )
    each = request.attempts * len(request.items)
    graded = [] if grader is None else [Asked("grader", grader, each * len(endpoints))]
    return [*graded, *(Asked("pool", endpoint, each) for _, endpoint in sorted(endpoints.items()))]


def simulated_models() -> tuple[str, ...]:
    """Names of the models that the simulated world has: those of the packaged sample."""
    sample = files("benchfill.worlds.simulated") / "sample" / "responses.csv"
    return read_responses(Path(str(sample))).log.models


async def ask_all(
    panel: Panel,
    items: Sequence[Item],
    attempts: int,
    *,
    on_row: Callable[[AttemptRow, int], None],
) -> list[AttemptRow]:
    """Every attempt of every model at every item: first attempts first, so that what stops early is balanced."""
    rows: list[AttemptRow] = []
    total = attempts * len(items) * len(panel.clients)

    async def work(model: str, asked: Iterator[tuple[int, Item]]) -> None:
        for attempt, item in asked:
            row = await panel.ask(item, model, attempt)
            rows.append(row)
            on_row(row, total)

    tasks = []
    for model in sorted(panel.clients):
        asked = ((attempt, item) for attempt in range(attempts) for item in items)
        tasks += [asyncio.ensure_future(work(model, asked)) for _ in range(WORKERS)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return sorted(rows, key=lambda row: (row.model, row.item, row.attempt))


def log_bytes(rows: Sequence[AttemptRow], no_answer: Literal["missing", "wrong"]) -> bytes:
    """The log as long CSV; an attempt without a score has an empty ``correct`` and its reason."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(LOG_HEADER)
    scores = {"correct": "1", "wrong": "0", "missing": ""}
    for row in rows:
        outcome = counted_as(row, no_answer)
        writer.writerow((row.model, row.item, row.attempt, scores[outcome], row.reason))
    return text.getvalue().encode()
