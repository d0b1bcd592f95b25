"""The search of one gap as a unit of work: what a worker is sent, what it does with it, and the desk it asks.

A worker has a memory of its own, which ends with it, and no ledger: every call goes to the desk, in the process of the
run, where ledger, limits, budget and keys are. A search whose worker dies is run again and finds its calls there.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import benchfill
from benchfill.engines.protocol import Line
from benchfill.errors import BenchfillError
from benchfill.graph.endpoints import Roles
from benchfill.graph.models import Models, desk_models
from benchfill.graph.open_search import make_search
from benchfill.graph.search import Emit, Search
from benchfill.memory.gap_rows import GapRows, rows_of_gap
from benchfill.memory.pool import Pool
from benchfill.memory.records import AttemptRow
from benchfill.prompts.render import PromptBook
from benchfill.settings import Settings
from benchfill.tools.endpoint import Endpoint
from benchfill.tools.exchange import AnsweredCall, AskedCall
from benchfill.tools.limits import ServerLimit
from benchfill.tools.meter import Meter
from benchfill.tools.sandbox import Sandbox
from benchfill.tools.tool_modes import Mode

__all__ = ["CallDesk", "GapJob", "job_of", "search_apart", "search_gap"]


@dataclass(frozen=True)
class GapJob:
    """Everything a worker needs for one gap; no API key is among it.

    Parameters
    ----------
    version
        Of the package that sends it.
    memory
        The run's memory as of the beginning of the wave, an SQLite file.
    modes
        How rewriter, judge and grader are asked for structured replies, by role.
    limits
        Calls in flight at most, by server.
    failed
        Attempts that are not asked because they are known to have failed.
    """

    version: str
    gap: int
    memory: bytes
    settings: Settings
    prompts: PromptBook
    rewriter: Endpoint
    judge: Endpoint
    pool: Mapping[str, Endpoint]
    grader: Endpoint | None
    modes: Mapping[str, Mode]
    limits: Mapping[str, int]
    failed: Mapping[tuple[str, str, int], AttemptRow] = field(default_factory=dict)


def job_of(
    search: Search, models: Models, roles: Roles, settings: Settings, gap: int, memory: bytes
) -> GapJob:
    """The search of one gap, packed for a worker."""

    def bare(endpoint: Endpoint) -> Endpoint:
        return dataclasses.replace(endpoint, api_key=None)

    return GapJob(
        version=benchfill.__version__,
        gap=gap,
        memory=memory,
        settings=settings,
        prompts=search.prompts,
        rewriter=bare(roles.rewriter),
        judge=bare(roles.judge),
        pool={name: bare(endpoint) for name, endpoint in roles.pool.items()},
        grader=None if roles.grader is None else bare(roles.grader),
        modes={client.role: client.mode for client in models.structured()},
        limits={server: limit.concurrency for server, limit in roles.limits.items()},
        failed=search.failed,
    )


async def search_gap(job: GapJob, line: Line) -> GapRows:
    """Search one gap in a worker.

    Returns
    -------
    GapRows
        What the run's memory is to hold of it.

    Raises
    ------
    BenchfillError
        The worker has another version; or as a search in the process of the run.
    """
    if job.version != benchfill.__version__:
        raise BenchfillError(
            f"A worker has benchfill {benchfill.__version__}, the run {job.version}.",
            "Install the same version on all nodes.",
        )

    def emit(event: str, /, **fields: Any) -> None:
        line.tell((event, fields))

    def waiting(endpoint: str, seconds: float, reason: str) -> None:
        emit("waiting", endpoint=endpoint, seconds=seconds, reason=reason)

    def notice(endpoint: str, what: str) -> None:
        emit("stage", name="endpoint", message=f"{endpoint}: {what}", fraction=None)

    models = desk_models(
        job.rewriter,
        job.judge,
        job.pool,
        job.grader,
        ask=line.ask,
        limits=job.limits,
        meter=Meter(on_wait=waiting, on_notice=notice),
    )
    for client in models.structured():
        client.mode = job.modes[client.role]
    sandbox = Sandbox()
    try:
        pool = Pool(job.memory)
        try:
            search = make_search(pool, job.settings, models, sandbox, emit, prompts=job.prompts)
            search.failed = job.failed
            return await search_apart(search, job.gap)
        finally:
            pool.close()
    finally:
        await models.close()
        sandbox.close()


async def search_apart(search: Search, gap: int) -> GapRows:
    """Search one gap in a memory of its own, from beginning to end, without checkpoints."""
    from benchfill.graph.build import compile_graph

    config: Any = {"recursion_limit": 1_000_000_000}
    await compile_graph(None).ainvoke({"gap": gap, "round": 1}, config, context=search)
    return rows_of_gap(search.pool, gap)


class CallDesk:
    """Answers the calls of workers in the process of the run, and passes their events on; left when they have ended.

    A call of a worker that died is not given up: the same call of the search that is run again waits for its reply.
    """

    def __init__(self, models: Models, limits: Iterable[ServerLimit], emit: Emit) -> None:
        self._clients = {(client.role, client.endpoint.name): client for client in models.everyone()}
        self._limits = list(limits)
        self._emit = emit
        self._out: dict[tuple[str, str, str, bytes, str], asyncio.Task[AnsweredCall]] = {}

    async def __aenter__(self) -> CallDesk:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """What is out comes back and is kept, although nobody waits for it any more."""
        if isinstance(error, Exception):
            # The run ends: nothing else goes out. (Told to stop, it has waited for that already.)
            await asyncio.gather(*(limit.close() for limit in self._limits))
        out = list(self._out.values())
        if error is not None:
            for task in out:
                task.cancel()
        await asyncio.gather(*out, return_exceptions=True)

    async def answer(self, question: AskedCall) -> AnsweredCall:
        key = (question.role, question.name, question.path, question.body, question.tag)
        if key not in self._out:
            client = self._clients[question.role, question.name]
            self._out[key] = asyncio.create_task(client.pass_on(question))
            self._out[key].add_done_callback(lambda task: self._back(key, task))
        return await asyncio.shield(self._out[key])

    def _back(self, key: tuple[str, str, str, bytes, str], task: asyncio.Task[AnsweredCall]) -> None:
        del self._out[key]
        if not task.cancelled():
            # Seen, so that an error of which nobody is left to be told is not told to the terminal.
            task.exception()

    def hear(self, news: tuple[str, dict[str, Any]]) -> None:
        self._emit(news[0], **news[1])
