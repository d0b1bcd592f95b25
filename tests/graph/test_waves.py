"""From gap to gap: which are searched together, what they see, and how what they found comes together."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchfill.engines.protocol import Failed, Unit
from benchfill.errors import UnitLost
from benchfill.graph import waves
from benchfill.graph.search import Search
from benchfill.item import Item
from benchfill.memory.gap_rows import GapRows, rows_of_gap, snapshot
from benchfill.memory.pool import Pool
from benchfill.memory.records import Candidate, Estimate, GapRow, HitRow
from benchfill.memory.runs import RunFolder
from tests.graph.made_search import make_search

WIDE = ((0.1, 0.3), (0.4, 0.55), (0.6, 0.7))


def planned(folder: Path, count: int = 3, **settings: Any) -> Search:
    search, _, _ = make_search(folder, **settings)
    search.pool.save_gaps(
        GapRow(number, lo, hi, (lo + hi) / 2, 0.02, 500)
        for number, (lo, hi) in enumerate(WIDE[:count], start=1)
    )
    return search


def fill(pool: Pool, gap: int, item: Item, z: float = 0.5) -> None:
    """What a search would leave behind: one accepted candidate."""
    row, name = pool.gap(gap), f"g{gap}r01w1"
    pool.save_candidate(
        Candidate(name, item.id, gap, 1, 1, row.target, "i03", [], "accepted", "w", "j", "v", {}), item
    )
    pool.save_estimates(
        [
            Estimate(
                item.id,
                "frozen",
                "online",
                0.0,
                0.1,
                z,
                0.01,
                z - 0.02,
                z + 0.02,
                96,
                0.0,
                0.01,
                confirmed=True,
            )
        ]
    )
    pool.save_gaps([dataclasses.replace(row, status="filled", accepted=name, rounds=1)])


def found_apart(search: Search, folder: Path, questions: Mapping[int, str]) -> dict[int, GapRows]:
    """What searches of one wave bring back."""
    found = {}
    for gap, question in questions.items():
        pool = Pool(snapshot(search.pool, list(questions), folder))
        fill(pool, gap, Item(f"bf-{gap}", question, "72"))
        found[gap] = rows_of_gap(pool, gap)
        pool.close()
    return found


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Gaps in the order they were searched in this process, each filled at its target."""
    order: list[int] = []

    async def here(folder: RunFolder, search: Search, gap: int) -> None:
        order.append(gap)
        fill(search.pool, gap, Item(f"bf-{gap}", f"question {gap}", "1"), search.pool.gap(gap).target)

    monkeypatch.setattr(waves, "search_here", here)
    return order


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, set[int]]]:
    """Gaps searched in a memory of their own, and the gaps whose candidates each of them saw."""
    seen: list[tuple[int, set[int]]] = []

    async def in_its_own(search: Search, gap: int) -> Any:
        seen.append((gap, {candidate.gap for candidate in search.pool.candidates()}))
        number = (
            2 if gap == 3 and not any(candidate.gap == 2 for candidate in search.pool.candidates()) else gap
        )
        fill(search.pool, gap, Item(f"bf-{number}", f"question {number}", "1"))
        return rows_of_gap(search.pool, gap)

    monkeypatch.setattr(waves, "search_apart", in_its_own)
    return seen


async def test_one_after_the_other_each_gap_is_a_wave(tmp_path: Path, searched: list[int]):
    search = planned(tmp_path)
    await waves.drive(RunFolder(tmp_path), search)
    assert searched == [1, 2, 3]
    assert [gap.wave for gap in search.pool.gaps()] == [1, 2, 3]


async def test_gaps_of_a_wave_do_not_see_each_other_and_a_repeated_item_is_searched_again(
    tmp_path: Path, searched: list[int], apart: list[tuple[int, set[int]]]
):
    search = planned(tmp_path, at_once=2)
    await waves.drive(RunFolder(tmp_path), search)
    # The first alone, for nothing is known of the rewriter; then two that see it and not each other. The third came
    # upon the item of the second, and was searched again when it could see it.
    assert searched == [1, 3]
    assert apart == [(2, {1}), (3, {1})]
    assert [(gap.wave, gap.status) for gap in search.pool.gaps()] == [
        (1, "filled"),
        (2, "filled"),
        (3, "filled"),
    ]
    assert [search.pool.candidate(str(gap.accepted)).item for gap in search.pool.gaps()] == [
        "bf-1",
        "bf-2",
        "bf-3",
    ]


