"""Formats known from their documents only, Parquet, detection, and formats of other packages."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchfill.errors import InputError
from benchfill.logs.harness.record import LogFormat, LogRecord, ReadContext
from benchfill.logs.harness.registry import known_formats
from benchfill.logs.harness.source import Source
from benchfill.logs.importing import Imported, ImportOptions, load_responses
from tests.logs.harness.made_logs import lm_eval_row, write_json, write_jsonl


def cells(imported: Imported) -> dict[tuple[str, str], tuple[int, int]]:
    """Attempts and right answers by (model, item)."""
    log = imported.log
    return {
        (model, item): (int(log.attempts[row, column]), int(log.correct[row, column]))
        for row, model in enumerate(log.models)
        for column, item in enumerate(log.items)
    }


def only_format(imported: Imported) -> str:
    (name,) = {each.format for each in imported.report.files}
    return name


def v0_row(index: int, results: list[Any], raw: dict[str, Any], gold: str) -> dict[str, Any]:
    choices = [
        {
            "index": n,
            "message": {"role": "assistant", "content": f"r{n}"},
            "review": {"gold": gold, "result": each},
        }
        for n, each in enumerate(results)
    ]
    return {"model": "old-1.5B", "choices": choices, "index": index, "raw_input": raw, "reviewed": True}


def test_evalscope_of_the_old_version(tmp_path: Path) -> None:
    arc = {"question": "Which?", "choices": {"text": ["air", "ice"], "label": ["A", "B"]}, "answerKey": "B"}
    lettered = {"question": "Wo?", "A": "hier", "B": "dort", "answer": "A"}
    rows = [
        v0_row(0, [True, False], {"question": "2+2?", "answer": "so 4\n#### 4"}, "4"),
        v0_row(1, [1], arc, "B"),
        v0_row(2, [0], lettered, "A"),
    ]
    unreviewed = v0_row(3, [1], {"question": "?"}, "x")
    del unreviewed["choices"][0]["review"]
    path = write_jsonl(tmp_path / "reviews" / "old-1.5B" / "mixed.jsonl", [*rows, unreviewed])
    imported = load_responses([path])
    assert only_format(imported) == "evalscope-v0"
    assert [cells(imported)["old-1.5B", str(n)] for n in range(4)] == [(2, 1), (1, 1), (1, 0), (0, 0)]
    items = {item.id: item for item in imported.items}
    assert (items["0"].answer, items["0"].solution) == ("4", "so 4\n#### 4")
    assert (items["1"].answer, items["1"].choices) == ("B", ("air", "ice"))
    assert (items["2"].answer, items["2"].choices) == ("A", ("hier", "dort"))
    assert imported.report.missing == {"not reviewed": 1}


def v1_row(
    index: int, group: int, value: dict[str, float], prompt: str, target: str, main: str | None
) -> dict[str, Any]:
    return {
        "index": index,
        "target": target,
        "messages": [
            {"role": "user", "content": prompt},
            {"role": "assistant", "content": "r", "model": "new"},
        ],
        "sample_score": {
            "score": {"value": value, "prediction": f"r{index}", "main_score_name": main},
            "sample_id": index,
            "group_id": group,
        },
    }


def test_evalscope_repeats_main_metric_and_options_in_the_prompt(tmp_path: Path) -> None:
    frame = "Answer with a letter.\n\nWhich is {}?\n\nA) {}\nB) sand\n\nThink first."
    rows = [
        v1_row(n, n // 2, {"strict": float(n == 1), "loose": 1.0}, frame.format(what, what), "A", "strict")
        for n, what in enumerate(("wet", "wet", "cold", "cold"))
    ]
    imported = load_responses([write_jsonl(tmp_path / "r.jsonl", rows)])
    assert cells(imported) == {("new", "0"): (2, 1), ("new", "1"): (2, 0)}
    assert imported.report.metrics["r"].rule == "main metric"
    assert imported.report.metrics["r"].differ == 3
    (first, _) = imported.items
    assert (first.question, first.choices, first.answer) == ("Which is wet?", ("wet", "sand"), "A")


def test_evalplus_in_both_versions(tmp_path: Path) -> None:
    new = {
        "eval": {
            "HumanEval/0": [
                {"task_id": "HumanEval/0", "solution": "x", "base_status": "pass", "plus_status": "pass"},
                {"task_id": "HumanEval/0", "solution": "y", "base_status": "pass", "plus_status": "fail"},
            ],
            "HumanEval/1": [
                {
                    "task_id": "HumanEval/1",
                    "solution": "z",
                    "base_status": "timeout",
                    "plus_status": "timeout",
                }
            ],
        }
    }
    path = write_json(tmp_path / "org--coder-7b_vllm_temp_0.0.eval_results.json", new)
    imported = load_responses([path])
    assert only_format(imported) == "evalplus"
    assert cells(imported) == {
        ("org/coder-7b", "HumanEval/0"): (2, 1),
        ("org/coder-7b", "HumanEval/1"): (1, 0),
    }
    base = load_responses([path], ImportOptions(metrics=("base",)))
    assert cells(base)["org/coder-7b", "HumanEval/0"] == (2, 2)
    old = {"eval": {"HumanEval/0": {"nfiles": 2, "base": [["success", []], ["failed", [False]]], "plus": []}}}
    imported = load_responses([write_json(tmp_path / "old_eval_results.json", old)])
    assert cells(imported) == {("old", "HumanEval/0"): (2, 1)}


def test_livecodebench(tmp_path: Path) -> None:
    entries = [
        {
            "question_id": "q1",
            "question_content": "Sort.",
            "code_list": ["a", "b"],
            "graded_list": [True, False],
        },
        {"question_id": "q2", "question_content": "Add.", "code_list": [], "graded_list": []},
    ]
    imported = load_responses([write_json(tmp_path / "model-x" / "c_eval_all.json", entries)])
    assert only_format(imported) == "livecodebench"
    assert cells(imported) == {("model-x", "q1"): (2, 1), ("model-x", "q2"): (0, 0)}
    assert imported.report.missing == {"not graded": 1}


def test_opencompass_details_and_repeated_runs(tmp_path: Path) -> None:
    details = {
        "type": "GEN",
        "0": {
            "prompt": "1+1?",
            "origin_prediction": "2",
            "predictions": "2",
            "references": "2",
            "correct": True,
        },
        "1": {
            "prompt": "1+2?",
            "origin_prediction": "4",
            "predictions": "4",
            "references": "3",
            "correct": False,
        },
        "2": {"prompt": "1+3?", "origin_prediction": "4", "predictions": "4", "references": "4"},
    }
    write_json(tmp_path / "results" / "m-7b" / "sums.json", {"accuracy": 50.0, "details": details})
    imported = load_responses([tmp_path / "results"])
    assert only_format(imported) == "opencompass"
    assert cells(imported) == {("m-7b", "0"): (1, 1), ("m-7b", "1"): (1, 0), ("m-7b", "2"): (0, 0)}
    assert [item.answer for item in imported.items] == ["2", "3", "4"]
    runs = {"details": [{"example_abbr": "s_0", "pred": ["1", "2", "3"], "correct": [True, False, True]}]}
    imported = load_responses([write_json(tmp_path / "runs" / "m" / "t.json", runs)])
    assert cells(imported) == {("m", "s_0"): (3, 2)}


def test_evaleval_records(tmp_path: Path) -> None:
    def row(item: str, right: bool, error: str | None = None) -> dict[str, Any]:
        return {
            "schema_version": "instance_level_eval_0.2.1",
            "evaluation_id": "e",
            "model_id": "org/m-3b",
            "evaluation_name": "quiz",
            "sample_id": item,
            "interaction_type": "single_turn",
            "input": {"raw": f"Examples.\n\nQuestion {item}", "reference": ["yes"], "choices": ["no", "yes"]},
            "output": {"raw": ["yes"]},
            "answer_attribution": [],
            "evaluation": {"score": float(right), "is_correct": right},
            "error": error,
        }

    rows = [row("a", True), row("b", False), row("c", False, "timeout")]
    imported = load_responses([write_jsonl(tmp_path / "s.jsonl", rows)])
    assert only_format(imported) == "evaleval"
    assert [cells(imported)["org/m-3b", item] for item in "abc"] == [(1, 1), (1, 0), (0, 0)]
    assert imported.report.missing == {"error: timeout": 1}
    assert [(item.question, item.answer) for item in imported.items][:1] == [("Question a", "B")]


def test_what_was_not_held_against_real_files_says_so() -> None:
    formats, _ = known_formats()
    verified = {each.name for each in formats if each.verified}
    assert verified == {"benchfill", "helm", "inspect", "lm-eval", "evalscope", "parquet", "items", "table"}


def test_parquet_long_and_wide(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    long = {"model": ["m", "m", "n"], "item_id": ["007", "7", "7"], "correct": [1, None, 0]}
    parquet.write_table(pyarrow.table(long), tmp_path / "long.parquet")
    imported = load_responses([tmp_path / "long.parquet"])
    assert cells(imported) == {
        ("m", "007"): (1, 1),
        ("m", "7"): (0, 0),
        ("n", "007"): (0, 0),
        ("n", "7"): (1, 0),
    }
    wide = {"model": ["m", "n"], "q1": [True, False], "q2": [0.0, float("nan")]}
    parquet.write_table(pyarrow.table(wide), tmp_path / "wide.parquet")
    imported = load_responses([tmp_path / "wide.parquet"])
    assert cells(imported)["n", "q2"] == (0, 0)
    assert (cells(imported)["m", "q1"], cells(imported)["m", "q2"]) == ((1, 1), (1, 0))
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "wide.parquet").read_bytes()[:100])
    with pytest.raises(InputError) as caught:
        load_responses([tmp_path / "cut.parquet"])
    assert caught.value.kind == "corrupt_archive"


class Dots:
    """A user's own format: a letter an item."""

    name = "dots"
    verified = True

    def detect(self, source: Source) -> bool:
        return not source.is_folder and source.text.startswith("DOTS ")

    def read(self, source: Source, context: ReadContext) -> Iterator[LogRecord]:
        for number, mark in enumerate(source.text.removeprefix("DOTS ").strip()):
            yield LogRecord("mine", str(number), {"dot": mark == "x"})


