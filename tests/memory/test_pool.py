"""The memory of one run: what goes in comes out, twice is once, and a run is held by one process."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchfill.errors import InputError
from benchfill.item import Item
from benchfill.memory.export import accepted_items, write_jsonl
from benchfill.memory.pool import Pool
from benchfill.memory.records import AttemptRow, Candidate, Estimate, GapRow, JudgementRow, RunRow, ScaleRow
from benchfill.memory.runs import RunFolder, find_run, list_runs, make_run_folder, run_name_from_seed

ITEM = Item("bf-1", "¿Cuánto es 2+3? 二加三", "5", "2+3=5", extra={"source": {"page": 3}})
CANDIDATE = Candidate(
    id="g1r01w1", item="bf-1", gap=1, round=1, writer=1, target=0.5, parent="o1", reference_ids=["o1", "o2"],
    status="accepted", rewriter="rewriter", judge="judge", prompt_version="v1", prompt_hashes={"a.md": "ff"},
    rationale="harder", calls=3, refusals=[{"reason": "copy", "detail": "same"}],
)  # fmt: skip
SCALE = ScaleRow(
    "frozen", "minmax", -3.0, 4.0, "nuts", 1, ["m"], [0.0], [[0.0]], {"passed": True}, {"pymc": "x"}
)


def estimate(item: str, source: str = "online") -> Estimate:
    return Estimate(item, "frozen", source, 0.5, 0.1, 0.5, 0.01, 0.48, 0.52, 20, None, 0.008)  # type: ignore[arg-type]


@pytest.fixture
def pool(tmp_path: Path):
    pool = Pool(tmp_path / "memory.sqlite")
    originals = [Item(f"o{n}", f"Question {n}?", str(n), extra={"tag": n}) for n in range(1, 6)]
    pool.save_benchmark("f", "bench", originals, ["m"], {item.id: [[1, 2]] for item in originals})
    pool.save_scale(SCALE, [estimate(item.id, "offline") for item in originals])
    pool.save_candidate(CANDIDATE, ITEM)
    pool.save_estimates([estimate("bf-1")])
    pool.save_judgement(JudgementRow("g1r01w1", "accepted", "5", True, True, [], "fine", 4))
    pool.save_attempts(
        [
            AttemptRow("bf-1", "m", 0, "correct", "", "5"),
            AttemptRow("bf-1", "m", 1, "missing", "timeout", None),
            AttemptRow("bf-1", "m", 2, "wrong", "", "6"),
        ]
    )
    pool.save_gaps([GapRow(1, 0.4, 0.6, 0.5, 0.01, 100, "filled", "g1r01w1", 1)])
    yield pool
    pool.close()


def test_rows_come_back_as_they_went_in(pool: Pool):
    assert pool.item("bf-1") == ITEM
    assert pool.candidate("g1r01w1") == CANDIDATE
    assert pool.scale() == SCALE
    assert pool.benchmark() == ("f", "bench", ["m"], {f"o{n}": [[1, 2]] for n in range(1, 6)})
    assert pool.estimates()["bf-1"] == estimate("bf-1")
    assert [row.attempt for row in pool.attempts("bf-1", below=2)] == [0, 1]
    assert pool.judgements()["g1r01w1"].blind_agrees is True
    assert [item.id for item in pool.items("original")] == ["o1", "o2", "o3", "o4", "o5"]


def test_the_same_rows_again_change_nothing(pool: Pool):
    before = pool.database.connection.execute("SELECT count(*) FROM attempts").fetchone()
    pool.save_attempts([AttemptRow("bf-1", "m", 0, "correct", "", "5")])
    pool.save_candidate(CANDIDATE, ITEM)
    assert pool.database.connection.execute("SELECT count(*) FROM attempts").fetchone() == before
    assert len(pool.candidates()) == 1


@pytest.mark.parametrize("order", [(2, 1), (1, 2)])
def test_the_same_text_of_two_writers_is_the_first_ones_item_whoever_is_done_first(pool: Pool, order):
    for writer in order:
        name = f"g1r02w{writer}"
        candidate = dataclasses.replace(CANDIDATE, id=name, item="bf-2", round=2, writer=writer)
        item = Item(
            "bf-2", "1+1?", "2", f"solution {writer}", answer_type="numeric" if writer == 1 else "expr"
        )
        pool.save_candidate(candidate, item)
    kept = pool.item("bf-2")
    assert kept is not None
    assert (kept.answer_type, kept.solution) == ("numeric", "solution 1")


def test_a_failed_transaction_leaves_nothing_half_written(pool: Pool):
    class Broken(Exception):
        pass

    def half() -> None:
        with pool.database.transaction():
            pool.save_gaps([GapRow(2, 0.1, 0.2, 0.15, 0.01, 5)])
            raise Broken

    with pytest.raises(Broken):
        half()
    assert [gap.gap for gap in pool.gaps()] == [1]


def test_an_empty_memory_has_no_run(tmp_path: Path):
    pool = Pool(tmp_path / "m.sqlite")
    with pytest.raises(InputError, match="stopped before it began"):
        pool.run()
    pool.save_run(RunRow("r", 1, "simulated", "0", {"a": 1}, {"count": 3}))
    pool.save_run(dataclasses.replace(pool.run(), status="finished", summary={"gaps": []}))
    assert pool.run().summary == {"gaps": []}
    pool.close()


def test_export_tells_everything_and_counts_missing_apart(pool: Pool):
    (row,) = accepted_items(pool)
    assert (row["id"], row["answer"], row["z"], row["status"]) == ("bf-1", "5", 0.5, "filled")
    assert row["attempts"] == {"m": {"correct": 1, "wrong": 1, "missing": {"timeout": 1}}}
    assert row["lineage"]["references"] == ["o1", "o2"]
    assert row["judgement"]["blind_answer"] == "5"
    json.dumps(row, allow_nan=False)


def test_export_is_the_same_bytes_again_and_keeps_scripts(pool: Pool, tmp_path: Path):
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    write_jsonl(first, accepted_items(pool))
    write_jsonl(second, accepted_items(pool))
    assert first.read_bytes() == second.read_bytes()
    assert "二加三" in first.read_text(encoding="utf-8")
    assert not list(tmp_path.glob("*.unfinished"))


def test_a_file_that_cannot_be_written_is_one_line(pool: Pool, tmp_path: Path):
    with pytest.raises(InputError, match="cannot be written"):
        write_jsonl(tmp_path / "no" / "such" / "folder.jsonl", [])


def made(home: Path, name: str) -> RunFolder:
    with make_run_folder(home, name) as folder:
        Pool(folder.memory).close()
    return find_run(home, name)


def test_run_folders_have_one_owner_and_one_name(tmp_path: Path):
    home = tmp_path / "home"
    folder = made(home, "first")
    assert folder.path.stat().st_mode & 0o077 == 0
    # The ledger will lie there.
    assert home.stat().st_mode & 0o077 == 0
    with pytest.raises(InputError, match="a run first already"):
        made(home, "first")
    for bad in ("", "../up", "a/b", "-x", ".x", "a" * 65):
        with pytest.raises(InputError, match="cannot be called"):
            made(home, bad)
    assert [run.name for run in list_runs(home)] == ["first"]
    assert find_run(home, None) == folder
    with pytest.raises(InputError, match="There is no run other"):
        find_run(home, "other")


def test_a_folder_that_was_never_finished_is_no_run_and_blocks_no_name(tmp_path: Path):
    def killed() -> None:
        with make_run_folder(tmp_path, "half"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        killed()
    assert list_runs(tmp_path) == []
    assert made(tmp_path, "half").name == "half"


def test_made_up_names_are_free(tmp_path: Path):
    name = run_name_from_seed(tmp_path, 1)
    made(tmp_path, name)
    assert run_name_from_seed(tmp_path, 1) == f"{name}-2"


def test_a_second_process_is_refused(tmp_path: Path):
    folder = made(tmp_path, "held")
    script = (
        "import sys, pathlib; from benchfill.memory.runs import RunFolder\n"
        f"with RunFolder(pathlib.Path({str(folder.path)!r})).lock():\n"
        "    print('held', flush=True); sys.stdin.read()\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline().strip() == b"held"
    with pytest.raises(InputError, match="in use by another process"), RunFolder(folder.path).lock():
        pass
    # However the holder ends, the lock ends with it.
    holder.kill()
    holder.communicate()
    with RunFolder(folder.path).lock():
        pass
