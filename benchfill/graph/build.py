"""The wiring of the state machine, readable top to bottom as the line it is.

retrieve parents -> build bidirectional references -> rewrite -> judge -> answer (model pool) -> calibrate
-> confirm (fresh answers) -> remember -> next round | done

One search of this line fills one gap; `benchfill.graph.waves` goes from gap to gap.
"""

from __future__ import annotations

from typing import Any, Literal

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Send

from benchfill.graph.answer import answer
from benchfill.graph.calibrate import calibrate
from benchfill.graph.confirm import confirm
from benchfill.graph.judge import judge
from benchfill.graph.references import references
from benchfill.graph.remember import remember
from benchfill.graph.retrieve import retrieve
from benchfill.graph.rewrite import rewrite
from benchfill.graph.search import Search
from benchfill.graph.state import NOT_CONFIRMING, CandidateTask, SearchState

__all__ = ["SearchGraph", "build_graph", "compile_graph", "make_graph"]

SearchGraph = CompiledStateGraph[SearchState, Search, SearchState, SearchState]


def one_writer_a_parent(state: SearchState) -> list[Send]:
    """Fan out: each parent to a writer of its own."""
    return [
        Send(
            "rewrite",
            CandidateTask(
                gap=state["gap"],
                round=state["round"],
                writer=writer,
                parent=parent,
                references=state["references"],
                prior=state["priors"][parent],
            ),
        )
        for writer, parent in enumerate(state["parents"], start=1)
    ]


def who_wanted_answers(state: SearchState) -> Literal["calibrate", "confirm"]:
    return "calibrate" if state["fresh_from"] == NOT_CONFIRMING else "confirm"


def ask_confirm_or_remember(state: SearchState) -> Literal["answer", "confirm", "remember"]:
    if state["plan"]:
        return "answer"
    return "remember" if state["fresh_from"] == NOT_CONFIRMING else "confirm"


def ask_search_on_or_remember(state: SearchState) -> Literal["answer", "calibrate", "remember"]:
    if state["plan"]:
        return "answer"
    return "remember" if state["met"] else "calibrate"


def where_next(state: SearchState) -> Literal["next_round", "done"]:
    return state["step"]


def build_graph() -> StateGraph[SearchState, Search, SearchState, SearchState]:
    """Nodes and edges, not yet compiled."""
    graph = StateGraph(SearchState, context_schema=Search)

    graph.add_node("retrieve", retrieve)
    graph.add_node("references", references)
    graph.add_node("rewrite", rewrite, input_schema=CandidateTask)
    graph.add_node("judge", judge)
    graph.add_node("answer", answer)
    graph.add_node("calibrate", calibrate)
    graph.add_node("confirm", confirm)
    graph.add_node("remember", remember)

    graph.add_edge(START, "retrieve")
    graph.add_edge("retrieve", "references")
    graph.add_conditional_edges("references", one_writer_a_parent, ["rewrite"])
    graph.add_edge("rewrite", "judge")
    graph.add_edge("judge", "answer")
    graph.add_conditional_edges("answer", who_wanted_answers, ["calibrate", "confirm"])
    graph.add_conditional_edges("calibrate", ask_confirm_or_remember, ["answer", "confirm", "remember"])
    graph.add_conditional_edges("confirm", ask_search_on_or_remember, ["answer", "calibrate", "remember"])
    graph.add_conditional_edges("remember", where_next, {"next_round": "retrieve", "done": END})
    return graph


def make_graph() -> SearchGraph:
    """The compiled graph, as ``langgraph.json`` names it: LangGraph Server brings its own checkpoints."""
    return compile_graph(None)


def compile_graph(checkpointer: BaseCheckpointSaver[Any] | None) -> SearchGraph:
    """Compile the graph over a place for its checkpoints."""
    return build_graph().compile(checkpointer=checkpointer, name="benchfill")
