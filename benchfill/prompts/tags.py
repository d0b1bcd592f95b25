"""Items as prompts show them: text between tags whose names end in a nonce.

Item text is carried byte for byte: nothing is escaped, because no text can contain a tag with the nonce
(one that does gets another nonce). Attribute values (ids) are escaped as in HTML.
"""

from __future__ import annotations

import hashlib
import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from benchfill.errors import InputError
from benchfill.item import Item

__all__ = [
    "PromptItem",
    "attempt_tag",
    "block",
    "choices_tag",
    "full_tag",
    "make_nonce",
    "number",
    "opening",
    "reference_tag",
    "safe_nonce",
    "show_choices",
    "show_item",
    "tag",
]


@dataclass(frozen=True, slots=True)
class PromptItem:
    """An item as a prompt shows it. Difficulties are 10 z: 0-10, larger is harder.

    Parameters
    ----------
    item
        The item.
    difficulty, lo, hi
        Posterior mean and 90% interval of 10 z; None when it was not measured.
    round, target
        Of an earlier attempt: its round and the difficulty (10 z) it aimed at.
    refused
        Of an earlier attempt: stable code of the refusal or failure, empty when it was measured.
    """

    item: Item
    difficulty: float | None = None
    lo: float | None = None
    hi: float | None = None
    round: int | None = None
    target: float | None = None
    refused: str = ""


def make_nonce(*parts: str) -> str:
    """Six hex digits of a sha256 over the parts, each framed by its length."""
    framed = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(framed.encode("utf-8", "surrogatepass")).hexdigest()[:6]


def show_choices(item: Item) -> str:
    """Choices as lines ``A) text``, empty when there are none.

    Raises
    ------
    InputError
        More choices than letters.
    """
    if len(item.choices) > len(ascii_uppercase):
        raise InputError(
            f"Item {item.id} has {len(item.choices)} choices; letters reach for {len(ascii_uppercase)}.",
            "Remove the item or some of its choices.",
            kind="too_many_choices",
        )
    return "\n".join(f"{letter}) {text}" for letter, text in zip(ascii_uppercase, item.choices, strict=False))


def show_item(prompt_item: PromptItem, *, nonce: str) -> str:
    """An item in full between tags: what ``look_up_item`` returns."""
    nonce = safe_nonce(nonce, [prompt_item.item])
    return full_tag("item", prompt_item, nonce)


def safe_nonce(nonce: str, items: Iterable[Item]) -> str:
    """The nonce, or the first one derived from it with which no text of the items could form a tag."""
    texts = [t for i in items for t in (i.question, i.answer, i.solution, *i.choices)]
    while any(f"-{nonce}" in text for text in texts):
        nonce = make_nonce(nonce)
    return nonce


def number(value: float) -> str:
    """A difficulty with two decimals, without a negative zero."""
    text = f"{value:.2f}"
    return "0.00" if text == "-0.00" else text


def opening(name: str, **attributes: str) -> str:
    """An opening tag; an attribute value holds on one line whatever it contains."""
    shown = "".join(
        f' {key}="{html.escape(value).replace(chr(10), "&#10;").replace(chr(13), "&#13;")}"'
        for key, value in attributes.items()
    )
    return f"<{name}{shown}>"


def tag(name: str, text: str, nonce: str) -> str:
    """Text between an opening and a closing tag, nothing added."""
    return f"<{name}-{nonce}>{text}</{name}-{nonce}>"


def block(name: str, inner: Sequence[str], nonce: str, **attributes: str) -> str:
    """Tags one a line between an opening and a closing tag."""
    return "\n".join([opening(f"{name}-{nonce}", **attributes), *inner, f"</{name}-{nonce}>"])


def choices_tag(item: Item, nonce: str) -> list[str]:
    """The lettered choices, or nothing when the answer is free."""
    return [tag("choices", show_choices(item), nonce)] if item.choices else []


def full_tag(name: str, prompt_item: PromptItem, nonce: str) -> str:
    """An item with everything it has."""
    item = prompt_item.item
    inner = [tag("question", item.question, nonce), tag("answer", item.answer, nonce)]
    if item.solution:
        inner.append(tag("solution", item.solution, nonce))
    return block(name, [*inner, *choices_tag(item, nonce)], nonce, **_named(prompt_item))


def reference_tag(prompt_item: PromptItem, nonce: str) -> str:
    """A reference: an item without its solution, which looking it up gives."""
    return block("item", _without_solution(prompt_item.item, nonce), nonce, **_named(prompt_item))


def attempt_tag(attempt: PromptItem, nonce: str) -> str:
    """What an earlier round produced: where it landed, or why it was refused."""
    attributes: dict[str, str] = {}
    if attempt.round is not None:
        attributes["round"] = str(attempt.round)
    if attempt.target is not None:
        attributes["target"] = number(attempt.target)
    if attempt.refused:
        attributes["refused"] = attempt.refused
    else:
        for name, value in (("difficulty", attempt.difficulty), ("lo", attempt.lo), ("hi", attempt.hi)):
            if value is not None:
                attributes[name] = number(value)
    return block("attempt", _without_solution(attempt.item, nonce), nonce, **attributes)


def _named(prompt_item: PromptItem) -> dict[str, str]:
    attributes = {"id": prompt_item.item.id}
    if prompt_item.difficulty is not None:
        attributes["difficulty"] = number(prompt_item.difficulty)
    return attributes


def _without_solution(item: Item, nonce: str) -> list[str]:
    shown = [tag("question", item.question, nonce), tag("answer", item.answer, nonce)]
    return [*shown, *choices_tag(item, nonce)]
