"""Node: the pool of models answers what was planned, all calls at once under the endpoints' limits."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from langgraph.runtime import Runtime

from benchfill.errors import RunPaused
from benchfill.graph.endpoints import least_left
from benchfill.graph.search import Search
from benchfill.graph.state import SearchState
from benchfill.memory.records import AttemptRow

__all__ = ["answer", "go_on_without", "pause_if_nobody_answers"]

# Reasons of missing attempts that asking again later would not change.
THE_MODELS_OWN = frozenset({"no_answer", "ungraded", "refusal", "content_filter", "attempts_exhausted"})


async def answer(state: SearchState, runtime: Runtime[Search]) -> dict[str, Any]:
    """Bring every planned candidate to its number of attempts of every model."""
    search = runtime.context
    asked = dict(state["asked"])
    calls: list[Coroutine[Any, Any, AttemptRow]] = []
    for name, wanted in sorted(state["plan"].items()):
        item = search.pool.item(str(search.pool.candidate(name).item))
        if item is None:
            raise LookupError(f"the item of {name} is not in the pool")
        for attempt in range(asked.get(name, 0), wanted):
            calls.extend(search.panel.ask(item, model, attempt) for model in search.models)
        asked[name] = wanted
    before = set(search.panel.down)
    rows = await asyncio.gather(*calls)
    go_on_without(search, before)
    pause_if_nobody_answers(search, rows)
    # One transaction for all: the raw replies are in the ledger already, whatever happens here.
    search.pool.save_attempts(rows)
    return {"asked": asked, "plan": {}}


def pause_if_nobody_answers(search: Search, rows: Sequence[AttemptRow]) -> None:
    """Nothing can be learned from attempts that all failed for technical reasons.

    Raises
    ------
    RunPaused
    """
    if rows and all(row.outcome == "missing" and row.reason not in THE_MODELS_OWN for row in rows):
        raise RunPaused(
            f"No model of the pool answered ({rows[0].reason}).",
            f"When the endpoints are back: benchfill resume {search.run}",
        )


def go_on_without(search: Search, before: set[str]) -> None:
    """Say which models have died; with too few left the calibration would rest on too little, so the run waits."""
    down = search.panel.down
    for model in sorted(set(down) - before):
        message = f"{model} of the pool is gone ({down[model]}); its attempts are missing until it is back"
        search.emit("stage", name="pool", message=message, fraction=None)
    left = len(search.models) - len(down)
    if down and left < least_left(len(search.models), search.min_models):
        named = ", ".join(f"{model}: {down[model]}" for model in sorted(down)[:3])
        raise RunPaused(
            f"Only {left} of {len(search.models)} models of the pool are left ({named}).",
            f"When they are back: benchfill resume {search.run}",
        )