class NotAFormat:
    name = "broken"


def plug(monkeypatch: pytest.MonkeyPatch, **objects: str) -> None:
    points = [
        importlib.metadata.EntryPoint(name, f"{__name__}:{value}", "benchfill.log_formats")
        for name, value in objects.items()
    ]
    monkeypatch.setattr("benchfill.logs.harness.registry.entry_points", lambda group: points)


def test_a_format_of_another_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plug(monkeypatch, dots="Dots", broken="NotAFormat", absent="Nothing")
    assert isinstance(Dots(), LogFormat)
    path = tmp_path / "log.csv"
    path.write_text("DOTS x.x", encoding="utf-8")
    imported = load_responses([path])
    assert imported.log.correct.tolist() == [[1, 0, 1]]
    assert only_format(imported) == "dots"
    assert len([note for note in imported.report.notes if "broken" in note or "absent" in note]) == 2


def test_format_by_name_and_unknown_ones(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "s.jsonl", [lm_eval_row(0, "q", "1", "none", 1.0, "r")])
    assert only_format(load_responses([path], ImportOptions(format="lm-eval"))) == "lm-eval"
    with pytest.raises(InputError) as caught:
        load_responses([path], ImportOptions(format="lm_harness"))
    assert caught.value.kind == "unknown_format"
    assert "lm-eval" in str(caught.value)
    other = write_json(tmp_path / "other.json", {"hello": 1})
    with pytest.raises(InputError) as caught:
        load_responses([other])
    assert caught.value.kind == "unknown_format"
    imported = load_responses([tmp_path])
    assert [Path(each).name for each in imported.report.skipped] == ["other.json"]
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    named = load_responses([tmp_path], ImportOptions(format="lm-eval"))
    assert (only_format(named), named.report.attempts) == ("lm-eval", 1)
    with pytest.raises(InputError) as caught:
        load_responses([tmp_path / "nowhere"])
    assert caught.value.kind == "missing_file"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b'{"doc_id": 0, "resps": [["r"]], "exact_match": 1.0}\n{"doc_id": 1, "res', "bad_json_line"),
        (b'{"doc_id": 0, "resps": [["r"]], "exact_match": 1.0}\n[1]\n', "bad_json_line"),
        (b'{"resps": [["r"]], "doc_id": null, "exact_match": 1.0}\n', "missing_field"),
        (b'{"doc_id": "\\ud83d", "resps": [["r"]], "exact_match": 1.0}\n', "bad_text"),
        (b"\xff\xfe\x00\x01", "bad_encoding"),
        (b'{"samples": ' + b"[" * 5000, "unknown_format"),
        (b"", "unknown_format"),
        (b"[]", "unknown_format"),
    ],
)
def test_damaged_files_end_in_one_line(tmp_path: Path, content: bytes, kind: str) -> None:
    path = tmp_path / "samples.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_responses([path])
    assert caught.value.kind == kind
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "junk", [{}, {"samples": 3}, {"samples": [{"id": 1}]}, {"samples": [None, {"id": 1, "scores": []}]}]
)
def test_logs_with_holes_never_raise_anything_else(tmp_path: Path, junk: dict[str, Any]) -> None:
    log = {"version": 2, "status": "success", "eval": {"model": "m", "task": None, "dataset": 7}, **junk}
    with pytest.raises(InputError):
        load_responses([write_json(tmp_path / "log.json", log)])


def test_the_document_names_every_format_and_what_is_unverified() -> None:
    text = (Path(__file__).parents[3] / "docs" / "importing.md").read_text(encoding="utf-8")
    for each in known_formats()[0]:
        (line,) = [line for line in text.splitlines() if line.startswith(f"| `{each.name}` |")]
        assert ("**unverified**" in line) is not each.verified
