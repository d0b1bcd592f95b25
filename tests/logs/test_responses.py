"""Response logs: the handed hostile files, every layout, and what is refused with which line."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchfill.errors import InputError
from benchfill.logs.responses import ResponseFile, read_responses

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(text: str, name: str = "log.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode("utf-8"))
        return path

    return write_file


def refused(path: Path | str, **options: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        read_responses(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert caught.value.exit_code == 2
    return caught.value


def cell(file: ResponseFile, model: str, item: str) -> tuple[int, int]:
    """Attempts and right answers."""
    place = file.log.models.index(model), file.log.items.index(item)
    return int(file.log.attempts[place]), int(file.log.correct[place])


def handed_cases(shared: Path) -> list[dict[str, Any]]:
    entries = json.loads((shared / "cases" / "index.json").read_text(encoding="utf-8"))["entries"]
    return [entry for entry in entries if entry["file"].startswith("matrices/")]


def test_every_handed_matrix_loads_or_is_refused_as_its_index_says(shared: Path) -> None:
    cases = handed_cases(shared)
    assert len(cases) == 26
    for case in cases:
        path, expect = shared / "cases" / case["file"], case["expect"]
        if expect["load"] == "error":
            error = refused(path)
            assert error.kind == expect["error_class"], case["file"]
            where = expect.get("where", {})
            for part in where if isinstance(where, list) else []:
                assert all(repr(each) in str(error) for each in part[:2]), case["file"]
            if isinstance(where, str):
                assert repr(where) in str(error)
            elif isinstance(where, dict):
                lines = where.get("lines", [where["line"]] if "line" in where else [])
                assert list(error.lines) == lines or not lines, case["file"]
                assert all(repr(where[key]) in str(error) for key in ("model", "item") if key in where)
            continue
        assert expect["load"] in ("ok", "ok_or_error")
        file = read_responses(path)
        log = file.log
        if "items" in expect:
            assert set(log.items) == set(expect["items"]), case["file"]
        if "models" in expect:
            assert set(log.models) == set(expect["models"]), case["file"]
        if isinstance(expect.get("cells"), int):
            assert int(log.attempts.sum()) == expect["cells"]
        elif "cells" in expect:
            for name, counts in expect["cells"].items():
                assert cell(file, *name.split("/")) == (counts["n"], counts["k"])
        if "correct" in expect:
            assert int(log.correct.sum()) == expect["correct"], case["file"]
        if "observed" in expect:
            assert int(log.attempts.sum()) == expect["observed"]


def test_what_was_read_in_a_special_way_is_noted(shared: Path) -> None:
    folder = shared / "cases" / "matrices"
    assert any(
        "N (no answer) counts as wrong" in note
        for note in read_responses(folder / "m10_inspect_letters.csv").notes
    )
    near = read_responses(folder / "m32_case_and_blank_ids.csv").notes
    assert any("'item1 '" in note and "'Item1'" in note for note in near)
    assert read_responses(folder / "m20_ids_like_numbers.csv").notes == ()
    assert "threshold" in str(refused(folder / "m07_partial_credit.csv"))
    assert "empty" in str(refused(folder / "m34_minus_one.csv"))


def test_the_real_logs_agree_with_a_plain_reading_of_them(shared: Path) -> None:
    folder = shared / "data" / "matrices" / "noises_highk_temp0.7__aime2024_cot"
    file = read_responses(folder / "responses_long.csv.gz")
    with gzip.open(folder / "responses_long.csv.gz", "rt", encoding="utf-8", newline="") as source:
        rows = list(csv.DictReader(source))
    assert file.log.attempts.shape == (50, 30)
    assert int(file.log.attempts.sum()) == sum(int(row["count"]) for row in rows)
    for row in rows[::37]:
        assert cell(file, row["model"], row["item_id"]) == (int(row["count"]), int(row["correct"]))
    samples = read_responses(folder / "aime2024_k8_samples.csv.gz")
    assert samples.log.items == file.log.items
    assert set(np.unique(samples.log.attempts)) == {8}
    wide = read_responses(folder / "aime2024_k1_wide.csv")
    assert wide.log.models == file.log.models
    assert set(np.unique(wide.log.attempts)) == {1}


def test_forty_thousand_items_in_one_wide_header(shared: Path, tmp_path: Path) -> None:
    """The 11 blocks side by side: 12 models x 41,871 items."""
    blocks = []
    for path in sorted((shared / "data" / "psn_irt").glob("*_wide.csv.gz")):
        blocks.append(gzip.decompress(path.read_bytes()).decode().splitlines())
    rows = [[line.partition(",") for line in lines] for lines in zip(*blocks, strict=True)]
    text = "\n".join(",".join([row[0][0], *(cells for _, _, cells in row)]) for row in rows)
    path = tmp_path / "all.csv.gz"
    path.write_bytes(gzip.compress(text.encode(), compresslevel=1))
    log = read_responses(path).log
    assert log.correct.shape == (12, 41_871)
    assert int(log.correct.sum()) == sum(cells.count("1") for row in rows[1:] for _, _, cells in row)


LONG = [("m2", "q1", 3, 4), ("m1", "q1", 0, 2), ("m1", "007", 1, 1)]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_long_counts_in_every_dialect(write: Write, delimiter: str, ending: str, mark: str) -> None:
    rows = [("item_id", "count", "model", "correct"), *((i, n, m, k) for m, i, k, n in LONG)]
    file = read_responses(write(mark + "".join(delimiter.join(map(str, row)) + ending for row in rows)))
    assert file.log.models == ("m1", "m2")
    assert file.log.items == ("007", "q1")
    assert cell(file, "m2", "q1") == (4, 3)
    assert cell(file, "m2", "007") == (0, 0)  # never asked, which is not wrong
    assert file.notes == ()


def test_json_lines_and_arrays_hold_the_same_log(write: Write) -> None:
    records = [{"model": m, "item_id": i, "correct": k, "count": n} for m, i, k, n in LONG]
    lines = read_responses(write("".join(json.dumps(each) + "\n" for each in records), "log.jsonl"))
    array = read_responses(write(json.dumps(records, indent=1), "log.json"))
    packed = write("", "log.gz")
    packed.write_bytes(gzip.compress(json.dumps(records).encode()))
    for file in (lines, array, read_responses(packed)):
        assert file.log.items == ("007", "q1")
        assert cell(file, "m2", "q1") == (4, 3)


def test_json_numbers_and_booleans_as_ids_and_scores(write: Write) -> None:
    text = (
        '{"model": "m", "item": 18446744073709551616, "correct": true}\n'
        '{"model": "m", "item": 1.0, "correct": false}\n'
        '{"model": "m", "item": 1, "correct": null}\n'
        '{"model": "m", "item": "2", "correct": 1e0}\n'
    )
    file = read_responses(write(text, "log.jsonl"))
    assert file.log.items == ("1", "1.0", "18446744073709551616", "2")
    assert [cell(file, "m", item) for item in file.log.items] == [(0, 0), (1, 0), (1, 1), (1, 1)]
    assert any("1 row(s) without a score: missing, not wrong" in note for note in file.notes)
    assert any("without a single answer: '1'" in note for note in file.notes)


@pytest.mark.parametrize("column", ["attempt", "sample", "epoch", "repeat", "Attempt"])
def test_one_row_an_attempt(write: Write, column: str) -> None:
    text = f"model,item_id,{column},correct\nm,q,0,1\nm,q,1,0\nm,q,2,\nm,q,3,NA\n"
    file = read_responses(write(text))
    assert cell(file, "m", "q") == (2, 1)
    assert any("2 row(s) without a score" in note for note in file.notes)
    assert any("Read as missing: na" in note for note in file.notes)
    twice = refused(write(text + "m,q,1,1\n"))
    assert (twice.kind, twice.lines) == ("duplicate_response", (3, 6))


def test_wide_in_both_directions_is_one_log(write: Write) -> None:
    by_model = read_responses(write("model,q2,q1\nb,1,\na,0,1\n"))
    by_item = read_responses(write("item_id,a,b\nq1,1,\nq2,0,1\n"))
    told = read_responses(write(",q2,q1\nb,1,\na,0,1\n"), rows="models")
    for file in (by_model, by_item, told):
        assert (file.log.models, file.log.items) == (("a", "b"), ("q1", "q2"))
        assert file.log.attempts.tolist() == [[1, 1], [0, 1]]
        assert file.log.correct.tolist() == [[1, 0], [0, 1]]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_ids_and_any_order_survive(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    name = st.text(
        st.characters(exclude_categories=("Cs", "Cc"), include_characters="\n"), min_size=1, max_size=8
    ).filter(lambda text: text.strip())
    models = data.draw(st.lists(name, min_size=1, max_size=4, unique=True))
    items = data.draw(st.lists(name, min_size=2, max_size=5, unique=True))
    counts = {(m, i): data.draw(st.integers(0, 3)) for m in models for i in items}
    counts[models[0], items[0]] += 1
    rows = [(m, i, data.draw(st.integers(0, n)), n) for (m, i), n in counts.items()]
    path = tmp_path_factory.mktemp("ids") / "log.csv"
    logs = []
    for order in (rows, data.draw(st.permutations(rows))):
        sink = io.StringIO(newline="")
        writer = csv.writer(sink)
        writer.writerow(("model", "item_id", "correct", "count"))
        writer.writerows(order)
        path.write_bytes(sink.getvalue().encode())
        logs.append(read_responses(path).log)
    assert (list(logs[0].models), list(logs[0].items)) == (sorted(models), sorted(items))
    for model, item, right, asked in rows:
        place = logs[0].models.index(model), logs[0].items.index(item)
        assert (logs[0].correct[place], logs[0].attempts[place]) == (right, asked)
    assert np.array_equal(logs[0].correct, logs[1].correct)


def test_a_threshold_makes_partial_credit_binary_and_says_so(write: Write) -> None:
    path = write("item,m1,m2,m3\nq1,0.5,1,0\nq2,1,0.25,0\n")
    file = read_responses(path, threshold=0.5)
    assert cell(file, "m1", "q1") == (1, 1)
    assert cell(file, "m2", "q2") == (1, 0)
    assert any("from 0.5 on" in note for note in file.notes)
    assert refused(write("item,m1\nq1,1.5\n"), threshold=0.5).kind == "not_binary"
    assert refused(path, threshold=0.0).kind == "usage"


@pytest.mark.parametrize(
    ("text", "kind", "lines", "named"),
    [
        ("name,q1,q2\na,1,0\n", "unknown_layout", (), "name"),
        ("model,item_id,score\nm,q,1\n", "unknown_column", (), "score"),
        ("model,item_id,correct,cuont\nm,q,3,4\n", "unknown_column", (), "cuont"),
        ("model,correct\nm,1\n", "missing_column", (), "item_id"),
        ("model,item_id,count\nm,q,1\n", "missing_column", (), "correct"),
        ("model,item,item_id,correct\nm,q,q,1\n", "duplicate_column", (), "item_id"),
        ("model,item_id,correct,Correct\nm,q,1,1\n", "duplicate_column", (), "correct"),
        ("model,item_id,correct,count\nm,q,5,4\nm,r,-1,4\nm,s,1.5,4\nm,t,1,\n", "bad_count", (2, 3, 4, 5), "'5'"),
        ("model,item_id,correct\nm,q\nm,r,1,x\n", "bad_row", (2, 3), "2 cells"),
        ("model,item_id,correct\n,q,1\nm, ,1\n", "missing_field", (2, 3), "no item"),
        ("model,q1,q2\na,1\n", "bad_row", (2,), "2 cells"),
        ("model,q1,q2\na,1,0,1\n", "bad_row", (2,), "4 cells"),
        ("model,q1,q2\n ,1,0\n", "bad_row", (2,), "no name"),
        ("model,q1,,q2\na,1,0,1\n", "bad_header", (1,), "column 3"),
        ("model,q1,q1\na,1,0\n", "duplicate_item", (1,), "q1"),
        ('model,q1\n"a,1\n', "bad_row", (2,), "quotes"),
        ("model,q1\na,yes\n", "not_binary", (2,), "yes"),
        ("model,q1\na,P\n", "not_binary", (2,), "P"),
        ("model,q1\na,\n", "no_data", (), "no answers"),
        ("model,item_id,correct\n", "no_data", (), "no answers"),
        (" \n \n", "no_data", (), "empty"),
        ("model,q1\na\0,1\n", "bad_text", (2,), "NUL"),
        ('[{"model": "m", "item_id": ["q"], "correct": 1}]', "bad_field", (1,), "item_id"),
        ('{"model": "m", "item_id": "q"}\n{"model": "m", "correct": 1}\n', "missing_field", (1, 2), "correct"),
        ('{"model": "m", "item_id": "q", "correct": NaN}\n', "not_json", (1,), "NaN"),
    ],
)  # fmt: skip
def test_one_line_says_what_where_and_why(
    write: Write, text: str, kind: str, lines: tuple[int, ...], named: str
) -> None:
    error = refused(write(text))
    assert (error.kind, error.lines) == (kind, lines)
    assert named in str(error)
    assert "log.csv" in str(error)


def test_rows_said_otherwise_than_the_header_does(write: Write) -> None:
    assert refused(write("model,q1\na,1\n"), rows="items").kind == "unknown_layout"


def test_many_faults_are_counted_and_the_first_are_named(write: Write) -> None:
    error = refused(write("model,q1\n" + "".join(f"m{n},2\n" for n in range(40))))
    assert len(error.lines) == 40
    assert "and 35 more" in str(error)
    assert len(str(error)) < 400


def test_empty_rows_and_trailing_delimiters_mean_nothing(write: Write) -> None:
    file = read_responses(write("model,item_id,correct,,\n\nm,q,1,,\n,,,,\nm,r,0,,\n\n"))
    assert file.log.items == ("q", "r")
    wide = read_responses(write("model;q1;;\n;;;\na;1;;\n"))
    assert (wide.log.models, wide.log.items) == (("a",), ("q1",))


def test_models_and_items_without_an_answer_are_named(write: Write) -> None:
    notes = read_responses(write("model,q1,q2\na,1,\nb,,\n")).notes
    assert any("1 models without a single answer: 'b'" in note for note in notes)
    assert any("1 items without a single answer: 'q2'" in note for note in notes)


def test_files_that_cannot_be_read(tmp_path: Path, write: Write) -> None:
    assert refused(tmp_path / "absent.csv").kind == "missing_file"
    assert refused(tmp_path).kind == "is_folder"
    assert refused("a\0b").kind == "unreadable"
    cut = write("")
    cut.write_bytes(gzip.compress(b"model,q1\na,1\n" * 50)[:-12])
    assert refused(cut).kind == "corrupt_archive"
    utf16 = write("")
    utf16.write_bytes("model,q1\na,1\n".encode("utf-16"))
    assert (refused(utf16).kind, refused(utf16).lines) == ("bad_encoding", (1,))
