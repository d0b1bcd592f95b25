"""The command: readers, guessing rates, document, terminal output, exit codes."""

from __future__ import annotations

import io
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from benchfill.calibration import chance
from benchfill.calibration import diagnosis as room
from benchfill.calibration.data_checks import check_data
from benchfill.calibration.fit import Fit
from benchfill.calibration.gate import Gate
from benchfill.calibration.response_log import ResponseLog
from benchfill.commands.diagnose import diagnose
from benchfill.display.diagnosis import FitProgress, print_diagnosis
from benchfill.errors import GateRefused, InputError
from tests.logs.harness.made_logs import lm_eval_folder, rasch_scores

pytestmark = pytest.mark.usefixtures("few_draws")

runner = CliRunner()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """6 models, 12 items, 8 attempts a cell, drawn from a known 1PL."""
    rng = np.random.default_rng(2)
    lines = ["model,item_id,correct,count"]
    for model, theta in enumerate(np.linspace(-1.5, 1.5, 6)):
        for item, b in enumerate(np.linspace(-2, 2, 12)):
            lines.append(f"m{model},q{item:02d},{rng.binomial(8, 1 / (1 + np.exp(b - theta)))},8")
    path = tmp_path / "log.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def run(*arguments: object) -> Any:
    app = typer.Typer()
    app.command()(diagnose)
    return runner.invoke(app, [str(argument) for argument in arguments])


def test_json_is_one_document_on_stdout(log: Path) -> None:
    result = run("--responses", log, "--fast", "--json", "--seed", 5)
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["v"], document["n_items"], document["n_models"]) == (1, 12, 6)
    assert (document["engine"], document["seed"]) == ("mml", 5)
    widths = [gap["width"] for gap in document["gaps"]]
    assert widths == sorted(widths, reverse=True)
    assert document["max_gap"] == pytest.approx(widths[0])
    assert document["top5_sum"] == pytest.approx(sum(widths[:5]))
    assert set(document["items"][0]) >= {"id", "b", "b_sd", "z", "z_lo90", "z_hi90", "censored"}
    assert {"rhat_max", "ess_min", "divergences", "passed"} <= set(document["gate"])


def test_order_of_rows_does_not_change_a_byte(log: Path, tmp_path: Path) -> None:
    header, *rows = log.read_text(encoding="utf-8").splitlines()
    paths = [tmp_path / folder / "tens.csv" for folder in ("straight", "mixed")]
    for path, lines in zip(paths, (rows, rows[::-1]), strict=True):
        path.parent.mkdir()
        path.write_text("\n".join([header, *lines]), encoding="utf-8")
    first, second = (run(path, "--fast", "--json") for path in paths)
    assert first.exit_code == 0
    assert first.stdout == second.stdout


def test_terminal_output_shows_gate_axis_figures_and_gaps(log: Path) -> None:
    result = run(log, "--fast")
    assert result.exit_code == 0, result.output
    text = result.stdout
    for part in ("12 items, 6 models", "Gate passed", "DDM", "Max Gap", "Top-5 sum", "target", "logits"):
        assert part in text
    assert "\x1b" not in text


