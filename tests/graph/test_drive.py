"""The search as the library drives it: it ends by its own rule."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langgraph.graph import END, START, StateGraph

from benchfill.graph import build, waves
from benchfill.graph.state import SearchState
from benchfill.memory.runs import RunFolder

ROUNDS = 60


async def test_a_search_of_many_steps_ends_by_its_own_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The library's own limit is 25 steps, or 10,000 in newer versions: neither may end a search.
    seen: list[int] = []

    def once(state: SearchState) -> dict[str, Any]:
        seen.append(state["round"])
        return {"round": state["round"] + 1, "done": state["round"] == ROUNDS}

    def compiled(saver: Any) -> Any:
        graph = StateGraph(SearchState)
        graph.add_node("once", once)
        graph.add_edge(START, "once")
        graph.add_conditional_edges("once", lambda state: END if state["done"] else "once")
        return graph.compile(checkpointer=saver)

    monkeypatch.setattr(build, "compile_graph", compiled)
    monkeypatch.setattr(waves, "forget_search", lambda pool, gap: None)
    pool = SimpleNamespace(gap=lambda number: SimpleNamespace(wave=1))
    search: Any = SimpleNamespace(run="r", pool=pool)
    (tmp_path / "r").mkdir()
    await waves.search_here(RunFolder(tmp_path / "r"), search, 1)
    assert seen == list(range(1, ROUNDS + 1))
