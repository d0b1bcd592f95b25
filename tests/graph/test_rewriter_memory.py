"""What earlier runs learned of a rewriter: handed on to the same one alone, and fixed when a run begins."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from benchfill.calibration.rewriter_record import RewriterRecord
from benchfill.graph.measuring import hits_before, record_before
from benchfill.graph.rewriter_memory import begin_with_record, keep_record, rewriter_id, uses_record
from benchfill.graph.search import Search
from benchfill.item import Item
from benchfill.memory.records import AttemptRow, Candidate, HitRow, RunRow
from benchfill.memory.rewriters import MOST_HITS, RewriterMemory
from benchfill.prompts.render import PromptBook
from benchfill.settings import SearchSettings, Settings
from benchfill.tools.endpoint import Endpoint
from tests.graph.made_search import MODELS, make_search

WRITER = Endpoint("rewriter", "https://models.example/v1", "writer-large", temperature=0.7)


class Client:
    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint


def hit(run: str, number: int) -> HitRow:
    return HitRow(run, f"g1r01w{number}", 0.5, 0.4, 0.52, 0.01)


def run_row(name: str, *, seed: int = 1, world: str = "", **search: Any) -> RunRow:
    settings = Settings(search=SearchSettings(**search)).model_dump(mode="json")
    return RunRow(id=name, seed=seed, world=world, version="0", settings=settings, request={"count": 1})


def searched(folder: Path, name: str, *, landed: int, **row: Any) -> tuple[Search, list[dict[str, Any]]]:
    """A run with one measured candidate, whose models solve it so many times out of sixteen."""
    search, _, events = make_search(folder)
    search.pool.save_run(run_row(name, **row))
    client: Any = Client(WRITER)
    search.rewriter = client
    candidate = Candidate(
        id="g1r01w1", item="bf-1", gap=1, round=1, writer=1, target=0.5, parent="i09", reference_ids=[],
        status="dropped", rewriter="writer-large", judge="j", prompt_version="v1", prompt_hashes={},
    )  # fmt: skip
    search.pool.save_candidate(candidate, Item(id="bf-1", question="q", answer="1"))
    search.pool.save_attempts(
        AttemptRow("bf-1", model, n, "correct" if n < landed else "wrong", "", "x")
        for model in MODELS
        for n in range(16)
    )
    return search, events


def begun(search: Search, path: Path, name: str, events: list[dict[str, Any]], **row: Any) -> list[HitRow]:
    search.pool.save_run(run_row(name, **row))
    begin_with_record(
        search.pool,
        run_row(name, **row),
        WRITER,
        path,
        lambda event, /, **fields: events.append({"event": event, **fields}),
    )
    return search.pool.known_hits()


def test_a_later_run_begins_with_what_an_earlier_one_learned(tmp_path: Path):
    path = tmp_path / "rewriters.sqlite"
    first, _ = searched(tmp_path / "first", "first", landed=12)
    keep_record(first, path)
    keep_record(first, path)
    later, events = searched(tmp_path / "later", "later", landed=4, seed=2)
    (known,) = begun(later, path, "later", events, seed=2)
    own = hits_before(first)["g1r01w1"]
    assert (known.run, known.candidate) == ("first", "g1r01w1")
    assert (known.target, known.landed, known.error) == (own.target, own.landed, own.error)
    assert "1 items of 1 earlier runs" in events[-1]["message"]
    # Of its own rounds nothing is known before the first; afterwards both count.
    assert record_before(later, 1, 1).hits == (own,)
    assert len(record_before(later, 1, 2).hits) == 2
    alone = RewriterRecord((), later.settings.prior_scale)
    assert record_before(later, 1, 1).prior(0.5, 0.45).scale != alone.prior(0.5, 0.45).scale


def test_what_comes_later_changes_nothing_in_a_run_that_has_begun_nor_in_the_same_command(tmp_path: Path):
    path = tmp_path / "rewriters.sqlite"
    first, events = searched(tmp_path / "first", "first", landed=12)
    assert begun(first, path, "first", events) == []
    keep_record(first, path)
    assert first.pool.known_hits() == []
    # The same seed, request and settings under another name: it begins as the first one did.
    again, events = searched(tmp_path / "again", "again", landed=12)
    assert begun(again, path, "again", events) == []
    other, events = searched(tmp_path / "other", "other", landed=12)
    assert len(begun(other, path, "other", events, seed=3)) == 1


@pytest.mark.parametrize(
    "change", [{"model": "writer-small"}, {"temperature": 0.0}, {"base_url": "https://other.example/v1"}]
)
def test_another_rewriter_inherits_nothing(tmp_path: Path, change: dict[str, Any]):
    prompts = PromptBook()
    mine = rewriter_id(WRITER, prompts, "print", "", {})
    assert rewriter_id(dataclasses.replace(WRITER, **change), prompts, "print", "", {}) != mine
    # How it is reached is no part of what it writes.
    assert (
        rewriter_id(dataclasses.replace(WRITER, timeout=5.0, api_key="k"), prompts, "print", "", {}) == mine
    )


def test_another_prompt_benchmark_or_world_inherits_nothing(tmp_path: Path):
    mine = rewriter_id(WRITER, PromptBook(), "print", "", {})
    folder = tmp_path / "prompts"
    folder.mkdir()
    name = sorted(name for name in PromptBook().hashes() if "rewrite" in name)[0]
    from importlib.resources import files

    version = PromptBook().version
    text = (files("benchfill.prompts") / version / name).read_text(encoding="utf-8")
    (folder / name).write_text(text + "\nAim well.\n", encoding="utf-8")
    assert rewriter_id(WRITER, PromptBook(folder), "print", "", {}) != mine
    assert rewriter_id(WRITER, PromptBook(), "other", "", {}) != mine
    assert rewriter_id(WRITER, PromptBook(), "print", "simulated", {}) != mine


def test_embedded_worlds_take_part_only_when_asked_to():
    assert uses_record(run_row("r"), SearchSettings())
    assert not uses_record(run_row("r", world="simulated"), SearchSettings())
    assert uses_record(run_row("r", world="simulated"), SearchSettings(record=True))
    assert not uses_record(run_row("r"), SearchSettings(record=False))


def test_only_the_latest_hits_are_handed_on(tmp_path: Path):
    with RewriterMemory(tmp_path / "rewriters.sqlite") as memory:
        memory.keep("w", [hit("old", number) for number in range(5)])
        memory.keep("w", [hit("new", number) for number in range(MOST_HITS - 2)])
        memory.keep("v", [hit("new", 1)])
        found = memory.begin("w", "command")
        assert len(found) == MOST_HITS
        assert sum(each.run == "old" for each in found) == 2
        assert memory.begin("v", "other command") == [hit("new", 1)]
        assert memory.begin("u", "third command") == []
