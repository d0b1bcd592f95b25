"""A phrase that should hold one value: which of its words are the value, and whether it offers several."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from benchfill.tools.grading.evaluation import TooLarge, exact
from benchfill.tools.grading.latex import canonical_math
from benchfill.tools.grading.reading import math_spans, undecorated
from benchfill.tools.grading.values import COMPOUND, read_value

__all__ = ["Reading", "last_number", "read_phrase", "read_quantity"]

_OR = r"(?:or|oder|ou|或|或者|to|/)"
_AND = r"(?:and|und|et|和)"
_ALTERNATIVE = re.compile(
    rf"^\s*,?\s*(?:{_OR}|{_AND})\s*(?:maybe|perhaps|possibly|it is|even)?\s*(?:[a-zA-Z]\w?\s*=\s*)?$",
    re.IGNORECASE,
)
_ENUMERATION = re.compile(r"^\s*,\s*(?:[a-zA-Z]\w?\s*=\s*)?$")
_ALTERNATIVE_BEHIND = re.compile(rf"^\s*,?\s*(?:{_OR}|{_AND})\s+(?=\S)", re.IGNORECASE)
_EXCLUDED = re.compile(
    r"(?:\bnot|n't|\bthan|\bat (?:least|most)|\b(?:over|under|above|below|except))\s+(?:equal to\s+)?$",
    re.IGNORECASE,
)
_NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:[eE][+-]?\d+(?![\da-zA-Z]))?|\.\d+"
_VALUE = re.compile(
    rf"(?<![A-Za-z0-9_.\\^{{])(?:(?<![\w)\]}}%])[-+]\s?|(?<=\s)-\s?(?=\d))?"
    rf"(?:(?:\d+\s*)?\\frac\s*(?:\{{[^{{}}]{{1,60}}\}}|\d)\s*(?:\{{[^{{}}]{{1,60}}\}}|\d)"
    rf"|\d+\s+\d+\s*/\s*\d+"
    rf"|(?:{_NUMBER})(?:\s*/\s*(?:{_NUMBER}))?)"
    rf"(?:\s*\*\s*10\s*\^\s*(?:\{{\s*-?\d+\s*\}}|-?\d+)|\s*\^\s*(?:\{{\s*-?\d+\s*\}}|-?\d+))?"
    rf"(?:\s*(?:%|per ?cent\b|pct\b))?"
)
_NUMBER_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty"
)
_WORDS_FOR_NUMBERS = {word: value for value, word in enumerate(_NUMBER_WORDS.split())}


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read as the answer.

    Parameters
    ----------
    text
        Canonical text of the value.
    direct
        The statement begins with it, so that it is a statement of this value and not prose around numbers.
    hedged
        Several different values are offered side by side.
    chain
        It is the last side of an equation of numbers, as in "5 + 3 = 8": a statement or a check of one.
    """

    text: str
    direct: bool = True
    hedged: bool = False
    chain: bool = False


def read_phrase(content: str, *, delimited: bool, symbolic: bool) -> Reading | None:
    """Read a phrase that should hold one value.

    Parameters
    ----------
    content
        Content of a box (``delimited``) or the sentence behind a cue.
    symbolic
        Whether the value may hold letters: then "3x" is a product and words end it; else letters behind a number
        are its unit.
    """
    units: Literal["first", "last"] = "last" if symbolic else "first"
    text = _phrase_text(content, keep_marks=delimited or symbolic)
    if not text:
        return None
    if read_value(text, units=units) is not None:
        return Reading(text)
    found = _numbers(text)
    if _hedged(text, found):
        return Reading(found[0].group().strip(), direct=_begins(text, found[0]), hedged=True)
    compound = COMPOUND.match(text)
    if compound and read_value(compound.group(), units="first") is not None:
        return Reading(compound.group())
    prefix = None if delimited else _prefix(text, symbolic=symbolic)
    if prefix is not None and not (symbolic and "=" in text):
        return prefix
    side = _last_side(text, delimited=delimited, symbolic=symbolic)
    if side is not None or prefix is not None:
        return side or prefix
    if symbolic:
        return _formula(content) or (None if delimited else _number_in(text, found))
    return _number_in(text, found, alone=delimited) or _number_word(text)


def _phrase_text(content: str, *, keep_marks: bool) -> str:
    """Canonical text without what ends a sentence, and of "\\sqrt{2} ≈ 1.414" the root."""
    text = canonical_math(undecorated(content))
    formula = content.rstrip().endswith(("$", "\\)", "\\]"))
    text = text.rstrip(".,;: " if keep_marks or formula else ".,;:!? ")
    precise, approximation, _ = text.partition("≈")
    return precise.strip() if approximation and precise.strip() else text


def _numbers(text: str) -> list[re.Match[str]]:
    """Numbers that stand for themselves: not part of a formula, and not what the answer is said not to be."""
    return [
        match
        for match in _VALUE.finditer(text)
        if not _EXCLUDED.search(text[max(0, match.start() - 30) : match.start()])
        and not re.match(r"\s*[\\^_*/]", text[match.end() : match.end() + 4])
        and not re.search(r"[*/]\s*$", text[max(0, match.start() - 4) : match.start()])
    ]


def _last_side(text: str, *, delimited: bool, symbolic: bool) -> Reading | None:
    """The last side of an equation."""
    if "=" not in text:
        return None
    chain = re.search(r"\d", text.split("=")[0]) is not None
    behind = re.split(r"(?<![<>!])=", text)[-1].strip()
    if read_value(behind, units="last" if symbolic else "first") is not None:
        return Reading(behind, chain=chain)
    prefix = None if delimited else _prefix(behind, symbolic=symbolic)
    return None if prefix is None else Reading(prefix.text, prefix.direct, prefix.hedged, chain)


