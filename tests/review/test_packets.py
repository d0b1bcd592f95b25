"""Packets: the same run gives the same bytes, nothing half-written, forms that other tools take, a sealed key."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import io
import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import benchfill.review.rounds as rounds
from benchfill.errors import InputError
from benchfill.item import Item
from benchfill.memory.pool import Pool
from benchfill.memory.reviews import DecisionRow, Reviews
from benchfill.memory.runs import RunFolder
from benchfill.review.rounds import Exported, export_packets
from benchfill.review.seal import check_seals

from .conftest import MakeRun, sums


def export(run: RunFolder, out: Path, **changes: Any) -> Exported:
    given: dict[str, Any] = {"reviewers": ["r1", "r2"], "originals": 1.0, "seed": 7, **changes}
    pool = Pool(run.memory, create=False)
    try:
        return export_packets(pool, run.path, out, **given)
    finally:
        pool.close()


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def form(packet: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (packet / "review.jsonl").read_text().splitlines()]


def decide(run: RunFolder, said: Callable[[str, str], str]) -> None:
    """Every reviewer decides on everything; ``said(reviewer, item)`` is the verdict."""
    pool = Pool(run.memory, create=False)
    reviews = Reviews(pool)
    reviews.save_decisions(
        DecisionRow(row.reviewer, row.blind_id, said(row.reviewer, row.item), "x", True)  # type: ignore[arg-type]
        for row in reviews.assignments()
    )
    pool.close()


def test_the_same_run_exported_twice_gives_the_same_bytes(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run()
    first = export(run, tmp_path / "one")
    again = export(run, tmp_path / "two")
    assert content(tmp_path / "one") == content(tmp_path / "two")
    assert first.round_ == again.round_
    # A run of the same seed and content, made elsewhere, too.
    export(make_run("copy"), tmp_path / "three")
    assert content(tmp_path / "one") == content(tmp_path / "three")
    assert len({path.stat().st_mtime_ns for path in (tmp_path / "one" / "r1").rglob("*")}) == 1


def test_reviewers_get_the_same_items_in_other_orders_under_other_ids(
    make_run: MakeRun, tmp_path: Path
) -> None:
    exported = export(make_run(), tmp_path / "out")
    one, two = form(tmp_path / "out" / "r1"), form(tmp_path / "out" / "r2")
    assert (exported.new, exported.originals, len(one)) == (4, 4, 8)
    assert sorted(row["question"] for row in one) == sorted(row["question"] for row in two)
    assert [row["question"] for row in one] != [row["question"] for row in two]
    assert not {row["blind_id"] for row in one} & {row["blind_id"] for row in two}
    assert len(form(export(make_run("more"), tmp_path / "more", originals=2.5).packets["r1"])) == 4 + 10
    assert len(form(export(make_run("none"), tmp_path / "none", originals=0.0).packets["r1"])) == 4


def test_the_key_lies_with_the_run_and_its_hash_tells_whether_it_was_changed(
    make_run: MakeRun, tmp_path: Path
) -> None:
    run = make_run()
    exported = export(run, tmp_path / "out")
    assert exported.key.is_relative_to(run.path)
    assert hashlib.sha256(exported.key.read_bytes()).hexdigest() == exported.round_.key_sha256
    written = json.loads(exported.key.read_bytes())
    for packet in written["packets"]:
        assert [item["blind_id"] for item in packet["items"]] == [
            row["blind_id"] for row in form(tmp_path / "out" / packet["reviewer"])
        ]
    pool = Pool(run.memory, create=False)
    assert check_seals(pool, run.path) == {1: "intact"}
    exported.key.write_bytes(exported.key.read_bytes().replace(b'"original"', b'"candidate"', 1))
    assert check_seals(pool, run.path) == {1: "changed"}
    exported.key.unlink()
    assert check_seals(pool, run.path) == {1: "missing"}
    export(run, tmp_path / "again")
    pool.database.connection.execute("UPDATE review_assignments SET origin = 'original'")
    assert check_seals(pool, run.path) == {1: "changed"}, "the memory says otherwise than the key"
    pool.close()


def test_an_interrupted_export_leaves_no_half_packet(
    make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run()

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(rounds, "write_whole", interrupted)
        with pytest.raises(KeyboardInterrupt):
            export(run, tmp_path / "out")
    assert list(tmp_path.glob("*out*")) == []
    pool = Pool(run.memory, create=False)
    assert Reviews(pool).rounds() == []
    pool.close()
    # Stopped between the run's memory and the folder's name: the next export finishes it.
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", interrupted)
        with pytest.raises(KeyboardInterrupt):
            export(run, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    (tmp_path / ".out.unfinished").mkdir()  # what a killed process leaves
    assert export(run, tmp_path / "out").round_.round == 1
    assert len(form(tmp_path / "out" / "r1")) == 8


def test_a_folder_with_something_in_it_is_never_overwritten(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run()
    export(run, tmp_path / "out")
    (tmp_path / "out" / "r1" / "decisions.jsonl").write_text("mine")
    export(run, tmp_path / "out")
    assert (tmp_path / "out" / "r1" / "decisions.jsonl").read_text() == "mine"
    with pytest.raises(InputError, match="something else"):
        export(make_run("other", new=sums("bf-", 2, start=60)), tmp_path / "out")
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="something else"):
        export(run, tmp_path / "file")


def test_label_studio_tasks_keep_every_field_under_data(
    make_run: MakeRun, tmp_path: Path, shared: Path
) -> None:
    case = json.loads((shared / "cases/reviews/r10_label_studio_task.json").read_text())
    packet = export(make_run(), tmp_path / "out").packets["r1"]
    tasks = json.loads((packet / "label_studio/tasks.json").read_text())
    assert [task["data"]["blind_id"] for task in tasks] == [row["blind_id"] for row in form(packet)]
    for task in (*case, *tasks):
        assert list(task) == ["data"]
        assert {"blind_id", "question"} <= set(task["data"])
    config = ET.fromstring((packet / "label_studio/config.xml").read_text())  # noqa: S314 - our own
    shown = {node.get("value", "").removeprefix("$") for node in config.iter("Text")}
    assert shown <= set(tasks[0]["data"])
    controls = {node.get("name"): node for node in config.iter() if node.get("toName")}
    assert set(controls) == {"answer", "verdict", "reasons", "comment"}
    assert {node.get("toName") for node in controls.values()} == {"question"}
    assert [(each.get("value"), each.get("hotkey")) for each in controls["verdict"]] == [
        ("approve", "a"), ("reject", "r"), ("unsure", "u"),
    ]  # fmt: skip


def test_argilla_records_have_the_fields_of_their_settings(make_run: MakeRun, tmp_path: Path) -> None:
    packet = export(make_run(), tmp_path / "out").packets["r2"]
    settings = json.loads((packet / "argilla/settings.json").read_text())
    records = json.loads((packet / "argilla/records.json").read_text())
    assert [record["id"] for record in records] == [row["blind_id"] for row in form(packet)]
    for record in records:
        assert set(record["fields"]) == {field["name"] for field in settings["fields"]}
        assert set(record["metadata"]) == {each["name"] for each in settings["metadata"]}
        assert record["suggestions"] == record["responses"] == {}
    assert {each["name"] for each in settings["questions"]} == {"answer", "verdict", "reasons", "comment"}


def test_a_spreadsheet_takes_no_cell_for_a_formula(make_run: MakeRun, tmp_path: Path) -> None:
    hostile = [
        Item("n1", '=HYPERLINK("http://x";"y")', "-5", answer_type="numeric"),
        Item("n2", '@SUM(1+1)\nsecond, line; with "quotes"', "+7", answer_type="numeric"),
    ]
    packet = export(make_run(new=hostile), tmp_path / "out").packets["r1"]
    raw = (packet / "review.csv").read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf")
    rows = list(csv.DictReader(io.StringIO(raw.decode("utf-8-sig"), newline="")))
    assert len(rows) == 4
    assert all(not cell.startswith(("=", "+", "-", "@", "\t", "\r")) for row in rows for cell in row.values())
    assert {row["question"].removeprefix("'") for row in rows} >= {item.question for item in hostile}
    assert not any(
        cell.replace(".", "").isdigit() for row in rows for cell in (row["blind_id"], row["item_hash"])
    )


def test_originals_are_like_the_new_items_and_not_their_parents(make_run: MakeRun, tmp_path: Path) -> None:
    options = [dataclasses.replace(item, id=f"c{item.id}", choices=("1", "2"), answer="A", answer_type="mcq")
               for item in sums("o", 12, start=30)]  # fmt: skip
    new = [Item("n1", "Which?", "B", choices=("x", "y"), answer_type="mcq"), *sums("bf-", 1, start=70)]
    run = make_run(originals=[*sums("o", 12), *options], new=new)
    export(run, tmp_path / "out")
    pool = Pool(run.memory, create=False)
    mixed = {row.item for row in Reviews(pool).assignments() if row.origin == "original"}
    parents = {each.parent for each in pool.candidates()}
    pool.close()
    assert sorted(bool(item.choices) for item in [*options, *sums("o", 12)] if item.id in mixed) == [
        False,
        True,
    ]
    assert not mixed & parents
    assert "Which?" not in (tmp_path / "out" / "r1" / "references.md").read_text()


def test_later_items_are_a_round_of_their_own_and_everything_only_goes_out_once(
    make_run: MakeRun, tmp_path: Path
) -> None:
    run = make_run()
    export(run, tmp_path / "one")
    with pytest.raises(InputError, match="round 1 to r1, r2"):
        export(run, tmp_path / "three", reviewers=["r1", "r2", "r3"])
    pool = Pool(run.memory, create=False)
    candidate = pool.candidates()[0]
    changed = dataclasses.replace(pool.item(str(candidate.item)), question="What is $40 + 1600$?")  # type: ignore[type-var]
    pool.save_candidate(candidate, changed)
    pool.close()
    second = export(run, tmp_path / "two")
    assert (second.round_.round, second.new, second.originals) == (2, 1, 1)
    with pytest.raises(InputError, match="given some of these"):
        export(run, tmp_path / "three", again=True)
    third = export(run, tmp_path / "three", reviewers=["r3"], again=True)
    assert (third.round_.round, third.new) == (3, 4)


def test_the_disputed_items_alone_go_to_adjudication(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run()
    export(run, tmp_path / "out")
    with pytest.raises(InputError, match="No item is disputed"):
        export(run, tmp_path / "third", adjudicate=True, reviewers=["a1"])
    decide(run, lambda who, item: "reject" if (who, item) == ("r2", "bf-041") else "approve")
    with pytest.raises(InputError, match="r2 was given some"):
        export(run, tmp_path / "third", adjudicate=True, reviewers=["r2"])
    exported = export(run, tmp_path / "third", adjudicate=True, reviewers=["a1"])
    assert (exported.round_.kind, exported.new, exported.originals) == ("adjudication", 1, 1)
    rows = form(tmp_path / "third" / "a1")
    assert "What is $41 + 41^2$?" in {row["question"] for row in rows}
    first = content(tmp_path / "third")
    export(run, tmp_path / "fourth", adjudicate=True, reviewers=["a1"])
    assert content(tmp_path / "fourth") == first


def test_nothing_to_review_is_one_line(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run()
    pool = Pool(run.memory, create=False)
    pool.database.connection.execute("UPDATE gaps SET status = 'unfilled', accepted = NULL")
    pool.close()
    with pytest.raises(InputError, match="no accepted item"):
        export(run, tmp_path / "out")