async def test_with_a_record_of_the_rewriter_no_gap_goes_alone(
    tmp_path: Path, searched: list[int], apart: list[tuple[int, set[int]]]
):
    search = planned(tmp_path, at_once=2)
    search.pool.save_known_hits([HitRow("earlier", "g1r01w1", 0.5, 0.4, 0.51, 0.01)])
    await waves.drive(RunFolder(tmp_path), search)
    assert [gap for gap, _ in apart] == [1, 2]
    assert searched == [3]


async def test_waves_that_are_known_are_made_again(
    tmp_path: Path, searched: list[int], apart: list[tuple[int, set[int]]]
):
    search = planned(tmp_path)
    await waves.drive(RunFolder(tmp_path), search, made={1: 1, 2: 1, 3: 4})
    assert [gap for gap, _ in apart] == [1, 2]
    assert searched == [3]
    assert [gap.wave for gap in search.pool.gaps()] == [1, 1, 2]


async def test_a_wave_that_was_stopped_goes_on_without_what_its_other_gaps_found(
    tmp_path: Path, searched: list[int], apart: list[tuple[int, set[int]]]
):
    search = planned(tmp_path, at_once=3)
    search.pool.save_gaps(dataclasses.replace(gap, wave=1) for gap in search.pool.gaps())
    fill(search.pool, 1, Item("bf-1", "question 1", "1"))
    await waves.drive(RunFolder(tmp_path), search)
    assert apart == [(2, set()), (3, set())]
    assert searched == [3]


async def test_near_duplicates_of_one_wave_are_found(tmp_path: Path):
    search = planned(tmp_path, at_once=2)
    text = "A train of 120 metres passes a bridge of 480 metres in 30 seconds. How fast is it?"
    search.pool.save_gaps(dataclasses.replace(gap, wave=1) for gap in search.pool.gaps())
    questions = {1: text, 2: text.replace("passes", "crosses"), 3: text.replace("30", "40")}
    found = found_apart(search, tmp_path, questions)
    waves.bring_together(search, found)
    assert [(gap.status, gap.wave) for gap in search.pool.gaps()] == [
        ("filled", 1),
        ("open", None),
        ("filled", 1),
    ]


async def test_a_gap_that_is_given_up_costs_the_others_nothing_and_comes_before_them_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    search = planned(tmp_path, at_once=3)
    text = "A train of 120 metres passes a bridge of 480 metres in 30 seconds. How fast is it?"
    search.pool.save_gaps(dataclasses.replace(gap, wave=1) for gap in search.pool.gaps())
    found = found_apart(search, tmp_path, {1: "one", 2: text, 3: text.replace("passes", "crosses")})
    outcomes: dict[str, Any] = {f"gap {gap}": rows for gap, rows in found.items()}

    class Engine:
        async def run(self, units: Sequence[Unit], **_: Any) -> dict[str, Any]:
            return {unit.name: outcomes[unit.name] for unit in units}

    monkeypatch.setattr(waves, "job_of", lambda *_: None)
    workers: Any = SimpleNamespace(
        engine=Engine(),
        models=SimpleNamespace(everyone=list),
        roles=SimpleNamespace(limits={}),
        settings=None,
    )
    outcomes["gap 2"] = Failed(UnitLost("gap 2 was given up"))
    with pytest.raises(UnitLost):
        await waves.drive(RunFolder(tmp_path), search, workers=workers)
    assert [gap.status for gap in search.pool.gaps()] == ["filled", "open", "filled"]

    # As if its worker had never died: the later of two near-duplicates is searched again.
    outcomes["gap 2"] = found[2]
    waves.bring_together(search, {2: found[2]})
    assert [(gap.status, gap.wave) for gap in search.pool.gaps()] == [
        ("filled", 1),
        ("filled", 1),
        ("open", None),
    ]


async def test_further_gaps_follow_until_none_is_wide(tmp_path: Path, searched: list[int]):
    search = planned(tmp_path, count=1, until_max_gap=0.045)
    await waves.drive(RunFolder(tmp_path), search)
    # The originals stand 1/19 apart, so that every space between two of them is too wide.
    assert len(search.pool.gaps()) > 10
    assert all(gap.status == "filled" for gap in search.pool.gaps())
    assert len({(gap.lo, gap.hi) for gap in search.pool.gaps()}) == len(search.pool.gaps())
