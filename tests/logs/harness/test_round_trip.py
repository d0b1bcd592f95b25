"""What an import writes can be imported, and gives the same; texts survive byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchfill.errors import InputError
from benchfill.logs.harness.output import write_import
from benchfill.logs.importing import ImportOptions, load_responses
from benchfill.logs.items import read_items
from benchfill.logs.responses import read_responses
from tests.logs.harness.made_logs import (
    QUESTIONS,
    inspect_log,
    inspect_sample,
    lm_eval_folder,
    write_json,
)

TABLES = ("items.jsonl", "responses.csv", "missing.csv", "models.csv")


def make_mixed(folder: Path) -> Path:
    """Two tasks, two harnesses, epochs, errors, options, several scripts."""
    lm_eval_folder(folder / "lm", {"org/a-7b": [1, 0, 1, 0], "org/b-13b": [1, 1, 0, 0]}, questions=QUESTIONS)
    options = ["A", "B", "甲", "ب"]
    samples = [
        {**inspect_sample("x,1", "C"), "choices": options, "target": "C"},
        {**inspect_sample("x,1", "I", epoch=2), "choices": options, "target": "C"},
        {**inspect_sample("y", None), "error": {"message": 'Zeitüberschreitung, "sofort"'}},
        {**inspect_sample("y", "C", epoch=2)},
        {**inspect_sample("z", None)},
    ]
    write_json(folder / "inspect" / "log.json", inspect_log(samples, model="org/a-7b"))
    return folder


def same(one: Path, other: Path) -> None:
    for name in TABLES:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def test_import_export_import_gives_the_same(tmp_path: Path) -> None:
    imported = load_responses([make_mixed(tmp_path / "logs")])
    write_import(imported, tmp_path / "one")
    again = load_responses([tmp_path / "one"])
    write_import(again, tmp_path / "two")
    same(tmp_path / "one", tmp_path / "two")
    assert (again.log.models, again.log.items, again.items) == (
        imported.log.models,
        imported.log.items,
        imported.items,
    )
    assert np.array_equal(again.log.correct, imported.log.correct)
    assert np.array_equal(again.log.attempts, imported.log.attempts)
    assert again.report.missing == imported.report.missing
    assert imported.report.missing == {'error: Zeitüberschreitung, "sofort"': 1, "no score": 1}


def test_real_logs_survive_the_round_trip(shared: Path, tmp_path: Path) -> None:
    write_import(load_responses([shared / "data" / "formats"]), tmp_path / "one")
    write_import(load_responses([tmp_path / "one"]), tmp_path / "two")
    same(tmp_path / "one", tmp_path / "two")


def test_counts_survive_the_round_trip(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(
        "model,item_id,correct,count\nm,a,3,4\nm,b,0,2\nn,a,1,1\n", encoding="utf-8"
    )
    write_json(
        tmp_path / "log.json", inspect_log([inspect_sample("a", None), inspect_sample("b", "C")], model="o")
    )
    paths = [tmp_path / "log.csv", tmp_path / "log.json"]
    imported = load_responses(paths)
    write_import(imported, tmp_path / "one")
    write_import(load_responses([tmp_path / "one"]), tmp_path / "two")
    same(tmp_path / "one", tmp_path / "two")
    assert imported.log.attempts.tolist() == [[4, 2], [1, 0], [0, 1]]


def test_the_readers_of_tables_and_items_take_what_was_written(tmp_path: Path) -> None:
    imported = load_responses([make_mixed(tmp_path / "logs")])
    write_import(imported, tmp_path / "out")
    table = read_responses(tmp_path / "out" / "responses.csv").log
    assert (table.models, table.items) == (imported.log.models, imported.log.items)
    assert np.array_equal(table.correct, imported.log.correct)
    assert np.array_equal(table.attempts, imported.log.attempts)
    items = read_items(tmp_path / "out" / "items.jsonl")
    assert items.items == imported.items
    assert items.notes == ()


def test_an_import_and_new_logs_together(tmp_path: Path) -> None:
    """An older import and the log of one more model are what all logs at once are."""
    scores = {"m/one": [1, 0, 1], "m/two": [0, 0, 1]}
    lm_eval_folder(tmp_path / "old", scores)
    lm_eval_folder(tmp_path / "new", {"m/three": [1, 1, 1]})
    write_import(load_responses([tmp_path / "old"]), tmp_path / "import")
    write_import(load_responses([tmp_path / "import", tmp_path / "new"]), tmp_path / "one")
    write_import(load_responses([tmp_path / "old", tmp_path / "new"]), tmp_path / "two")
    same(tmp_path / "one", tmp_path / "two")


def test_texts_survive_byte_for_byte(tmp_path: Path) -> None:
    folder = lm_eval_folder(tmp_path / "logs", {"modèle-日本/عربي": [1, 0, 1, 0]}, questions=QUESTIONS)
    write_import(load_responses([folder]), tmp_path / "out")
    lines = (tmp_path / "out" / "items.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["question"] for line in lines] == list(QUESTIONS)
    raw = (tmp_path / "out" / "items.jsonl").read_bytes()
    assert all(question.partition("\t")[0].encode("utf-8") in raw for question in QUESTIONS)
    assert "modèle-日本/عربي".encode() in (tmp_path / "out" / "responses.csv").read_bytes()


def test_nothing_appears_when_something_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    imported = load_responses([make_mixed(tmp_path / "logs")])
    out = tmp_path / "out"

    def fail(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", fail)
        with pytest.raises(InputError) as caught:
            write_import(imported, out)
    assert caught.value.kind == "unwritable"
    assert "No space left" in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["logs"]


def test_other_folders_are_not_overwritten_and_earlier_imports_only_by_force(tmp_path: Path) -> None:
    imported = load_responses([make_mixed(tmp_path / "logs")])
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("x", encoding="utf-8")
    for force in (False, True):
        with pytest.raises(InputError) as caught:
            write_import(imported, tmp_path / "thesis", force=force)
        assert caught.value.kind == "exists"
    write_import(imported, tmp_path / "out")
    with pytest.raises(InputError, match="--force"):
        write_import(imported, tmp_path / "out")
    other = load_responses([tmp_path / "logs"], ImportOptions(tasks=("sums",)))
    write_import(other, tmp_path / "out", force=True)
    assert json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))["tasks"] == ["sums"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["logs", "out", "thesis"]
