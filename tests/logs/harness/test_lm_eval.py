"""lm-evaluation-harness folders of several models."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchfill.errors import InputError
from benchfill.logs.importing import ImportOptions, load_responses
from tests.logs.harness.made_logs import lm_eval_folder, lm_eval_row, rasch_scores, write_json, write_jsonl

MODELS = ("org/tiny-0.5B", "org/small-7B", "org/large-70B")


def test_a_folder_of_models_with_their_names(tmp_path: Path) -> None:
    scores = rasch_scores(MODELS, 12)
    imported = load_responses([lm_eval_folder(tmp_path, scores)])
    assert imported.log.models == tuple(sorted(MODELS))
    assert imported.log.items == tuple(sorted(map(str, range(12))))
    for place, model in enumerate(imported.log.models):
        by_item = dict(zip(imported.log.items, imported.log.correct[place].tolist(), strict=True))
        assert by_item == {str(doc): score for doc, score in enumerate(scores[model])}
        assert imported.report.models[model].mean_score == sum(scores[model]) / 12
    assert imported.report.models["org/large-70B"].size_b == 70
    assert [item.answer for item in imported.items if item.id == "7"] == ["14"]
    assert imported.report.notes == []


def test_filters_of_several_models_count_once(tmp_path: Path) -> None:
    scores = rasch_scores(MODELS, 10)
    folder = lm_eval_folder(tmp_path, scores, filters=("strict-match", "flexible-extract"))
    imported = load_responses([folder])
    assert int(imported.log.attempts.sum()) == 30
    assert int(imported.log.correct.sum()) == sum(map(sum, scores.values()))
    choice = imported.report.filters["sums"]
    assert (choice.chosen, choice.rule, choice.compared) == ("strict-match", "first of the log", 30)
    assert choice.differ == 30 - sum(map(sum, scores.values()))
    assert choice.means["flexible-extract"] == 1.0
    named = load_responses([folder], ImportOptions(filters=("flexible-extract",)))
    assert int(named.log.correct.sum()) == 30


def test_models_extracted_in_different_ways_are_not_compared(tmp_path: Path) -> None:
    lm_eval_folder(tmp_path, {"a/one": [1, 0]}, filters=("strict-match",))
    lm_eval_folder(tmp_path, {"b/two": [1, 0]}, filters=("flexible-extract",))
    with pytest.raises(InputError) as caught:
        load_responses([tmp_path])
    assert caught.value.kind == "filter_needed"
    assert "strict-match" in str(caught.value)


def test_model_of_folder_or_user_where_the_results_are_lost(tmp_path: Path) -> None:
    row = lm_eval_row(0, "q", "1", "none", 1.0, "r")
    path = write_jsonl(tmp_path / "meta-llama__Llama-3.1-8B" / "samples_t_2026-01-02T03-04-05.6.jsonl", [row])
    imported = load_responses([path])
    assert imported.log.models == ("meta-llama/Llama-3.1-8B",)
    assert any("does not name its model" in note for note in imported.report.notes)
    assert load_responses([path], ImportOptions(model="mine")).log.models == ("mine",)


def test_results_of_another_time_do_not_name_the_model(tmp_path: Path) -> None:
    row = lm_eval_row(0, "q", "1", "none", 1.0, "r")
    for hour, name in ((3, "early"), (4, "late")):
        time = f"2026-01-02T0{hour}-04-05.6"
        write_jsonl(tmp_path / f"samples_t_{time}.jsonl", [row | {"resps": [[name]]}])
        write_json(tmp_path / f"results_{time}.json", {"model_name": name})
    assert load_responses([tmp_path]).log.models == ("early", "late")


def test_arc_options_gsm8k_keys_and_indexed_targets(tmp_path: Path) -> None:
    arc = lm_eval_row(0, "Which?", "2", "none", 1.0, "r")
    arc["doc"]["choices"] = {"label": ["1", "2", "3"], "text": ["air", "iron", "ice"]}
    gsm = lm_eval_row(1, "How many?", "Add 1 and 2.\n#### 3", "none", 0.0, "r")
    index = lm_eval_row(2, "Pick", "0", "none", 0.0, "r")
    index |= {"target": 0, "resps": [[["-1", "F"]], [["-2", "F"]]]}
    index["doc"]["choices"] = ["10", "0"]
    items = {
        item.id: item for item in load_responses([write_jsonl(tmp_path / "s.jsonl", [arc, gsm, index])]).items
    }
    assert (items["0"].answer, items["0"].choices) == ("B", ("air", "iron", "ice"))
    assert (items["1"].answer, items["1"].solution) == ("3", "Add 1 and 2.\n#### 3")
    # The index 0, not the option whose text is "0".
    assert items["2"].answer == "A"


def test_exact_repeats_of_a_row_count_once_and_contradictions_are_refused(tmp_path: Path) -> None:
    row = lm_eval_row(0, "q", "1", "none", 1.0, "r")
    imported = load_responses([write_jsonl(tmp_path / "padded.jsonl", [row, row])])
    assert imported.log.attempts.tolist() == [[1]]
    assert imported.report.duplicates == {"the same row twice in one log": 1}
    with pytest.raises(InputError) as caught:
        load_responses([write_jsonl(tmp_path / "torn.jsonl", [row, row | {"exact_match": 0.0}])])
    assert caught.value.kind == "duplicate_response"
    assert "'0'" in str(caught.value)


def test_partial_scores_need_a_threshold(tmp_path: Path) -> None:
    rows = [
        lm_eval_row(doc, f"q{doc}", "1", "none", score, "r") for doc, score in enumerate((0.0, 0.4, 0.6, 1.0))
    ]
    path = write_jsonl(tmp_path / "s.jsonl", rows)
    with pytest.raises(InputError) as caught:
        load_responses([path])
    assert caught.value.kind == "partial_scores"
    assert load_responses([path], ImportOptions(threshold=0.5)).log.correct.tolist() == [[0, 0, 1, 1]]
    with pytest.raises(InputError, match="threshold"):
        load_responses([path], ImportOptions(threshold=1.5))
    percent = [row | {"exact_match": 85.0} for row in rows]
    with pytest.raises(InputError) as caught:
        load_responses([write_jsonl(tmp_path / "p.jsonl", percent)], ImportOptions(threshold=0.5))
    assert caught.value.kind == "not_binary"
