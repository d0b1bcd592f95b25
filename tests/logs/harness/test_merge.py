"""Which items of several logs are the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchfill.errors import InputError
from benchfill.logs.importing import ImportOptions, load_responses
from tests.logs.harness.made_logs import (
    inspect_log,
    inspect_sample,
    lm_eval_folder,
    write_json,
    write_jsonl,
)


def sample(item: str, question: str, value: str = "C", key: str = "5") -> dict[str, object]:
    return {**inspect_sample(item, value), "input": question, "target": key}


def test_one_text_under_two_ids_is_one_item(tmp_path: Path) -> None:
    write_json(
        tmp_path / "1.json", inspect_log([sample("a-1", "one  question"), sample("a-2", "two")], model="m1")
    )
    write_json(
        tmp_path / "2.json", inspect_log([sample("x", "one question", "I"), sample("y", "two")], model="m2")
    )
    imported = load_responses([tmp_path])
    assert imported.log.items == ("a-1", "a-2")
    assert imported.log.correct.tolist() == [[1, 1], [0, 1]]
    assert imported.report.collisions["merged_by_text"] == [["t/a-1", "t/x"], ["t/a-2", "t/y"]]
    trusted = load_responses([tmp_path], ImportOptions(merge="id"))
    assert trusted.log.items == ("a-1", "a-2", "x", "y")


def test_one_text_that_a_model_answered_twice_stays_two_items(tmp_path: Path) -> None:
    write_json(tmp_path / "1.json", inspect_log([sample("a", "same"), sample("b", "same", "I")]))
    imported = load_responses([tmp_path])
    assert imported.log.items == ("a", "b")
    assert imported.report.collisions["same_text_kept_apart"] == [["t/a", "t/b"]]


def test_one_id_with_two_texts_is_two_items(tmp_path: Path) -> None:
    """Two models saw subsets that were numbered anew: ids collide, texts tell."""
    lm_eval_folder(tmp_path, {"m/one": [1, 0]}, questions=["apples", "pears"])
    lm_eval_folder(tmp_path, {"m/two": [1, 1]}, questions=["pears", "plums"])
    imported = load_responses([tmp_path])
    texts = {item.id: item.question for item in imported.items}
    assert sorted(texts.values()) == ["apples", "pears", "plums"]
    pears = next(name for name, text in texts.items() if text == "pears")
    column = imported.log.items.index(pears)
    assert imported.log.attempts[:, column].tolist() == [1, 1]
    assert imported.log.correct[:, column].tolist() == [0, 1]
    assert imported.report.collisions["split_ids"] == ["sums/0", "sums/1"]


def test_an_id_with_two_meanings_needs_texts_everywhere(tmp_path: Path) -> None:
    write_json(tmp_path / "1.json", inspect_log([sample("a", "apples")], model="m1"))
    write_json(tmp_path / "2.json", inspect_log([sample("a", "pears")], model="m2"))
    write_json(tmp_path / "3.json", inspect_log([sample("a", "")], model="m3"))
    with pytest.raises(InputError) as caught:
        load_responses([tmp_path])
    assert caught.value.kind == "id_conflict"
    imported = load_responses([tmp_path], ImportOptions(merge="id"))
    assert imported.log.items == ("a",)
    assert imported.report.collisions["different_prompts"] == ["t/a"]


def test_conflicting_keys_are_listed_and_the_most_frequent_counts(tmp_path: Path) -> None:
    for number, key in enumerate(("5", "5", "6")):
        write_json(tmp_path / f"{number}.json", inspect_log([sample("a", "q", key=key)], model=f"m{number}"))
    imported = load_responses([tmp_path])
    assert imported.report.conflicting_keys == {"a": ["5", "6"]}
    assert [item.answer for item in imported.items] == ["5"]


def test_shuffled_options_are_one_item_without_conflict(tmp_path: Path) -> None:
    for model, options, key in (("m1", ["red", "blue"], "A"), ("m2", ["blue", "red"], "B")):
        one = {**sample("a", "Which?", key=key), "choices": options}
        write_json(tmp_path / f"{model}.json", inspect_log([one], model=model))
    imported = load_responses([tmp_path])
    assert imported.log.attempts.tolist() == [[1], [1]]
    assert imported.report.conflicting_keys == {}
    (item,) = imported.items
    assert item.choices["AB".index(item.answer)] == "red"


def test_tables_and_item_files_join_logs_by_id(tmp_path: Path) -> None:
    lm_eval_folder(tmp_path / "logs", {"m/one": [1, 0, 1]})
    (tmp_path / "more.csv").write_text(
        "model,item_id,correct,count\nm/two,0,3,4\nm/two,2,0,4\n", encoding="utf-8"
    )
    write_jsonl(tmp_path / "items.jsonl", [{"id": "0", "question": "mine", "answer": "0", "topic": "sums"}])
    imported = load_responses([tmp_path])
    assert imported.log.items == ("0", "1", "2")
    assert imported.log.attempts.tolist() == [[1, 1, 1], [4, 0, 4]]
    assert imported.log.correct.tolist() == [[1, 0, 1], [3, 0, 0]]
    assert next(item for item in imported.items if item.id == "0").question == "mine"


def test_tasks_stand_in_front_of_ids_and_can_be_chosen(tmp_path: Path) -> None:
    lm_eval_folder(tmp_path, {"m/one": [1, 0]}, task="sums")
    lm_eval_folder(tmp_path, {"m/one": [0, 0]}, task="products", questions=["2 x 3", "4 x 5"])
    both = load_responses([tmp_path])
    assert both.log.items == ("products/0", "products/1", "sums/0", "sums/1")
    one = load_responses([tmp_path], ImportOptions(tasks=("sums",)))
    assert (one.log.items, one.log.correct.tolist()) == (("0", "1"), [[1, 0]])
    with pytest.raises(InputError) as caught:
        load_responses([tmp_path], ImportOptions(tasks=("roots",)))
    assert caught.value.kind == "unknown_task"