def _formula(content: str) -> Reading | None:
    """The last formula between delimiters that is a value, or whose last side is one."""
    for span in reversed(math_spans(content)):
        text = canonical_math(span).rstrip(".,; ")
        for part in (text, re.split(r"(?<![<>!])=", text)[-1].strip()):
            if read_value(part) is not None:
                return Reading(part, direct=content.lstrip(" *_").startswith(("$", "\\(", "\\[")))
    return None


def _number_in(text: str, found: Sequence[re.Match[str]], *, alone: bool = False) -> Reading | None:
    """The last number among words; ``alone``: only when there is one and nothing but words around it."""
    if not found or (alone and len({match.group().strip() for match in found}) > 1):
        return None
    last = found[-1]
    if alone and re.search(r"[\\^_=+*/<>|{}]", text[: last.start()] + text[last.end() :]):
        return None
    return Reading(last.group().strip(), direct=False)


def _number_word(text: str) -> Reading | None:
    word = re.fullmatch(r"(?:the )?(?:number )?([a-z]+)(?: \w+)?", text.lower())
    if word and word.group(1) in _WORDS_FOR_NUMBERS:
        return Reading(str(_WORDS_FOR_NUMBERS[word.group(1)]))
    return None


def _begins(text: str, match: re.Match[str]) -> bool:
    before = text[: match.start()]
    return not re.search(r"[^\W\d_]", before) or re.fullmatch(r"\s*[a-zA-Z]\w?\s*=\s*", before) is not None


def _prefix(text: str, *, symbolic: bool) -> Reading | None:
    """The longest beginning that is one value; whatever follows must not continue it."""
    stops = r"(?<=\S)(?:[\s,;:(]|[\u3040-\u9fff\uac00-\ud7af]|[.!?](?=\s|$))"
    ends = [match.start() for match in re.finditer(stops, text[:300])]
    for end in reversed(ends[:40]):
        part = text[:end].strip()
        value = read_value(part, units="none") if part else None
        if value is None or re.match(r"\s*!?\s*[-+*/^=]", text[end:]):
            continue
        if not symbolic and re.search(r"(?<![a-zA-Z\\])[a-zA-Z](?![a-zA-Z])", part):
            continue
        behind = _ALTERNATIVE_BEHIND.match(text[end:]) if symbolic else None
        other = _prefix(text[end + behind.end() :] + " ", symbolic=True) if behind else None
        return Reading(part, hedged=other is not None)
    return None


def _hedged(text: str, found: Sequence[re.Match[str]]) -> bool:
    """Different values side by side: joined by "or" or "and", or nothing but a list of them."""
    listed = bool(found) and _begins(text, found[0])
    for first, second in pairwise(found):
        between = text[first.end() : second.start()]
        if _ALTERNATIVE.match(between) and not _same_number(first.group(), second.group()):
            return True
        listed = listed and bool(_ENUMERATION.match(between))
    different = len({match.group().strip() for match in found}) > 1
    return listed and different and not re.search(r"\w", text[found[-1].end() :])


def _same_number(a: str, b: str) -> bool:
    values = [read_value(text.strip(), units="first") for text in (a, b)]
    try:
        numbers = [None if value is None else exact(value.node) for value in values]
    except TooLarge:
        return False
    return numbers[0] is not None and numbers[0] == numbers[1]


def last_number(text: str) -> Reading | None:
    """The last value of running text that declares no answer, with what stands beside it looked at for hedging."""
    canonical = canonical_math(undecorated(text[-3000:]))
    aside = re.sub(r"(?<=\s)\([^()]{1,120}\)", " ", canonical)
    canonical = aside if _VALUE.search(aside) else canonical
    found = _numbers(canonical)
    if not found:
        return None
    last = found[-1]
    nearby = [match for match in found if match.start() >= canonical.rfind(". ", 0, last.start())]
    return Reading(last.group().strip(), direct=False, hedged=_hedged(canonical, nearby[-3:]))


_UNIT_PHRASE = re.compile(
    r"\s*(?:°\s*[CF]?\b|°|(?:(?:square|cubic|sq|cu)\.?\s+)?(?!(?:or|and|is|in|if|of|to|so|as|at|by)\b)[^\W\d_]{1,24}"
    r"(?:\s*\^\s*\{?\s*-?\d\s*\}?|\s+(?:squared|cubed)\b)?"
    r"(?:\s*(?:/|\bper\b|\ban?\b)\s*[^\W\d_]{1,24}(?:\s*\^\s*\{?\s*-?\d\s*\}?)?)?)"
)


def read_quantity(content: str, *, delimited: bool, symbolic: bool) -> Reading | None:
    """A value with the unit behind it, as far as that unit goes."""
    reading = read_phrase(content, delimited=delimited, symbolic=symbolic)
    if reading is None:
        return None
    text = canonical_math(undecorated(content))
    place = text.rfind(reading.text)
    if place < 0 or read_value(reading.text, units="first") is None:
        return reading
    if getattr(read_value(reading.text, units="first"), "unit", ()):
        return reading
    unit = _UNIT_PHRASE.match(text, place + len(reading.text))
    if unit is None or not unit.group().strip():
        return reading
    return Reading(reading.text + " " + unit.group().strip(), reading.direct, reading.hedged)
