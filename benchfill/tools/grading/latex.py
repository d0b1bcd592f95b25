"""Canonical spelling of mathematical text: one form for the many commands that print the same."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["ROW_END", "balanced", "canonical_math", "unwrap_text"]

LONGEST_MATH = 3000

# Words and numbers only: nothing for any rule below to change.
_PLAIN = re.compile(r"(?:(?!\*\*|\+/-|inf|oo)[\w\s.,:;!?%()'\"+*/=<>|^-])*", re.ASCII | re.IGNORECASE)
ROW_END = "⏎"  # the double backslash of a matrix, kept apart from the backslash of commands
_ROW_END = re.compile(r"\\\\(?:\s*\[[^\[\]]{1,12}\])?(?![a-zA-Z(\[{}|])|\\\\(?=\s*[\w{(\[])|\\cr(?![a-zA-Z])")
_SPACES = re.compile(
    r"\\[,;:!> ]|\\(?:quad|qquad|thinspace|medspace|thickspace|nobreakspace|hspace\{[^{}]*\})(?![a-zA-Z])|~"
)
_SIZES = re.compile(
    r"\\(?:left|right|middle|[bB]igg?[lrm]?|displaystyle|textstyle|scriptstyle|limits|nolimits|mathstrut)(?![a-zA-Z])"
)
_TEXT = re.compile(
    r"\\(?:text(?:bf|it|rm|sf|tt|sc|normal|up)?|mbox|hbox|mathrm|mathbf|mathit|mathsf|mathtt|boldsymbol|bm|"
    r"operatorname\*?|emph|underline|rm|bf|it)\s*\{((?:[^{}]|\{[^{}]*\})*)\}"
)
_COMMANDS = [
    (re.compile(r"\\[dtc]frac(?![a-zA-Z])"), r"\\frac"),
    (re.compile(r"\\[dt]binom(?![a-zA-Z])"), r"\\binom"),
    (re.compile(r"\\(?:leqslant|leqq|leq|le)(?![a-zA-Z])|≤|⩽"), "<="),
    (re.compile(r"\\(?:geqslant|geqq|geq|ge)(?![a-zA-Z])|≥|⩾"), ">="),
    (re.compile(r"\\(?:neq|ne)(?![a-zA-Z])|≠"), "!="),
    (re.compile(r"\\lt(?![a-zA-Z])"), "<"),
    (re.compile(r"\\gt(?![a-zA-Z])"), ">"),
    (re.compile(r"\\(?:cdot|times|ast|star)(?![a-zA-Z])|[×·⋅∙∗]"), "*"),
    (re.compile(r"\\div(?![a-zA-Z])|÷|∕"), "/"),
    (
        re.compile(r"\\(?:infty|infin)(?![a-zA-Z])|∞|(?<![a-zA-Z\\])(?:infinity|inf|oo)(?![a-zA-Z])"),
        r"\\infty ",
    ),
    (re.compile(r"\\(?:emptyset|varnothing|O)(?![a-zA-Z])|∅|⌀"), r"\\emptyset "),
    (re.compile(r"\\(?:cup|bigcup)(?![a-zA-Z])|∪"), r"\\cup "),
    (re.compile(r"\\(?:cap)(?![a-zA-Z])|∩"), r"\\cap "),
    (re.compile(r"\\(?:in)(?![a-zA-Z])|∈"), r"\\in "),
    (re.compile(r"\\(?:setminus|backslash|smallsetminus)(?![a-zA-Z])|∖"), r"\\setminus "),
    (re.compile(r"\\mathbb\s*\{?\s*R\s*\}?|ℝ|\\R(?![a-zA-Z])|\\Reals?(?![a-zA-Z])"), r"\\reals "),
    (re.compile(r"\\pm(?![a-zA-Z])|±|(?<![\d)}\]a-zA-Z])\+/-"), r"\\pm "),
    (re.compile(r"\\mp(?![a-zA-Z])|∓"), r"\\mp "),
    (re.compile(r"\^\s*\{?\s*\\circ\s*\}?|\\(?:degree|degrees|deg)(?![a-zA-Z])|\\textdegree|°"), "°"),
    (re.compile(r"\\(?:rightarrow|to|Rightarrow|implies|longrightarrow)(?![a-zA-Z])|[→⇒]"), r"\\to "),
    (re.compile(r"\\(?:approx|simeq)(?![a-zA-Z])|≅"), "≈"),
    (re.compile(r"\\(?:lbrace)(?![a-zA-Z])"), r"\\{"),
    (re.compile(r"\\(?:rbrace)(?![a-zA-Z])"), r"\\}"),
    (re.compile(r"\\(?:lbrack)(?![a-zA-Z])"), "["),
    (re.compile(r"\\(?:rbrack)(?![a-zA-Z])"), "]"),
    (re.compile(r"\\(?:langle)(?![a-zA-Z])|⟨"), "("),
    (re.compile(r"\\(?:rangle)(?![a-zA-Z])|⟩"), ")"),
    (re.compile(r"\\(?:lvert|rvert|vert|mid)(?![a-zA-Z])"), "|"),
    (re.compile(r"√\s*(\d+|[a-zA-Z])"), r"\\sqrt{\1}"),
    (re.compile(r"√"), r"\\sqrt "),
    (re.compile(r"π"), r"\\pi "),
    (re.compile(r"θ"), r"\\theta "),
    (re.compile(r"\\(?:var)(theta|phi|epsilon|rho|sigma)(?![a-zA-Z])"), r"\\\1"),
    (re.compile(r"\*\*"), "^"),
    (re.compile(r"\\%"), "%"),
    (re.compile(r"\\#"), "#"),
    (re.compile(r"\\_"), "_"),
    (re.compile(r"\\(?:ldots|dots|cdots)(?![a-zA-Z])|…"), "..."),
    (re.compile(r"\\(?:tag|label)\s*\{[^{}]*\}"), ""),
]
_CURRENCY = re.compile(r"(?:\b(?:US|AU|CA|NZ|HK)\s?)?\\?\$|[€£¥₹₽₩₪₫฿]|\\(?:pounds|euro|yen)(?![a-zA-Z])")
_THOUSANDS_BRACES = re.compile(r"(?<=\d)\s*(?:\{,\}|,\\!|\\,|,\\,|\{\\,\}|\\!,\\!|\\!,)\s*(?=\d{3}(?!\d))")


@lru_cache(maxsize=1024)
def canonical_math(text: str) -> str:
    """Mathematical text without delimiters, currency, spacing and size commands, in one spelling.

    Text commands are unwrapped, so units and words stay readable behind the value.
    """
    text = text[:LONGEST_MATH]
    if _PLAIN.fullmatch(text):
        return re.sub(r"\s+", " ", text).strip()
    text = _ROW_END.sub(f" {ROW_END} ", text)
    text = _THOUSANDS_BRACES.sub(",", text)
    text = re.sub(r"\\[()\[\]]|\$\$", " ", text)
    text = _CURRENCY.sub("", text)
    text = _SIZES.sub("", text)
    text = _SPACES.sub(" ", text)
    text = unwrap_text(text)
    for pattern, replacement in _COMMANDS:
        text = pattern.sub(replacement, text)
    return re.sub(r"\s+", " ", text).strip()


def unwrap_text(text: str) -> str:
    r"""``\text{...}`` and its kin replaced by their content."""
    for _ in range(4):
        text, count = _TEXT.subn(lambda m: f" {m.group(1)} ", text)
        if not count:
            break
    return text


def balanced(text: str, start: int) -> int | None:
    """Index behind the brace group that opens at ``start``, None when it is never closed."""
    depth = 0
    position = start
    while position < len(text):
        character = text[position]
        if character == "\\":
            position += 2
            continue
        if character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0:
                return position + 1
        position += 1
    return None
