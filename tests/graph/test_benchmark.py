"""What a search is about, from the files that people have."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchfill.errors import InputError
from benchfill.graph.benchmark import read_benchmark
from tests.logs.harness.made_logs import QUESTIONS, lm_eval_folder, lm_eval_row, write_jsonl

MODELS = [f"org/net-{size}B" for size in (1, 3, 7)]
SCORES = {model: [int(doc <= place) for doc in range(4)] for place, model in enumerate(MODELS)}


def test_a_folder_of_harness_logs_is_a_benchmark(tmp_path: Path) -> None:
    folder = lm_eval_folder(tmp_path / "logs", SCORES, questions=QUESTIONS)
    benchmark = read_benchmark("sums", None, folder)
    assert [item.question for item in benchmark.items] == list(QUESTIONS)
    assert [item.answer for item in benchmark.items] == ["0", "2", "4", "6"]
    assert (benchmark.log.models, benchmark.log.items) == (tuple(MODELS), ("0", "1", "2", "3"))
    assert benchmark.log.correct.tolist() == [SCORES[model] for model in MODELS]


def test_items_of_a_file_count_before_those_of_the_log(tmp_path: Path) -> None:
    folder = lm_eval_folder(tmp_path / "logs", SCORES)
    items = write_jsonl(
        tmp_path / "items.jsonl", [{"id": str(n), "question": f"Q{n}", "answer": "1"} for n in (1, 3)]
    )
    benchmark = read_benchmark("sums", items, folder)
    assert [item.question for item in benchmark.items] == ["Q1", "Q3"]
    assert benchmark.log.items == ("1", "3")
    assert any("left out" in note for note in benchmark.notes)


def test_what_a_log_lacks_or_leaves_open_is_said(tmp_path: Path) -> None:
    table = tmp_path / "log.csv"
    table.write_text("model,item_id,correct\nm,a,1\nn,a,0\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_benchmark("b", None, table)
    assert caught.value.kind == "no_items"
    partial = write_jsonl(tmp_path / "s.jsonl", [lm_eval_row(0, "q", "1", "none", 0.5, "r")])
    with pytest.raises(InputError) as caught:
        read_benchmark("b", None, partial)
    assert caught.value.kind == "partial_scores"
    assert f"benchfill import {partial} --out DIR" in str(caught.value)
    table.write_text("model,item_id,correct,speed\nm,a,1,9\n", encoding="utf-8")
    with pytest.raises(InputError, match="speed"):
        read_benchmark("b", None, table)
