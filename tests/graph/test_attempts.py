"""The pool as it is asked: options in another order at every attempt, the key with them."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from benchfill.graph.attempts import Panel
from benchfill.item import Item
from benchfill.prompts.render import PromptBook
from benchfill.tools.grading import Grader
from benchfill.tools.reply import Reply
from benchfill.tools.sandbox import Sandbox

ITEM = Item("q", "Which is a fruit?", "C", choices=("stone", "cloud", "pear", "river"), answer_type="mcq")


class Chooser:
    """Chooses the option of a text by the letter that stands before it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.endpoint = SimpleNamespace(name="m", model="m")
        self.shown: list[str] = []

    async def ask(self, messages: Sequence[dict[str, Any]], *, seed: int, tag: str, **_: Any) -> Reply:
        shown = messages[-1]["content"]
        self.shown.append(shown)
        found = re.search(rf"^([A-Z])\) {self.text}$", shown, re.MULTILINE)
        assert found is not None
        return Reply(f"The answer is {found[1]}.", (), (), "", "stop", 1, 1, False, "k")


def ask(
    item: Item, text: str, *, seed: int = 1, attempts: int = 60, shuffle: bool = True
) -> tuple[list[Any], Chooser]:
    model = Chooser(text)
    with Sandbox() as sandbox:
        panel = Panel("b", seed, {"m": model}, PromptBook(), Grader(sandbox), shuffle=shuffle)  # type: ignore[dict-item]

        async def everything() -> list[Any]:
            return [await panel.ask(item, "m", attempt) for attempt in range(attempts)]

        return asyncio.run(everything()), model


def test_the_key_follows_its_option_and_the_letter_is_that_of_the_item() -> None:
    rows, model = ask(ITEM, "pear")
    assert {(row.outcome, row.extracted) for row in rows} == {("correct", "C")}
    rows, _ = ask(ITEM, "river")
    assert {(row.outcome, row.extracted) for row in rows} == {("wrong", "D")}
    places = Counter(re.search(r"^([A-D])\) pear$", shown, re.MULTILINE)[1] for shown in model.shown)  # type: ignore[index]
    # 15 expected at each of four places; a fair shuffle is outside of 4 to 30 once in ten thousand times.
    assert set(places) == set("ABCD")
    assert all(4 <= count <= 30 for count in places.values())


def test_the_order_is_that_of_item_model_and_attempt() -> None:
    first, other = ask(ITEM, "pear", attempts=8)[1], ask(ITEM, "pear", seed=2, attempts=8)[1]
    assert first.shown == other.shown
    assert len(set(first.shown)) > 3


def test_options_stay_where_they_may_not_move_or_nobody_wants_it() -> None:
    fixed = ("stone", "cloud", "pear", "none of the above")
    item = Item("q", "?", "C", choices=fixed, answer_type="mcq")
    assert len(set(ask(item, "pear", attempts=8)[1].shown)) == 1
    assert len(set(ask(ITEM, "pear", attempts=8, shuffle=False)[1].shown)) == 1
    ordered = Item("q", "?", "C", choices=("10", "20", "30", "40"), answer_type="mcq")
    assert len(set(ask(ordered, "30", attempts=8)[1].shown)) == 1


def test_several_right_options() -> None:
    item = Item("q", "?", "A,C", choices=("plum", "cloud", "pear", "river"), answer_type="mcq-multi")
    rows, _ = ask(item, "pear", attempts=8)
    assert {(row.outcome, row.extracted) for row in rows} == {("wrong", "C")}
