"""Repeats: epochs and reruns stay attempts, identical ones are flagged, the same file counts once."""

from __future__ import annotations

import shutil
from pathlib import Path

from benchfill.logs.importing import ImportOptions, load_responses
from tests.logs.harness.made_logs import inspect_log, inspect_sample, lm_eval_row, write_json, write_jsonl


def test_two_runs_of_one_model_are_repeated_attempts(tmp_path: Path) -> None:
    for number, score in enumerate((1.0, 0.0)):
        row = lm_eval_row(0, "q", "1", "none", score, f"reply {number}")
        write_jsonl(tmp_path / "m" / f"samples_t_2026-01-0{number + 1}T00-00-00.0.jsonl", [row])
    imported = load_responses([tmp_path])
    assert (imported.log.attempts.tolist(), imported.log.correct.tolist()) == ([[2]], [[1]])
    assert imported.report.reruns == {"m": 2}
    assert imported.report.identical_repeats == []


def test_copies_and_overlapping_paths_count_once(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "m" / "s.jsonl", [lm_eval_row(0, "q", "1", "none", 1.0, "r")])
    shutil.copy(path, tmp_path / "m" / "t.jsonl")
    imported = load_responses([tmp_path, path, tmp_path / "m"])
    assert imported.log.attempts.tolist() == [[1]]
    assert len(imported.report.same_files) == 1


def test_identical_replies_are_flagged_and_can_count_once(tmp_path: Path) -> None:
    def samples(vary: bool) -> list[dict[str, object]]:
        return [
            inspect_sample(
                item,
                "C" if item == "a" else "I",
                epoch=epoch,
                output={"completion": f"{item}{epoch if vary else ''}", "choices": []},
            )
            for item in ("a", "b")
            for epoch in (1, 2, 3)
        ]

    write_json(tmp_path / "greedy.json", inspect_log(samples(vary=False), model="greedy"))
    write_json(tmp_path / "varied.json", inspect_log(samples(vary=True), model="varied"))
    imported = load_responses([tmp_path])
    assert imported.report.identical_repeats == ["greedy"]
    assert imported.log.attempts.tolist() == [[3, 3], [3, 3]]
    once = load_responses([tmp_path], ImportOptions(collapse_repeats=True))
    assert once.log.attempts.tolist() == [[1, 1], [3, 3]]
    assert once.log.correct.tolist() == [[1, 0], [3, 0]]


def test_equal_scores_without_replies_are_flagged_only_when_they_say_something(tmp_path: Path) -> None:
    def log(model: str, items: int, all_right: bool) -> None:
        samples = [
            inspect_sample(f"q{item}", "C" if all_right or item % 2 else "I", epoch=epoch)
            for item in range(items)
            for epoch in (1, 2)
        ]
        write_json(tmp_path / f"{model}.json", inspect_log(samples, model=model))

    log("always-right", 8, True)
    log("few-cells", 3, False)
    log("frozen", 8, False)
    assert load_responses([tmp_path]).report.identical_repeats == ["frozen"]


def test_epochs_keep_their_order_beyond_nine(tmp_path: Path) -> None:
    samples = [inspect_sample("a", "C" if epoch == 10 else "I", epoch=epoch) for epoch in (10, 2, 1)]
    imported = load_responses([write_json(tmp_path / "log.json", inspect_log(samples))])
    assert [answer.correct for answer in imported.answers["m/one", "a"]] == [False, False, True]
