"""Inspect AI logs: archives with Zstandard members, epochs, retries, errors."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from benchfill.errors import InputError
from benchfill.logs.importing import Imported, load_responses
from tests.logs.harness.made_logs import inspect_log, inspect_sample, write_json

SAMPLES = [inspect_sample("a", "C"), inspect_sample("b", "I"), inspect_sample("b", "C", epoch=2)]


def write_archive(path: Path, log: dict[str, Any], *, zstandard: bool, ended: bool = True) -> Path:
    """An ``.eval`` file as Inspect lays it out."""
    module: Any = zipfile
    method = zipfile.ZIP_DEFLATED
    if zstandard and sys.version_info < (3, 14):
        module = pytest.importorskip("backports.zstd.zipfile")
    if zstandard:
        method = module.ZIP_ZSTANDARD
    head = {name: value for name, value in log.items() if name != "samples"}
    with module.ZipFile(path, "w", compression=method) as archive:
        start = {"version": 2, "eval": log["eval"], "plan": {}}
        archive.writestr("_journal/start.json", json.dumps(start))
        for sample in log["samples"]:
            name = f"samples/{sample['id']}_epoch_{sample['epoch']}.json"
            archive.writestr(name, json.dumps(sample, ensure_ascii=False))
        if ended:
            archive.writestr("header.json", json.dumps(head))
    return path


def cells(imported: Imported) -> dict[str, tuple[int, int]]:
    """Attempts and right answers of the only model by item."""
    log = imported.log
    (attempts,), (correct,) = log.attempts.tolist(), log.correct.tolist()
    return {item: (n, k) for item, n, k in zip(log.items, attempts, correct, strict=True)}


@pytest.mark.parametrize("zstandard", [False, True])
def test_archives_hold_what_json_logs_hold(tmp_path: Path, zstandard: bool) -> None:
    log = inspect_log(SAMPLES)
    whole = load_responses([write_json(tmp_path / "log.json", log)])
    packed = load_responses([write_archive(tmp_path / "log.eval", log, zstandard=zstandard)])
    assert cells(packed) == cells(whole) == {"a": (1, 1), "b": (2, 1)}
    assert packed.items == whole.items
    assert packed.report.notes == []


def test_archive_of_a_run_that_did_not_end(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "log.eval", inspect_log(SAMPLES), zstandard=False, ended=False)
    imported = load_responses([path])
    assert cells(imported) == {"a": (1, 1), "b": (2, 1)}
    assert any("incomplete run" in note for note in imported.report.notes)


def test_cut_archives_are_refused(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "log.eval", inspect_log(SAMPLES), zstandard=False)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(InputError) as caught:
        load_responses([path])
    assert caught.value.kind == "corrupt_archive"


def test_zstandard_without_the_backport_names_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sys.version_info >= (3, 14):
        pytest.skip("Python reads Zstandard itself")
    path = write_archive(tmp_path / "log.eval", inspect_log(SAMPLES), zstandard=True)
    monkeypatch.setitem(sys.modules, "backports.zstd.zipfile", None)
    with pytest.raises(InputError) as caught:
        load_responses([path])
    assert caught.value.kind == "missing_package"
    assert "backports.zstd" in str(caught.value)


def test_planned_samples_that_never_ran_are_missing(tmp_path: Path) -> None:
    log = inspect_log(SAMPLES, status="error")
    log["eval"]["dataset"]["sample_ids"] = ["a", "b", "c"]
    imported = load_responses([write_json(tmp_path / "log.json", log)])
    assert cells(imported) == {"a": (1, 1), "b": (2, 1), "c": (0, 0)}
    assert imported.report.missing == {"never run": 1}


def test_a_retried_run_copies_samples_and_they_count_once(tmp_path: Path) -> None:
    first = [
        inspect_sample("a", "C", uuid="u1"),
        inspect_sample("b", None, uuid="u2", error={"message": "x"}),
    ]
    again = [first[0], inspect_sample("b", "I", uuid="u3")]
    write_json(tmp_path / "1.json", inspect_log(first, status="error"))
    write_json(tmp_path / "2.json", inspect_log(again))
    imported = load_responses([tmp_path])
    assert cells(imported) == {"a": (1, 1), "b": (1, 0)}
    assert imported.report.duplicates == {"the same sample in two logs": 1}
    assert imported.report.missing == {"error: x": 1}


def test_ids_one_and_text_one_are_not_mixed(tmp_path: Path) -> None:
    samples = [inspect_sample(1, "C"), {**inspect_sample("1", "I"), "input": "another question"}]
    imported = load_responses([write_json(tmp_path / "log.json", inspect_log(samples))])
    assert sorted(cells(imported).values()) == [(1, 0), (1, 1)]
    assert imported.report.collisions["split_ids"] == ["t/1"]


def test_several_scorers_need_a_name_and_parts_are_metrics(tmp_path: Path) -> None:
    def sample(item: str, parts: dict[str, Any]) -> dict[str, Any]:
        return {**inspect_sample(item, "C"), "scores": {"s": {"value": parts}, "other": {"value": "I"}}}

    path = write_json(
        tmp_path / "log.json", inspect_log([sample("a", {"x": 1, "y": 0}), sample("b", {"x": 0, "y": 0})])
    )
    with pytest.raises(InputError) as caught:
        load_responses([path])
    assert caught.value.kind == "metric_needed"
    assert all(name in str(caught.value) for name in ("s/x", "s/y", "other"))


def test_literals_that_are_no_json_and_half_characters_in_replies(tmp_path: Path) -> None:
    samples = [inspect_sample("a", "C"), inspect_sample("b", float("nan"))]
    samples[0]["output"] = {"completion": "cut \ud83d", "choices": []}
    path = tmp_path / "log.json"
    path.write_text(json.dumps(inspect_log(samples)), encoding="utf-8")
    imported = load_responses([path])
    assert cells(imported) == {"a": (1, 1), "b": (0, 0)}
    assert imported.report.missing == {"no score": 1}
