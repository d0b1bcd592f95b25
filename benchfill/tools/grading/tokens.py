"""Tokens of mathematical text: numbers, commands, single letters and signs; anything else is refused."""

from __future__ import annotations

import re

__all__ = ["FUNCTIONS", "GREEK", "MathTextError", "tokens"]

MOST_TOKENS = 1500

_GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi rho sigma tau upsilon phi chi psi omega "
    "Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega ell hbar"
)
GREEK = frozenset(_GREEK.split())
_FUNCTIONS = (
    "sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh exp ln log lg sqrt cbrt abs floor ceil "
    "asin acos atan"
)
FUNCTIONS = frozenset(_FUNCTIONS.split())
# Letters that stand side by side as a product; other runs of three and more letters are words.
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_WORDS = "is or of in if to so we it at by no as be an on up do go he my us am cm mm km kg"
_SHORT_WORDS = frozenset(_WORDS.split())

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<repeating>\d*\.\d*\\overline\s*\{\d+\})
  | (?P<number>(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:[eE][+-]?\d+(?![\da-zA-Z]))?|\.\d+(?:[eE][+-]?\d+)?)
  | \\(?P<command>[a-zA-Z]+)
  | (?P<word>[a-zA-Z]+)
  | (?P<symbol>[-+*/^_(){}\[\]|!%°'⌊⌋⌈⌉]|\\[{}|])
    )""",
    re.VERBOSE,
)


class MathTextError(ValueError):
    """The text is not, or not only, a mathematical expression this parser knows."""


def tokens(text: str) -> list[tuple[str, str]]:
    """Kind and text of every token.

    Raises
    ------
    MathTextError
        A character or a word is none of mathematics.
    """
    found: list[tuple[str, str]] = []
    position = 0
    text = text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            raise MathTextError(f"unknown character {text[position : position + 1]!r}")
        if match.lastgroup == "word":
            found.extend(_split_word(match.group("word")))
        else:
            found.append((match.lastgroup, match.group(match.lastgroup)))
        if len(found) > MOST_TOKENS:
            raise MathTextError("too long")
        position = match.end()
    return found


def _split_word(word: str) -> list[tuple[str, str]]:
    if word in FUNCTIONS or word in GREEK or word == "pi":
        return [("command", word)]
    if len(word) > 3 or word.lower() in _SHORT_WORDS or (len(word) == 3 and word.lower() not in _ALPHABET):
        for name in ("sqrt", "pi", "sin", "cos", "tan", "ln", "log"):
            if word.endswith(name) and len(word) - len(name) <= 2:
                return [("letter", letter) for letter in word[: -len(name)]] + [("command", name)]
        raise MathTextError(f"the word {word!r}")
    return [("letter", letter) for letter in word]
