"""Statements: emphasis taken off, sentences ended where they end, formulas kept whole."""

from __future__ import annotations

import re

__all__ = ["first_statement", "joined_math_spans", "math_spans", "text_lines", "undecorated"]

_DECORATION = re.compile(r"\*\*|__|`+|(?<!\w)\*(?=\S)|(?<=\S)\*(?!\w)")
_DISPLAY = re.compile(r"\s*(?:\$\$(.+?)\$\$|\\\[(.+?)\\\]|\\\((.+?)\\\))", re.DOTALL)
_SENTENCE_END = re.compile(
    r"\n|(?<!approx)(?<!\bca)(?<!\\)[.!?](?=[\s\"')*\]}]|$)(?!\s*\d+\s*$)|(?<=[\u3040-\u9fff])[.;]"
)
_MATH_SPAN = re.compile(
    r"\$\$.{1,600}?\$\$|(?<!\\)\$(?=[^\s$])[^$\n]{0,400}?(?<=[^\s$\\])\$(?!\d)|\\\(.{1,600}?\\\)|\\\[.{1,600}?\\\]"
    r"|\\begin\{(\w+)\}.{0,1200}?\\end\{\1\}",
    re.DOTALL,
)


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


def text_lines(text: str) -> list[str]:
    """Lines that hold more than marks and delimiters of formulas."""
    return [line for line in text.split("\n") if not re.fullmatch(r"[\s*_`#$-]*|\s*\\[\[\]()]\s*", line)]


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
