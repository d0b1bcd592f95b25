"""The answer of a response, by answer type: which of its statements counts and which words of it are the answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from benchfill.item import AnswerType
from benchfill.tools.grading.comparison import readable
from benchfill.tools.grading.declarations import Declaration, Declared
from benchfill.tools.grading.latex import canonical_math
from benchfill.tools.grading.phrases import Reading, last_number, read_phrase, read_quantity
from benchfill.tools.grading.reading import (
    first_statement,
    joined_math_spans,
    math_spans,
    text_lines,
    undecorated,
)
from benchfill.tools.grading.words import clauses, plain_words, read_time, read_yes_no

__all__ = ["Answer", "find_answer"]

LONGEST_LINE = 400

_COPULA = re.compile(
    r"\A.*(?:\b(?:is|are|was|be|equals?|equal to|gives?|get|obtain|have|to|of|at)\b|:(?=\s)|(?<![<>!])=)\s*(?=\S)",
    re.DOTALL,
)
_REFUSAL = re.compile(
    r"\b(?:(?:can(?:not|'t| not)|could ?n[o']t|unable to|impossible to)\s+(?:be\s+)?"
    r"(?:help|determine|answer|solve|assist)"
    r"|not enough information|insufficient information)",
    re.IGNORECASE,
)
_BRACKETED = re.compile(r"(?:\\\{|[(\[]).*(?:\\\}|[)\]])")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a response answers.

    Parameters
    ----------
    text
        The answer alone.
    declared
        It was stated as the answer, not just found last in the text.
    hedged
        Several values were offered where one is asked for.
    readable
        It has the form its answer type needs.
    """

    text: str
    declared: bool
    hedged: bool = False
    readable: bool = True


def find_answer(
    kind: AnswerType, text: str, declared: Declared, *, symbolic: bool, undeclared: bool
) -> Answer | None:
    """The answer that counts: the last statement in which one can be read.

    Parameters
    ----------
    kind
        Answer type, other than multiple choice.
    text
        Cleaned response.
    declared
        Its statements.
    symbolic
        The key holds letters or roots, so the answer may.
    undeclared
        Whether a response without a statement is read by its last value.
    """
    read = _reader(kind, symbolic)
    weak: Answer | None = None
    delimited_before = [one.start for one in declared.declarations if one.delimited]
    for statement in reversed(declared.declarations):
        content = statement.content if statement.delimited else first_statement(statement.content)
        reading = read(content, statement.delimited)
        if reading is None:
            if statement.delimited and undecorated(content):
                return Answer(undecorated(content), declared=True, readable=False)
            continue
        answer = Answer(reading.text, declared=True, hedged=reading.hedged)
        after_box = any(start < statement.start for start in delimited_before)
        if statement.delimited or (reading.direct and not (after_box and reading.chain)):
            return answer
        if not after_box and _short(statement, content):
            return answer
        weak = weak or answer
    if weak is not None:
        return weak
    if declared.empty_box or not undeclared or _REFUSAL.search(text[-LONGEST_LINE:]):
        return None
    return _undeclared(kind, text, read, symbolic)


def _short(statement: Declaration, content: str) -> bool:
    """A statement of one value in few words, like "the answer should then be, all in all, 7"."""
    return statement.kind != "postfix" and len(re.findall(r"\d[\d,.]*", content)) == 1 and len(content) < 100


def _reader(kind: AnswerType, symbolic: bool) -> Callable[[str, bool], Reading | None]:
    if kind in ("numeric", "percent", "expr"):
        return lambda content, delimited: read_phrase(content, delimited=delimited, symbolic=symbolic)
    if kind == "quantity":
        return lambda content, delimited: read_quantity(content, delimited=delimited, symbolic=symbolic)
    if kind == "time":
        return lambda content, delimited: _reading_if(read_time(content) is not None, content)
    if kind == "yesno":
        return lambda content, delimited: _reading_if(read_yes_no(content) is not None, content)
    if kind in ("text", "regex"):
        return lambda content, delimited: _reading_if(bool(plain_words(content)), content)
    return lambda content, delimited: _structured(kind, content, delimited)


def _reading_if(condition: bool, content: str) -> Reading | None:
    return Reading(undecorated(content)) if condition else None


def _structured(kind: AnswerType, content: str, delimited: bool) -> Reading | None:
    """A set, tuple, interval and so on: the content whole, else its formula, else what follows the last verb."""
    text = canonical_math(undecorated(content))
    text = text.rstrip(".,;: ") if delimited else text.rstrip(".,;:!? ")
    if readable(kind, text):
        return Reading(text)
    spans = [canonical_math(span).rstrip(".,; ") for span in joined_math_spans(content)]
    for span in reversed(spans):
        if readable(kind, span):
            return Reading(span)
    if delimited and "=" not in text:
        return None
    behind = _COPULA.sub("", text)
    if behind != text and readable(kind, behind):
        return Reading(behind, direct=False)
    bracketed = _BRACKETED.search(text)
    if bracketed and readable(kind, bracketed.group()):
        return Reading(bracketed.group(), direct=False)
    clause = re.split(r"[,;.]?\s+(?:because|since|where|as|so|which|for|when|with|in)\s", text)[0].rstrip(
        ".,;: "
    )
    return Reading(clause) if clause != text and readable(kind, clause) else None


def _undeclared(
    kind: AnswerType, text: str, read: Callable[[str, bool], Reading | None], symbolic: bool
) -> Answer | None:
    stripped = text.strip()
    if not stripped:
        return None
    lines = text_lines(stripped)
    last = lines[-1][-LONGEST_LINE:] if lines else stripped[-LONGEST_LINE:]
    if kind in ("text", "regex", "yesno"):
        return _undeclared_words(kind, stripped, last)
    if kind == "time":
        return Answer(last, declared=False) if read_time(last) is not None else None
    single = len(lines) == 1 and len(stripped) < LONGEST_LINE
    if single or kind not in ("numeric", "percent"):
        reading = (read(stripped, False) if len(stripped) < LONGEST_LINE else None) or read(last, False)
        if reading is not None and (reading.direct or kind not in ("numeric", "percent")):
            return Answer(reading.text, declared=False, hedged=reading.hedged)
    for sentence in reversed(re.split(r"(?<=[.!?])\s+|\n", stripped[-1500:])):
        behind = _COPULA.sub("", sentence)
        reading = read(behind, False) if behind != sentence else None
        if reading is not None and reading.direct and symbolic:
            return Answer(reading.text, declared=False, hedged=reading.hedged)
    for span in reversed(math_spans(stripped)[-5:]):
        reading = read(span, True)
        if reading is not None and symbolic:
            return Answer(reading.text, declared=False)
    number = last_number(stripped) if kind in ("numeric", "percent", "quantity") else None
    if number is None:
        return None
    if kind == "quantity":
        number = read_quantity(last, delimited=False, symbolic=symbolic) or number
    return Answer(number.text, declared=False, hedged=number.hedged)


def _undeclared_words(kind: AnswerType, text: str, last: str) -> Answer | None:
    if kind == "yesno":
        found = next((part for part in (last, text) if read_yes_no(part) is not None), None)
        return None if found is None else Answer(found, declared=False)
    clause = clauses(last)[-1]
    behind = _COPULA.sub("", clause)
    if len(plain_words(clause).split()) > 2 and behind != clause and len(behind) < 80:
        return Answer(undecorated(behind), declared=False)
    return Answer(undecorated(last), declared=False) if len(plain_words(last).split()) <= 8 else None
