"""show, accept, reject, edit, merge, runs compare and rm on a run made by hand."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from benchfill.call import StoredCall
from benchfill.commands.item_text import edit_in_editor, item_from_text, text_of_item
from benchfill.errors import InputError
from benchfill.graph.run_comparison import _paired
from benchfill.item import Item
from benchfill.memory.ledger import Ledger
from benchfill.memory.runs import RunFolder
from tests.merge.conftest import known_figures, made, made_home  # noqa: F401 - fixtures

REPLY = {
    "choices": [
        {
            "message": {
                "content": "",
                "tool_calls": [
                    {"id": "1", "type": "function",
                     "function": {"name": "evaluate_expression", "arguments": '{"expression": "31+45"}'}}
                ],
            }
        }
    ]
}  # fmt: skip


def paid(home: Path, tag: str, run: str = "made") -> None:
    with Ledger(home / "ledger.sqlite") as ledger:
        ledger.commit(
            StoredCall(
                key=tag,
                endpoint="e",
                role="rewriter",
                model="m",
                run=run,
                tag=tag,
                status=200,
                content_type="application/json",
                request=b"{}",
                response=json.dumps(REPLY).encode(),
                input_tokens=5,
                output_tokens=7,
                price=0.5,
                seconds=0.1,
                tries=1,
                fault="",
            )
        )


def test_an_item_with_its_whole_story(benchfill, made, own_home, monkeypatch):  # noqa: F811
    paid(own_home, "rewriter/g1r01w1/t0")
    monkeypatch.setenv("COLUMNS", "80")
    said = benchfill("show", "made", "bf-aaa")
    assert said.code == 0, said.err
    assert "\x1b[31m" not in said.out
    assert max(map(len, said.out.splitlines())) <= 80
    for part in (
        "q07",
        "[-7-] {+31+} + {+45 -+} 7?",
        "evaluate_expression(expression=31+45)",
        "confirmed",
        "writer-model, prompts v1",
        "copy: the question is its parent",
        "unreviewed: not handed out",
    ):
        assert part in said.out, part
    document = json.loads(benchfill("show", "made", "bf-bbb", "--json").out)
    assert document["lineage"]["parents"] == ["bf-aaa", "q07"]
    assert document["attempts"]["m0"]["missing"] == {"timeout": 1}
    assert document["posterior"]["confirmed"] is False
    original = benchfill("show", "made", "q07")
    assert "an item of the original benchmark" in original.out
    assert "children" in original.out
    missing = benchfill("show", "made", "nobody")
    assert (missing.code, missing.err.count("\n")) == (2, 1)


def test_decisions_are_appended_and_shown(benchfill, made):  # noqa: F811
    assert benchfill("reject", "bf-bbb", "--reason", "too easy", "--by", "ada").code == 0
    assert benchfill("accept", "bf-bbb", "--reason", "looked again", "--by", "bob").code == 0
    assert benchfill("reject", "bf-bbb", "--reason", "no", "--by", "ada").code == 0
    shown = json.loads(benchfill("show", "made", "bf-bbb", "--json").out)
    history = [(each["verdict"], each["who"], each["reason"]) for each in shown["decisions"]]
    assert history == [
        ("reject", "ada", "too easy"),
        ("accept", "bob", "looked again"),
        ("reject", "ada", "no"),
    ]
    assert "rejected by the maintainer" in " ".join(benchfill("show", "made").out.split())
    assert "rejected by ada" in " ".join(benchfill("status", "made").out.split())
    exported = benchfill("export", "made", "--out", str(made.path / "out.jsonl"))
    assert "1 accepted items" in exported.err
    for item, said in (("q01", "original benchmark"), ("nobody", "no new item")):
        refused = benchfill("accept", item, "--reason", "x")
        assert refused.code == 2
        assert said in refused.err
    assert benchfill("reject", "bf-aaa", "--reason", "  ").code == 2


@pytest.mark.usefixtures("known_figures")
def test_a_merge_from_the_command_line(benchfill, made, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setenv("COLUMNS", "80")
    refused = benchfill("merge", "made", "--out", str(tmp_path / "out"))
    assert refused.code == 2
    assert "--unreviewed" in refused.err
    said = benchfill("merge", "made", "--out", str(tmp_path / "out"), "--unreviewed", "--engine", "mml")
    assert said.code == 0, said.err
    assert "Not reviewed by people" in said.out
    assert "Max Gap" in said.out
    assert str(tmp_path / "out" / "README.md") in said.out.replace("\n", "")


def test_two_runs_side_by_side(benchfill, made, own_home):  # noqa: F811
    shutil.copytree(made.path, own_home / "runs" / "other")
    paid(own_home, "rewriter/g1r01w1/t0")
    benchfill("reject", "bf-bbb", "--reason", "x", "--run", "other")
    document = json.loads(benchfill("runs", "compare", "made", "other", "--json").out)
    first, second = document["runs"]
    assert (first["standing"], second["standing"]) == (["bf-aaa", "bf-bbb"], ["bf-aaa"])
    assert document["same_benchmark"]
    assert document["items_in_both"] == ["bf-aaa"]
    assert document["settings"] == {}
    assert (first["calls"], first["cost"]) == (1, 0.5)
    assert first["after"]["max_gap"] < first["before"]["max_gap"]
    assert all(row["first"] is not None and row["second"] is not None for row in document["gaps"])
    shown = benchfill("runs", "compare", "made", "other")
    assert "All settings are the same." in shown.out


def test_gaps_are_paired_as_they_are_shown_and_none_is_lost():
    def gap(lo: float, status: str) -> dict[str, object]:
        return {"lo": lo, "hi": 0.4, "target": 0.3, "status": status}

    near = [gap(0.20001, "a"), gap(0.20002, "b")]
    pairs = _paired(near, [gap(0.2, "c"), gap(0.1, "d")])
    assert [(pair["lo"], pair["first"] and pair["first"]["status"]) for pair in pairs] == [
        (0.1, None), (0.20001, "a"), (0.20002, "b"),
    ]  # fmt: skip
    assert [pair["second"] and pair["second"]["status"] for pair in pairs] == ["d", "c", None]


def test_a_run_is_thrown_away_but_never_under_a_process(benchfill, made, own_home):  # noqa: F811
    paid(own_home, "rewriter/g1r01w1/t0")
    with RunFolder(made.path).lock():
        assert benchfill("runs", "rm", "made", "--yes").code == 2
    assert made.path.is_dir()
    said = benchfill("runs", "rm", "made", "--ledger", "--yes")
    assert said.code == 0, said.err
    assert "1 calls left the ledger" in said.err
    assert not any((own_home / "runs").iterdir())
    with Ledger(own_home / "ledger.sqlite") as ledger:
        assert ledger.look_up("rewriter/g1r01w1/t0") is None


def test_a_run_is_kept_when_nobody_says_yes(benchfill, made, monkeypatch):  # noqa: F811
    monkeypatch.setattr("typer.confirm", lambda *args, **options: (_ for _ in ()).throw(KeyboardInterrupt))
    assert benchfill("runs", "rm", "made").code == 130
    assert made.path.is_dir()
    assert "made" in benchfill("runs").out


ITEM = Item("a", "Which \\frac{1}{2}?\nSecond line", "B", "because", ("one", "two"), "mcq")


def test_an_item_goes_to_the_editor_and_back_as_it_is():
    text = text_of_item(ITEM)
    assert item_from_text(text, ITEM) == ITEM
    assert item_from_text(text.replace("two", "2"), ITEM).choices == ("one", "2")
    with pytest.raises(InputError, match="sections"):
        item_from_text(text.replace("=== answer", "=== key"), ITEM)


def test_an_editor_is_started_as_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stdin", type("Terminal", (), {"isatty": staticmethod(lambda: True)})())
    assert edit_in_editor(ITEM, "true") is None
    edited = edit_in_editor(ITEM, "sed -i s/because/since/")
    assert edited is not None
    assert edited.solution == "since"
    with pytest.raises(InputError, match="code 1"):
        edit_in_editor(ITEM, "false")
    with pytest.raises(InputError, match="There is no editor"):
        edit_in_editor(ITEM, None)


def test_an_edit_names_what_it_cannot_use(benchfill, made, tmp_path):  # noqa: F811
    change = tmp_path / "change.json"
    change.write_text('{"question": "x", "colour": "red"}')
    assert "Fields are" in benchfill("edit", "bf-aaa", "--reason", "x", "--from", str(change)).err
    assert "has no item" in benchfill("edit", "nobody", "--reason", "x").err
    same = benchfill("edit", "bf-aaa", "--reason", "x", "--answer", "69")
    assert (same.code, "Nothing was changed" in same.err) == (0, True)
