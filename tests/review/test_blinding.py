"""Can a packet be told apart by anything but the meaning of its texts? A classifier tries; so do the handed leaks."""

from __future__ import annotations

import dataclasses
import json
import random
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchfill.item import Item
from benchfill.memory.pool import Pool
from benchfill.memory.reviews import Reviews
from benchfill.review.blinding import draw_blind_id, leaks, shown_fields

from .conftest import MakeRun
from .test_packets import export

COUNT = 100
Floats = NDArray[np.float64]


def quirky(item: Item, draw: random.Random) -> Item:
    """An original as sources write them: line ends, blanks, composed letters and fields of their own."""
    question = item.question.replace(" is ", draw.choice([" is ", " is\u00a0", " is\u2009"]))
    question = draw.choice([f"{question}  ", f"{question}\r\n", f"\n{question}\n\n", f"{question} \n"])
    return dataclasses.replace(
        item, question=question.replace("é", "e\u0301"), answer=f"{item.answer} ", solution="",
        extra={"source": "page 3", "year": draw.randrange(1990, 2025)},
    )  # fmt: skip


def same_texts() -> tuple[list[Item], list[Item]]:
    """Originals and new items whose words come from one distribution, so that only their form could tell."""
    draw = random.Random(3)
    numbers = draw.sample(range(100, 1000), 2 * COUNT)
    items = [
        Item(f"{'o' if k < COUNT else 'bf-g1r02w'}{k}", f"Réponds: what is ${n} + {n}^2$?\nExplain.", str(n + n * n),
             "long solution" * 5, answer_type="numeric") for k, n in enumerate(numbers)
    ]  # fmt: skip
    return [quirky(item, draw) for item in items[:COUNT]], items[COUNT:]


def features(line: str, row: dict[str, str], place: int) -> list[float]:
    """What can be measured of a row without reading it."""
    ids = [float(ord(letter)) for letter in row["blind_id"] + row["item_hash"]]
    text = row["question"] + row["key"]
    return [
        place, place % 2, len(line) - len(text), len(list(row)), list(row).index("key"),
        line.count("\\"), line.count("  "), line.count("\u00a0") + line.count("\u2009"), line.count("\\r"),
        sum("\u0300" <= letter < "\u0370" for letter in text), len(text) - len(text.strip()), text.count("\n"),
        *ids,
    ]  # fmt: skip


def accuracy(table: Floats, labels: Floats) -> float:
    """Held-out accuracy of a ridge classifier, ten folds."""
    spread = table.std(axis=0)
    scaled = np.column_stack(
        [(table - table.mean(axis=0)) / np.where(spread > 0, spread, 1.0), np.ones(len(table))]
    )
    right, folds = 0.0, np.random.default_rng(1).permutation(len(labels)) % 10
    for fold in range(10):
        train, test = folds != fold, folds == fold
        gram = scaled[train].T @ scaled[train] + 10.0 * np.eye(scaled.shape[1])
        weights = np.linalg.solve(gram, scaled[train].T @ labels[train])
        right += float(((scaled[test] @ weights > 0) == (labels[test] > 0)).sum())
    return right / len(labels)


def test_a_classifier_of_everything_but_the_words_is_at_chance(make_run: MakeRun, tmp_path: Path) -> None:
    originals, new = same_texts()
    run = make_run(originals=originals, new=new)
    export(run, tmp_path / "out")
    pool = Pool(run.memory, create=False)
    origin = {row.blind_id: row.origin for row in Reviews(pool).assignments()}
    pool.close()
    for reviewer in ("r1", "r2"):
        lines = (tmp_path / "out" / reviewer / "review.jsonl").read_text().splitlines()
        rows = [json.loads(line) for line in lines]
        labels = np.array([1.0 if origin[row["blind_id"]] == "original" else -1.0 for row in rows])
        assert labels.sum() == 0
        table = np.array(
            [features(line, row, n) for n, (line, row) in enumerate(zip(lines, rows, strict=True))]
        )
        # Chance is 0.5 with a standard error of 0.035.
        assert 0.4 < accuracy(table, labels) < 0.6
        # One feature at a time: no correlation beyond 4 standard errors.
        varying = table[:, table.std(axis=0) > 0]
        correlations = [abs(np.corrcoef(column, labels)[0, 1]) for column in varying.T]
        assert max(correlations) < 4 / np.sqrt(len(labels))


def test_the_same_classifier_tells_the_texts_apart_as_their_sources_write_them() -> None:
    originals, new = same_texts()
    rows = [
        {"blind_id": "b" * 8, "item_hash": "b" * 16, "question": item.question, "key": item.answer}
        for item in [*originals, *new]
    ]
    table = np.array([features(json.dumps(row, ensure_ascii=False), row, 0) for row in rows])
    assert accuracy(table, np.repeat([1.0, -1.0], COUNT)) > 0.95


def test_handed_leaks_are_seen(shared: Path) -> None:
    lines = (shared / "cases/reviews/r11_blinding_leak.jsonl").read_text().splitlines()
    found = {row["blind_id"]: ", ".join(leaks(row)) for row in map(json.loads, lines)}
    index = json.loads((shared / "cases/index.json").read_text())["entries"]
    case = next(entry for entry in index if entry["file"] == "reviews/r11_blinding_leak.jsonl")
    assert {name: told for name, told in found.items() if told} == case["expect"]["leaks"]


def test_ids_are_no_words_no_numbers_and_all_different() -> None:
    taken: set[str] = set()
    drawn = [draw_blind_id(random.Random(1), taken) for _ in range(20)]
    assert len(set(drawn)) == 20, "the same draw again gives another id"
    for blind_id in drawn:
        assert len(blind_id) == 8
        assert not set(blind_id) & set("aeiouy0123456789")
        assert leaks({"blind_id": blind_id}) == []


def test_an_export_says_which_texts_speak_of_themselves(make_run: MakeRun, tmp_path: Path) -> None:
    new = [Item("n1", "Rewritten version: what is $7 + 8$?", "15", answer_type="numeric"),
           Item("n2", "What is $7 + 9$?", "16", answer_type="numeric")]  # fmt: skip
    assert export(make_run(new=new), tmp_path / "out").telling == ("n1",)


def test_options_are_shown_with_their_letters_and_solutions_never() -> None:
    item = Item("x", "Which?", "B", "because", ("one", "two"), "mcq")
    assert shown_fields(item) == {"question": "Which?\n\nA) one\nB) two", "key": "B"}
