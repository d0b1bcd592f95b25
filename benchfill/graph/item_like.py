"""What an item without a parent is held against: an item of the benchmark that is of its kind."""

from __future__ import annotations

from collections.abc import Sequence

from benchfill.errors import InputError
from benchfill.item import Item

__all__ = ["item_like"]


def item_like(originals: Sequence[Item], item: Item) -> Item:
    """The original item that a new one of no parent is held against: of its type, with the longest question.

    Raises
    ------
    InputError
        There is none (kind ``wrong_type``).
    """
    kind = (item.answer_type, len(item.choices))
    same = [each for each in originals if (each.answer_type, len(each.choices)) == kind]
    if not same:
        known = sorted({each.answer_type for each in originals})
        raise InputError(
            f"The benchmark has no item of the type {item.answer_type}"
            + (f" with {len(item.choices)} options" if item.choices else "")
            + ".",
            f"Its types are {', '.join(known)}; answer_type says which an item is of.",
            kind="wrong_type",
        )
    return max(same, key=lambda each: (len(each.question), each.id))
