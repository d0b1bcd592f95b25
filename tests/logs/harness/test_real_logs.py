"""Logs that harnesses wrote: models, items, attempts and mean scores, counted again here with plain json."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from benchfill.logs.importing import Imported, load_responses

# Model, item (as in the log) to the scores of its attempts.
Truth = dict[str, dict[str, list[float]]]


@pytest.fixture
def formats(shared: Path) -> Path:
    return shared / "data" / "formats"


def lm_eval_truth(folder: Path) -> Truth:
    (samples,), (results,) = folder.glob("samples*.jsonl"), folder.glob("results*.json")
    model = json.loads(results.read_text(encoding="utf-8"))["model_name"]
    truth: Truth = {model: {}}
    for line in samples.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        assert row["filter"] == "none"
        truth[model].setdefault(str(row["doc_id"]), []).append(row["exact_match"])
    return truth


def inspect_truth(folder: Path) -> Truth:
    truth: Truth = defaultdict(dict)
    for path in folder.glob("*.json"):
        log = json.loads(path.read_text(encoding="utf-8"))
        for sample in log["samples"]:
            value = sample["scores"]["choice"]["value"]
            assert value in ("C", "I")
            item = f"{log['eval']['task']}/{sample['id']}"
            truth[log["eval"]["model"]].setdefault(item, []).append(float(value == "C"))
    return truth


def evalscope_truth(folder: Path) -> Truth:
    truth: Truth = defaultdict(dict)
    for path in folder.glob("*/reviews*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            score = row["sample_score"]["score"]["value"]["acc"]
            truth[path.parent.name].setdefault(str(row["index"]), []).append(score)
    return truth


def helm_truth(folder: Path) -> Truth:
    truth: Truth = defaultdict(dict)
    for path in folder.glob("*/per_instance_stats.json"):
        spec = json.loads((path.parent / "run_spec.json").read_text(encoding="utf-8"))
        for entry in json.loads(path.read_text(encoding="utf-8")):
            (score,) = [s["mean"] for s in entry["stats"] if s["name"]["name"] == "exact_match"]
            truth[spec["adapter_spec"]["model"]].setdefault(entry["instance_id"], []).append(score)
    return truth


@pytest.mark.parametrize(
    ("name", "truth_of", "models", "items", "attempts"),
    [
        ("lm_eval", lm_eval_truth, 1, 10, 10),
        ("inspect_ai", inspect_truth, 2, 5, 5),
        ("evalscope_v1", evalscope_truth, 2, 10, 20),
        ("helm", helm_truth, 1, 6, 6),
    ],
)
def test_numbers_are_those_of_the_log(
    formats: Path, name: str, truth_of: object, models: int, items: int, attempts: int
) -> None:
    assert callable(truth_of)
    truth: Truth = truth_of(formats / name)
    imported = load_responses([formats / name])
    log, report = imported.log, imported.report
    assert (len(log.models), len(log.items), int(log.attempts.sum())) == (models, items, attempts)
    assert (report.items, report.attempts, report.missing) == (items, attempts, {})
    assert set(log.models) == set(truth)
    for place, model in enumerate(log.models):
        every = [score for scores in truth[model].values() for score in scores]
        assert report.models[model].mean_score == pytest.approx(np.mean(every), abs=1e-12)
        for column, item in enumerate(log.items):
            scores = truth[model].get(item, [])
            assert log.attempts[place, column] == len(scores)
            assert log.correct[place, column] == sum(scores)
    assert all(each.verified for each in report.files)


def test_means_agree_with_what_the_harnesses_report(formats: Path) -> None:
    """Accuracy of Inspect's and EvalScope's own result files."""
    imported = load_responses([formats / "inspect_ai", formats / "evalscope_v1"])
    for path in (formats / "inspect_ai").glob("*.json"):
        log = json.loads(path.read_text(encoding="utf-8"))
        accuracy = log["results"]["scores"][0]["metrics"]["accuracy"]["value"]
        assert imported.report.models[log["eval"]["model"]].mean_score == pytest.approx(accuracy)
    for path in (formats / "evalscope_v1").glob("*/report*.json"):
        report = json.loads(path.read_text(encoding="utf-8"))
        found = imported.report.models[report["model_name"]]
        assert (found.mean_score, found.attempts) == (report["score"], report["num"])


def by_id(imported: Imported) -> dict[str, object]:
    return {item.id: item for item in imported.items}


def test_items_have_the_texts_of_the_data_set(formats: Path, shared: Path) -> None:
    gsm8k = {}
    for line in (shared / "data" / "items" / "gsm8k_test.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        gsm8k[row["question"].strip()] = row
    imported = load_responses([formats / "evalscope_v1"])
    assert len(imported.items) == 10
    # The prompts of these logs hold four worked examples in front and an instruction behind.
    assert all(item.question in gsm8k for item in imported.items)
    assert [item.answer for item in imported.items] == [
        str(gsm8k[item.question]["answer"]).rpartition("####")[2].strip() for item in imported.items
    ]


def test_options_and_keys_of_multiple_choice(formats: Path) -> None:
    imported = load_responses([formats / "inspect_ai", formats / "helm"])
    assert {item.answer_type for item in imported.items} == {"mcq"}
    for path in (formats / "inspect_ai").glob("*.json"):
        log = json.loads(path.read_text(encoding="utf-8"))
        for sample in log["samples"]:
            item = next(each for each in imported.items if each.id == f"{log['eval']['task']}/{sample['id']}")
            assert (item.question, item.answer) == (sample["input"], sample["target"])
            assert list(item.choices) == sample["choices"]
            assert item.guessing == pytest.approx(1 / len(sample["choices"]))
    (state,) = (formats / "helm").glob("*/scenario_state.json")
    for entry in json.loads(state.read_text(encoding="utf-8"))["request_states"]:
        instance = entry["instance"]
        item = next(each for each in imported.items if each.id.endswith("/" + instance["id"]))
        right = [r["output"]["text"] for r in instance["references"] if "correct" in r["tags"]]
        assert [item.choices["ABCD".index(item.answer)]] == right
        assert entry["output_mapping"][item.answer] == right[0]


def test_all_folders_at_once_in_any_order(formats: Path) -> None:
    folders = sorted(path for path in formats.iterdir() if path.is_dir())
    one, other = load_responses(folders), load_responses([*reversed(folders), formats])
    assert (one.log.models, one.log.items) == (other.log.models, other.log.items)
    assert np.array_equal(one.log.correct, other.log.correct)
    assert np.array_equal(one.log.attempts, other.log.attempts)
    assert one.items == other.items
    assert (len(one.log.models), len(one.log.items), int(one.log.attempts.sum())) == (6, 31, 41)
    assert one.report.tasks == other.report.tasks
    # Four of five tasks come from one harness each; the ids say which.
    assert all(item.id.startswith(f"{item.extra['task']}/") for item in one.items)
    assert any("10 of the 5000 documents" in note for note in one.report.notes)
