"""Bad input to ``run`` and its companions: one line that says what, where and what to do, and the documented code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.logs.harness.made_logs import lm_eval_row, write_jsonl

ITEM = {"id": "q1", "question": "What is 2+3?", "answer": "5"}
LOG = "model,item_id,correct,count\nm1,q1,1,2\nm2,q1,2,2\nm1,q2,0,2\nm2,q2,1,2\n"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    items = tmp_path / "items.jsonl"
    items.write_text("".join(json.dumps({**ITEM, "id": name}) + "\n" for name in ("q1", "q2")))
    log = tmp_path / "log.csv"
    log.write_text(LOG)
    bank = tmp_path / "bank.jsonl"
    bank.write_text("".join(json.dumps({**ITEM, "id": name}) + "\n" for name in ("b1", "b2")))
    bank_log = tmp_path / "bank.csv"
    bank_log.write_text(LOG.replace("q1", "b1").replace("q2", "b2"))
    return {"--items": items, "--responses": log, "--bank-items": bank, "--bank-responses": bank_log}


def replay(benchfill, files, **changed):
    named = {**files, **{f"--{key.replace('_', '-')}": value for key, value in changed.items()}}
    return benchfill("run", "--world", "replay", *(part for pair in named.items() for part in map(str, pair)))


def one_line(said, code: int = 2) -> str:
    assert said.code == code
    assert said.out == ""
    lines = [line for line in said.err.splitlines() if not line.startswith("Note:")]
    assert len(lines) == 1, said.err
    assert lines[0].startswith("Error: ")
    assert "Traceback" not in said.err
    return lines[0]


def test_a_missing_file_is_named(benchfill, files, tmp_path):
    assert "nowhere.jsonl" in one_line(replay(benchfill, files, items=tmp_path / "nowhere.jsonl"))


def test_a_folder_without_logs_is_named(benchfill, files, tmp_path):
    (tmp_path / "empty").mkdir()
    assert str(tmp_path / "empty") in one_line(replay(benchfill, files, responses=tmp_path / "empty"))


def test_a_choice_that_a_log_leaves_is_settled_by_an_import(benchfill, files, tmp_path):
    row = lm_eval_row(0, "q", "1", "none", 0.5, "r")
    line = one_line(replay(benchfill, files, responses=write_jsonl(tmp_path / "s" / "s.jsonl", [row])))
    assert "benchfill import" in line


def test_keys_that_do_not_grade_true_are_listed_before_a_run_starts(benchfill, files, own_home):
    items = [{**ITEM, "id": "q1", "answer": "5", "answer_type": "regex"}, {**ITEM, "id": "q2", "answer": "("}]
    items[1]["answer_type"] = "regex"
    files["--items"].write_text("".join(json.dumps(item) + "\n" for item in items))
    for log in ("--responses", "--bank-responses"):
        files[log].write_text(files[log].read_text().replace(",2\n", ",32\n"))
    said = replay(benchfill, files)
    (note,) = [line for line in said.err.splitlines() if "does not grade true" in line]
    assert note.startswith("Note: the key of 'q2'")
    assert "1 of 4 keys" in one_line(said)
    assert "--accept-bad-keys" in said.err
    assert not (own_home / "runs").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("model,item_id,correct,count\n", ""),
        ("model,item_id,correct,count,speed\nm1,q1,1,2,9\n", "speed"),
        ("a,b,c\n1,2,3\n", ""),
        (LOG.replace(",q2,", ",q9,"), "q2"),
    ],
)
def test_an_unusable_log_is_one_line(benchfill, files, text, said):
    files["--responses"].write_text(text)
    assert said in one_line(replay(benchfill, files))


def test_duplicate_ids_name_their_lines(benchfill, files):
    files["--items"].write_text(json.dumps(ITEM) + "\n" + json.dumps({**ITEM, "answer": "6"}) + "\n")
    line = one_line(replay(benchfill, files))
    assert "q1" in line
    assert "1" in line
    assert "2" in line


def test_nothing_is_left_behind_by_a_refused_run(benchfill, files, own_home):
    replay(benchfill, files, items=files["--items"].with_name("nowhere"))
    assert not (own_home / "runs").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--gaps", "0"),
        ("run", "--gap", "0.5"),
        ("run", "--gap", "0.7,0.6"),
        ("run", "--target", "2"),
        ("run", "--gaps", "2", "--target", "0.5"),
        ("run", "--world", "elsewhere"),
        ("run", "--world", "replay"),
        ("run", "--items", "x.jsonl"),
        ("run", "--name", "../up"),
        ("run", "--name", ""),
        ("run", "--rounds", "0"),
        ("resume",),
        ("resume", "nobody"),
        ("status", "nobody"),
        ("export", "nobody", "--out", "x.jsonl"),
    ],
)
def test_impossible_requests_are_one_line(benchfill, arguments):
    one_line(benchfill(*arguments))


def test_an_unknown_flag_is_a_usage_error(benchfill):
    said = benchfill("run", "--gapz", "3")
    assert said.code == 2
    assert "gapz" in said.err


def test_a_home_that_is_a_file_is_one_line(benchfill, monkeypatch, tmp_path):
    place = tmp_path / "file"
    place.write_text("")
    monkeypatch.setenv("BENCHFILL_HOME", str(place))
    assert "BENCHFILL_HOME" in one_line(benchfill("run", "--gaps", "1"))


def test_a_memory_that_is_no_database_is_one_line(benchfill, own_home):
    folder = own_home / "runs" / "broken"
    folder.mkdir(parents=True)
    (folder / "memory.sqlite").write_bytes(b"not a database" * 100)
    assert "not an SQLite database" in one_line(benchfill("resume", "broken"))


def test_one_damaged_run_does_not_hide_the_others(benchfill, own_home):
    folder = own_home / "runs" / "broken"
    folder.mkdir(parents=True)
    (folder / "memory.sqlite").write_bytes(b"not a database" * 100)
    (own_home / "runs" / "stray").write_text("")
    said = benchfill("runs", "--json")
    assert said.code == 0
    assert [(row["run"], row["status"]) for row in json.loads(said.out)["runs"]] == [("broken", "unreadable")]
    assert "unreadable" in benchfill("runs").out


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("BENCHFILL_WORLD__ERROR_RATE", "lots", "error_rate"),
        ("BENCHFILL_WORLD__AIM_SD", "wide", "aim_sd"),
        ("BENCHFILL_SEARCH", "xyz", "search"),
        ("BENCHFILL_SEARCH__PROMPTS", "/nowhere/prompts", "prompts"),
    ],
)
def test_a_setting_that_cannot_be_used_is_known_before_anything_begins(
    benchfill, monkeypatch, own_home, name, value, said
):
    monkeypatch.setenv(name, value)
    assert said in one_line(benchfill("run", "--gaps", "1"))
    assert not (own_home / "runs").exists()


def test_one_model_alone_is_refused(benchfill, files):
    for flag, ids in (("--responses", ("q1", "q2")), ("--bank-responses", ("b1", "b2"))):
        files[flag].write_text(
            "model,item_id,correct,count\n" + "".join(f"m1,{name},30,64\n" for name in ids)
        )
    assert "Only one model" in one_line(replay(benchfill, files))


def test_settings_come_from_the_environment_and_faults_name_the_variable(benchfill, monkeypatch):
    monkeypatch.setenv("BENCHFILL_SEARCH__ROUNDS", "many")
    assert "search.rounds" in one_line(benchfill("run", "--gaps", "1"))


def test_an_unknown_key_of_the_settings_file_is_named(benchfill, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("benchfill.toml").write_text("[search]\nroundz = 3\n")
    assert "search.roundz" in one_line(benchfill("run", "--gaps", "1"))
    Path("benchfill.toml").write_text("[search\n")
    assert "not TOML" in one_line(benchfill("run", "--gaps", "1"))


def test_models_that_share_too_few_attempts_are_named(benchfill, files):
    said = replay(benchfill, files)
    assert "m1 (2)" in one_line(said)


def test_debug_shows_where(benchfill, monkeypatch):
    from benchfill.errors import InputError

    monkeypatch.setattr(sys, "argv", ["benchfill", "--debug", "status", "nobody"])
    from benchfill.cli import main

    with pytest.raises(InputError):
        main()
    monkeypatch.setattr("benchfill.commands.session._debug", False)


def test_path_and_version(benchfill, own_home):
    assert benchfill("path").out.strip() == str(own_home)
    assert benchfill("--version").out.startswith("benchfill ")


def test_help_imports_nothing_heavy():
    script = (
        "import sys, benchfill.cli; heavy = {'langgraph', 'pymc', 'langchain_openai', 'matplotlib', 'sympy', "
        "'sqlite_utils', 'scipy', 'numpy'} & set(sys.modules); sys.exit(str(heavy) if heavy else 0)"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    shown = subprocess.run(
        [sys.executable, "-m", "benchfill", "--help"], capture_output=True, text=True, check=True
    )
    assert "Exit codes" in shown.stdout
