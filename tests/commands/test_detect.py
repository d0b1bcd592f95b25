"""The command: where the axis comes from, who is paired with whom, what is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from benchfill.commands.detect import detect
from benchfill.errors import InputError

DIFFICULTY = np.delete(np.linspace(-2.5, 2.5, 21), [12, 13, 14])
LIFTED = 9


def run(*arguments: object) -> Any:
    app = typer.Typer()
    app.command()(detect)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def write(path: Path, models: dict[str, float], *, lift: float = 0.0, seed: int, count: int = 64) -> Path:
    rng = np.random.default_rng(seed)
    lines = ["model,item_id,correct,count"]
    for model, theta in models.items():
        for item, b in enumerate(DIFFICULTY):
            p = 1 / (1 + np.exp(b - theta))
            if item == LIFTED:
                p = min(1.0, p + lift)
            lines.append(f"{model},q{item:02d},{rng.binomial(count, p)},{count}")
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture
def logs(tmp_path: Path) -> tuple[Path, Path, Path]:
    pool = {f"m{index}": theta for index, theta in enumerate(np.linspace(-2, 2, 6).tolist())}
    return (
        write(tmp_path / "before.csv", {"step-1": 0.0}, seed=1),
        write(tmp_path / "after.csv", {"step-2": 0.0}, lift=0.45, seed=4),
        write(tmp_path / "pool.csv", {**pool, "step-1": 0.0}, seed=3),
    )


def test_a_lift_is_found_and_placed_on_the_axis_of_the_pool(logs: tuple[Path, Path, Path]) -> None:
    before, after, pool = logs
    result = run(before, after, "--axis", pool, "--engine", "mml", "--json", "--width", 0.05)
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["models"] == [{"before": "step-1", "after": "step-2"}]
    assert (document["v"], document["axis"], document["randomisations"]) == (1, "pool", 9999)
    assert any("left out of the axis" in note for note in document["notes"])
    found = document["groups"]["all"]
    assert found["p_scan"] < 0.01
    assert f"q{LIFTED:02d}" in found["window"]["items"]
    assert found["hides"] is True
    assert found["max_gap"] == pytest.approx(found["gap"]["hi"] - found["gap"]["lo"])
    assert set(document["groups"]) == {"all"}
    assert (
        run(before, after, "--axis", pool, "--engine", "mml", "--json", "--width", 0.05).stdout
        == result.stdout
    )


def test_added_items_are_reported_beside_the_original_ones(
    logs: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    before, after, _ = logs
    scale = {"name": "minmax", "lo": -2.5, "hi": 2.5}
    places = [{"id": f"q{item:02d}", "z": (b + 2.5) / 5} for item, b in enumerate(DIFFICULTY.tolist())]
    diagnosis, export = tmp_path / "diagnosis.json", tmp_path / "new.jsonl"
    diagnosis.write_text(
        json.dumps({"v": 1, "scale": scale, "items": [each for each in places if each["id"] != "q09"]}),
        encoding="utf-8",
    )
    new = {**places[9], "scale": {"lo_logits": -2.5, "hi_logits": 2.5}, "question": "?"}
    export.write_text(json.dumps(new) + "\n", encoding="utf-8")
    arguments = [before, after, "--difficulties", diagnosis, "--difficulties", export, "--width", 0.22]
    result = run(*arguments, "--added", export, "--json")
    assert result.exit_code == 0, result.output
    groups = json.loads(result.stdout)["groups"]
    assert set(groups) == {"all", "original", "added"}
    assert groups["added"]["p_mean"] < 0.01 < groups["original"]["p_scan"]
    assert groups["added"]["n_items"] == 1
    assert groups["original"]["n_items"] == len(DIFFICULTY) - 1
    shown = run(*arguments, "--added", "q09").stdout
    for part in ("step-1 -> step-2", "original: no gain seen", "added: a gain is seen", "q09"):
        assert part in shown
    refused = run(*arguments, "--added", "q99")
    assert isinstance(refused.exception, InputError)
    assert "q99" in str(refused.exception)


def test_without_an_axis_both_logs_together_give_one(logs: tuple[Path, Path, Path]) -> None:
    result = run(*logs[:2], "--engine", "mml", "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["axis"] == "both_logs"
    assert any("re-dealing does not change" in note for note in document["notes"])
    assert document["groups"]["all"]["p_scan"] < 0.01


def test_models_are_named_where_logs_hold_several(logs: tuple[Path, Path, Path], tmp_path: Path) -> None:
    before, after, pool = logs
    other = write(tmp_path / "other.csv", {"a": 0.0, "b=c": 0.0}, seed=5)
    assert "no model in common" in str(run(other, after, "--engine", "mml").exception)
    table = tmp_path / "z.csv"
    table.write_text("item_id,z\n" + "\n".join(f"q{n:02d},{n / 20}" for n in range(18)), encoding="utf-8")
    named = run(other, after, "--model", "a=step-2", "--difficulties", table, "--json")
    assert json.loads(named.stdout)["models"] == [{"before": "a", "after": "step-2"}]
    same = run(other, other, "--model", "b=c", "--difficulties", table, "--json")
    document = json.loads(same.stdout)
    assert document["models"] == [{"before": "b=c", "after": "b=c"}]
    assert document["groups"]["all"]["gain"] == 0.0
    assert any("same counts" in note for note in document["notes"])
    assert isinstance(run(before, after, "--axis", pool, "--difficulties", table).exception, InputError)


def test_greedy_repeats_are_warned_of_and_can_be_counted_once(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    paths = []
    for name, rate in (("before", 0.3), ("after", 0.45)):
        path = tmp_path / f"{name}.csv"
        answers = (rng.random(40) < rate) * 8
        rows = [f"m,q{item:02d},{correct},8" for item, correct in enumerate(answers)]
        path.write_text("model,item_id,correct,count\n" + "\n".join(rows), encoding="utf-8")
        paths.append(path)
    table = tmp_path / "z.csv"
    table.write_text("id,z\n" + "\n".join(f"q{n:02d},{n / 39}" for n in range(40)), encoding="utf-8")
    naive, once = (
        json.loads(run(*paths, "--difficulties", table, "--json", *flags).stdout)
        for flags in ([], ["--greedy"])
    )
    assert any("--greedy" in note for note in naive["notes"])
    assert not any("--greedy" in note for note in once["notes"])
    assert naive["groups"]["all"]["p_mean"] < once["groups"]["all"]["p_mean"]
    mixed = write(tmp_path / "mixed.csv", {"m": 0.0}, seed=1)
    assert "not greedy" in str(run(mixed, mixed, "--greedy").exception)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("item_id,difficulty\nq00,1", "bad_header"),
        ("item_id,z\nq00,easy\nq01,nan", "bad_place"),
        ("item_id,z\nq00,0.1\nq00,0.2", "duplicate_item"),
        ("item_id,z\n", "no_data"),
        ('{"v": 1, "scale": null, "items": [{"id": "q00", "z": null}]}', "no_axis"),
        ('{"id": "q00", "z": 0.1}\n{"z": 0.1}', "bad_place"),
    ],
)
def test_bad_difficulty_files_are_refused(
    logs: tuple[Path, Path, Path], tmp_path: Path, text: str, kind: str
) -> None:
    table = tmp_path / "z.csv"
    table.write_text(text, encoding="utf-8")
    error = run(*logs[:2], "--difficulties", table).exception
    assert isinstance(error, InputError)
    assert error.kind == kind


def test_files_of_two_axes_are_refused(logs: tuple[Path, Path, Path], tmp_path: Path) -> None:
    paths = []
    for index, hi in enumerate((2.0, 3.0)):
        path = tmp_path / f"{index}.json"
        item = {"id": f"q{index:02d}", "z": 0.5}
        path.write_text(json.dumps({"scale": {"lo": -2.0, "hi": hi}, "items": [item]}), encoding="utf-8")
        paths += ["--difficulties", path]
    error = run(*logs[:2], *paths).exception
    assert isinstance(error, InputError)
    assert error.kind == "two_axes"
