"""What a session says beside its results: who is asked, what is out of reach, what was spent so far."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import benchfill
from benchfill.graph.endpoints import Roles
from benchfill.graph.plan import LARGEST_SHARE, aim_of
from benchfill.graph.search import Emit, Search
from benchfill.memory.pool import Pool
from benchfill.memory.records import RunRow
from benchfill.tools.endpoint import Endpoint
from benchfill.tools.meter import Meter

__all__ = ["announce", "metered", "say_what_is_out_of_reach"]

METER_SECONDS = 0.5


def announce(pool: Pool, run: RunRow, roles: Roles, emit: Emit) -> None:
    """Say what runs, and where its texts go: the embedded endpoint, or every host."""
    benchmark = pool.benchmark_outline()

    def where(endpoint: Endpoint) -> str:
        return f"{run.world} endpoint, embedded" if run.world else urlsplit(endpoint.base_url).netloc

    asked = [("rewriter", roles.rewriter), ("judge", roles.judge)]
    asked += [] if roles.grader is None else [("grader", roles.grader)]
    asked += [("pool", roles.pool[model]) for model in sorted(roles.pool)]
    emit(
        "run_started",
        run=run.id,
        seed=run.seed,
        world=run.world or None,
        version=benchfill.__version__,
        endpoints=[
            {
                "role": role,
                "model": endpoint.name if role == "pool" else endpoint.model,
                "where": where(endpoint),
            }
            for role, endpoint in asked
        ],
        n_items=0 if benchmark is None else benchmark[2],
        n_models=len(roles.pool),
        resume=f"benchfill resume {run.id}",
    )


def say_what_is_out_of_reach(search: Search) -> None:
    """Gaps whose tolerance the limit of attempts does not allow, or is too wide for them, before anything is asked."""
    for gap in search.pool.gaps():
        aim = aim_of(gap, scale=search.scale, theta=search.theta, settings=search.settings)
        if gap.status == "open" and aim.tolerance > gap.tolerance:
            message = (
                f"gap {gap.gap}: tolerance {gap.tolerance:.4f} would take {aim.needed} attempts of every model at one "
                f"item (the pool's answers tell {100 * aim.efficiency:.0f}% of what they could there), the limit is "
                f"{search.settings.max_attempts}; the search aims at {aim.tolerance:.4f}. More: search.max_attempts, "
                "models of abilities nearer to the target, or --relative-tolerance"
            )
            search.emit("stage", name="plan", message=message, fraction=None)
        elif gap.status == "open" and LARGEST_SHARE * (gap.hi - gap.lo) < gap.tolerance:
            width = f"{gap.hi - gap.lo:.3f}"
            message = (
                f"gap {gap.gap}: tolerance {gap.tolerance:.4f} is more than a sixth of its width {width}: "
                "an item may count as within it and leave the gap as it is, or lie outside of it"
            )
            search.emit("stage", name="plan", message=message, fraction=None)


@contextlib.contextmanager
def metered(meter: Meter, pool: Pool, emit: Emit, started: float) -> Iterator[None]:
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
