"""Added items stand behind those of a file in its own form, and the file's own text stays as it is."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from benchfill.errors import InputError
from benchfill.item import Item
from benchfill.logs.extended_items import ItemToAdd, extend_items, refuse_other_items
from benchfill.logs.items import read_items

NEW = Item("bf-1", "Was ist 2 + 5? Größe?", "7", solution="2 + 5 = 7", answer_type="numeric")


def lines(*rows: dict, **options) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False, **options).encode() + b"\n" for row in rows)


def extended(tmp_path: Path, content: bytes, *added: ItemToAdd, mapping=None):
    path = tmp_path / "items"
    path.write_bytes(content)
    found = extend_items(path, added or [ItemToAdd(NEW, "a")], mapping=mapping)
    written = tmp_path / "extended"
    written.write_bytes(found.content)
    return found, {item.id: item for item in read_items(written, mapping=mapping).items}


ROWS = [
    {"id": "a", "question": "1 + 1?", "answer": "2", "level": 1, "lang": "de", "licence": "CC0", "src": "x"},
    {"id": "b", "question": "1 + 2?", "answer": "3", "level": 2, "lang": "de", "licence": "MIT", "src": "y"},
]


def test_rows_of_a_file_stay_as_they_are_and_the_new_one_has_its_fields_in_its_order(tmp_path):
    content = lines(*ROWS)
    found, items = extended(tmp_path, content)
    assert found.content.startswith(content)
    row = json.loads(found.content[len(content) :])
    assert list(row) == list(ROWS[0])
    # Shared by all: kept; a licence: the parent's; anything else is not known of the new item.
    assert (row["lang"], row["licence"], row["level"], row["src"]) == ("de", "CC0", None, None)
    assert found.empty == ("level", "src")
    assert found.licences == {"licence": ("CC0",)}
    assert (items["bf-1"].question, items["bf-1"].answer) == (NEW.question, "7")
    assert "Größe" in found.content.decode()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends_and_compact_writing_are_those_of_the_file(tmp_path, end, last):
    text = end.join(json.dumps(row, separators=(",", ":")) for row in ROWS) + (end if last else "")
    found, items = extended(tmp_path, text.encode())
    assert found.content.startswith(text.encode())
    added = found.content[len(text.encode()) :].decode()
    assert added.removeprefix(end).endswith(end)
    assert '": ' not in added
    assert set(items) == {"a", "b", "bf-1"}


@pytest.mark.parametrize("indent", [None, 1, 4])
def test_an_array_stays_an_array(tmp_path, indent):
    text = json.dumps(ROWS, indent=indent) + "\n"
    found, items = extended(tmp_path, text.encode())
    assert found.content.decode().startswith(text.rstrip("]\n"))
    assert json.loads(found.content)[:2] == ROWS
    if indent is not None:
        document = json.loads(found.content)
        assert found.content.decode() == json.dumps(document, indent=indent, ensure_ascii=False) + "\n"
    assert items["bf-1"].answer == "7"


def test_gzip_byte_order_mark_and_escapes_are_kept(tmp_path):
    plain = b"\xef\xbb\xbf" + json.dumps({**ROWS[0], "question": "Größe?"}).encode() + b"\n" + lines(ROWS[1])
    found, items = extended(tmp_path, gzip.compress(plain))
    unpacked = gzip.decompress(found.content)
    assert unpacked.startswith(plain)
    assert unpacked[3:].isascii()
    assert items["bf-1"].question == NEW.question


def test_ids_never_meet_those_of_the_file(tmp_path):
    rows = [{**ROWS[0], "id": "BF-1"}, {**ROWS[1], "id": "bf-1-2"}]
    found, items = extended(tmp_path, lines(*rows), ItemToAdd(NEW, "BF-1"))
    assert found.ids == {"bf-1": "bf-1-3"}
    assert len(items) == 3


def test_numbered_items_are_numbered_on(tmp_path):
    rows = [{**ROWS[0], "id": 8}, {**ROWS[1], "id": 11}]
    found, items = extended(tmp_path, lines(*rows), ItemToAdd(NEW, "8"))
    assert found.ids == {"bf-1": "12"}
    assert json.loads(found.content.splitlines()[-1])["id"] == 12
    assert items["12"].question == NEW.question


def test_nested_and_renamed_fields(tmp_path):
    rows = [
        {"doc": {"problem": "1?", "kind": "sum"}, "gold": 1, "uid": "a"},
        {"doc": {"problem": "2?", "kind": "sum"}, "gold": 2.5, "uid": "b"},
    ]
    mapping = {"id": "uid", "question": "doc.problem", "answer": "gold"}
    found, items = extended(tmp_path, lines(*rows), mapping=mapping)
    row = json.loads(found.content.splitlines()[-1])
    assert row == {"doc": {"problem": NEW.question, "kind": None}, "gold": 7, "uid": "bf-1"}
    assert items["bf-1"].answer == "7"


@pytest.mark.parametrize(
    ("choices", "key", "written"),
    [
        (["5", "6", "seven"], "C", "B"),
        (["5", "6", "seven"], "seven", "y"),
        (["5", "six", "seven"], 2, 1),
        ({"A": "5", "B": "6", "C": "7"}, "C", "B"),
        ({"label": ["1", "2", "3"], "text": ["5", "6", "7"]}, "3", "2"),
        ([{"label": "A", "text": "5"}, {"label": "B", "text": "6"}, {"label": "C", "text": "7"}], "C", "B"),
        (["5", "6", "seven"], ["A", "C"], ["B"]),
    ],
)
def test_options_and_keys_have_the_forms_of_the_parent(tmp_path, choices, key, written):
    rows = [{"id": name, "question": f"{name}?", "choices": choices, "answer": key} for name in "ab"]
    kind = "mcq-multi" if isinstance(key, list) else "mcq"
    item = Item("bf-1", "Which?", "B", choices=("x", "y", "z"), answer_type=kind)
    found, items = extended(tmp_path, lines(*rows), ItemToAdd(item, "a"))
    assert json.loads(found.content.splitlines()[-1])["answer"] == written
    assert (items["bf-1"].answer, items["bf-1"].choices, items["bf-1"].answer_type) == (
        "B",
        item.choices,
        kind,
    )


def test_constraints_stand_where_the_file_has_them(tmp_path):
    rows = [
        {
            "key": number,
            "prompt": f"{number}",
            "instruction_id_list": ["punctuation:no_comma"],
            "kwargs": [{}],
        }
        for number in (1, 2)
    ]
    key = json.dumps(
        {"instruction_id_list": ["length_constraints:number_words"], "kwargs": [{"num_words": 9}]}
    )
    item = Item("bf-1", "Write.", key, answer_type="instructions")
    found, items = extended(tmp_path, lines(*rows), ItemToAdd(item, "1"))
    row = json.loads(found.content.splitlines()[-1])
    assert (row["key"], row["prompt"], row["kwargs"]) == (3, "Write.", [{"num_words": 9}])
    assert json.loads(items["3"].answer) == json.loads(key)


def test_a_file_of_other_items_is_refused(tmp_path):
    path = tmp_path / "items"
    path.write_bytes(lines(*ROWS))
    own = read_items(path).items
    refuse_other_items(path, {}, own)
    with pytest.raises(InputError, match="does not hold the items of the run") as fault:
        refuse_other_items(path, {}, own[:1])
    assert fault.value.kind == "other_items"
