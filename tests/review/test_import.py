"""Decisions taken in: every handed case, every form they come in, and each fault with its line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchfill.errors import InputError
from benchfill.memory.reviews import AssignmentRow, DecisionRow
from benchfill.review.agreement import agreement
from benchfill.review.checking import Checked, check_decisions
from benchfill.review.decision_files import read_decision_files
from benchfill.review.outcome import first_rule

HASH = "current"
CURRENT = {"u1": HASH, "u2": HASH}
# The handed cases give two reviewers the same ids; packets of ours never do.
HANDED = [
    AssignmentRow(who, item, 1, 0, item, "candidate", HASH) for who in ("r1", "r2") for item in ("u1", "u2")
]
OURS = [
    AssignmentRow("r1", "bcdfghjk", 1, 0, "u1", "candidate", HASH),
    AssignmentRow("r1", "lmnpqrst", 1, 1, "u2", "original", HASH),
    AssignmentRow("r2", "vwxzbcdf", 1, 0, "u1", "candidate", HASH),
]


def check(path: Path, handed: Sequence[AssignmentRow] = OURS, **changes: Any) -> Checked:
    return check_decisions(read_decision_files([path]), handed, CURRENT, **changes)


def case(shared: Path, name: str) -> tuple[Checked, dict[str, Any]]:
    index = json.loads((shared / "cases/index.json").read_text())["entries"]
    entry = next(each for each in index if each["file"] == f"reviews/{name}")
    return check(shared / "cases/reviews" / name, HANDED), entry["expect"]


def merged(checked: Checked) -> tuple[list[str], list[str]]:
    """Accepted items, and those that need a third reviewer, among the doubly decided ones."""
    by_item: dict[str, list[DecisionRow]] = {}
    for each in checked.decisions:
        by_item.setdefault(each.blind_id, []).append(each)
    outcomes = {item: first_rule(rows)[0] for item, rows in by_item.items() if len(rows) == 2}
    return ([item for item in sorted(outcomes) if outcomes[item] == "accepted"],
            [item for item in sorted(outcomes) if outcomes[item] == "disputed"])  # fmt: skip


def verdicts(checked: Checked) -> dict[str, dict[str, str]]:
    table: dict[str, dict[str, str]] = {}
    for each in checked.decisions:
        table.setdefault(each.blind_id, {})[each.reviewer] = each.verdict
    return table


def lines(checked: Checked, kind: str) -> list[int]:
    return sorted(line for fault in checked.faults if fault.kind == kind for line in fault.lines)


def test_two_who_agree(shared: Path) -> None:
    checked, expect = case(shared, "r01_two_agree.jsonl")
    assert checked.faults == ()
    assert merged(checked)[0] == expect["merge"]
    assert agreement(verdicts(checked)).kappa == expect["kappa"]


def test_two_who_differ(shared: Path) -> None:
    checked, expect = case(shared, "r02_disagree.jsonl")
    assert merged(checked) == (expect["merge"], expect["needs_third"])


def test_an_id_that_was_never_handed_out(shared: Path) -> None:
    checked, expect = case(shared, "r04_unknown_id.jsonl")
    assert [fault.kind for fault in checked.faults] == [expect["error_class"]]
    assert lines(checked, "unknown_id") == [expect["where"]["line"]]
    assert checked.decisions == ()


def test_verdicts_that_are_none(shared: Path) -> None:
    checked, expect = case(shared, "r05_bad_verdicts.jsonl")
    assert [[each.blind_id, each.reviewer, each.verdict] for each in checked.decisions] == expect["accepted"]
    assert lines(checked, expect["error_class"]) == expect["where"]["lines"]
    # A typing error is a fault, a verdict that was not given yet is a note.
    assert [(fault.lines, fault.harmless) for fault in checked.faults] == [((1,), False), ((3, 4), True)]


def test_a_review_of_an_older_text(shared: Path) -> None:
    checked, expect = case(shared, "r07_stale.jsonl")
    assert {fault.kind for fault in checked.faults} == {expect["error_class"]}
    assert merged(checked)[0] == expect["merge"]
    # The item was changed after it was handed out, and the form does not say which text it is on.
    rows = read_decision_files([shared / "cases/reviews/r01_two_agree.jsonl"])
    later = check_decisions(rows, HANDED, {"u1": "newer", "u2": HASH})
    assert [each.blind_id for each in later.decisions] == ["u2", "u2"]
    assert lines(later, "stale_review") == [1, 2]


def test_a_sheet_whose_ids_a_spreadsheet_ate(shared: Path) -> None:
    path = shared / "cases/reviews/r08_excel_csv.csv"
    checked, expect = case(shared, "r08_excel_csv.csv")
    assert [row.values["blind_id"] for row in read_decision_files([path])] == expect["ids_as_text"]
    assert {fault.kind for fault in checked.faults} == {expect["error_class"]}
    assert all("damaged by a spreadsheet" in fault.message for fault in checked.faults)
    assert lines(checked, "unknown_id") == [2, 3]


def test_items_that_no_two_have_seen(shared: Path) -> None:
    checked, expect = case(shared, "r13_no_overlap.jsonl")
    assert merged(checked)[0] == expect["merge"]
    figures = agreement(verdicts(checked))
    assert (figures.kappa, figures.reason) == (expect["kappa"], expect["reason"])


def jsonl(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def row(
    blind_id: str = "bcdfghjk", verdict: str = "approve", answer: str = "5", **more: Any
) -> dict[str, Any]:
    return {"blind_id": blind_id, "item_hash": HASH, "verdict": verdict, "answer": answer, **more}


EXPECTED = DecisionRow("r1", "bcdfghjk", "reject", "4", None, ("key_wrong", "style"), "off by one", 12.5)


@pytest.mark.parametrize("form", ["excel", "semicolons", "unicode_text", "sep", "label_studio", "min", "ls_csv",
                                  "argilla", "argilla_flat"])  # fmt: skip
def test_the_same_decision_in_every_form_it_comes_in(tmp_path: Path, form: str) -> None:
    path = tmp_path / "back"
    head, cells = "blind_id,item_hash,reviewer,question,answer,key,verdict,reasons,comment,seconds", (
        'bcdfghjk,current,r1,"=What, ""now""\n?",\'4,5,Reject ,key_wrong; style,off by one,12.5')  # fmt: skip
    sheet = f"{head}\r\n{cells}\r\n,,,,,,,,,\r\n"
    results = [
        {"from_name": "answer", "to_name": "question", "type": "textarea", "value": {"text": ["4"]}},
        {"from_name": "verdict", "to_name": "question", "type": "choices", "value": {"choices": ["reject"]}},
        {"from_name": "reasons", "type": "choices", "value": {"choices": ["key_wrong", "style"]}},
        {"from_name": "comment", "type": "textarea", "value": {"text": ["off by one"]}},
    ]
    data = {"blind_id": "bcdfghjk", "item_hash": HASH, "question": "q", "key": "5"}
    kept = {"annotator": 1, "annotation_id": 5, "id": 100, "lead_time": 12.5}
    said = {"answer": "4", "verdict": "reject", "reasons": ["key_wrong", "style"], "comment": "off by one"}
    if form == "excel":
        path.write_text(sheet, encoding="utf-8-sig", newline="")
    elif form == "semicolons":
        rewritten = sheet.replace("12.5", "12,5").replace("key_wrong; style", '"key_wrong; style"')
        table = rewritten.replace(",", ";").replace("12;5", "12,5").replace("What; ", "What, ")
        path.write_text(table, encoding="utf-8-sig", newline="")
    elif form == "unicode_text":
        path.write_bytes(sheet.replace(",", "\t").replace("What\t", "What,").encode("utf-16"))
    elif form == "sep":
        path.write_text("sep=,\r\n" + sheet, newline="")
    elif form == "label_studio":
        annotation = {
            "id": 5,
            "completed_by": 1,
            "result": results,
            "was_cancelled": False,
            "lead_time": 12.5,
        }
        path.write_text(
            json.dumps([{"id": 100, "data": data, "annotations": [annotation], "predictions": []}])
        )
    elif form == "min":
        path.write_text(json.dumps([{**data, **kept, **said, "reasons": {"choices": said["reasons"]}}]))
    elif form == "ls_csv":
        path.write_text(
            "annotation_id,annotator,answer,blind_id,comment,id,item_hash,key,lead_time,question,reasons,verdict\n"
            '5,"1","4",bcdfghjk,off by one,100,current,"5",12.5,q,"{""choices"":[""key_wrong"",""style""]}",reject\n'
        )
    elif form == "argilla":
        responses = {name: [{"value": value, "user_id": "u"}] for name, value in said.items()}
        record = {"id": "bcdfghjk", "fields": {}, "metadata": {"item_hash": HASH}, "status": "completed"}
        path.write_text(json.dumps([{**record, "responses": responses, "suggestions": {}, "vectors": {}}]))
    else:
        flat: dict[str, Any] = {"id": "bcdfghjk", "item_hash": HASH, "status": "pending"}
        for name, value in said.items():
            flat |= {f"{name}.responses": ["x", value], f"{name}.responses.users": ["u", "v"],
                     f"{name}.responses.status": ["draft", "submitted"]}  # fmt: skip
        path.write_text(json.dumps([flat]))
    checked = check(path)
    assert [fault for fault in checked.faults if fault.kind != "bad_verdict"] == []
    (found,) = checked.decisions
    if form.startswith("argilla"):
        assert found.seconds is None, "Argilla does not tell the time"
    else:
        assert found.seconds == 12.5
    assert (found.reviewer, found.verdict, found.answer) == ("r1", "reject", "4")
    assert (found.reasons, found.comment) == (EXPECTED.reasons, EXPECTED.comment)


def test_what_was_skipped_or_left_open_is_no_decision(tmp_path: Path) -> None:
    skipped = {
        "id": 1,
        "result": [{"from_name": "verdict", "value": {"choices": ["approve"]}}],
        "was_cancelled": True,
    }
    tasks = [{"data": {"blind_id": "bcdfghjk"}, "annotations": [skipped]},
             {"data": {"blind_id": "lmnpqrst"}, "annotations": []}]  # fmt: skip
    (tmp_path / "ls.json").write_text(json.dumps(tasks, indent=1))
    draft = {
        "id": "bcdfghjk",
        "status": "pending",
        "responses": {"verdict": [{"value": "approve", "user_id": "u"}]},
    }
    (tmp_path / "argilla.json").write_text(json.dumps([draft]))
    for name in ("ls.json", "argilla.json"):
        checked = check(tmp_path / name)
        assert checked.decisions == ()
        assert all(fault.harmless for fault in checked.faults)


def test_double_and_contradictory_decisions(tmp_path: Path) -> None:
    same = check(jsonl(tmp_path / "same", row(), row(seconds=3)))
    assert len(same.decisions) == 1
    assert (lines(same, "double"), same.faults[0].harmless) == ([2], True)
    two = check(jsonl(tmp_path / "two", row(), row("lmnpqrst"), row(verdict="reject")))
    assert [each.blind_id for each in two.decisions] == ["lmnpqrst"], (
        "neither of two contradictory ones counts"
    )
    assert lines(two, "contradictory") == [1, 3]
    # The page counts how often one decided: the last counts, in whatever order the lines are.
    for order in (1, -1):
        rows = [row(revision=1), row(verdict="reject", revision=3), row(verdict="unsure", revision=2)][
            ::order
        ]
        (last,) = check(jsonl(tmp_path / "page", *rows)).decisions
        assert (last.verdict, last.revision) == ("reject", 3)


def test_against_what_was_taken_in_before(tmp_path: Path) -> None:
    stored = [DecisionRow("r1", "bcdfghjk", "approve", "5", True, (), "", 9.0, 2)]
    assert check(jsonl(tmp_path / "a", row(revision=2)), stored=stored).unchanged == 1
    older = check(jsonl(tmp_path / "b", row(verdict="reject", revision=1)), stored=stored)
    assert (older.decisions, older.unchanged) == ((), 1)
    newer = check(jsonl(tmp_path / "c", row(verdict="reject", revision=3)), stored=stored)
    assert [each.verdict for each in newer.decisions] == ["reject"]
    other = jsonl(tmp_path / "d", row(verdict="reject", revision=2))
    assert lines(check(other, stored=stored), "contradictory") == [1]
    assert [each.verdict for each in check(other, stored=stored, replace=True).decisions] == ["reject"]


def test_each_fault_is_named_and_the_rest_counts(tmp_path: Path) -> None:
    path = jsonl(
        tmp_path / "f.jsonl",
        row(reviewer="r2"),
        row("BCDFGHJK"),
        row("lmnpqrst", seconds="soon"),
        row("vwxzbcdf", answer=""),
    )
    checked = check(path)
    assert [(fault.kind, fault.lines) for fault in checked.faults] == [
        ("wrong_reviewer", (1,)), ("unknown_id", (2,)), ("bad_seconds", (3,)), ("no_answer", (4,)),
    ]  # fmt: skip
    assert [each.blind_id for each in checked.decisions] == ["lmnpqrst", "vwxzbcdf"]
    assert "looks damaged" in checked.faults[1].message
    assert str(checked.faults[0]).startswith(f"{path}, line 1: ")
    sheet = tmp_path / "s.csv"
    sheet.write_text(
        "blind_id,verdict,answer\nbcdfghjk,approve,02-Jan\nvwxzbcdf,approve,may 5\nlmnpqrst,approve,1/2\n"
    )
    assert lines(check(sheet), "damaged_answer") == [2, 3]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"PK\x03\x04rest", "workbook"),
        (b"id,verdict\nx,approve\n", "bad_form"),
        (b"", "no_data"),
        (b"blind_id,verdict\nx,\xe9\n", "bad_encoding"),
        (b'{"blind_id": "x"', "bad_json_line"),
    ],
)
def test_files_that_are_none_are_one_line(tmp_path: Path, content: bytes, kind: str) -> None:
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(InputError) as failed:
        check(tmp_path / "f")
    assert failed.value.kind in (kind, "bad_form")


def test_a_folder_stands_for_what_the_page_saved(tmp_path: Path) -> None:
    (tmp_path / "r1").mkdir()
    with pytest.raises(InputError, match=r"holds no decisions\.jsonl"):
        check(tmp_path)
    jsonl(tmp_path / "r1" / "decisions.jsonl", row())
    assert len(check(tmp_path).decisions) == len(check(tmp_path / "r1").decisions) == 1
