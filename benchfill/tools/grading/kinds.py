"""The answer type of a key that comes without one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchfill.item import AnswerType
from benchfill.tools.grading.cleaning import clean_characters
from benchfill.tools.grading.declarations import find_declarations
from benchfill.tools.grading.evaluation import TooLarge, exact, has_plus_minus
from benchfill.tools.grading.latex import canonical_math
from benchfill.tools.grading.structures import Group, parts, read_intervals, read_part
from benchfill.tools.grading.values import ORDINAL, read_value
from benchfill.tools.grading.words import plain_words

__all__ = ["infer_answer_type", "key_text"]

_YES_NO = frozenset(["yes", "no", "true", "false"])
_HASHES = re.compile(r"####\s*([^\n]+)\s*$")


def key_text(answer: str) -> str:
    r"""The key alone, where a source gives a whole solution: behind ``####``, or the content of its last box."""
    answer = clean_characters(answer).strip()
    hashes = _HASHES.search(answer)
    if hashes:
        return hashes.group(1).strip()
    if "box" in answer:
        boxes = [one for one in find_declarations(answer, join_boxes=True).declarations if one.kind == "box"]
        if boxes:
            return boxes[-1].content.strip()
    return answer


def infer_answer_type(answer: str, choices: Sequence[str] = ()) -> AnswerType:
    """How a key is best compared, judged by its form.

    Parameters
    ----------
    answer
        The key, or a solution that ends in it.
    choices
        Options of the item, if any.
    """
    answer = key_text(answer)
    words = plain_words(answer)
    if choices:
        letters = [piece.strip(" ()") for piece in re.split(r"[,;]|\band\b", words)]
        if len(letters) > 1 and all(len(letter) == 1 for letter in letters):
            return "mcq-multi"
        return "mcq"
    if words in _YES_NO:
        return "yesno"
    if re.fullmatch(r"\\text\s*\{\s*\(?[A-J]\)?\s*\}|\(?[A-H]\)?", answer):
        return "mcq"
    text = canonical_math(answer).rstrip(". ")
    return _of_structure(text) or _of_value(text)


def _of_structure(text: str) -> AnswerType | None:
    if "\\begin{" in text:
        return "matrix"
    if re.fullmatch(r"\(?[0-9A-Fa-f]+\)?\s*_\s*\{?\s*\d{1,2}\s*\}?", text) and text[0] not in "abcdef":
        return "base"
    if re.fullmatch(r"\d{1,2}:[0-5]\d(?::[0-5]\d)?(?:\s*[ap]\.?m\.?)?", text, re.IGNORECASE):
        return "time"
    if re.fullmatch(r"[\w.]+(?:\s*:\s*[\w.]+)+", text):
        return "ratio"
    whole = read_part(text)
    if isinstance(whole, Group):
        if whole.opening == "{":
            return "set"
        half_open = {whole.opening, whole.closing} != {"(", ")"}
        return "interval" if len(whole.parts) == 2 and (half_open or "infty" in text) else "tuple"
    if whole is None and re.search(r"[<>]|\\in\b|\\cup|\\reals|\\infty", text):
        return "interval" if read_intervals(text, inequalities=True) is not None else None
    if re.search(r"(?<![<>!])=", text):
        return "equation"
    if whole is None or has_plus_minus(getattr(whole, "node", ())):
        return "set" if parts(text) is not None else None
    return None


def _of_value(text: str) -> AnswerType:
    value = read_value(text, units="first")
    if value is None:
        return "text"
    if value.percent:
        return "percent"
    if value.unit and value.unit != ORDINAL:
        return "quantity"
    try:
        return "expr" if exact(value.node) is None else "numeric"
    except TooLarge:
        return "numeric"
