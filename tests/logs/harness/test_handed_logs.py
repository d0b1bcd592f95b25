"""The handed log cases, each as the index says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchfill.errors import InputError
from benchfill.logs.importing import Imported, ImportOptions, load_responses


@pytest.fixture
def logs(shared: Path) -> Path:
    return shared / "cases" / "items" / "logs"


def cell(imported: Imported, item: str) -> tuple[int, int]:
    """Attempts and right answers of the only model."""
    assert len(imported.log.models) == 1
    column = imported.log.items.index(item)
    return int(imported.log.attempts[0, column]), int(imported.log.correct[0, column])


def missing(imported: Imported) -> dict[tuple[str, int], str]:
    """Item and number of the attempt to the reason."""
    return {
        (item, number): answer.reason
        for (_, item), answers in imported.answers.items()
        for number, answer in enumerate(answers, 1)
        if answer.correct is None
    }


def expectation(shared: Path, name: str) -> dict[str, Any]:
    entries = json.loads((shared / "cases" / "index.json").read_text(encoding="utf-8"))["entries"]
    (found,) = [entry["expect"] for entry in entries if entry["file"] == f"items/logs/{name}"]
    return dict(found)


def test_every_handed_log_has_a_test_here(shared: Path, logs: Path) -> None:
    entries = json.loads((shared / "cases" / "index.json").read_text(encoding="utf-8"))["entries"]
    listed = {entry["file"].rpartition("/")[2] for entry in entries if "items/logs/" in entry["file"]}
    assert listed == {path.name for path in logs.iterdir()}
    source = Path(__file__).read_text(encoding="utf-8")
    assert all(f'"{name}"' in source for name in listed)


def test_two_filters_are_neither_added_nor_mixed(shared: Path, logs: Path) -> None:
    expect = expectation(shared, "lm_eval_two_filters.jsonl")
    path = logs / "lm_eval_two_filters.jsonl"
    for name, scores in expect["by_filter"].items():
        imported = load_responses([path], ImportOptions(filters=(name,)))
        assert len(imported.log.items) == expect["items"]
        assert imported.log.correct[0].tolist() == scores
        assert imported.log.attempts[0].tolist() == [1, 1]
        assert imported.report.filters["lm_eval_two_filters"].rule == "named"
    default = load_responses([path])
    assert default.log.correct[0].tolist() == expect["by_filter"]["strict-match"]
    (warning,) = [each for each in default.report.warnings() if "flexible-extract" in each]
    assert "'strict-match' counts" in warning
    assert "differ on 1 of 2" in warning
    with pytest.raises(InputError) as caught:
        load_responses([path], ImportOptions(filters=("loose",)))
    assert caught.value.kind == "unknown_filter"


def test_unnamed_filters_of_old_logs_are_refused_until_one_is_named(shared: Path, logs: Path) -> None:
    expect = expectation(shared, "lm_eval_two_filters_old.jsonl")
    path = logs / "lm_eval_two_filters_old.jsonl"
    with pytest.raises(InputError) as caught:
        load_responses([path])
    assert caught.value.kind == expect["error_class"]
    assert all(repr(str(doc)) in str(caught.value) for doc in expect["where"]["doc_id"])
    for number, scores in (("#1", [1, 0]), ("#2", [1, 1])):
        imported = load_responses([path], ImportOptions(filters=(number,)))
        assert imported.log.correct[0].tolist() == scores


def test_differing_metrics_need_a_name(shared: Path, logs: Path) -> None:
    expect = expectation(shared, "lm_eval_multiple_choice.jsonl")
    path = logs / "lm_eval_multiple_choice.jsonl"
    with pytest.raises(InputError) as caught:
        load_responses([path])
    assert caught.value.kind == "metric_needed"
    assert all(metric in str(caught.value) for metric in expect["metrics"])
    for metric, right in (("acc", 1), ("acc_norm", 0)):
        imported = load_responses([path], ImportOptions(metrics=(metric,)))
        assert cell(imported, "0") == (1, right)
    (item,) = imported.items
    assert (item.choices, item.answer) == (("3", "4"), "B")


def test_inspect_counts_only_what_was_scored(shared: Path, logs: Path) -> None:
    expect = expectation(shared, "inspect_mixed.json")
    imported = load_responses([logs / "inspect_mixed.json"])
    for item, counts in expect["cells"].items():
        assert cell(imported, item) == (counts["n"], counts["k"])
    found = missing(imported)
    assert set(found) == {(item, epoch) for item, epoch in expect["unscored"] + expect["partial"]}
    (partial,) = expect["partial"]
    assert "partial" in found[tuple(partial)]
    assert found["2", 2] == "error: timeout"
    assert sum(imported.report.missing.values()) == 4
    with_threshold = load_responses([logs / "inspect_mixed.json"], ImportOptions(threshold=0.5))
    assert cell(with_threshold, "3") == (1, 1)
    assert cell(load_responses([logs / "inspect_mixed.json"], ImportOptions(threshold=0.6)), "3") == (1, 0)


def test_log_of_a_killed_run(shared: Path, logs: Path) -> None:
    expect = expectation(shared, "inspect_started.json")
    imported = load_responses([logs / "inspect_started.json"])
    assert cell(imported, "a") == (expect["cells"]["a"]["n"], expect["cells"]["a"]["k"])
    assert any("incomplete run" in note for note in imported.report.notes)


def test_swebench_errors_are_missing(shared: Path, logs: Path) -> None:
    expect = expectation(shared, "swebench_report.json")
    imported = load_responses([logs / "swebench_report.json"])
    assert [cell(imported, item) for item in expect["correct"]] == [(1, 1)]
    assert [cell(imported, item) for item in expect["wrong"]] == [(1, 0)] * 3
    assert [cell(imported, item) for item in expect["missing"]] == [(0, 0)] * 2
    reasons = missing(imported)
    assert "error" in reasons["e", 1]
    assert "never submitted" in reasons["f", 1]
    assert any("unverified" in warning for warning in imported.report.warnings())


def test_helm_keeps_perturbed_rows_and_other_metrics_out(shared: Path, logs: Path) -> None:
    expect = expectation(shared, "helm_per_instance_stats.json")
    imported = load_responses([logs / "helm_per_instance_stats.json"])
    assert imported.report.metrics[""].chosen == expect["metric"]
    assert cell(imported, "id1") == (expect["cells"]["id1"]["n"], expect["cells"]["id1"]["k"])
    assert {item for item, _ in missing(imported)} == set(expect["missing"])
    assert any("final_number_exact_match" in warning for warning in imported.report.warnings())
    other = load_responses(
        [logs / "helm_per_instance_stats.json"], ImportOptions(metrics=("final_number_exact_match",))
    )
    # The second trial of id1 has no such statistic: missing, not wrong.
    assert cell(other, "id1") == (1, 0)
