"""Questions, options and keys out of what logs show of an item, and items out of these."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from benchfill.item import Item
from benchfill.logs.answer_types import infer_answer_type
from benchfill.logs.choices import KeyFault, Options, read_options
from benchfill.logs.harness.record import ItemText, fingerprint
from benchfill.logs.json_records import JsonNumber

__all__ = ["content_text", "first_text", "prompt_frame", "split_options", "text_fingerprint", "to_item"]

_SURROGATE = re.compile("[\ud800-\udfff]")
_FINAL_ANSWER = re.compile(r"\n?####\s*(.+?)\s*\Z")
_OPTION = re.compile(r"\(?([A-Z])[).:]\s+(.*)")
_BLANKS = re.compile(r"\s+")


def to_item(name: str, text: ItemText, extra: Mapping[str, Any]) -> Item:
    """The item of a log's text.

    Raises
    ------
    KeyFault
        The log does not have enough of it for an item file: no question, no key, options or key unusable.
    """
    if not text.question.strip():
        raise KeyFault("missing_field", "no question")
    parts = text.key if isinstance(text.key, list) else [text.key]
    keys = [_plain(part) for part in parts if part is not None and _plain(part).strip()]
    if not keys:
        raise KeyFault("missing_field", "no key")
    everything = [text.question, text.solution, *keys]
    options = read_options(text.choices) if text.choices not in (None, []) else None
    if any(_SURROGATE.search(each) for each in (*everything, *(options.texts if options else ()))):
        raise KeyFault("bad_text", "half of a surrogate pair, which is no character")
    if options is not None:
        letters = sorted({_letter(options, key, text.key_form) for key in keys})
        return Item(
            id=name,
            question=text.question,
            answer=",".join(letters),
            solution=text.solution,
            choices=options.texts,
            answer_type="mcq" if len(letters) == 1 else "mcq-multi",
            extra=dict(extra),
        )
    answer, solution = keys[0], text.solution
    # GSM8K's key is the worked solution with the answer behind four hash signs.
    final = _FINAL_ANSWER.search(answer)
    if final and final.start() > 0:
        answer, solution = final[1], solution or answer
    others = {"accepted_answers": keys} if len(keys) > 1 else {}
    return Item(
        id=name,
        question=text.question,
        answer=answer,
        solution=solution,
        answer_type=infer_answer_type(answer, choices=False),
        extra={**extra, **others},
    )


def text_fingerprint(text: ItemText | None) -> str:
    """Fingerprint of question and options, whatever their order; empty when there is no question."""
    if text is None or not text.question.strip():
        return ""
    try:
        options = sorted(_squeeze(each) for each in read_options(text.choices).texts) if text.choices else []
    except KeyFault:
        options = []
    return fingerprint(_squeeze(text.question), *options)


def content_text(content: Any) -> str:
    """Text of a chat message's content: text, or the text parts of a list."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "\n".join(part for part in parts if isinstance(part, str))
    return str(content) if isinstance(content, str) else ""


def first_text(record: Any, names: Sequence[str]) -> str:
    """The first of these fields that holds text."""
    if isinstance(record, dict):
        for name in names:
            value = record.get(name)
            if isinstance(value, str) and value.strip() and not isinstance(value, JsonNumber):
                return value
    return ""


def prompt_frame(prompts: Sequence[str]) -> tuple[int, int]:
    """Lengths of what all prompts share in front and behind, in whole lines: instructions and examples.

    Zero and zero when there are fewer than two different prompts.
    """
    different = sorted(set(prompts))
    if len(different) < 2:
        return 0, 0
    # The first and last of sorted texts share what all share.
    front = _shared(different[0], different[-1])
    turned = sorted(each[::-1] for each in different)
    back = _shared(turned[0], turned[-1])
    shortest = min(map(len, different))
    front = different[0].rfind("\n", 0, front) + 1
    tail = different[0][len(different[0]) - back :]
    lines = tail.split("\n")[1:]
    # The last options of a question may be the same everywhere ("D) none of these"): they are not instructions.
    options = [place for place, line in enumerate(lines, 1) if _OPTION.fullmatch(line.strip())]
    lines = lines[max(options, default=0) :]
    back = len("\n".join(["", *lines])) if lines else 0
    return (front, back) if front + back < shortest else (0, 0)


def split_options(question: str) -> tuple[str, list[str]]:
    """A question and the options that stand under it as lines ``A) ...``, ``B) ...``; none when there are not two."""
    lines = question.rstrip().split("\n")
    for start in range(len(lines)):
        found = [_OPTION.fullmatch(line.strip()) for line in lines[start:]]
        options = [match[2] for match in found if match]
        letters = "".join(match[1] for match in found if match)
        if (
            len(options) == len(found) >= 2
            and letters == string.ascii_uppercase[: len(letters)]
            and all(map(str.strip, options))
        ):
            return "\n".join(lines[:start]).rstrip(), options
    return question, []


def _letter(options: Options, key: str, form: str) -> str:
    if form == "index" and key.isascii() and key.isdigit() and int(key) < len(options.texts):
        return string.ascii_uppercase[int(key)]
    letter = key.strip().upper()
    if form == "letter" and len(letter) == 1 and letter in string.ascii_uppercase[: len(options.texts)]:
        return letter
    if form == "text" and list(options.texts).count(key) == 1:
        return string.ascii_uppercase[options.texts.index(key)]
    return options.letter(key)[0]


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str) else ""


def _shared(left: str, right: str) -> int:
    return next(
        (index for index, (a, b) in enumerate(zip(left, right, strict=False)) if a != b),
        min(len(left), len(right)),
    )


def _squeeze(text: str) -> str:
    return _BLANKS.sub(" ", unicodedata.normalize("NFC", text)).strip()
