"""The simulated world takes its own sample, and what was merged from it."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest

from benchfill.errors import InputError
from benchfill.graph.prepare import read_inputs

SAMPLE = Path(str(files("benchfill.worlds.simulated") / "sample"))


@pytest.fixture
def extended(tmp_path):
    """The sample with one more item, asked of every model."""

    def make(question: str, model: str = "alder") -> dict[str, Path]:
        row = {"id": "bf-1", "question": question, "answer": "34", "solution": "", "answer_type": "numeric"}
        items, responses = tmp_path / "items.jsonl", tmp_path / "responses.csv"
        items.write_text((SAMPLE / "items.jsonl").read_text() + json.dumps(row) + "\n")
        responses.write_text((SAMPLE / "responses.csv").read_text() + f"{model},bf-1,1,2\n")
        return {"items": items, "responses": responses}

    return make


def read(**paths):
    return read_inputs(world="simulated", bank_items=None, bank_responses=None, **paths)


def test_what_was_merged_from_the_sample_is_read(extended):
    benchmark = read(**extended("Evaluate 10 + 24.")).benchmark
    assert len(benchmark.items) == 41
    assert benchmark.source is not None
    assert benchmark.source.name == "items.jsonl"
    # Replies are found again by the name of the benchmark: it is still the sample.
    assert benchmark.name == read(items=None, responses=None).benchmark.name


@pytest.mark.parametrize("made", [("What is the capital of France?", "alder"), ("Evaluate 10 + 24.", "gpt")])
def test_other_questions_and_models_are_refused(extended, made):
    with pytest.raises(InputError, match="know only the sample benchmark"):
        read(**extended(*made))
    with pytest.raises(InputError, match="know only the sample benchmark"):
        read(items=SAMPLE / "items.jsonl", responses=None)
