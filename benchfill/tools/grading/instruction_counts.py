"""Constraints that count: words, sentences, paragraphs, keywords, letters, words in capitals.

A check gets the text and its arguments and says what is wrong in one line, or nothing.
"""

from __future__ import annotations

import re
from typing import Any

__all__ = [
    "RELATIONS",
    "capital_words",
    "count_sentences",
    "count_words",
    "first_word",
    "forbidden_words",
    "keyword_frequency",
    "keywords_exist",
    "letter_frequency",
    "number_paragraphs",
    "number_sentences",
    "number_words",
    "related",
]

RELATIONS = ("at least", "less than", "at most", "more than", "exactly")

# Han and kana are written without blanks: every character counts, as word processors count them.
_WORD = re.compile(r"[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff]|[^\W\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+")
_WITHOUT_BLANKS = re.compile("[\u0e00-\u0e7f\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_SENTENCE_END = re.compile(
    r"(?P<stop>[.!?…]+)[\"'”’»)\]*_]*(?=\s|\Z)|[。！？]+[”」』）]*|[।؟۔][\"'”»)]*(?=\s|\Z)"
)
_SHORT_FORMS = (
    "mr mrs ms dr prof st vs fig figs vol eds al approx dept est gen gov sen rep rev hon capt col lt sgt "
    "jan feb mar apr jun jul aug sept oct nov dec e.g i.e cf bzw usw z.b d.h"
)
_ABBREVIATIONS = frozenset(_SHORT_FORMS.split())
# These may end a sentence: they do before a capital letter.
_CLOSING = frozenset(["etc", "inc", "ltd", "corp", "co", "jr", "sr", "a.m", "p.m", "u.s"])
_LAST_WORD = re.compile(r"[\w.]+\Z")
_CAPITALS = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def related(count: int, relation: str, bound: int, what: str) -> str:
    """What is wrong about a count, empty when it stands in the relation to its bound."""
    holds = {
        "at least": count >= bound,
        "less than": count < bound,
        "at most": count <= bound,
        "more than": count > bound,
        "exactly": count == bound,
    }[relation]
    return "" if holds else f"{count} {what}, {relation} {bound} wanted"


def count_words(text: str) -> int:
    """Runs of letters, digits and underscores; each Han or kana character is one."""
    return sum(1 for _ in _WORD.finditer(text))


def count_sentences(text: str) -> int:
    """Sentences by their end marks; not after abbreviations, initials and the numbers of a list."""
    count, start = 0, 0
    for end in _SENTENCE_END.finditer(text):
        if end.group("stop") == "." and _no_end(text, start, end.start(), end.end()):
            continue
        if re.search(r"\w", text[start : end.end()]):
            count += 1
        start = end.end()
    return count + (re.search(r"\w", text[start:]) is not None)


def _no_end(text: str, start: int, stop: int, end: int) -> bool:
    """Whether a single stop ends an abbreviation, an initial or a number in front of a line."""
    word = _LAST_WORD.search(text, max(start, stop - 40), stop)
    if word is None or end >= len(text):
        return False
    if word.group().isdigit():
        line = text.rfind("\n", 0, word.start()) + 1
        return not text[line : word.start()].strip()
    lone = len(word.group()) == 1 and word.group().isupper() and word.group() != "I"
    short = word.group().casefold()
    return (
        lone or short in _ABBREVIATIONS or (short in _CLOSING and text[end : end + 40].lstrip()[:1].islower())
    )


def number_words(text: str, given: dict[str, Any]) -> str:
    return related(count_words(text), given["relation"], given["num_words"], "words")


def number_sentences(text: str, given: dict[str, Any]) -> str:
    return related(count_sentences(text), given["relation"], given["num_sentences"], "sentences")


def number_paragraphs(text: str, given: dict[str, Any]) -> str:
    """Paragraphs between the dividers ``***``."""
    parts = re.split(r"\s?\*{3}\s?", text)
    inner = parts[1:-1]
    if any(not part.strip() for part in inner):
        return "a paragraph between two dividers is empty"
    return related(
        sum(bool(part.strip()) for part in parts), "exactly", given["num_paragraphs"], "paragraphs"
    )


def first_word(text: str, given: dict[str, Any]) -> str:
    """First word of one paragraph, paragraphs parted by blank lines."""
    paragraphs = [part.strip() for part in re.split(r"\n[ \t]*\n", text) if part.strip()]
    wrong = related(len(paragraphs), "exactly", given["num_paragraphs"], "paragraphs")
    if wrong:
        return wrong
    place = given["nth_paragraph"]
    if place > len(paragraphs):
        return f"there is no paragraph {place}"
    wanted = given["first_word"].strip()
    found = paragraphs[place - 1].lstrip("\"'“‘«([*_# ")
    beginning = found[: len(wanted)].casefold() == wanted.casefold()
    whole = beginning and not re.match(r"\w", found[len(wanted) :])
    return (
        ""
        if whole or (beginning and _WITHOUT_BLANKS.search(wanted))
        else f"paragraph {place} begins otherwise"
    )


def keywords_exist(text: str, given: dict[str, Any]) -> str:
    lowered = text.casefold()
    missing = [word for word in given["keywords"] if word.casefold() not in lowered]
    return f"without {missing[0]!r}" if missing else ""


def keyword_frequency(text: str, given: dict[str, Any]) -> str:
    times = text.casefold().count(given["keyword"].strip().casefold())
    return related(times, given["relation"], given["frequency"], f"times {given['keyword']!r}")


def forbidden_words(text: str, given: dict[str, Any]) -> str:
    for word in given["forbidden_words"]:
        pattern = re.escape(word.strip())
        if not _WITHOUT_BLANKS.search(word):
            pattern = rf"(?<!\w){pattern}(?!\w)"
        if re.search(pattern, text, re.IGNORECASE):
            return f"with the forbidden {word!r}"
    return ""


def letter_frequency(text: str, given: dict[str, Any]) -> str:
    letter = given["letter"].strip()
    count = text.casefold().count(letter.casefold())
    return related(count, given["let_relation"], given["let_frequency"], f"times the letter {letter!r}")


def capital_words(text: str, given: dict[str, Any]) -> str:
    count = sum(word.group().isupper() for word in _CAPITALS.finditer(text))
    return related(count, given["capital_relation"], given["capital_frequency"], "words in capitals")
