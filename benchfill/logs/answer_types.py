"""How a key without a stated answer type is compared: the rule is here, and it is conservative."""

from __future__ import annotations

import re

from benchfill.item import AnswerType
from benchfill.logs.constraints import is_constraint_key

__all__ = ["infer_answer_type"]

_NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:[eE][+-]?\d+)?")
# What stands around a number without being part of it: a dollar sign, LaTeX's thin space, mathematics signs.
_DRESSING = re.compile(r"\\!|^\\?\$|\$$")
_BASE = re.compile(r"[0-9A-Z]+_(?:\d{1,2}|\{\d{1,2}\})")
_PLAIN_TEXT = re.compile(r"\\(?:text|textbf|mbox|mathrm)\{[^{}]*\}")
_LATEX = re.compile(r"\\[A-Za-z]+|\\[(\[{!]|\$[^$]+\$|[_^]\{")
# A formula without LaTeX: numbers, single letters, known functions and an operator, comma or bracket.
_FORMULA = re.compile(r"[0-9A-Za-z\s.,()\[\]{}+\-*/^=<>|!π√∞±·×÷−≤≥]+")
_DATE = re.compile(r"\d{1,4}[-/]\d{1,2}[-/]\d{1,4}")
_WORD = re.compile(r"[A-Za-z]{2,}")
_FUNCTIONS = (
    "sqrt cbrt sin cos tan cot sec csc arcsin arccos arctan asin acos atan sinh cosh tanh log ln exp pi abs"
)
_OPERATOR = re.compile(r"[+*/^=<>√±·×÷≤≥π]|(?<=[\w)])\s*[-−]\s*(?=[\w(])|\d[a-z]\b|\bpi\b")
_STRUCTURE = re.compile(r"\d.*[,)\]}]|[(\[{].*\d")


def infer_answer_type(answer: str, *, choices: bool) -> AnswerType:
    """Answer type of a key whose source does not state one.

    Parameters
    ----------
    answer
        The key.
    choices
        Whether the item has options.

    Returns
    -------
    AnswerType
        ``mcq`` with options; ``numeric`` for one number (sign, thousands commas, decimals, exponent, a dollar
        sign); ``base`` for digits with a subscript base; ``expr`` for other LaTeX and for a formula of
        numbers, single letters and known functions with an operator, comma or bracket; ``instructions`` for
        constraints as JSON; otherwise ``text``.
    """
    key = answer.strip()
    bare = _DRESSING.sub("", key)
    if choices:
        return "mcq"
    if any(character.isdigit() for character in bare) and _NUMBER.fullmatch(bare):
        return "numeric"
    if is_constraint_key(key):
        return "instructions"
    if _BASE.fullmatch(bare):
        return "base"
    if _PLAIN_TEXT.fullmatch(key) or _DATE.fullmatch(key):
        return "text"
    if _LATEX.search(key):
        return "expr"
    known = all(word in _FUNCTIONS.split() for word in _WORD.findall(key))
    if known and _FORMULA.fullmatch(key) and (_OPERATOR.search(key) or _STRUCTURE.search(key)):
        return "expr"
    return "text"
