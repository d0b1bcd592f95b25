"""Family and size out of names, held against the tables of the public logs."""

from __future__ import annotations

import csv
from itertools import combinations
from pathlib import Path

import pytest

from benchfill.errors import InputError
from benchfill.logs.model_names import ModelName, format_models, parse_model_name, read_models


@pytest.mark.parametrize(
    ("name", "family", "size"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-instruct", 8.0),
        ("meta-llama/Llama-3.1-70B-Instruct", "llama-3.1-instruct", 70.0),
        ("ollama/qwen2.5:0.5b", "qwen2.5", 0.5),
        ("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4", "qwen2.5-instruct", 7.0),
        ("google_gemma_2_9b_it", "google-gemma-2-it", 9.0),
        ("deepseek_r1_distill_qwen_1_5b", "deepseek-r1-distill-qwen", 1.5),
        ("EleutherAI/pythia-160m", "pythia", 0.16),
        ("openai/gpt-4o-mini", "", None),
        ("mistralai/Mixtral-8x7B-v0.1", "mixtral-v0.1", None),
        ("Qwen/Qwen3-30B-A3B", "qwen3", None),
        ("a-7b-and-a-13b", "a-and-a", None),
    ],
)
def test_names(name: str, family: str, size: float | None) -> None:
    found = parse_model_name(name)
    assert (found.family, found.size_b) == (family, size)


def test_against_the_tables_of_public_logs(shared: Path) -> None:
    """Every size that is read is the one of the table, most are read, and no two families are joined."""
    truth: dict[str, tuple[str, str]] = {}
    for path in sorted((shared / "data" / "matrices").glob("*/models.csv")):
        for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines()):
            truth[row["model"]] = row["family"] or "", row["size_b"] or ""
    read = {model: parse_model_name(model) for model in truth}
    sized = {model for model, (_, size) in truth.items() if size}
    assert all(
        truth[model][1] and read[model].size_b == float(truth[model][1])
        for model in read
        if read[model].size_b
    )
    assert sum(read[model].size_b is not None for model in sized) >= 0.85 * len(sized)
    told = sorted(model for model in sized if truth[model][0] and read[model].size_b)
    joined = [
        (one, other)
        for one, other in combinations(told, 2)
        if read[one].family == read[other].family and truth[one][0] != truth[other][0]
    ]
    assert len(told) > 40
    assert joined == []


def test_table_round_trip_and_faults(tmp_path: Path) -> None:
    models = {"a,b": ModelName("fam", 1.5), "c": ModelName("", None)}
    path = tmp_path / "models.csv"
    path.write_text(format_models(models.items()), encoding="utf-8")
    assert read_models(path) == models
    for text, kind in (
        ("model,family\nx,y\n", "missing_column"),
        ("model,family,size_b\nx,y,huge\n", "bad_size"),
        ("model,family,size_b\nx,y,-1\n", "bad_size"),
        ("model,family,size_b\nx,y,1\nx,y,2\n", "duplicate_model"),
        ("model,family,size_b\nx\n", "bad_row"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InputError) as caught:
            read_models(path)
        assert caught.value.kind == kind
