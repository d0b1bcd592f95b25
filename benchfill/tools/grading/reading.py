"""From the content of a statement to the words that are the answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from benchfill.tools.grading.evaluation import TooLarge, exact
from benchfill.tools.grading.latex import canonical_math
from benchfill.tools.grading.values import read_value

__all__ = [
    "Reading",
    "first_statement",
    "last_number",
    "math_spans",
    "read_phrase",
    "read_quantity",
    "undecorated",
]

_DECORATION = re.compile(r"\*\*|__|`+|(?<!\w)\*(?=\S)|(?<=\S)\*(?!\w)")
_DISPLAY = re.compile(r"\s*(?:\$\$(.+?)\$\$|\\\[(.+?)\\\]|\\\((.+?)\\\))", re.DOTALL)
_SENTENCE_END = re.compile(r"\n|[.!?](?=[\s\"')*\]}]|$)(?!\s*\d+\s*$)|(?<=[\u3040-\u9fff])[.;]")
_MATH_SPAN = re.compile(
    r"\$\$.{1,600}?\$\$|(?<!\\)\$(?=[^\s$])[^$\n]{0,400}?(?<=[^\s$\\])\$(?!\d)|\\\(.{1,600}?\\\)|\\\[.{1,600}?\\\]"
    r"|\\begin\{(\w+)\}.{0,1200}?\\end\{\1\}",
    re.DOTALL,
)
_ALTERNATIVE = re.compile(
    r"^\s*,?\s*(?:or|oder|ou|或|或者|and|und|et|和|/)\s*(?:maybe|perhaps|possibly|it is|even)?\s*$",
    re.IGNORECASE,
)
_ENUMERATION = re.compile(r"^\s*,\s*$")
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


def undecorated(text: str) -> str:
    """Text without emphasis and code marks."""
    return _DECORATION.sub("", text).strip().strip("\"'").strip()


def first_statement(content: str) -> str:
    """The first sentence of what follows a cue, with formulas kept whole."""
    content = content.lstrip(" \t\n*_`:")
    display = _DISPLAY.match(content)
    if display:
        return content[: display.end()]
    spans = [match.span() for match in _MATH_SPAN.finditer(content)]
    for end in _SENTENCE_END.finditer(content):
        if not any(start < end.start() < stop - 1 for start, stop in spans):
            return content[: end.start()]
    return content


def math_spans(text: str) -> list[str]:
    """Formulas between delimiters, in order."""
    return [match.group() for match in _MATH_SPAN.finditer(text)]


def joined_math_spans(text: str) -> list[str]:
    """Formulas in order, those that are joined by commas or "and" as one."""
    spans: list[str] = []
    end = -1
    for match in _MATH_SPAN.finditer(text):
        if end >= 0 and re.fullmatch(r"\s*,?\s*(?:and|or|und|oder|和|或)?\s*", text[end : match.start()]):
            spans[-1] += ", " + match.group()
        else:
            spans.append(match.group())
        end = match.end()
    return spans


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
    units = "last" if symbolic else "first"
    text = canonical_math(undecorated(content))
    marks = ".,;: " if delimited or symbolic or content.rstrip().endswith(("$", "\\)", "\\]")) else ".,;:!? "
    text = text.rstrip(marks)
    if not text:
        return None
    precise, approximation, _ = text.partition("≈")
    if approximation and precise.strip():
        text = precise.strip()  # "\\sqrt{2} ≈ 1.414" answers the root
    whole = _whole(text, units)
    if whole is not None:
        return Reading(whole)
    found = list(_VALUE.finditer(text))
    if found and _hedged(text, found):
        return Reading(found[0].group().strip(), direct=_begins(text, found[0]), hedged=True)
    if not delimited and not symbolic:
        prefix = _prefix(text, symbolic=False)
        if prefix is not None:
            return Reading(prefix)
    if "=" in text:
        behind = re.split(r"(?<![<>!])=", text)[-1].strip()
        side = _whole(behind, units) or (None if delimited else _prefix(behind, symbolic=symbolic))
        if side is not None:
            return Reading(side, chain=re.search(r"\d", text.split("=")[0]) is not None)
    prefix = _prefix(text, symbolic=symbolic)
    if prefix is not None and not delimited:
        return Reading(prefix)
    spans = [canonical_math(span) for span in math_spans(content)]
    readable = [
        value for value in (_whole(span, units) or _last_side(span, units) for span in spans) if value
    ]
    if readable and symbolic:
        return Reading(readable[-1], direct=content.lstrip(" *_").startswith(("$", "\\(", "\\[")))
    if found:
        return Reading(found[-1].group().strip(), direct=False)
    word = re.fullmatch(r"(?:the )?(?:number )?([a-z]+)(?: \w+)?", text.lower())
    if word and word.group(1) in _WORDS_FOR_NUMBERS and not symbolic:
        return Reading(str(_WORDS_FOR_NUMBERS[word.group(1)]))
    return None


def _whole(text: str, units: str) -> str | None:
    return text if read_value(text, units=units) is not None else None  # type: ignore[arg-type]


def _last_side(text: str, units: str) -> str | None:
    return _whole(re.split(r"(?<![<>!])=", text)[-1].strip(), units) if "=" in text else None


def _begins(text: str, match: re.Match[str]) -> bool:
    return not re.search(r"[^\W\d_]", text[: match.start()])


def _prefix(text: str, *, symbolic: bool) -> str | None:
    """The longest beginning that is one value; whatever follows must not continue it."""
    ends = [
        match.start()
        for match in re.finditer(
            r"(?<=\S)(?:[\s,;:(]|[\u3040-\u9fff\uac00-\ud7af]|[.!?](?=\s|$))", text[:300]
        )
    ]
    for end in reversed(ends[:40]):
        part = text[:end].strip()
        value = read_value(part, units="none") if part else None
        if value is None or re.match(r"\s*[-+*/^=]", text[end:]):
            continue
        if not symbolic and re.search(r"(?<![a-zA-Z\\])[a-zA-Z](?![a-zA-Z])", part):
            continue
        return part
    return None


def _hedged(text: str, found: list[re.Match[str]]) -> bool:
    """Values in a chain of commas that ends in "or" or "and"."""
    for first, second in pairwise(found):
        between = text[first.end() : second.start()]
        if _ALTERNATIVE.match(between) and not _same_number(first.group(), second.group()):
            return True
    return False


def _same_number(a: str, b: str) -> bool:
    values = [read_value(text.strip(), units="first") for text in (a, b)]
    try:
        numbers = [None if value is None else exact(value.node) for value in values]
    except TooLarge:
        return False
    return numbers[0] is not None and numbers[0] == numbers[1]


def last_number(text: str) -> Reading | None:
    """The last value of running text that declares no answer, with the sentence around it looked at for hedging."""
    canonical = canonical_math(undecorated(text[-3000:]))
    aside = re.sub(r"(?<=\s)\([^()]{1,120}\)", " ", canonical)
    canonical = aside if _VALUE.search(aside) else canonical
    found = list(_VALUE.finditer(canonical))
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
