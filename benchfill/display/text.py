"""How numbers and foreign text are written for a person."""

from __future__ import annotations

import math
import re

__all__ = [
    "amount",
    "cost",
    "counted",
    "deviation",
    "duration",
    "interval",
    "number",
    "plain_text",
    "z_interval",
]

# Escape sequences of terminals: CSI, strings (OSC, DCS, SOS, PM, APC) that are ended, and two-character ones.
_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
)
_SPACES = re.compile(r"[\t\n\v\f\r\x85\u2028\u2029]+")
# Other controls, marks that reorder what a reader sees, and halves of characters that cannot be written.
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def plain_text(text: str) -> str:
    """Text of a model, a file or a server on one line, without anything that steers a terminal.

    Escape sequences, control characters and marks of writing direction are removed; line breaks and tabs
    become one space. All other text stays as it is.
    """
    return _CONTROLS.sub("", _SPACES.sub(" ", _SEQUENCES.sub("", text))).strip()


def number(value: float | None, digits: int = 3) -> str:
    """A number with fixed decimals; "-" when it is undefined."""
    if value is None or not math.isfinite(value):
        return "-"
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def interval(lo: float | None, hi: float | None, digits: int = 3) -> str:
    """An interval; empty when it is undefined."""
    return "" if lo is None or hi is None else f"[{number(lo, digits)}, {number(hi, digits)}]"


def z_interval(mean: float | None, lo: float | None, hi: float | None) -> str:
    """A difficulty with its 90% interval."""
    return f"{number(mean)} {interval(lo, hi)}".strip()


def deviation(value: float | None) -> str:
    """An expected deviation, fine enough to be compared with its tolerance."""
    return number(value, 4)


def amount(count: float | None) -> str:
    """A count in at most five characters: 9,999, 12.3k, 4.5M."""
    if count is None:
        return "-"
    for limit, factor, unit in ((1e4, 1.0, ""), (1e6, 1e3, "k"), (1e9, 1e6, "M")):
        if count < limit:
            shown = count / factor
            if not unit:
                return f"{shown:,.0f}"
            return f"{shown:.0f}{unit}" if shown >= 99.95 else f"{shown:.1f}{unit}"
    return f"{count / 1e9:.1f}G"


def counted(count: int, noun: str) -> str:
    """A count with its noun, in the plural where there is not exactly one."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


def duration(seconds: float | None) -> str:
    """Minutes and seconds, with hours when there are any."""
    if seconds is None:
        return "-"
    whole = max(0, round(seconds))
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def cost(value: float | None, calls: int) -> str:
    """Cost of so many calls in the unit of the configured prices; "no prices" when there are none."""
    if value is None:
        # A meter that has seen no call does not know whether there are prices.
        return "no prices" if calls else "nothing spent"
    return f"cost {value:.2f}" if value >= 1 else f"cost {value:.4f}"
