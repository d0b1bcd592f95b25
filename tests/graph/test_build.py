"""The graph as it is wired, and as ``langgraph.json`` names it."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

from benchfill.graph.build import ask_again_or_remember, make_graph, one_writer_a_parent, where_next
from benchfill.graph.state import merge_written

ROOT = Path(__file__).resolve().parents[2]


def test_langgraph_json_names_a_graph_that_loads():
    document = json.loads((ROOT / "langgraph.json").read_text())
    path, name = document["graphs"]["benchfill"].split(":")
    assert (ROOT / path).is_file()
    module = importlib.import_module(path.removeprefix("./").removesuffix(".py").replace("/", "."))
    graph = getattr(module, name)()
    assert {"retrieve", "references", "rewrite", "judge", "answer", "calibrate", "remember"} <= set(
        graph.nodes
    )


def test_the_wiring_is_the_line():
    edges = {(edge.source, edge.target) for edge in make_graph().get_graph().edges}
    assert edges == {
        ("__start__", "retrieve"),
        ("retrieve", "references"),
        ("references", "rewrite"),
        ("rewrite", "judge"),
        ("judge", "answer"),
        ("answer", "calibrate"),
        ("calibrate", "answer"),
        ("calibrate", "remember"),
        ("remember", "retrieve"),
        ("remember", "__end__"),
    }


def test_every_parent_gets_a_writer_of_its_own():
    sent = one_writer_a_parent({"gap": 1, "round": 2, "parents": ["a", "b"], "references": ["r"]})
    assert [(each.node, each.arg["parent"], each.arg["writer"]) for each in sent] == [
        ("rewrite", "a", 1),
        ("rewrite", "b", 2),
    ]


def test_routers_only_read_the_state():
    assert ask_again_or_remember({"plan": {"c": 2}}) == "answer"
    assert ask_again_or_remember({"plan": {}}) == "remember"
    assert where_next({"step": "next_gap"}) == "next_gap"


def test_candidates_of_parallel_writers_are_collected_in_one_order():
    assert merge_written(["b"], ["a"]) == merge_written(["a"], ["b"]) == ["a", "b"]
    assert merge_written(["a"], None) == []
    assert merge_written(None, ["a"]) == ["a"]
