"""Where a response states its final answer: boxes, ``####``, "the answer is", answer tags and JSON.

Every statement is returned in order of place; which of them counts is decided by what can be read in it, the last
one first.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Literal

from benchfill.tools.grading.latex import balanced

__all__ = ["Declaration", "Declared", "find_declarations"]

LONGEST_CONTENT = 1000
MOST_DECLARATIONS = 24

_BOX = re.compile(r"\\(?:f?boxed|f?box|framebox)(?![a-zA-Z])\s*")
_HASHES = re.compile(r"####[ \t]*(\S[^\n]*)")
_TAG = re.compile(
    r"<(answer|final_answer|final-answer|finalanswer|final)>(.{0,1500}?)</\1>", re.IGNORECASE | re.DOTALL
)
_JSON = re.compile(
    r'"(?:final_?answer|answer|final|answer_letter|choice)"\s*:\s*'
    r'("(?:[^"\\]|\\.){0,1500}"|-?\d[\d.eE+-]*|\[[^\[\]]{0,500}\]|true|false)',
    re.IGNORECASE,
)
_VERB = (
    r"(?::|=|'s\b|->|→|⇒|\bis\b|\bare\b|\bwas\b|\bbe\b|\bseems\b|\bto be\b|\bequals\b|\bwould\b|\bshould\b|\bmust\b"
    r"|\bwill\b|\bbecomes\b|\bcomes (?:out )?to\b|\bthus\b|\bthen\b|\bindeed\b|\btherefore\b)"
)
_QUALIFIED = (
    r"(?:\s*\([^()\n]{0,60}\))?"
    r"(?:\s+(?:to|for|of|in|choice|option|letter|here|key|that|we|i)\b[^.:\n=]{0,80}?)?"
)
_ENGLISH = re.compile(
    r"\b(?:answers?|ans|final (?:result|value|solution)"
    r"|(?:correct|right|best) (?:options?|choices?|letters?|result))\b"
    rf"{_QUALIFIED}[\s*_`\"')\]}}#]{{0,12}}?(?:{_VERB}[\s*_`]{{0,8}}){{1,6}}",
    re.IGNORECASE,
)
_HEADING = re.compile(
    r"(?:^|\n)[ \t#*_>]*(?:the |my )?(?:final |correct )?(?:answer|result)[ \t*_#]*:?[ \t*_]*\n",
    re.IGNORECASE,
)
_OTHER_LANGUAGES = re.compile(
    r"(?:(?:最终|最後|最后|正确|正確)?(?:的)?(?:答案|选项|選項|结果|結果)\s*(?:应该|應該|应|應|就)?\s*(?:是|为|為|选|選|:)\s*:?)"
    r"|(?:(?:故|应|應|所以|因此|答案|我)?(?:选择|選擇|选|選)(?=\s*:?\s*[(\[]?\s*[A-Za-z])\s*:?)|答\s*:"
    r"|(?:(?:答え|答|解答|正解|回答)\s*(?:は|:)\s*:?)"
    r"|(?:(?:정답|답변|답)\s*(?:은|는|이|:)\s*:?)"
    r"|(?:(?:الإجابة|الاجابة|الجواب|الحل)(?:\s+(?:الصحيحة|النهائية|النهائي|الصحيح))?\s*(?:(?:هي|هو|:)\s*)+)"
    r"|(?:\b(?:Antwort|Lösung|Endergebnis)\b(?:\s+(?:ist|lautet|wäre))?\s*[*_]{0,4}\s*:?(?<=[:tea])[*_\s]*)"
    r"|(?:\b(?:réponse|reponse)\b(?:\s+(?:finale|correcte))?\s*[*_]{0,4}\s*(?:(?:est|:)\s*)+)"
    r"|(?:\b(?:respuesta|resposta|risposta)\b(?:\s+(?:correcta|correta|corretta|final|finale))?"
    r"\s*[*_]{0,4}\s*(?:(?:es|é|è|:)\s*)+)"
    r"|(?:\b(?:ответ|відповідь)\b\s*[*_]{0,4}\s*(?:[:—-]\s*)*)"
    r"|(?:\b(?:antwoord|svar|odpowiedź|odpověď|cevap|đáp án|câu trả lời|jawaban)\b"
    r"\s*[*_]{0,4}\s*(?:(?:is|är|er|to|je|là|adalah|:)\s*)+)"
    r"|(?:उत्तर\s*(?:है|:)\s*)|(?:התשובה\s*(?:היא|הנכונה|:)\s*)",
    re.IGNORECASE,
)
_POSTFIX = re.compile(
    r"\s(?:is|are|must be|should be)\s{1,3}(?:therefore\s|thus\s|indeed\s)?(?:(?:the|my|our)\s)?"
    r"(?:final\s|correct\s|right\s|best\s)?(?:answers?|option|choice)\b(?!\s{0,3}(?:is\b|are\b|:))",
    re.IGNORECASE,
)
_CLAUSE_START = re.compile(r"[.!?:;]\s+|,\s(?:so|and)\s|\b(?:so|thus|hence|therefore),?\s", re.IGNORECASE)
_JOIN = re.compile(
    r"^[\s$,;.)(\]\[\\]*(?P<word>and|or|und|oder|et|ou|y|o|和|或|及)?[\s$,;)(\]\[\\]*$", re.IGNORECASE
)

Kind = Literal["box", "hashes", "tag", "json", "cue", "postfix"]


@dataclass(frozen=True, slots=True)
class Declaration:
    """One statement of a final answer.

    Parameters
    ----------
    kind
        How it was made; the content of a ``cue`` runs on into prose, that of the others is delimited.
    content
        The answer as written.
    start
        Place in the text.
    """

    kind: Kind
    content: str
    start: int

    @property
    def delimited(self) -> bool:
        """Whether the content is exactly the answer."""
        return self.kind in ("box", "tag", "json")


@dataclass(frozen=True, slots=True)
class Declared:
    """All statements of a response in order of place.

    Parameters
    ----------
    declarations
        Statements that hold something.
    empty_box
        A box without content stands behind all of them.
    unclosed
        What follows the opening of a last box that is never closed, None when all boxes are closed.
    """

    declarations: tuple[Declaration, ...]
    empty_box: bool
    unclosed: str | None


def find_declarations(text: str, *, join_boxes: bool) -> Declared:
    """Find every statement of a final answer.

    Parameters
    ----------
    text
        Cleaned response.
    join_boxes
        Neighbouring boxes ("\\boxed{a}, \\boxed{b}") are one statement; boxes joined by "or" always are.
    """
    boxes, unclosed = _boxes(text)
    filled = [box for box in boxes if box[2].strip()]
    found = [Declaration("box", content, start) for start, content in _joined(text, filled, join_boxes)]
    taken = [(start, end) for start, end, _ in boxes]
    for match in _TAG.finditer(text):
        if not _BOX.search(match.group(2)):
            found.append(Declaration("tag", match.group(2), match.start()))
            taken.append(match.span())
    for match in _JSON.finditer(text):
        value = _json_value(match.group(1))
        if value is not None:
            found.append(Declaration("json", value, match.start()))
            taken.append(match.span())
    found += [Declaration("hashes", match.group(1), match.start()) for match in _HASHES.finditer(text)]
    found += _cues(text, taken)
    found = sorted(found, key=lambda declaration: declaration.start)[-MOST_DECLARATIONS:]
    last = max((declaration.start for declaration in found if declaration.kind != "cue"), default=-1)
    empty_box = bool(boxes) and not boxes[-1][2].strip() and boxes[-1][0] > last
    return Declared(tuple(found), empty_box, unclosed)


def _boxes(text: str) -> tuple[list[tuple[int, int, str]], str | None]:
    """Start, end and content of the boxes, and what follows the opening of the last one when it is not closed."""
    boxes: list[tuple[int, int, str]] = []
    unclosed: str | None = None
    for match in list(_BOX.finditer(text))[-MOST_DECLARATIONS:]:
        start, inside = match.start(), match.end() + 1
        if text[match.end() : inside] != "{":
            bare = re.match(r"[-+]?[\w.]+", text[match.end() :])
            if bare and match.group().startswith("\\boxed"):
                boxes.append((start, match.end() + bare.end(), bare.group().rstrip(".")))
            continue
        unclosed = None
        end = balanced(text, match.end())
        if end is not None:
            boxes.append((start, end, text[inside : end - 1]))
            continue
        unclosed = text[inside:]
        line, mark, behind = unclosed.partition("$" if "$" in unclosed else "\n")
        if mark and behind.strip():
            # The text goes on: a brace was forgotten, the answer was not cut.
            boxes.append((start, inside + len(line), line + "}" * (line.count("{") - line.count("}"))))
            unclosed = None
    return boxes, unclosed


def _joined(text: str, boxes: list[tuple[int, int, str]], join: bool) -> list[tuple[int, str]]:
    joined: list[tuple[int, str]] = []
    previous_end: int | None = None
    for start, end, content in boxes:
        if joined and previous_end is not None and start >= previous_end:
            between = _JOIN.match(text[previous_end:start])
            alternative = bool(
                between and (between.group("word") or "").lower() in ("or", "oder", "ou", "或")
            )
            if between and "\n\n" not in text[previous_end:start] and (alternative or join):
                word = " or " if alternative else ", "
                joined[-1] = (start, joined[-1][1] + word + content)
                previous_end = end
                continue
        joined.append((start, content))
        previous_end = end
    return joined


def _json_value(raw: str) -> str | None:
    try:
        value = json.loads(raw, strict=False)
    except ValueError:
        return raw.strip('"')
    if isinstance(value, list):
        return ", ".join(str(part) for part in value)
    return str(value) if not isinstance(value, bool) else str(value).lower()


def _cues(text: str, taken: list[tuple[int, int]]) -> list[Declaration]:
    ends: dict[int, int] = {}
    for pattern in (_ENGLISH, _OTHER_LANGUAGES, _HEADING):
        for match in pattern.finditer(text):
            if not any(start <= match.start() < end for start, end in taken):
                ends[match.end()] = max(match.start(), ends.get(match.end(), 0))
    found = [
        Declaration("cue", text[end : end + LONGEST_CONTENT], start)
        for end, start in ends.items()
        if text[end : end + LONGEST_CONTENT].strip(" \n*_`$")
    ]
    for match in _POSTFIX.finditer(text):
        before = text[max(0, match.start() - 160) : match.start()].rpartition("\n")[2]
        content = _CLAUSE_START.split(before)[-1]
        if content.strip() and not any(start <= match.start() <= end + 4 for start, end in taken):
            found.append(Declaration("postfix", content, match.start()))
    return found