def test_items_give_guessing_rates_and_restrict_the_log(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = tmp_path / "items.jsonl"
    records = [
        {"ref": f"q{n:02d}", "question": "?", "answer": "A", "choices": ["x", "y", "z", "w"]}
        for n in range(3)
    ]
    records.append({"ref": "q03", "question": "?", "answer": "7"})
    items.write_text("\n".join(json.dumps(record) for record in records), encoding="utf-8")
    seen: dict[str, Any] = {}

    def spy(found: ResponseLog, **options: Any) -> Fit:
        seen.update(options, items=found.items)
        raise InputError("enough seen")

    monkeypatch.setattr(room, "fit_1pl", spy)
    run(log, "--items", items, "--map", "id=ref")
    assert seen["items"] == ("q00", "q01", "q02", "q03")
    assert seen["guessing"].tolist() == [0.25, 0.25, 0.25, 0.0]
    result = run(log, "--items", items)
    assert isinstance(result.exception, InputError)
    assert result.exception.kind == "missing_field"
    assert isinstance(run(log, "--map", "id=ref").exception, InputError)


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_a_failed_gate_is_shown_and_exits_1_unless_accepted(
    log: Path, monkeypatch: pytest.MonkeyPatch, flags: list[str]
) -> None:
    real = room.fit_1pl
    failed = Gate(1.4, 80.0, 3, None, False, ("R-hat is 1.4000, the limit is 1.02.",))

    def unconverged(*arguments: Any, **options: Any) -> Fit:
        fit = real(*arguments, **options)
        return Fit(**{**{name: getattr(fit, name) for name in fit.__dataclass_fields__}, "gate": failed})

    monkeypatch.setattr(room, "fit_1pl", unconverged)
    refused = run(log, "--fast", *flags)
    assert isinstance(refused.exception, GateRefused)
    assert refused.exception.exit_code == 1
    accepted = run(log, "--fast", "--accept-unconverged", *flags)
    assert accepted.exit_code == 0
    if flags:
        assert json.loads(refused.stdout)["ddm"] is None
        assert json.loads(refused.stdout)["gate"]["passed"] is False
        assert json.loads(accepted.stdout)["ddm"] is not None
    else:
        assert "Gate failed" in refused.stdout
        assert "R-hat is 1.4" in refused.stdout
        assert "Max Gap" not in refused.stdout
        assert "Max Gap" in accepted.stdout


def test_one_log_is_named_and_options_are_checked(log: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for arguments in (
        [],
        [log, "--responses", log],
        [tmp_path / "absent.csv"],
        [tmp_path / "empty"],
        [log, "--fast", "--engine", "nuts"],
        [log, "--fast", "--pool-subsets"],
        [log, "--html", tmp_path],
        [log, "--html", tmp_path / "absent" / "report.html"],
        [log, "--target-dist", "gauss:1"],
        [log, "--target-dist", "beta:1"],
        [log, "--threshold", "7"],
    ):
        result = run(*arguments)
        assert isinstance(result.exception, InputError), arguments
        assert result.exception.exit_code == 2
    for arguments in ([log, "--engine", "guess"], [log, "--rows", "columns"], [log, "--seed", "-1"]):
        assert run(*arguments).exit_code == 2


def test_foreign_text_cannot_steer_the_terminal() -> None:
    document = {
        "n_attempts": 1,
        "prefit": [],
        "data": asdict(check_data(ResponseLog(("m",), ("q",), np.array([[1]]), np.array([[2]])))),
        "item_fit": None,
        "shuffle": None,
        "rank_stability": None,
        "model_choice": None,
        "pool_dependence": None,
        "fingerprint": "sha256:0",
        "limits": [],
        "n_items": 1,
        "n_models": 1,
        "engine": "mml",
        "seed": 0,
        "gate": {
            "rhat_max": None,
            "ess_min": None,
            "divergences": None,
            "pareto_k": 0.2,
            "passed": True,
            "reasons": [],
        },
        "scale": None,
        "notes": ["odd \x1b[31mname\x1b[0m [bold]x[/bold]"],
    }
    sink = io.StringIO()
    print_diagnosis(document, sink)
    assert "odd name [bold]x[/bold]" in sink.getvalue()
    assert "\x1b" not in sink.getvalue()
    assert "Pareto k 0.20" in sink.getvalue()


def test_progress_is_plain_lines_without_a_terminal() -> None:
    sink = io.StringIO()
    with FitProgress(sink) as progress:
        for step in range(101):
            progress(step / 100, "sampling")
    lines = sink.getvalue().splitlines()
    assert lines[0].startswith("fit: sampling")
    assert len(lines) <= 6


def test_progress_in_a_terminal_is_a_bar_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    sink = Terminal()
    with FitProgress(sink) as progress:
        progress(0.5, "sampling")
    assert "sampling" in sink.getvalue()


def test_several_logs_have_a_bar_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    sink = Terminal()
    with FitProgress(sink, logs=2) as progress:
        progress(0.5, "sampling")
        progress.finish_log()
    assert "2 logs" in sink.getvalue()


def test_several_logs_are_compared_in_one_table_and_one_document(log: Path, tmp_path: Path) -> None:
    paths = [tmp_path / "aime.csv", tmp_path / "deep" / "responses.csv"]
    paths[1].parent.mkdir()
    for path in paths:
        path.write_text(log.read_text(encoding="utf-8"), encoding="utf-8")
    result = run(*paths, "--fast", "--seed", 3, "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["v"], [each["name"] for each in document["benchmarks"]]) == (1, ["aime", "deep"])
    one, two = document["benchmarks"]
    assert one["ddm"] == two["ddm"]
    assert one["fingerprint"] == two["fingerprint"]
    table = run(*paths, "--fast")
    assert table.exit_code == 0, table.output
    for part in ("aime", "deep", "DDM", "Max Gap", "top-5", "resolved", "passed"):
        assert part in table.stdout
    broken = tmp_path / "apart.csv"
    broken.write_text("model,item_id,correct,count\na,q1,1,2\nb,q2,1,2\n", encoding="utf-8")
    refused = run(paths[0], broken, "--fast", "--seed", 3, "--json")
    assert isinstance(refused.exception, InputError)
    assert str(refused.exception).startswith("apart: ")
    # What was found of the others is not lost.
    assert json.loads(refused.stdout)["benchmarks"] == [one]


def test_everything_of_a_log_with_a_gap(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chance, "MOST", chance.FEWEST)
    page = tmp_path / "report.html"
    result = run(log, "--engine", "laplace", "--pool-subsets", "--top", 3, "--json", "--html", page)
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert [gap["p_empty"] is not None for gap in document["gaps"]][:4] == [True, True, True, False]
    for gap in document["gaps"][:3]:
        assert 0.0 <= gap["p_empty"] <= 1.0
        assert 0.0 <= gap["p_chance"] <= 1.0
        assert gap["resolved"] is (gap["p_empty"] >= 0.95)
    for key in ("ddm", "max_gap", "top5_sum"):
        assert document[f"{key}_lo90"] <= document[f"{key}_median"] <= document[f"{key}_hi90"]
        assert document["pool_anchors"][key] is not None
    for part in ("shuffle", "model_choice", "rank_stability", "item_fit", "pool_dependence", "information"):
        assert document[part] is not None
    assert len(document["rank_stability"]["pairs"]) == 15
    assert document["model_choice"]["sentence"] in " ".join(document["limits"])
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert document["p_chance_replicates"] == 20
    sink = io.StringIO()
    print_diagnosis(document, sink)
    flat = " ".join(sink.getvalue().split())
    assert document["resolution"]["sentence"] in flat
    assert "Another pool: 20 halves of the models" in flat
    assert "Residual misfit of items: median" in flat
    assert [each.name for each in tmp_path.iterdir() if "unfinished" in each.name] == []


def test_a_preview_claims_no_interval_and_no_resolved_gap(log: Path) -> None:
    document = json.loads(run(log, "--fast", "--json").stdout)
    assert document["engine"] == "mml"
    assert document["ddm_lo90"] is None
    assert {gap["resolved"] for gap in document["gaps"]} == {None}
    assert any("preview" in note for note in document["notes"])
    assert document["model_choice"] is None


def test_target_and_scale_are_the_users(log: Path, tmp_path: Path) -> None:
    def found(*arguments: object) -> dict[str, Any]:
        result = run(log, "--fast", "--json", *arguments)
        assert result.exit_code == 0, result.output
        return dict(json.loads(result.stdout))

    plain = found()
    assert found("--target-dist", "beta:1,1")["ddm"] == pytest.approx(plain["ddm"], abs=1e-9)
    assert found("--target-dist", "beta:2,5")["ddm"] != pytest.approx(plain["ddm"], abs=1e-3)
    own = tmp_path / "places.json"
    own.write_text(json.dumps(plain), encoding="utf-8")
    assert found("--target-dist", own)["ddm"] == pytest.approx(0.0, abs=1e-12)
    pool = found("--scale", "pool")
    assert pool["scale"]["name"] == "pool"
    assert pool["ddm"] == pytest.approx(plain["pool_anchors"]["ddm"])
    curved = found("--scale", "failure")
    assert curved["scale"]["lo"] is None
    assert all(0.0 < item["z"] < 1.0 for item in curved["items"])


def test_a_folder_of_harness_logs_is_one_benchmark(tmp_path: Path) -> None:
    models = [f"org/net-{size}B" for size in (1, 3, 7, 13, 34, 70)]
    folder = lm_eval_folder(tmp_path / "results", rasch_scores(models, 40))
    result = run(folder, "--fast", "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["name"], document["n_models"], document["n_items"]) == (folder.name, 6, 40)
    assert not any("items.jsonl" in note for note in document["notes"])
