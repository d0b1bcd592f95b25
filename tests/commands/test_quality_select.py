"""``quality`` and ``select``: documents, texts, what is not defined, files written, refusals; and the public logs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchfill.calibration.benchmark_quality import QualityRules
from benchfill.settings import QualitySettings
from tests.commands.conftest import Said
from tests.logs.harness.made_logs import lm_eval_folder, rasch_scores


@pytest.fixture
def logs(tmp_path: Path) -> list[Path]:
    """Simulated: three benchmarks of 24 items for two families of three sizes; g-7b always repeats itself."""
    rng = np.random.default_rng(3)
    found = []
    for name, shift in (("one", 0.0), ("two", 0.5), ("three", 1.0)):
        lines = ["model,item_id,correct,count"]
        for model, theta in (("f-1b", -1.5), ("f-8b", 0.0), ("f-70b", 1.5), ("g-7b", -0.5), ("g-30b", 1.0)):
            for item, b in enumerate(rng.normal(shift, 1, 24)):
                right = rng.binomial(8, 1 / (1 + np.exp(b - theta)))
                right = 8 * (right > 4) if model == "g-7b" else right
                lines.append(f"{model},{name}-{item:02d},{right},8")
        path = tmp_path / f"{name}.csv"
        path.write_text("\n".join(lines), encoding="utf-8")
        found.append(path)
    return found


def rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return round(value, 9) if isinstance(value, float) else value


def test_quality_document(benchfill: Callable[..., Said], logs: list[Path]) -> None:
    call = ("--json", "--draws", "50", "--worst", "2")
    said = benchfill("quality", *map(str, logs), *call)
    assert said.code == 0, said.err
    document = json.loads(said.out)
    assert document["settings"]["weights"] == {"cbrc": 0.3, "ds": 0.3, "cad": 0.4}
    assert [each["name"] for each in document["benchmarks"]] == ["one", "two", "three"]
    assert ["f-70b", "f-8b"] in document["ladder_pairs"]
    assert len(document["ladder_pairs"]) == 4
    assert len(document["agreements"]) == 3
    for each in document["benchmarks"]:
        assert each["not_defined"] == {}
        assert each["cad_lo95"] <= each["cad"] <= each["cad_hi95"]
        assert len(each["worst_items"]) == 2
        # Eight identical repeats are one attempt.
        assert each["n_attempts"] == 24 * (4 * 8 + 1)
    assert any("one attempt, not several: 'g-7b'" in note for note in document["notes"])
    back = json.loads(
        benchfill("quality", *map(str, logs[::-1]), "--json", "--draws", "50", "--worst", "2").out
    )
    assert rounded(back["benchmarks"][::-1]) == rounded(document["benchmarks"])


def test_quality_of_one_benchmark_without_families(benchfill: Callable[..., Said], logs: list[Path]) -> None:
    table = logs[0].parent / "models.csv"
    table.write_text(
        "model,family,size_b\n" + "".join(f"{m},,\n" for m in ("f-1b", "f-8b", "f-70b", "g-7b", "g-30b"))
    )
    said = benchfill("quality", str(logs[0]), "--draws", "20")
    assert said.code == 0, said.err
    text = " ".join(said.out.split())
    assert "CBRC is not defined: only one benchmark." in text
    assert "CAD is not defined: no family with two sizes." in text
    assert "BQS is not defined: CBRC and CAD not defined." in text


def test_flags_win_over_variables_over_the_file_over_the_papers_values(
    benchfill: Callable[..., Said], logs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(logs[0].parent)
    call = ("quality", logs[0].name, "--draws", "20", "--worst", "0", "--json")

    def used(*flags: str) -> dict[str, Any]:
        said = benchfill(*call, *flags)
        assert said.code == 0, said.err
        settings: dict[str, Any] = json.loads(said.out)["settings"]
        return settings

    rules = QualityRules()
    paper = QualitySettings()
    assert (paper.epsilon, paper.steepness, paper.weights, paper.draws) == (
        *(rules.epsilon, rules.steepness, rules.weights, rules.draws),
    )
    assert used()["epsilon"] == 0.02
    Path("benchfill.toml").write_text(
        "[quality]\nepsilon = 0.1\nsteepness = 5.0\nweights = [1, 0, 0]\nkeep = 6\n"
    )
    monkeypatch.setenv("BENCHFILL_QUALITY__STEEPNESS", "6")
    found = used("--weights", "0,1,0")
    assert (found["epsilon"], found["lambda"], found["weights"]) == (
        0.1,
        6.0,
        {"cbrc": 0.0, "ds": 1.0, "cad": 0.0},
    )
    said = benchfill("select", logs[0].name, "--by", "random", "--random-subsets", "20", "--json")
    assert json.loads(said.out)["n_kept"] == 6
    Path("benchfill.toml").write_text("[quality]\nepsilon = 1.5\n")
    said = benchfill(*call)
    assert said.code == 2
    assert "benchfill.toml line 2: quality.epsilon" in said.err


def test_the_page_has_every_setting() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "quality.md"
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    for name, field in QualitySettings.model_fields.items():
        default = list(field.default) if isinstance(field.default, tuple) else f"{field.default:g}"
        assert f"| `{name}` | {field.description} | {default} |" in rows


def test_quality_names_two_tables_that_differ(
    benchfill: Callable[..., Said], logs: list[Path], tmp_path: Path
) -> None:
    for name, size in (("a", 8), ("b", 9)):
        (tmp_path / name).mkdir()
        logs[0].rename(tmp_path / name / "log.csv") if name == "a" else logs[1].rename(
            tmp_path / name / "log.csv"
        )
        (tmp_path / name / "models.csv").write_text(f"model,family,size_b\nf-8b,f,{size}\n")
    paths = [str(tmp_path / name / "log.csv") for name in "ab"]
    said = benchfill("quality", *paths)
    assert said.code == 2
    assert "'f-8b' differ between the tables of a and b" in said.err
    assert benchfill("quality", *paths, "--weights", "1,2").code == 2
    assert (
        benchfill("quality", *paths, "--models", str(tmp_path / "a" / "models.csv"), "--draws", "20").code
        == 0
    )


def test_select_writes_what_it_keeps_and_sets_it_beside_chance(
    benchfill: Callable[..., Said], logs: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "kept.txt"
    call = ("select", str(logs[0]), "--by", "cad-ds", "--random-subsets", "40")
    said = benchfill(*call, "--json", "--out-ids", str(out))
    assert said.code == 0, said.err
    document = json.loads(said.out)
    assert document["n_kept"] == 8  # 0.35 of 24
    assert out.read_text().split() == document["kept"] == sorted(document["kept"])
    # Without the family f two models are left; the others have two halves of 8 attempts, but for g-7b.
    assert "too few models" in document["figures"].pop("held_out_models")["reason"]
    for each in document["figures"].values():
        assert each["random_lo95"] <= each["random_median"] <= each["random_hi95"]
        inside = each["random_lo95"] <= each["value"] <= each["random_hi95"]
        assert (each["verdict"] == "none") == inside
    assert "no advantage" in benchfill(*call).out
    assert json.loads(benchfill(*call, "--json").out)["kept"] == document["kept"]


@pytest.mark.parametrize("by", ["fisher", "quantile", "random"])
def test_select_by_every_rule(benchfill: Callable[..., Said], logs: list[Path], by: str) -> None:
    said = benchfill(
        *("select", str(logs[0]), "--by", by, "--keep", "10", "--model", "1pl", "--random-subsets", "20"),
        *("--top-models", "2", "--json"),
    )
    assert said.code == 0, said.err
    document = json.loads(said.out)
    assert len(document["kept"]) == 10
    assert document["models_of_interest"] == ["f-70b", "g-30b"]


def test_tasks_filters_and_metrics_are_chosen_as_elsewhere(
    benchfill: Callable[..., Said], tmp_path: Path
) -> None:
    models = [f"m-{size}b" for size in (1, 2, 4, 8)]
    folder = lm_eval_folder(tmp_path / "logs", rasch_scores(models, 24), filters=("strict", "loose"))
    call = ("--task", "sums", "--metric", "exact_match", "--json")
    chosen = ("select", str(folder), "--by", "random", "--keep", "12", "--random-subsets", "20", *call)
    strict = json.loads(benchfill(*chosen, "--filter", "strict").out)
    assert strict["n_kept"] == 12
    assert strict["figures"]["tau"]["value"] > 0.0
    # The loose filter counts everything as right: no ranking is left.
    loose = json.loads(benchfill(*chosen, "--filter", "loose").out)
    assert loose["figures"]["tau"]["value"] is None
    said = benchfill("models", str(folder), "--model", "1pl", "--folds", "2", *call, "--filter", "strict")
    assert said.code == 0, said.err
    assert json.loads(said.out)["benchmarks"][0]["n_items"] == 24
    assert "no task 'other'" in benchfill("models", str(folder), "--task", "other").err


def test_select_refuses_in_one_line(benchfill: Callable[..., Said], logs: list[Path]) -> None:
    for wrong in (("--keep", "99"), ("--top-models", "9"), ("--out-items", "x.jsonl"), ("--map", "a=b")):
        said = benchfill("select", str(logs[0]), "--by", "fisher", *wrong)
        assert said.code == 2
        assert len(said.err.strip().splitlines()) == 1


def test_the_public_aime_log_against_the_formulas_alone(benchfill: Callable[..., Said], shared: Path) -> None:
    folder = shared / "data" / "matrices" / "noises_highk_temp0.7__aime2024_cot"
    said = benchfill("quality", str(folder / "responses_long.csv.gz"), "--json", "--draws", "100")
    assert said.code == 0, said.err
    found = json.loads(said.out)["benchmarks"][0]
    assert found["ds"] == pytest.approx(0.898, abs=5e-4)
    assert found["cad"] == pytest.approx(0.826, abs=5e-4)
