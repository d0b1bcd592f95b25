"""A finished run made by hand: a small benchmark with LaTeX, Chinese and options, and accepted new items."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from benchfill.item import Item
from benchfill.memory.pool import Pool
from benchfill.memory.records import Candidate, Estimate, GapRow, JudgementRow, RunRow, ScaleRow
from benchfill.memory.runs import RunFolder, make_run_folder
from tests.commands.conftest import Said, benchfill  # noqa: F401

MakeRun = Callable[..., RunFolder]


def estimate(item: str, z: float, source: str = "offline") -> Estimate:
    return Estimate(item, "frozen", source, 7 * z - 3, 0.1, z, 0.02, z - 0.03, z + 0.03, 20, None, 0.01)  # type: ignore[arg-type]


def sums(prefix: str, count: int, *, start: int = 2) -> list[Item]:
    """Items ``What is $n + n^2$?`` with their keys."""
    return [
        Item(
            f"{prefix}{n:03}",
            f"What is ${n} + {n}^2$?",
            str(n + n * n),
            f"{n}+{n * n}",
            answer_type="numeric",
        )
        for n in range(start, start + count)
    ]


def fill(folder: RunFolder, name: str, originals: Sequence[Item], new: Sequence[Item], seed: int) -> None:
    pool = Pool(folder.memory)
    names = [item.id for item in originals]
    with pool.database.transaction():
        pool.save_run(RunRow(name, seed, "simulated", "0.1.0", {}, {}, status="finished"))
        pool.save_benchmark("f", "sample", originals, ["m"], {name: [[1, 2]] for name in names})
        places = {name: (index + 1) / (len(names) + 1) for index, name in enumerate(names)}
        pool.save_scale(
            ScaleRow("frozen", "minmax", -3.0, 4.0, "nuts", 1, ["m"], [0.0], [[0.0]], {"passed": True}, {}),
            [estimate(name, places[name]) for name in names],
        )
        for number, item in enumerate(new, start=1):
            parent = names[number % len(names)]
            pool.save_candidate(
                Candidate(
                    id=f"g{number:03}r01w1", item=item.id, gap=number, round=1, writer=1, target=0.5, parent=parent,
                    reference_ids=names[:2], status="accepted", rewriter="rewriter", judge="judge", prompt_version="v1",
                    prompt_hashes={}, rationale=f"made harder ({number})",
                ),
                item,
            )  # fmt: skip
            pool.save_estimates([estimate(item.id, 0.5, "online")])
            pool.save_judgement(
                JudgementRow(f"g{number:03}r01w1", "accepted", item.answer, True, True, [], "fine", 4)
            )
            pool.save_gaps([GapRow(number, 0.4, 0.6, 0.5, 0.01, 100, "filled", f"g{number:03}r01w1", 1)])
    pool.close()


@pytest.fixture
def make_run(own_home: Path) -> MakeRun:
    """``make_run(name, originals, new, seed)``: a run folder in the home of the test."""

    def make(
        name: str = "hand",
        originals: Sequence[Item] | None = None,
        new: Sequence[Item] | None = None,
        seed: int = 7,
    ) -> RunFolder:
        with make_run_folder(own_home, name) as folder:
            fill(folder, name, originals or sums("o", 20), new or sums("bf-", 4, start=40), seed)
        return RunFolder(own_home / "runs" / name)

    return make


@pytest.fixture
def pool(make_run: MakeRun) -> Iterator[Pool]:
    opened = Pool(make_run().memory, create=False)
    yield opened
    opened.close()
