"""Units behind a value: one name for the many spellings, and exact factors between those of a kind."""

from __future__ import annotations

import re
from fractions import Fraction

__all__ = ["Unit", "canonical_unit", "conversion", "is_known"]

# name: (kind, factor to the base of the kind, spellings besides the name)
_TABLE: dict[str, tuple[str, Fraction, str]] = {
    "mm": ("length", Fraction(1, 1000), "millimeter millimetre"),
    "cm": ("length", Fraction(1, 100), "centimeter centimetre"),
    "m": ("length", Fraction(1), "meter metre"),
    "km": ("length", Fraction(1000), "kilometer kilometre kms"),
    "in": ("length", Fraction(254, 10000), "inch inches"),
    "ft": ("length", Fraction(3048, 10000), "foot feet"),
    "yd": ("length", Fraction(9144, 10000), "yard"),
    "mi": ("length", Fraction(1609344, 1000), "mile"),
    "mg": ("mass", Fraction(1, 1000000), "milligram"),
    "g": ("mass", Fraction(1, 1000), "gram gramme gm"),
    "kg": ("mass", Fraction(1), "kilogram kilo kgs"),
    "lb": ("mass", Fraction(45359237, 100000000), "pound lbs"),
    "oz": ("mass", Fraction(45359237, 1600000000), "ounce"),
    "ms": ("time", Fraction(1, 1000), "millisecond"),
    "s": ("time", Fraction(1), "sec second secs"),
    "min": ("time", Fraction(60), "minute mins"),
    "h": ("time", Fraction(3600), "hr hour hrs"),
    "day": ("time", Fraction(86400), ""),
    "week": ("time", Fraction(604800), ""),
    "ml": ("volume", Fraction(1, 1000), "milliliter millilitre"),
    "l": ("volume", Fraction(1), "liter litre"),
    "cent": ("money", Fraction(1, 100), "¢ penny pennies"),
    "dollar": ("money", Fraction(1), "usd buck"),
    "°": ("angle", Fraction(1), "degree deg"),
    "j": ("energy", Fraction(1), "joule"),
    "kj": ("energy", Fraction(1000), "kilojoule"),
    "n": ("force", Fraction(1), "newton"),
    "w": ("power", Fraction(1), "watt"),
    "kw": ("power", Fraction(1000), "kilowatt"),
    "v": ("voltage", Fraction(1), "volt"),
    "hz": ("frequency", Fraction(1), "hertz"),
    "mph": ("speed", Fraction(1609344, 3600000), ""),
    "°c": ("celsius", Fraction(1), "celsius"),
    "°f": ("fahrenheit", Fraction(1), "fahrenheit"),
}
_NAMES = {spelling: name for name, (_, _, others) in _TABLE.items() for spelling in (name, *others.split())}
_POWERS = {"square": 2, "sq": 2, "squared": 2, "cubic": 3, "cu": 3, "cubed": 3}

Unit = tuple[tuple[str, int], ...]


def canonical_unit(text: str) -> Unit:
    """Factors of a unit with their powers, sorted: "square inches" -> (("in", 2),), "km/h" -> (("h", -1), ("km", 1)).

    Unknown words stand for themselves in the singular, so that "apples" and "apple" are one unit.
    """
    text = re.sub(r"\bper\b", "/", text.lower())
    text = re.sub(r"(?<=°)\s*(?=[cf]\b)|degrees? (?=celsius|fahrenheit|[cf]\b)", "", text)
    powers: dict[str, int] = {}
    for index, part in enumerate(text.split("/")):
        sign = -1 if index else 1
        pending = 1
        last: str | None = None
        for token in re.finditer(r"\^\s*\{?\s*(-?\d)\s*\}?|°[cf]?|¢|[^\W\d_]+|(?<=[a-z])[23](?!\d)", part):
            word = token.group()
            if word[0] == "^" or word.isdigit():
                if last is not None:
                    powers[last] += sign * (int(token.group(1) or word) - 1)
            elif word in _POWERS and (last is None or not word.endswith("ed")):
                pending = _POWERS[word]
            elif word in _POWERS and last is not None:
                powers[last] += sign * (_POWERS[word] - 1)
            else:
                last = _NAMES.get(word) or _NAMES.get(word.removesuffix("s")) or _singular(word)
                powers[last] = powers.get(last, 0) + sign * pending
                pending = 1
    return tuple(sorted(powers.items()))


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 2 else word


def is_known(word: str) -> bool:
    """Whether a word is the name of a unit of the table."""
    return word.lower() in _NAMES or word.lower().removesuffix("s") in _NAMES


def conversion(a: Unit, b: Unit) -> Fraction | None:
    """The factor that turns a value in ``a`` into one in ``b``; None when they are not of one kind."""
    if a == b:
        return Fraction(1)
    kinds_a, factor_a = _base(a)
    kinds_b, factor_b = _base(b)
    if kinds_a is None or kinds_a != kinds_b:
        return None
    return factor_a / factor_b


def _base(unit: Unit) -> tuple[dict[str, int] | None, Fraction]:
    kinds: dict[str, int] = {}
    factor = Fraction(1)
    for name, power in unit:
        if name == "mph":
            kinds["length"] = kinds.get("length", 0) + power
            kinds["time"] = kinds.get("time", 0) - power
        elif name not in _TABLE:
            return None, factor
        else:
            kind = _TABLE[name][0]
            kinds[kind] = kinds.get(kind, 0) + power
        factor *= _TABLE[name][1] ** power
    return {kind: power for kind, power in kinds.items() if power}, factor
