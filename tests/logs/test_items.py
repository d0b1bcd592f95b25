"""Item files: the handed hostile files, keys of multiple-choice items, inferred answer types."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchfill.calibration.response_log import ResponseLog
from benchfill.errors import InputError
from benchfill.item import Item
from benchfill.logs.answer_types import infer_answer_type
from benchfill.logs.items import ItemFile, check_items_cover, parse_mapping, read_items

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(*records: Any) -> Path:
        path = tmp_path / "items.jsonl"
        lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
        path.write_text("\n".join(lines), encoding="utf-8")
        return path

    return write_file


def item(**fields: Any) -> dict[str, Any]:
    return {"id": "q", "question": "What is 2+3?", "answer": "5", **fields}


def refused(path: Path, **options: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        read_items(path, **options)
    assert "\n" not in str(caught.value)
    return caught.value


def read_or_error(path: Path) -> tuple[ItemFile | None, InputError | None]:
    try:
        return read_items(path), None
    except InputError as error:
        return None, error


def test_every_handed_item_file_loads_or_is_refused_as_its_index_says(shared: Path) -> None:
    entries = json.loads((shared / "cases" / "index.json").read_text(encoding="utf-8"))["entries"]
    names = [entry for entry in entries if entry["file"].startswith(("items/i", "items/c", "items/x0"))]
    # x06 holds pairs of a parent and its rewrite, for the screening.
    cases = [entry for entry in names if "x06" not in entry["file"]]
    assert len(cases) == 29
    for case in cases:
        path, expect = shared / "cases" / case["file"], case["expect"]
        if expect["load"] == "ok_with_mapping":
            assert refused(path).kind == "missing_field"
            assert len(read_items(path, mapping=expect["mapping"]).items) == 1
            continue
        file, error = read_or_error(path)
        if error is not None:
            assert expect["load"] in ("error", "ok_or_error"), f"{case['file']}: {error}"
            assert error.kind == expect["error_class"], case["file"]
            where = expect.get("where", {})
            if isinstance(where, list):
                assert all(repr(each) in str(error) for each in where)
            else:
                lines = where.get("lines", [where["line"]] if "line" in where else [])
                assert list(error.lines) == lines or not lines, case["file"]
            continue
        assert file is not None
        assert expect["load"] != "error", case["file"]
        if isinstance(expect.get("items"), int):
            assert len(file.items) == expect["items"], case["file"]
        texts = [text for each in file.items for text in (each.id, each.question, each.answer)]
        assert not any("\r" in text or "\x0c" in text for text in texts), case["file"]
        for flagged in ("duplicate_options", "escape_damage"):
            for name in expect.get("flags", {}).get(flagged, []):
                assert any(repr(name) in note for note in file.notes), case["file"]
        if "exact_duplicates" in expect.get("flags", {}):
            assert any("1 exact duplicate" in note for note in file.notes)
        if "repaired_question" in expect:
            assert file.items[0].question == expect["repaired_question"]
        if "answer" in expect:
            assert file.items[0].answer == expect["answer"]
        for name, text in expect.get("gold_text", {}).items():
            (found,) = (each for each in file.items if each.id == name)
            assert found.choices["ABCDE".index(found.answer)] == text, name


def test_hints_at_near_names(shared: Path) -> None:
    folder = shared / "cases" / "items"
    assert "Near names: ID, Question, Answer" in str(refused(folder / "i28_key_case.jsonl"))
    assert "--map question=doc.problem" in str(refused(folder / "i10_nested.jsonl"))
    assert "counted from 0" in " ".join(read_items(folder / "c01_answer_forms.jsonl").notes)


def test_real_item_files_belong_to_their_logs(shared: Path) -> None:
    from benchfill.logs.responses import read_responses

    data = shared / "data"
    for items, log, size in (
        ("aime2024", "noises_highk_temp0.7__aime2024_cot/responses_long.csv.gz", 30),
        ("gsm8k_test", "evalarena_gsm8k/responses_wide.csv.gz", 1319),
        ("math500", "noises_highk_temp0.7__math500_cot/responses_long.csv.gz", 500),
    ):
        file = read_items(data / "items" / f"{items}.jsonl")
        assert len(file.items) == size
        assert file.notes == ()
        assert check_items_cover(file.items, read_responses(data / "matrices" / log).log) == ()


def test_items_come_sorted_with_their_other_fields(write: Write) -> None:
    file = read_items(
        write(item(id="b", level=3, score=0.10), item(id="a", solution="2+3=5", tolerance=1e-3))
    )
    assert [each.id for each in file.items] == ["a", "b"]
    assert file.items[0] == Item("a", "What is 2+3?", "5", "2+3=5", (), "numeric", 0.001, {})
    assert file.items[1].extra == {"level": 3, "score": 0.1}


@pytest.mark.parametrize(
    ("answer", "written"),
    [("27.0", "27.0"), ("1e5", "1e5"), ("-0", "-0"), ("true", "true"), ("1" + "0" * 5000, "1" + "0" * 5000)],
)
def test_numbers_keep_the_digits_of_the_file(write: Write, answer: str, written: str) -> None:
    path = write(f'{{"id": 7, "question": "q", "answer": {answer}, "huge": 1e999}}')
    (found,) = read_items(path).items
    assert (found.id, found.answer) == ("7", written)
    assert found.extra == {"huge": "1e999"}  # no infinity that JSON could not hold


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"choices": ["x", "y", "z"], "answer": "c"}, ("mcq", "C")),
        ({"choices": ["x", "y", "z"], "answer": "(B)"}, ("mcq", "B")),
        ({"choices": ["x", "y", "z"], "answer": "y"}, ("mcq", "B")),
        ({"choices": ["x", "y", "z"], "answer": 0}, ("mcq", "A")),
        ({"choices": ["10", "20", "30"], "answer": 20}, ("mcq", "B")),
        ({"choices": {"A": "10", "B": "20"}, "answer": "B"}, ("mcq", "B")),
        (
            {"choices": [{"label": "1", "text": "x"}, {"label": "2", "text": "y"}], "answer": "2"},
            ("mcq", "B"),
        ),
        ({"choices": {"label": ["1", "2", "3"], "text": ["2", "3", "1"]}, "answer": "2"}, ("mcq", "B")),
        ({"choices": ["x", "y", "z"], "answer": ["C", "A"]}, ("mcq-multi", "A,C")),
        ({"choices": ["x", "y", "z"], "answer": "C, A", "answer_type": "mcq-multi"}, ("mcq-multi", "A,C")),
        ({"choices": ["x", "y"], "answer": "5", "answer_type": "numeric"}, ("numeric", "5")),
        ({"choices": None}, ("numeric", "5")),
        ({"choices": []}, ("numeric", "5")),
        ({"answer": "5", "answer_type": "text"}, ("text", "5")),
    ],
)
def test_keys_of_multiple_choice_items(
    write: Write, fields: dict[str, Any], expected: tuple[str, str]
) -> None:
    (found,) = read_items(write(item(**fields))).items
    assert (found.answer_type, found.answer) == expected


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"choices": ["B", "A"], "answer": "A"}, "ambiguous_key"),
        ({"choices": ["4", "4", "5"], "answer": "4"}, "ambiguous_key"),
        ({"choices": ["x", "y"], "answer": "C"}, "bad_key"),
        ({"choices": ["x", "y"], "answer": 2}, "bad_key"),
        ({"choices": ["x", "y"], "answer": []}, "bad_key"),
        ({"choices": ["x"]}, "bad_field"),
        ({"choices": "x,y"}, "bad_field"),
        ({"choices": ["x", " "]}, "bad_field"),
        ({"choices": ["x", None]}, "bad_field"),
        ({"choices": {"label": ["A"], "text": ["x", "y"]}}, "bad_field"),
        ({"choices": {"label": ["A", "A"], "text": ["x", "y"]}}, "bad_field"),
        ({"answer_type": "essay"}, "bad_field"),
        ({"answer_type": "mcq"}, "bad_field"),
        ({"answer": ["5", "five"]}, "bad_field"),
        ({"question": {"text": "?"}}, "bad_field"),
        ({"tolerance": -1}, "bad_field"),
        ({"tolerance": "wide"}, "bad_field"),
        ({"tolerance": True}, "bad_field"),
    ],
)
def test_unusable_fields_are_refused_with_item_and_line(
    write: Write, fields: dict[str, Any], kind: str
) -> None:
    error = refused(write(item(id="fine"), item(**fields)))
    assert (error.kind, error.lines) == (kind, (2,))
    assert "'q'" in str(error)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("29", "numeric"),
        ("-1,000,000.5", "numeric"),
        (".5", "numeric"),
        ("1e-3", "numeric"),
        ("$18.90", "numeric"),
        ("10,\\!080", "numeric"),
        ("1,00", "expr"),
        ("\\frac{1}{2}", "expr"),
        ("3/4", "expr"),
        ("2x + 1", "expr"),
        ("x = 5", "expr"),
        ("sqrt(2)", "expr"),
        ("p - q", "expr"),
        ("(2, 3]", "expr"),
        ("1, 2, 3", "expr"),
        ("52_8", "base"),
        ("\\text{east}", "text"),
        ("New York", "text"),
        ("and/or", "text"),
        ("well-known", "text"),
        ("2020-01-05", "text"),
        ("12:30", "text"),
        ("5 cm", "text"),
        (".", "text"),
        ("东", "text"),
    ],
)
def test_inferred_answer_types(answer: str, kind: str) -> None:
    assert infer_answer_type(answer, choices=False) == kind
    assert infer_answer_type(answer, choices=True) == "mcq"


@pytest.mark.parametrize(
    ("damaged", "repaired"),
    [
        (r"\frac{1}{2}", r"\frac{1}{2}"),
        (r"\beta + \theta \times 2", r"\beta + \theta \times 2"),
        (r"\left(1\right)", None),  # \l is no JSON escape at all: the line is refused
        (r"a\tab, b\nnext, c\rho", "a\tab, b\nnext, c\\rho"),  # a tab and a line break are text
    ],
)
def test_latex_with_single_backslashes(write: Write, damaged: str, repaired: str | None) -> None:
    path = write(f'{{"id": "q", "question": "{damaged}", "answer": "1"}}')
    if repaired is None:
        assert refused(path).kind == "bad_json_line"
        return
    file = read_items(path)
    assert file.items[0].question == repaired
    assert any("'q'" in note for note in file.notes)


@pytest.mark.parametrize(
    ("text", "kind", "lines"),
    [
        ("", "no_data", ()),
        ("[]", "no_data", ()),
        ("[1, 2]", "bad_json_line", (1,)),
        ('[{"id": "a"},\n {"id": "b"', "bad_json_line", (2,)),
        ('[{"id": "a"}]\nmore', "bad_json_line", (1, 2)),
        ('[\n{"id": "a"},\n{"id": NaN}]', "not_json", (3,)),
        ('{"id": "a", "id": "b"}', "not_json", (1,)),
        ("[" * 5000, "bad_json_line", (1,)),
        ('[{"id": "\\ud800"}]', "bad_text", (1,)),
        ('{"id": "a", "question": "line\u2028break", "answer": "1"}\nnope', "bad_json_line", (2,)),
    ],
)
def test_broken_json_is_refused_with_its_line(
    write: Write, text: str, kind: str, lines: tuple[int, ...]
) -> None:
    error = refused(write(text))
    assert (error.kind, error.lines) == (kind, lines)


def test_one_object_over_several_lines_is_one_item(write: Write) -> None:
    assert len(read_items(write(json.dumps(item(), indent=2))).items) == 1


def test_near_duplicate_ids_are_kept_apart_and_named(write: Write) -> None:
    file = read_items(write(item(id="Q1"), item(id="q1 ")))
    assert len(file.items) == 2
    assert any("'Q1', 'q1 '" in note for note in file.notes)


def test_mapping() -> None:
    assert parse_mapping(["question=doc.problem", " id = doc_id "]) == {
        "question": "doc.problem",
        "id": "doc_id",
    }
    for bad in ("question", "=x", "id="):
        with pytest.raises(InputError):
            parse_mapping([bad])


def test_a_mapping_to_a_name_with_dots_and_to_an_unknown_field(write: Write) -> None:
    path = write({"doc.id": 1, "doc": {"q": "?"}, "answer": "5"})
    (found,) = read_items(path, mapping={"id": "doc.id", "question": "doc.q"}).items
    assert (found.id, found.question, found.extra) == ("1", "?", {"doc": {"q": "?"}})
    assert "no 'doc.z'" in str(refused(path, mapping={"id": "doc.id", "question": "doc.z"}))
    assert refused(path, mapping={"level": "x"}).kind == "usage"


def test_a_log_is_held_against_the_items() -> None:
    items = [Item(id=name, question="?", answer="1") for name in ("a", "b")]
    counts = np.array([[1, 0, 1]])
    log = ResponseLog(("m",), ("a", "b", "c"), counts, counts)
    notes = check_items_cover(items, log)
    assert any("1 items of the log are not in the item file and left out: 'c'" in note for note in notes)
    assert any("no model was asked: 'b'" in note for note in notes)
    with pytest.raises(InputError) as caught:
        check_items_cover([*items, Item(id="z", question="?", answer="1")], log)
    assert caught.value.kind == "items_not_in_log"
    assert "lacks 1 of 3 items: 'z'" in str(caught.value)
    with pytest.raises(InputError, match="look like 'a', 'b'"):
        check_items_cover([Item(id="z", question="?", answer="1")], log)


def test_options_are_choices(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text('{"id": "a", "question": "Which is even?", "options": ["3", "4"], "answer": "B"}\n')
    (item,) = read_items(path).items
    assert (item.choices, item.answer, item.answer_type) == (("3", "4"), "B", "mcq")
