"""What the roles read out of their prompts: tagged blocks whose names carry a nonce."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchfill.worlds.chat import ChatRequest

__all__ = ["Block", "JudgePrompt", "PromptItem", "RewritePrompt", "read_judge", "read_rewrite"]

_ATTRIBUTE = re.compile(r'([a-z_]+)="([^"]*)"')
_TASK = re.compile(r"<task(?:-(?P<nonce>[0-9a-f]+))?(?P<attributes>\s[^<>]*?)?\s*/?>")
_ITEM = re.compile(r"<item(?:-(?P<nonce>[0-9a-f]+))?>")


@dataclass(frozen=True, slots=True)
class Block:
    """A tagged part of a prompt."""

    attributes: Mapping[str, str]
    body: str


def _attributes(text: str | None) -> dict[str, str]:
    return {name: html.unescape(value) for name, value in _ATTRIBUTE.findall(text or "")}


def _blocks(text: str, name: str, nonce: str) -> Iterator[Block]:
    """Blocks of a name under exactly this nonce, so that a tag inside an item's text is only text."""
    tag = re.escape(f"{name}-{nonce}" if nonce else name)
    for match in re.finditer(rf"<{tag}(\s[^<>]*)?>(.*?)</{tag}>", text, re.DOTALL):
        yield Block(_attributes(match.group(1)), match.group(2))


def _part(text: str, name: str, nonce: str) -> str:
    return next((block.body.strip() for block in _blocks(text, name, nonce)), "")


def _float(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class PromptItem:
    """An item as a prompt shows it; difficulties on the 0-10 scale, None where none is stated."""

    id: str
    question: str
    answer: str
    solution: str
    choices: str
    difficulty: float | None
    lo: float | None
    hi: float | None
    target: float | None
    refused: str


@dataclass(frozen=True, slots=True)
class RewritePrompt:
    """What the rewriter is asked for."""

    target: float
    writer: int
    of: int
    round: int
    parent: PromptItem
    references: tuple[PromptItem, ...]
    earlier: tuple[PromptItem, ...]


@dataclass(frozen=True, slots=True)
class JudgePrompt:
    """What the judge is asked about; ``key`` is None as long as it has not been revealed."""

    question: str
    choices: str
    key: str | None
    solution: str


def _item(block: Block, nonce: str) -> PromptItem:
    given = block.attributes
    return PromptItem(
        id=given.get("id", ""),
        question=_part(block.body, "question", nonce),
        answer=_part(block.body, "answer", nonce),
        solution=_part(block.body, "solution", nonce),
        choices=_part(block.body, "choices", nonce),
        difficulty=_float(given.get("difficulty")),
        lo=_float(given.get("lo")),
        hi=_float(given.get("hi")),
        target=_float(given.get("target")),
        refused=given.get("refused", ""),
    )


def read_rewrite(request: ChatRequest) -> RewritePrompt | None:
    """The rewriter's task, None when the conversation holds none that can be read."""
    for text in request.texts("user"):
        task = _TASK.search(text)
        if task is None:
            continue
        nonce = task["nonce"] or ""
        given = _attributes(task["attributes"])
        target = _float(given.get("target"))
        parents = list(_blocks(text, "parent", nonce))
        if target is None or not parents:
            return None
        listed = [
            block
            for part in _blocks(text, "references", nonce)
            for block in _blocks(part.body, "item", nonce)
        ]
        tried = [
            block
            for part in _blocks(text, "earlier", nonce)
            for block in _blocks(part.body, "attempt", nonce)
        ]
        return RewritePrompt(
            target=target,
            writer=int(_float(given.get("writer")) or 1),
            of=int(_float(given.get("of")) or 1),
            round=int(_float(given.get("round")) or 1),
            parent=_item(parents[0], nonce),
            references=tuple(_item(block, nonce) for block in listed),
            earlier=tuple(_item(block, nonce) for block in tried),
        )
    return None


def read_judge(request: ChatRequest) -> JudgePrompt | None:
    """The item the judge is shown, None when the conversation holds none that can be read."""
    texts = request.texts("user")
    for place, text in enumerate(texts):
        opening = _ITEM.search(text)
        if opening is None:
            continue
        nonce = opening["nonce"] or ""
        block = next(_blocks(text, "item", nonce), None)
        if block is None:
            return None
        later = "\n".join(texts[place + 1 :])
        keys = [found.body.strip() for found in _blocks(later, "key", nonce)]
        return JudgePrompt(
            question=_part(block.body, "question", nonce),
            choices=_part(block.body, "choices", nonce),
            key=keys[0] if keys else None,
            solution=_part(later, "solution", nonce),
        )
    return None
