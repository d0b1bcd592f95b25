"""Node: the pool of models answers what was planned, all calls at once under the endpoints' limits."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from langgraph.runtime import Runtime

from benchfill.errors import RunPaused
from benchfill.graph.search import Search
from benchfill.graph.state import SearchState
from benchfill.memory.records import AttemptRow

__all__ = ["answer"]

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
    rows = await asyncio.gather(*calls)
    if rows and all(row.outcome == "missing" and row.reason not in THE_MODELS_OWN for row in rows):
        raise RunPaused(
            f"No model of the pool answered ({rows[0].reason}).",
            f"When the endpoints are back: benchfill resume {search.run}",
        )
    # One transaction for all: the raw replies are in the ledger already, whatever happens here.
    search.pool.save_attempts(rows)
    return {"asked": asked, "plan": {}}
