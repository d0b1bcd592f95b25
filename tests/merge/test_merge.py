"""An extended benchmark: which items, in which form, with which log, and what its card says of it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from benchfill.errors import GateRefused, InputError
from benchfill.graph.benchmark import read_benchmark
from benchfill.logs.importing import load_responses
from benchfill.memory.pool import Pool
from benchfill.merge.effects import score_document
from benchfill.merge.folder import MergeRequest, merge_run
from benchfill.review.overruling import overrule
from tests.merge.made_run import FRESH, MODELS, NewItem, log_of, make_run, review

FILES = {"README.md", "bench.jsonl", "card.json", "lineage.jsonl", "responses.csv"}


def merged(folder, out: Path, **options):
    request = MergeRequest(out, engine="laplace", **{"unreviewed": True, **options})
    return merge_run(
        folder, folder.path.parents[1] / "ledger.sqlite", request, lambda fraction, message: None
    )


def decided(folder, item, verdict):
    pool = Pool(folder.memory, create=False)
    overrule(pool, item, verdict, reason="because", who="ada")
    pool.close()


def test_the_folder_holds_the_benchmark_as_it_was_and_the_new_items_behind_it(made, merged_once):
    out, card = merged_once
    assert {path.name for path in out.iterdir()} == FILES
    source, items = (made.source / "items").read_bytes(), (out / "bench.jsonl").read_bytes()
    assert items.startswith(source)
    first = json.loads(items[len(source) :].splitlines()[0])
    assert list(first) == ["id", "topic", "question", "answer", "level", "license"]
    assert (first["id"], first["topic"], first["level"], first["license"]) == (
        "bf-aaa",
        "sums",
        None,
        "CC-BY-4.0",
    )
    assert items.count(b"\r\n") == 17
    assert card["columns_left_empty"] == ["level"]
    # The next run, and a diagnosis of the whole folder, take it as it is.
    again = read_benchmark("bench", out / "bench.jsonl", out / "responses.csv")
    assert len(again.items) == 17
    whole = load_responses([out])
    assert int(whole.log.attempts.sum()) == int(again.log.attempts.sum())


def test_the_log_holds_the_fresh_attempts_of_a_confirmed_item_alone(made, merged_once):
    out, card = merged_once
    log = read_benchmark("bench", out / "bench.jsonl", out / "responses.csv").log
    asked = log.select_items(["bf-aaa"]).attempts[:, 0]
    # The one that was missing is neither right nor wrong.
    assert asked.tolist() == [FRESH - 1] + [FRESH] * 7
    confirmed, other = card["items"]
    assert confirmed["attempts_in_log"] == 8 * FRESH - 1
    assert confirmed["attempts_in_all"] == 8 * FRESH - 1 + 32
    assert other["attempts_in_log"] == other["attempts_in_all"]
    original = read_benchmark("bench", made.source / "items", out / "responses.csv").log
    assert original.attempts.tolist() == np.full((8, 15), 30).tolist()


def test_figures_before_and_after_and_the_check_by_a_full_fit(merged_once):
    card = merged_once[1]
    effects = card["effects"]
    before, after = effects["before"]["figures"], effects["after"]["figures"]
    assert after["max_gap"]["point"] < before["max_gap"]["point"]
    assert before["max_gap"]["lo90"] <= before["max_gap"]["median"] <= before["max_gap"]["hi90"]
    assert [each["item"] for each in effects["filled"]] == ["bf-aaa", "bf-bbb"]
    widths = [(each["before"]["width"], each["after"]["width"]) for each in effects["filled"]]
    assert all(left < whole for whole, left in widths)
    refit = effects["refit"]
    # The same fresh answers, the abilities free: within a fraction of its sd. The flattered one is pulled along.
    assert abs(refit["items"][0]["difference_in_sd"]) < 0.5
    assert [each["model"] for each in refit["abilities"]] == list(MODELS)
    assert refit["largest_drift_logits"] < 0.2
    # The truth, in logits, of what was confirmed: 0.1.
    scale = card["scale"]
    full = scale["lo_logits"] + refit["items"][0]["full_z"] * (scale["hi_logits"] - scale["lo_logits"])
    sd = refit["items"][0]["full_sd"] * (scale["hi_logits"] - scale["lo_logits"])
    assert abs(full - 0.1) < 3.0 * sd


@pytest.mark.usefixtures("known_figures")
def test_nothing_unreviewed_is_merged_unless_that_is_said(made, tmp_path):
    with pytest.raises(InputError, match="not handed out") as fault:
        merged(made, tmp_path / "out", unreviewed=False)
    assert fault.value.kind == "nothing_to_merge"
    assert not (tmp_path / "out").exists()
    review(made, {"bf-aaa": ["approve", "approve"]})
    card = merged(made, tmp_path / "out", unreviewed=False)
    assert [(each["id"], each["basis"]) for each in card["items"]] == [("bf-aaa", "reviewed")]
    assert card["left_out"]["bf-bbb"].startswith("unreviewed")
    assert not card["unreviewed_merged"]
    readme = (tmp_path / "out" / "README.md").read_text()
    assert "Not reviewed" not in readme
    assert card["reviews"]["agreement"]["new"]["percent"] == 1.0
    card = merged(made, tmp_path / "both")
    assert [each["basis"] for each in card["items"]] == ["reviewed", "unreviewed"]
    assert (
        "**Not reviewed by people: 1 of 2 added items (`bf-bbb`)"
        in (tmp_path / "both" / "README.md").read_text()
    )


@pytest.mark.usefixtures("known_figures")
@pytest.mark.parametrize("verdicts", [["reject", "reject"], ["approve", "reject"]])
def test_what_reviewers_reject_or_dispute_needs_the_maintainer(made, tmp_path, verdicts):
    review(made, {"bf-aaa": verdicts, "bf-bbb": ["approve", "approve"]})
    card = merged(made, tmp_path / "out")
    assert [each["id"] for each in card["items"]] == ["bf-bbb"]
    decided(made, "bf-aaa", "accept")
    card = merged(made, tmp_path / "taken", unreviewed=False)
    assert [(each["id"], each["basis"]) for each in card["items"]] == [
        ("bf-aaa", "maintainer"),
        ("bf-bbb", "reviewed"),
    ]
    assert card["items"][0]["decision"]["reason"] == "because"
    decided(made, "bf-aaa", "reject")
    card = merged(made, tmp_path / "left")
    assert card["left_out"] == {"bf-aaa": "rejected by ada: because"}


@pytest.mark.usefixtures("known_figures")
def test_a_decision_does_not_overrule_what_reviewers_say_later(made, tmp_path):
    decided(made, "bf-aaa", "accept")
    review(made, {"bf-aaa": ["reject", "reject"], "bf-bbb": ["approve", "approve"]})
    card = merged(made, tmp_path / "out")
    assert card["left_out"] == {"bf-aaa": "rejected: all reject, after it was accepted"}
    decided(made, "bf-aaa", "reject")
    decided(made, "bf-aaa", "accept")
    card = merged(made, tmp_path / "again")
    assert card["items"][0]["basis"] == "maintainer"
    assert card["items"][0]["decision"]["review"] == "rejected"


def test_an_accepted_item_that_nobody_reviewed_is_still_unreviewed(made, tmp_path):
    decided(made, "bf-aaa", "accept")
    with pytest.raises(InputError, match="Nothing can be merged"):
        merged(made, tmp_path / "out", unreviewed=False)


def test_a_merge_that_fails_or_meets_a_folder_leaves_nothing(made, tmp_path, monkeypatch):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="not empty"):
        merged(made, tmp_path / "full")

    def refused(*args, **options):
        raise GateRefused("the fit failed")

    monkeypatch.setattr("benchfill.merge.folder.effects_of", refused)
    with pytest.raises(GateRefused):
        merged(made, tmp_path / "out")
    assert (
        sorted(path.name for path in tmp_path.iterdir() if "unfinished" in path.name or path.name == "out")
        == []
    )


@pytest.mark.usefixtures("known_figures")
def test_a_run_without_its_item_file_takes_the_one_that_is_named(made, tmp_path):
    kept = tmp_path / "kept.jsonl"
    (made.source / "items").rename(kept)
    (made.source / "source.json").unlink()
    merged(made, tmp_path / "plain")
    row = json.loads((tmp_path / "plain" / "items.jsonl").read_text().splitlines()[0])
    assert row["license"] == "CC-BY-4.0"
    merged(made, tmp_path / "named", items=kept)
    assert (tmp_path / "named" / "kept.jsonl").read_bytes().startswith(kept.read_bytes())
    kept.write_bytes(b"".join(kept.read_bytes().splitlines(keepends=True)[:-1]))
    with pytest.raises(InputError, match="does not hold the items of the run"):
        merged(made, tmp_path / "other", items=kept)


@pytest.mark.usefixtures("known_figures")
def test_the_card_is_read_by_hubs_and_holds_no_markup_of_the_data(made, tmp_path):
    pool = Pool(made.memory, create=False)
    pool.database.connection.execute("UPDATE benchmarks SET name = 'a | <b>x</b> `y`'")
    pool.close()
    merged(made, tmp_path / "out")
    readme = (tmp_path / "out" / "README.md").read_text()
    front = yaml.safe_load(readme.split("---")[1])
    assert front["license"] == "cc-by-4.0"
    assert front["configs"][0]["data_files"] == [{"split": "test", "path": "bench.jsonl"}]
    assert "<b>" not in readme.split("---", 2)[2]
    for table in (block for block in readme.split("\n\n") if block.startswith("|")):
        assert len({line.replace("\\|", "").count("|") for line in table.split("\n")}) == 1


@pytest.mark.usefixtures("known_figures")
def test_lineage_goes_on_over_generations(made, tmp_path):
    merged(made, tmp_path / "one")
    home = made.path.parents[1]
    child = NewItem(made_item("bf-ccc", "What is 31 + 45 - 9?", "67"), 0.3, "bf-aaa", 1)
    second = make_run(
        home, "second", tmp_path / "one" / "bench.jsonl", tmp_path / "one" / "responses.csv", [child]
    )
    card = merged(second, tmp_path / "two")
    rows = [json.loads(line) for line in (tmp_path / "two" / "lineage.jsonl").read_text().splitlines()]
    assert [(row["id"], row["generation"], row["run"]) for row in rows] == [
        ("bf-aaa", 1, "made"), ("bf-bbb", 1, "made"), ("bf-ccc", 2, "second"),
    ]  # fmt: skip
    assert rows[1]["parents"] == ["bf-aaa", "q07"]
    # Its parent was added by the first merge, and came from q07 itself.
    assert (rows[2]["parents"], rows[2]["root"]) == (["bf-aaa"], "q07")
    assert card["generation"] == 2
    assert [each["id"] for each in card["earlier_generations"]] == ["bf-aaa", "bf-bbb"]
    # What nobody has reviewed stays known as such.
    assert (
        "Merged earlier without a review by people: `bf-aaa`, `bf-bbb`"
        in (tmp_path / "two" / "README.md").read_text()
    )
    assert len((tmp_path / "two" / "bench.jsonl").read_bytes().splitlines()) == 18


def made_item(name, question, answer):
    from benchfill.item import Item

    return Item(name, question, answer, "by adding", answer_type="numeric")


def test_scores_stand_apart_and_a_change_of_order_is_named():
    # m0: 2/3 of the original, nothing of the added; m1: 1/3 and all of the added.
    log = log_of([1, 1, 0, 0, 0], [1, 0, 0, 1, 1], [0, 0, 0, 0, 0])
    found = score_document(log, ["i3", "i4"])
    first, second, third = found["models"]
    assert (first["model"], first["original"], first["added"], first["both"]) == (
        "m0",
        pytest.approx(2 / 3),
        0.0,
        0.4,
    )
    assert (second["original"], second["added"], second["both"]) == (pytest.approx(1 / 3), 1.0, 0.6)
    assert third["both"] == 0.0
    (change,) = found["order_changes"]
    assert (change["ahead_before"], change["ahead_after"]) == ("m0", "m1")
    assert change["difference_original"] == pytest.approx(1 / 3)
    assert change["difference_both"] == pytest.approx(-0.2)


def test_a_model_that_was_not_asked_the_added_items_has_no_score_on_them():
    log = log_of([1, 1, 0], [1, 0, 1])
    attempts = log.attempts.copy()
    attempts[0, 2] = 0
    found = score_document(type(log)(log.models, log.items, log.correct * (attempts > 0), attempts), ["i2"])
    by_name = {row["model"]: row for row in found["models"]}
    assert by_name["m0"]["added"] is None
    assert by_name["m0"]["asked_added"] == 0
    assert by_name["m0"]["both"] == 1.0
