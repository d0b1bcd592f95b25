"""Numbers, tables and foreign text in Markdown."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

__all__ = ["code", "figure", "interval", "table", "text"]

_SPACES = re.compile(r"\s+")
# What would be read as markup, or as HTML. An underscore inside a word is none.
_MARKUP = re.compile(r"([\\`*|\[\]<>#&~$])")


def text(value: str) -> str:
    """Foreign text on one line, none of it read as markup."""
    return _MARKUP.sub(r"\\\1", _SPACES.sub(" ", value)).strip()


def code(value: str) -> str:
    """Foreign text as a code span: in one, only a backtick and, in a table, a bar are markup."""
    return "`" + _SPACES.sub(" ", value).strip().replace("`", "'").replace("|", "/") + "`"


def figure(value: float | None, digits: int = 3) -> str:
    """A number with fixed decimals, "-" where it is undefined."""
    if value is None or not math.isfinite(value):
        return "-"
    shown = f"{value:.{digits}f}"
    return shown.removeprefix("-") if float(shown) == 0.0 else shown


def interval(lo: float | None, hi: float | None, digits: int = 3) -> str:
    """An interval, "-" where it is undefined."""
    return "-" if lo is None or hi is None else f"{figure(lo, digits)} to {figure(hi, digits)}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose cells are Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
