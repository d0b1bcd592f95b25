"""Instruction-following items: data set, harness log, items of our own, and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchfill.errors import InputError
from benchfill.logs.harness.output import write_import
from benchfill.logs.importing import ImportOptions, load_responses
from benchfill.logs.items import read_items
from tests.logs.harness.made_logs import write_jsonl

RECORD = {
    "key": 1000,
    "prompt": "写一段话，不要用逗号。 At least 300 words.",
    "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"],
    "kwargs": [{"num_words": None}, {"relation": "at least", "num_words": 300, "keywords": None}],
}
KEY = {
    "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"],
    "kwargs": [{}, {"relation": "at least", "num_words": 300}],
}


def test_records_of_the_data_set(tmp_path: Path) -> None:
    (item,) = read_items(write_jsonl(tmp_path / "a.jsonl", [{**RECORD, "level": 2}])).items
    assert (item.id, item.question, item.answer_type) == ("1000", RECORD["prompt"], "instructions")
    assert json.loads(item.answer) == KEY
    assert item.extra == {"level": 2}


def test_fields_of_our_own_and_of_the_user_count_first(tmp_path: Path) -> None:
    own = {"id": "a", "question": "Q?", **RECORD}
    (item,) = read_items(write_jsonl(tmp_path / "a.jsonl", [own])).items
    assert (item.id, item.question) == ("a", "Q?")
    assert item.extra == {"key": 1000, "prompt": RECORD["prompt"]}
    (item,) = read_items(write_jsonl(tmp_path / "b.jsonl", [own]), mapping={"id": "prompt"}).items
    assert item.id == RECORD["prompt"]
    stated = {"id": "a", "question": "Q?", "answer": KEY, "answer_type": "instructions"}
    (item,) = read_items(write_jsonl(tmp_path / "c.jsonl", [stated])).items
    assert json.loads(item.answer) == KEY
    with pytest.raises(InputError) as caught:
        read_items(write_jsonl(tmp_path / "d.jsonl", [{**stated, "answer_type": "text"}]))
    assert caught.value.kind == "bad_field"


def _row(doc: dict[str, Any], doc_id: int, strict: bool) -> dict[str, Any]:
    return {
        "doc_id": doc_id,
        "doc": doc,
        "target": 0,
        "arguments": {"gen_args_0": {"arg_0": doc["prompt"], "arg_1": {"until": []}}},
        "resps": [["x"]],
        "filtered_resps": ["x"],
        "filter": "none",
        "metrics": ["prompt_level_strict_acc", "inst_level_strict_acc", "prompt_level_loose_acc"],
        "prompt_level_strict_acc": strict,
        "inst_level_strict_acc": [strict, True],
        "prompt_level_loose_acc": True,
    }


def test_logs_of_the_harness_and_the_round_trip(tmp_path: Path) -> None:
    other = {**RECORD, "key": 1001, "prompt": "اكتب جملة."}
    rows = [_row(RECORD, 0, True), _row(other, 1, False)]
    log = write_jsonl(tmp_path / "m" / "samples_ifeval_2026-01-02T03-04-05.678901.jsonl", rows)
    with pytest.raises(InputError) as caught:
        load_responses([log])
    assert caught.value.kind == "metric_needed"
    assert "inst_level" not in str(caught.value)
    imported = load_responses([log], ImportOptions(metrics=("prompt_level_strict_acc",)))
    assert imported.log.correct.tolist() == [[1, 0]]
    assert [item.question for item in imported.items] == [RECORD["prompt"], other["prompt"]]
    assert {item.answer_type for item in imported.items} == {"instructions"}
    write_import(imported, tmp_path / "out", force=False)
    again = load_responses([tmp_path / "out"])
    assert again.items == imported.items
    assert again.log.correct.tolist() == imported.log.correct.tolist()
    folder = tmp_path / "together"
    folder.mkdir()
    write_jsonl(folder / "ifeval.jsonl", [RECORD])
    (folder / "responses.csv").write_text("model,item_id,correct\nm,1000,1\nn,1000,0\n", encoding="utf-8")
    (item,) = load_responses([folder]).items
    assert json.loads(item.answer) == KEY
