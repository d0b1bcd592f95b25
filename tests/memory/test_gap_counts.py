"""Counts made in the database are those of the rows."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from benchfill.item import Item
from benchfill.memory.gap_counts import GapCounts, gap_counts
from benchfill.memory.pool import Pool
from benchfill.memory.records import AttemptRow, Candidate, ConfirmationRow, JudgementRow
from tests.memory.test_pool import SCALE, estimate


def candidate(name: str, item: str | None, gap: int, by_hand: str = "") -> Candidate:
    return Candidate(
        id=name, item=item, gap=gap, round=1, writer=1, target=0.5, parent="o", reference_ids=[], status="dropped",
        rewriter="w", judge="j", prompt_version="1", prompt_hashes={}, calls=3, by_hand=by_hand,  # type: ignore[arg-type]
    )  # fmt: skip


def by_row(pool: Pool, gap: int) -> GapCounts:
    """Candidate by candidate, attempt by attempt."""
    attempts = fresh = calls = 0
    for each in pool.candidates(gap):
        calls += each.calls + (pool.judgements()[each.id].calls if each.id in pool.judgements() else 0)
        if each.item is None:
            continue
        spans = [range(row.first, row.stop) for row in pool.confirmations(each.id)]
        for row in pool.attempts(each.item):
            calls += 1
            attempts += row.outcome != "missing"
            fresh += row.outcome != "missing" and any(row.attempt in span for span in spans)
    return GapCounts(attempts, fresh, calls)


def test_counts_are_those_of_the_rows(tmp_path: Path) -> None:
    pool, rng = Pool(tmp_path / "memory.sqlite"), np.random.default_rng(1)
    try:
        assert gap_counts(pool, 1) == GapCounts(0, 0, 0)
        for number in range(12):
            name, item = f"c{number}", f"i{number // 2}" if number % 4 else None
            # Two candidates of one text are one item; one in five is of another gap, one was written by hand.
            row = candidate(name, item, 2 if number % 5 == 0 else 1, "edited" if number == 7 else "")
            pool.save_candidate(row, None if item is None else Item(item, "q", "1"))
            if number % 3:
                pool.save_judgement(JudgementRow(name, "accepted", "1", True, True, [], "", 2))
            if item is not None:
                outcomes = rng.choice(["correct", "wrong", "missing"], 20).tolist()
                pool.save_attempts(
                    AttemptRow(item, "m", n, each, "", None) for n, each in enumerate(outcomes)
                )
            for first, stop in ((4, 9), (7, 14)) if number % 2 else ():
                pool.save_confirmation(
                    ConfirmationRow(name, first, stop, 0.1, "refused", 0.5, 0.1, 0.4, 0.6, 0.1)
                )
        for gap in (1, 2, 3):
            assert gap_counts(pool, gap) == by_row(pool, gap)
        assert gap_counts(pool, 1).confirmation > 0
    finally:
        pool.close()


def test_originals_read_before_are_those_another_process_left(tmp_path: Path) -> None:
    pool, other = Pool(tmp_path / "memory.sqlite"), None
    try:
        pool.save_benchmark("f", "b", [Item("o1", "q", "1")], ["m"], {"o1": [[1, 2]]})
        assert [item.id for item in pool.items("original")] == ["o1"]
        # What a caller does to its list is its own.
        pool.items("original").clear()
        assert [item.id for item in pool.items("original")] == ["o1"]
        other = Pool(tmp_path / "memory.sqlite")
        other.save_benchmark("f", "b", [Item("o2", "q", "1")], ["m"], {"o2": [[1, 2]]})
        assert [item.id for item in pool.items("original")] == ["o1", "o2"]
        assert pool.benchmark_outline() == other.benchmark_outline() == ("b", ["m"], 2)
        place = estimate("o1", "offline")
        pool.save_scale(SCALE, [place])
        assert pool.estimates() == other.estimates() == {"o1": place}
        for writer, z in ((pool, 0.25), (other, 0.75)):
            writer.save_estimates([dataclasses.replace(place, z=z)])
            assert [pool.estimates()["o1"].z, other.estimates()["o1"].z] == [z, z]
    finally:
        pool.close()
        if other is not None:
            other.close()
