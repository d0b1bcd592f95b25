"""A single value as written: its tree, its unit, its percent sign, and the digits it was printed with."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from benchfill.tools.grading.mathtext import MathTextError, Node, parse_canonical
from benchfill.tools.grading.units import Unit, canonical_unit, conversion, is_known

__all__ = ["COMPOUND", "ORDINAL", "Value", "read_value"]

ORDINAL = canonical_unit("ordinal")

_ASSIGNMENT = re.compile(
    r"^(?:[a-zA-Z]|\\[a-zA-Z]+|[A-Z]{2})(?:_\{?\w+\}?)?'*\s*(?:\(\s*[\w, ]{1,12}\s*\))?\s*(?:=|\\in\b)\s*(?=\S)"
)
_HEDGES = re.compile(
    r"^(?:approximately|approx\.?|about|around|roughly|exactly|only|just|nearly|precisely|simply|"
    r"a total of|an? (?:area|length|volume|average|value) of|the number|≈|~)\s*",
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"^(-?\d+)\s*(?:\^\s*\{?\s*)?(?:st|nd|rd|th)\s*\}?$", re.IGNORECASE)
_PERCENT = re.compile(
    r"\s*(?:%|\bper ?cent(?:age)?(?: points?)?\b|\bpct\b\.?|Prozent\b|por ciento\b|pour ?cent\b)\s*$",
    re.IGNORECASE,
)
_SCALE = re.compile(r"^(.*\d)\s*(thousand|million|billion|trillion)$", re.IGNORECASE)
_SCALES = {"thousand": "10^3", "million": "10^6", "billion": "10^9", "trillion": "10^12"}
_UNIT_WORD = r"(?:°\s*[CF]?|¢|[^\W\d_]{1,24}\.?)(?:\s*\^\s*\{?\s*-?\d\s*\}?|(?<=m)[23])?"
_UNIT = re.compile(rf"^\s*{_UNIT_WORD}(?:(?:\s*/\s*|\s*\*\s*|\s+(?:per\s+)?){_UNIT_WORD}){{0,4}}$")
_UNIT_LETTERS = frozenset("mgshlLJNWV")
COMPOUND = re.compile(
    r"(?P<large>\d[\d,.]*)\s*(?P<unit>[^\W\d_]{1,12})\s*,?\s*(?:and\s+)?"
    r"(?P<small>\d[\d,.]*)\s*(?P<smaller>[^\W\d_]{1,12})(?![^\W_])"
)
_INTEGER = re.compile(r"-?\d{1,30}", re.ASCII)
_DECIMAL = re.compile(r"^-?(?:\d+|\d{1,3}(?:,\d{3})+)?\.(\d+)$")
_DECIMAL_COMMA = re.compile(r"^-?(?:\d{1,3}(?:\.\d{3})+,\d+|\d+,(?:\d{1,2}|\d{4,}))$")
_SPACED = re.compile(r"^-?\d{1,3}(?:[ '_]\d{3})+(?:\.\d+)?$")


@dataclass(frozen=True, slots=True)
class Value:
    """One value.

    Parameters
    ----------
    text
        The number or expression, canonical, without unit and percent sign.
    node
        Its tree.
    unit
        Canonical unit, empty when there is none.
    percent
        A percent sign or word stood behind it.
    places, digits
        Decimal places and significant digits of a plain decimal with a fractional part, else None and 0.
    """

    text: str
    node: Node
    unit: Unit = ()
    percent: bool = False
    places: int | None = None
    digits: int = 0


@lru_cache(maxsize=4096)
def read_value(text: str, *, units: Literal["first", "last", "none"] = "last") -> Value | None:
    """Read canonical mathematical text that is one value and nothing else.

    Parameters
    ----------
    text
        Canonical text, see :func:`~benchfill.tools.grading.latex.canonical_math`.
    units
        Whether words behind the value may be its unit: ``first`` reads "35 m" as metres, ``last`` as 35 times m
        and only what is no product as a unit.

    Returns
    -------
    The value, None when the text is anything more or else.
    """
    text = text.strip()
    while (shorter := _HEDGES.sub("", text)) != text:
        text = shorter
    text = _ASSIGNMENT.sub("", text)
    percent = _PERCENT.search(text)
    if percent and text[: percent.start()].strip():
        inner = _bare(text[: percent.start()].strip())
        return None if inner is None else replace(inner, percent=True)
    ordinal = _ORDINAL.match(text)
    if ordinal:
        inner = _bare(ordinal.group(1))
        return None if inner is None else replace(inner, unit=ORDINAL)
    scaled = _SCALE.match(text)
    if scaled:
        return _bare(f"{scaled.group(1)}*{_SCALES[scaled.group(2).lower()]}")
    if units == "first" and _DECIMAL_COMMA.match(text):
        text = text.replace(".", "").replace(",", ".")
    readings = {
        "first": (_with_unit, _compound, _bare),
        "last": (_bare, _with_unit, _compound),
        "none": (_bare,),
    }[units]
    return next((value for value in (reading(text) for reading in readings) if value is not None), None)


def _with_unit(text: str) -> Value | None:
    """Split at the leftmost place where a value ends and a unit follows."""
    for place in re.finditer(
        r"(?<=[\d)}\]!])(?=\s*[^\W\d_°¢]|\s*[°¢])|(?<=[a-zA-Z])(?=\s+[^\W\d_])", text[:400]
    ):
        unit = text[place.start() :]
        if not _UNIT.match(unit) or not _is_unit(unit):
            continue
        head = text[: place.start()].strip()
        value = _bare(head) if re.search(r"[\d\\]", head) else None
        if value is not None:
            return replace(value, unit=canonical_unit(unit))
    return None


def _compound(text: str) -> Value | None:
    """Two amounts of one kind, the second in a smaller unit: 5 feet 3 inches, 12 dollars and 50 cents."""
    match = COMPOUND.fullmatch(text)
    if match is None:
        return None
    first, second = canonical_unit(match.group("unit")), canonical_unit(match.group("smaller"))
    factor = conversion(second, first)
    large, small = _bare(match.group("large")), _bare(match.group("small"))
    if factor is None or factor >= 1 or large is None or small is None:
        return None
    node = ("add", large.node, ("mul", small.node, ("num", factor)))
    return Value(text, node, first)


def _is_unit(text: str) -> bool:
    """Single letters and pairs are units only when they are known ones; longer words always may be."""
    words = re.findall(r"[^\W\d_]+", text)
    return all(len(w) > 2 or w in _UNIT_LETTERS or (len(w) == 2 and is_known(w)) or w == "a" for w in words)


def _bare(text: str) -> Value | None:
    if _INTEGER.fullmatch(text):
        number: Node = ("num", Fraction(int(text.lstrip("-"))))
        return Value(text, ("neg", number) if text[0] == "-" else number)
    if _SPACED.match(text):
        text = re.sub("[ '_]", "", text)
    try:
        node = parse_canonical(text)
    except MathTextError:
        return None
    if node[0] == "deg":
        return Value(text, node[1], canonical_unit("°"))
    if node[0] == "neg" and node[1][0] == "deg":
        return Value(text, ("neg", node[1][1]), canonical_unit("°"))
    decimal = _DECIMAL.match(text)
    if decimal and decimal.group(1).strip("0"):
        digits = len(text.lstrip("-").replace(",", "").replace(".", "").lstrip("0"))
        return Value(text, node, (), False, len(decimal.group(1)), digits)
    return Value(text, node)
