"""Answers that are words: names and short texts, yes or no, and times of day."""

from __future__ import annotations

import re
import unicodedata

from benchfill.tools.grading.latex import unwrap_text
from benchfill.tools.grading.reading import undecorated

__all__ = ["clauses", "matches_pattern", "plain_words", "read_time", "read_yes_no"]

_YES_NO = {
    "yes": "yes", "true": "yes", "correct": "yes", "yeah": "yes", "yep": "yes", "no": "no", "false": "no",
    "incorrect": "no", "nope": "no", "ja": "yes", "nein": "no", "oui": "yes", "non": "no", "sí": "yes", "si": "yes",
    "sim": "yes", "não": "no", "да": "yes", "нет": "no", "是": "yes", "是的": "yes", "对": "yes", "正确": "yes",
    "否": "no", "不": "no", "不是": "no", "错": "no", "错误": "no", "はい": "yes", "いいえ": "no", "예": "yes",
    "네": "yes", "아니요": "no", "아니오": "no", "نعم": "yes", "لا": "no", "हाँ": "yes", "नहीं": "no",
}  # fmt: skip
_CLAUSE_END = re.compile(
    r"[,;:(\n]|\.(?=\s|$)|[!?]|\s[-–—]\s|\s(?:because|since|as|which|where|so|that|for|due|weil|da|car|porque)\s",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"(?<![\d:])(\d{1,2})(?::(\d{2}))?(?::(\d{2}))?\s*(?:o'?clock)?\s*([ap])?\.?\s?(?(4)m\b\.?)(?![\d:])",
    re.IGNORECASE,
)


def plain_words(text: str) -> str:
    """Words in one form: NFC, no case, no markup, no articles, single blanks, no punctuation around them."""
    text = unwrap_text(undecorated(re.sub(r"\\[()\[\]]|\$", "", text)))
    text = re.sub(r"\\[ ,;:!]|~", " ", text)
    text = unicodedata.normalize("NFC", text).casefold()
    text = re.sub(r"\s+", " ", text).strip(" .,;:!?\"'()[]{}")
    text = re.sub(r"(?<=[^\x00-\x7f])(?:です|である|だ|입니다|이다)$", "", text)
    return re.sub(r"^(?:the|an?)\s+(?=\S)", "", text)


def clauses(content: str) -> list[str]:
    """The content itself and its beginnings up to the end of each clause, longest first."""
    content = content.strip()
    ends = [match.start() for match in _CLAUSE_END.finditer(content[:600]) if match.start() > 0]
    return [content, *(content[:end] for end in reversed(ends[:12]))]


def read_yes_no(text: str) -> str | None:
    """``yes`` or ``no`` when the text is or begins with such a word, else None."""
    words = plain_words(text)
    if words in _YES_NO:
        return _YES_NO[words]
    first = re.match(r"[^\W\d_]+", words)
    if first and first.group() in _YES_NO:
        return _YES_NO[first.group()]
    return next(
        (value for word, value in _YES_NO.items() if not word.isascii() and words.startswith(word)), None
    )


def read_time(text: str) -> tuple[int, str] | None:
    """Seconds since midnight on the clock face as printed, and "a", "p" or "" for the half of the day."""
    lowered = text.lower()
    if re.fullmatch(r"\W*(?:12 )?noon\W*", lowered):
        return 12 * 3600, "p"
    if re.fullmatch(r"\W*(?:12 )?midnight\W*", lowered):
        return 12 * 3600, "a"
    found = [
        match
        for match in _TIME.finditer(text)
        if match.group(2) or match.group(4) or "clock" in match.group()
    ]
    if not found:
        return None
    hours, minutes, seconds, half = found[-1].groups()
    if int(hours) > 24 or int(minutes or 0) > 59 or int(seconds or 0) > 59:
        return None
    return int(hours) * 3600 + int(minutes or 0) * 60 + int(seconds or 0), (half or "").lower()


def matches_pattern(pattern: str, answer: str) -> bool:
    """Task of the sandbox: whether the whole answer matches a regular expression (which may backtrack for ever)."""
    return re.fullmatch(pattern, answer.strip(), re.IGNORECASE) is not None
