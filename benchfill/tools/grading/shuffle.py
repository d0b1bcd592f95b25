"""Options in another order: the item as it is shown, with its key moved along."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchfill.item import Item
from benchfill.tools.grading.choices import key_letters, options_of
from benchfill.tools.grading.evaluation import approximate
from benchfill.tools.grading.latex import canonical_math
from benchfill.tools.grading.values import read_value

__all__ = ["in_original_letters", "may_reorder", "option_order", "shown_item", "shuffled_order"]

_REFERS = re.compile(
    r"\b(?:all|none|neither|both|any|either|some)\b.{0,20}\b(?:above|below|these|those"
    r"|of the (?:other )?(?:options|choices|answers))\b"
    r"|\b(?:both|neither)\b.{0,6}\b[A-J]\b|\b[A-J]\b\)?\s*(?:,|and|or|&)\s*\(?[A-J]\b|^\(?[ivx]+\)?(?:\s*,|\s+and)"
    r"|以上|上述|都(?:对|不)",
    re.IGNORECASE,
)


def may_reorder(item: Item) -> bool:
    """Whether the options stand in no order that means something and none speaks of the others."""
    if item.answer_type not in ("mcq", "mcq-multi") or len(item.choices) < 2 or not options_of(item).texts:
        return False
    if any(_REFERS.search(choice) for choice in item.choices):
        return False
    values = [_number(choice) for choice in item.choices]
    if len(values) > 2 and all(value is not None for value in values):
        numbers = [value for value in values if value is not None]
        return numbers != sorted(numbers) and numbers != sorted(numbers, reverse=True)
    return True


def option_order(item: Item, seed: int) -> tuple[int, ...]:
    """The order in which the options are shown: place i shows option ``order[i]``; as written where order matters."""
    count = len(item.choices)
    if not may_reorder(item):
        return tuple(range(count))
    return tuple(int(index) for index in np.random.default_rng(seed).permutation(count))


def shuffled_order(item: Item, seed: int) -> tuple[int, ...]:
    """As `option_order`; empty where the options stay as written, or the key names none that could be followed."""
    order = option_order(item, seed)
    return order if list(order) != sorted(order) and key_letters(item) else ()


def shown_item(item: Item, order: Sequence[int]) -> Item:
    """The item with its options in the shown order and the key letters following their options.

    Raises
    ------
    ValueError
        ``order`` is no permutation of the options, or the key names none of them.
    """
    if sorted(order) != list(range(len(item.choices))):
        raise ValueError(f"the shown order {list(order)} is no order of {len(item.choices)} options")
    letters = options_of(item).letters
    key = key_letters(item)
    if not key:
        raise ValueError(f"the key {item.answer!r} of item {item.id} names no option")
    places = sorted(order.index(letters.index(letter)) for letter in key)
    moved = ",".join(letters[place] for place in places)
    return replace(item, choices=tuple(item.choices[index] for index in order), answer=moved)


def in_original_letters(extracted: str | None, order: Sequence[int]) -> str | None:
    """Chosen letters of a shown order, like "B" or "A, C", as letters of the options as written.

    What is no choice of these options, such as the words of a grading model, stays as it is.
    """
    letters = extracted.split(", ") if extracted else []
    places = [ord(letter) - ord("A") if len(letter) == 1 else -1 for letter in letters]
    if not places or not all(0 <= place < len(order) for place in places):
        return extracted
    return ", ".join(sorted(chr(ord("A") + order[place]) for place in places))


def _number(choice: str) -> float | None:
    value = read_value(canonical_math(choice), units="first")
    try:
        return None if value is None else approximate(value.node, {}).real
    except (ArithmeticError, ValueError, KeyError):
        return None
