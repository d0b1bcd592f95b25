"""From gap to gap: which are searched at the same time, where, and how what they found comes together.

Gaps of one wave begin with the same memory, that of before the wave, and do not see each other: so the same comes out
wherever and in whatever order they are searched. Without workers a gap is searched in this process, under checkpoints;
with them each gap is a unit of work for an engine. What comes back is taken over in the order of the gaps.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig

from benchfill.engines.protocol import Engine, Failed, Unit
from benchfill.errors import RunPaused
from benchfill.graph.checkpoints import open_checkpoints
from benchfill.graph.endpoints import Roles
from benchfill.graph.gap_check import left_out, with_p_empty
from benchfill.graph.gap_unit import CallDesk, job_of, search_apart, search_gap
from benchfill.graph.models import Models
from benchfill.graph.plan import next_gap
from benchfill.graph.search import Search
from benchfill.graph.summary import plan_event
from benchfill.memory.gap_rows import GapRows, accepted_item, forget_search, rows_of_gap, snapshot, take_over
from benchfill.memory.pool import Pool
from benchfill.memory.records import GapRow
from benchfill.memory.runs import RunFolder
from benchfill.settings import Settings
from benchfill.tools.screening import alike

__all__ = ["Workers", "bring_together", "drive", "search_here"]


@dataclass(frozen=True)
class Workers:
    """Where gaps are searched instead of here, and who is asked for them from here."""

    engine: Engine
    models: Models
    roles: Roles
    settings: Settings


async def drive(
    folder: RunFolder,
    search: Search,
    *,
    workers: Workers | None = None,
    made: Mapping[int, int] | None = None,
) -> None:
    """Search all gaps, from wherever the run stands.

    Parameters
    ----------
    workers
        None searches everything in this process, the gaps of a wave one after the other.
    made
        Waves by gap, where they are known: a run that is made again.

    Raises
    ------
    BenchfillError
        The search of a gap cannot go on. What the others of its wave found is kept.
    """
    while wave := _next_wave(search, made or {}):
        if workers is not None:
            await _search_elsewhere(search, wave, workers)
        elif len(wave) > 1:
            await _search_in_turn(search, wave)
        else:
            await search_here(folder, search, wave[0])


def _next_wave(search: Search, made: Mapping[int, int]) -> list[int]:
    """Numbers of the gaps that are searched next: of a wave that was begun, or of a new one."""
    waiting = _open(search.pool) or _plan_others(search)
    begun = [gap for gap in waiting if gap.wave is not None]
    if begun:
        wave = min(gap.wave for gap in begun if gap.wave is not None)
        return [gap.gap for gap in begun if gap.wave == wave]
    number = 1 + max((gap.wave or 0 for gap in search.pool.gaps()), default=0)
    known = [made[gap.gap] for gap in waiting if gap.gap in made]
    if known:
        chosen = [gap for gap in waiting if made.get(gap.gap) == min(known)]
    else:
        # With nothing known of the rewriter the first gap goes alone: what it learns spares the others attempts.
        alone = number == 1 and not search.pool.known_hits()
        chosen = waiting[: 1 if alone else search.settings.at_once]
    search.pool.save_gaps([dataclasses.replace(gap, wave=number) for gap in chosen])
    return [gap.gap for gap in chosen]


def _open(pool: Pool) -> list[GapRow]:
    return [gap for gap in pool.gaps() if gap.status == "open"]


def _plan_others(search: Search) -> list[GapRow]:
    """The gaps as they are now, where the user wants to go on until none is wide."""
    pool = search.pool
    while pool.gaps() and len(_open(pool)) < search.settings.at_once:
        gaps, estimates = pool.gaps(), pool.estimates()
        accepted = {str(pool.candidate(gap.accepted).item) for gap in gaps if gap.accepted is not None}
        places = [each.z for item, each in estimates.items() if each.source == "offline" or item in accepted]
        further = next_gap(places, gaps, scale=search.scale, theta=search.theta, settings=search.settings)
        if further is None:
            break
        (row,) = with_p_empty(pool, [further])
        pool.save_gaps([left_out(row) if search.settings.resolved_only else row])
        search.emit("plan", **plan_event(pool))
    return _open(pool)


async def search_here(folder: RunFolder, search: Search, gap: int) -> None:
    """Run the graph for one gap, from its last checkpoint."""
    from benchfill.graph.build import compile_graph

    async with open_checkpoints(folder.checkpoints) as saver:
        graph = compile_graph(saver)
        # A search ends by its own rule; the step limit of the library must never be what ends it.
        thread = f"{search.run}/g{gap}/w{search.pool.gap(gap).wave}"
        config: RunnableConfig = {"configurable": {"thread_id": thread}, "recursion_limit": 1_000_000_000}
        before = await graph.aget_state(config)
        begin: Any = None
        if not before.values:
            # A wave it was part of may have left something.
            forget_search(search.pool, gap)
            begin = {"gap": gap, "round": 1}
        if not before.values.get("done"):
            await graph.ainvoke(begin, config, context=search, durability="sync")
        after = await graph.aget_state(config)
        if after.next or not after.values.get("done"):
            raise RunPaused(
                "The search stopped before its end.", f"Go on with it: benchfill resume {search.run}"
            )


async def _search_in_turn(search: Search, wave: Sequence[int]) -> None:
    """The gaps of a wave one after the other, each in a memory of its own, as workers have it."""
    found: dict[int, GapRows] = {}
    memory = _memory_before(search.pool, wave)
    for gap in wave:
        pool = Pool(memory)
        try:
            apart = dataclasses.replace(search, pool=pool, landed={}, measured={})
            found[gap] = await search_apart(apart, gap)
        finally:
            pool.close()
    bring_together(search, found)


async def _search_elsewhere(search: Search, wave: Sequence[int], workers: Workers) -> None:
    """Each gap of a wave by a worker."""
    memory = _memory_before(search.pool, wave)
    units = {
        f"gap {gap}": Unit(
            f"gap {gap}",
            search_gap,
            (job_of(search, workers.models, workers.roles, workers.settings, gap, memory),),
        )
        for gap in wave
    }
    async with CallDesk(workers.models, workers.roles.limits.values(), search.emit) as desk:
        outcomes = await workers.engine.run(list(units.values()), at_once=len(wave), desk=desk)
        by_gap = {gap: outcomes[f"gap {gap}"] for gap in wave}
        bring_together(search, {gap: each for gap, each in by_gap.items() if not isinstance(each, Failed)})
        for outcome in by_gap.values():
            if isinstance(outcome, Failed):
                raise outcome.error


def _memory_before(pool: Pool, wave: Sequence[int]) -> bytes:
    """The memory without anything of the wave, of those of its gaps too that were taken over before the run stopped."""
    numbers = {gap.wave for gap in pool.gaps() if gap.gap in wave}
    hidden = [gap.gap for gap in pool.gaps() if gap.wave in numbers]
    with tempfile.TemporaryDirectory(prefix="benchfill-") as folder:
        return snapshot(pool, hidden, Path(folder))


def bring_together(search: Search, found: Mapping[int, GapRows]) -> None:
    """What was found comes into the run's memory, in the order of the gaps.

    Searches that do not see each other may write the same item. The later gap is then searched again, in a wave of
    its own, where its rewriter is refused the copy.

    Parameters
    ----------
    found
        By gap, of one wave; where a search of it failed, not of all.
    """
    if not found:
        return
    pool = search.pool
    number, first = pool.gap(min(found)).wave, min(found)
    # Of an earlier session, when a gap before them failed: as if that one had ended in time.
    earlier = {
        gap.gap: rows_of_gap(pool, gap.gap)
        for gap in pool.gaps()
        if gap.wave == number and gap.gap > first and gap.gap not in found and gap.status != "open"
    }
    for gap in earlier:
        forget_search(pool, gap)
    found = {**earlier, **found}
    for gap in sorted(found):
        forget_search(pool, gap)
        beside = [other for other in pool.gaps() if other.wave == number and other.gap < gap]
        if _repeats(search, found[gap], beside):
            pool.save_gaps([dataclasses.replace(pool.gap(gap), wave=None)])
            message = f"gap {gap}: its search came upon an item of another gap's; it is searched again"
            search.emit("stage", name="gaps", message=message, fraction=None)
        else:
            take_over(pool, found[gap])


def _repeats(search: Search, rows: GapRows, beside: Sequence[GapRow]) -> bool:
    """Whether an item is one that is there already, or the accepted one a near-duplicate of an accepted one."""
    pool = search.pool
    if any(pool.item(row["id"]) is not None for row in rows["items"]):
        return True
    mine = accepted_item(rows)
    others = [pool.item(str(pool.candidate(other.accepted).item)) for other in beside if other.accepted]
    return mine is not None and any(
        other is not None and alike(mine, other, search.settings.near_duplicate) for other in others
    )
