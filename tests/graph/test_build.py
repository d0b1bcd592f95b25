"""The graph as it is wired, and as ``langgraph.json`` names it."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

from benchfill.graph.build import (
    ask_confirm_or_remember,
    ask_search_on_or_remember,
    make_graph,
    one_writer_a_parent,
    where_next,
    who_wanted_answers,
)
from benchfill.graph.state import NOT_CONFIRMING, merge_written

ROOT = Path(__file__).resolve().parents[2]


def test_langgraph_json_names_a_graph_that_loads():
    document = json.loads((ROOT / "langgraph.json").read_text())
    path, name = document["graphs"]["benchfill"].split(":")
    assert (ROOT / path).is_file()
    module = importlib.import_module(path.removeprefix("./").removesuffix(".py").replace("/", "."))
    graph = getattr(module, name)()
    line = {"retrieve", "references", "rewrite", "judge", "answer", "calibrate", "confirm", "remember"}
    assert line <= set(graph.nodes)


def test_the_wiring_is_the_line():
    edges = {(edge.source, edge.target) for edge in make_graph().get_graph().edges}
    assert edges == {
        ("__start__", "retrieve"),
        ("retrieve", "references"),
        ("references", "rewrite"),
        ("rewrite", "judge"),
        ("judge", "answer"),
        ("answer", "calibrate"),
        ("answer", "confirm"),
        ("calibrate", "answer"),
        ("calibrate", "confirm"),
        ("calibrate", "remember"),
        ("confirm", "answer"),
        ("confirm", "calibrate"),
        ("confirm", "remember"),
        ("remember", "retrieve"),
        ("remember", "__end__"),
    }


def test_every_parent_gets_a_writer_of_its_own():
    priors = {"a": [0.5, 0.1], "b": [0.5, 0.2]}
    sent = one_writer_a_parent(
        {"gap": 1, "round": 2, "parents": ["a", "b"], "references": ["r"], "priors": priors}
    )
    assert [(each.node, each.arg["parent"], each.arg["writer"]) for each in sent] == [
        ("rewrite", "a", 1),
        ("rewrite", "b", 2),
    ]


def test_routers_only_read_the_state():
    assert ask_confirm_or_remember({"plan": {"c": 2}, "fresh_from": NOT_CONFIRMING}) == "answer"
    assert ask_confirm_or_remember({"plan": {}, "fresh_from": NOT_CONFIRMING}) == "remember"
    assert ask_confirm_or_remember({"plan": {}, "fresh_from": 12}) == "confirm"
    assert who_wanted_answers({"fresh_from": NOT_CONFIRMING}) == "calibrate"
    assert who_wanted_answers({"fresh_from": 0}) == "confirm"
    assert ask_search_on_or_remember({"plan": {"c": 2}, "met": "c"}) == "answer"
    assert ask_search_on_or_remember({"plan": {}, "met": "c"}) == "remember"
    assert ask_search_on_or_remember({"plan": {}, "met": ""}) == "calibrate"
    assert where_next({"step": "next_round"}) == "next_round"


def test_candidates_of_parallel_writers_are_collected_in_one_order():
    assert merge_written(["b"], ["a"]) == merge_written(["a"], ["b"]) == ["a", "b"]
    assert merge_written(["a"], None) == []
    assert merge_written(None, ["a"]) == ["a"]
