"""Texts of items made comparable: normal form, numbers and operators, script, value of a bare number."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

__all__ = ["Fingerprint", "number_of", "script_of"]

_LATEX_SPACE = re.compile(
    r"\\[,;:!]|\\(?:left|right|displaystyle|limits|quad|qquad|bigg?|Bigg?)(?![A-Za-z])|\\ "
)
_SPELLINGS = (
    (re.compile(r"\\[dt]frac(?![A-Za-z])"), r"\\frac"),
    (re.compile(r"\\(?:times|cdot|ast)(?![A-Za-z])|[×·⋅∙]"), "*"),
    (re.compile(r"\\div(?![A-Za-z])|÷"), "/"),
    (re.compile(r"\\(?:leq?|leqslant)(?![A-Za-z])|≤"), "<="),
    (re.compile(r"\\(?:geq?|geqslant)(?![A-Za-z])|≥"), ">="),
    (re.compile(r"\*\*"), "^"),
    (re.compile(r"[−–—]"), "-"),
    (re.compile(r"\\(?:text|mathrm|textbf|textit|mathbf|operatorname)\s*\{([^{}]*)\}"), r"\1"),
)
_GROUPED = re.compile(r"(?<=\d)(?:,|\{,\}|\\,)(?=\d{3}(?!\d))")
# A hyphen between letters is no minus, and an exclamation mark behind a word no factorial.
_QUANTITY = re.compile(
    r"\d+(?:\.\d+)?|\\[A-Za-z]+|[+*/^=<>%|]|(?<![A-Za-z])-|-(?![A-Za-z])|(?<=[\d)}])!|(?<=\b[a-z])!"
)
_FORMULA = re.compile(r"\$\$.*?\$\$|\$[^$\n]*\$|\\\[.*?\\\]|\\\(.*?\\\)|\\[A-Za-z]+", re.DOTALL)
_NUMBER = re.compile(r"([+-]?)\s*(\d+(?:\.\d+)?|\.\d+)(?:[eE]([+-]?\d{1,3}))?(?:\s*/\s*(\d+(?:\.\d+)?))?")
_FRACTION = re.compile(r"\\[dt]?frac\s*(?:\{(\d+)\}|(\d))\s*(?:\{(\d+)\}|(\d))")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What two items are compared by.

    Parameters
    ----------
    question
        Normalised wording: case, spacing, punctuation and ways to write an operator taken out.
    options
        Normalised options in sorted order, so that shuffled ones are the same.
    quantities
        Sorted multiset of the numbers, operators and LaTeX commands of both.
    """

    question: str
    options: str
    quantities: tuple[str, ...]

    @classmethod
    def of(cls, question: str, choices: Sequence[str]) -> Fingerprint:
        """Fingerprint of an item's texts; kept, since a pool is screened against again and again."""
        return _fingerprint(question, tuple(choices))


@lru_cache(maxsize=100_000)
def _fingerprint(question: str, choices: tuple[str, ...]) -> Fingerprint:
    text = _plain(question)
    options = sorted(_plain(choice) for choice in choices)
    quantities = sorted(found for part in (text, *options) for found in _QUANTITY.findall(part))
    return Fingerprint(_words(text), "\n".join(map(_words, options)), tuple(quantities))


def _plain(text: str) -> str:
    text = unicodedata.normalize("NFKC", text)
    text = _GROUPED.sub("", text)
    text = _LATEX_SPACE.sub(" ", text)
    for pattern, spelling in _SPELLINGS:
        text = pattern.sub(spelling, text)
    return text.casefold()


def _words(text: str) -> str:
    text = re.sub(r"(?<!\d)[.,]|[.,](?!\d)|[$;:?!'\"“”‘’。，；：？！、()\[\]{}~]", " ", text)
    # Space around operators says nothing: "12*8" and "12 * 8".
    text = re.sub(r"\s*([+*/^=<>|-])\s*", r"\1", text)
    return " ".join(text.split())


def number_of(text: str) -> Fraction | None:
    """Value of a text that is one number and nothing else (sign, thousands, $, %, a/b, \\frac), else None."""
    bare = text.strip().strip("$").strip()
    bare = _GROUPED.sub("", bare.replace("−", "-").replace("\\$", "").replace("\\%", "%"))
    bare = bare.removesuffix("%").rstrip().removesuffix("°").removesuffix("^\\circ").strip("$ ")
    sign = -1 if bare.startswith("-") else 1
    fraction = _FRACTION.fullmatch(bare.lstrip("+-").strip())
    if fraction:
        over, under = (
            int(fraction.group(1) or fraction.group(2)),
            int(fraction.group(3) or fraction.group(4)),
        )
        return sign * Fraction(over, under) if under else None
    found = _NUMBER.fullmatch(bare)
    if not found or len(bare) > 400:
        return None
    _, digits, exponent, under_text = found.groups()
    value = sign * Fraction(digits) * Fraction(10) ** int(exponent or 0)
    if under_text is None:
        return value
    return value / Fraction(under_text) if Fraction(under_text) else None


def script_of(text: str) -> str:
    """Script a text is written in, formulas left out; empty where there are too few letters to tell.

    Returns
    -------
    str
        First word of the letters' Unicode names, e.g. ``LATIN``, ``CYRILLIC``, ``CJK``, ``HANGUL``; ``KANA`` for
        Japanese. A text with a fair share of another script counts as that: Latin letters in it are names and
        units. Languages that share a script are not told apart.
    """
    counted: Counter[str] = Counter()
    for letter in _FORMULA.sub(" ", text):
        if letter.isalpha():
            script = "LATIN" if letter.isascii() else unicodedata.name(letter, "").split(" ")[0]
            counted["KANA" if script in {"HIRAGANA", "KATAKANA"} else script] += 1
    counted.pop("GREEK", None)  # symbols, as a rule
    total = counted.total()
    if total < 4 and not any(script in counted for script in ("CJK", "KANA", "HANGUL")):
        return ""
    if counted["KANA"] >= 0.05 * total > 0:
        return "KANA"
    # One ideograph stands for a word, one Latin letter for a fifth of it.
    others = {script: count for script, count in counted.items() if script != "LATIN"}
    if others:
        script, count = max(others.items(), key=lambda entry: (entry[1], entry[0]))
        weight = 5 if script == "CJK" else 1
        if weight * count >= counted["LATIN"]:
            return script
    return "LATIN" if counted["LATIN"] >= 4 else ""
