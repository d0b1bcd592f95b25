"""Exact rational part of expressions: every number is bounded before it is computed.

Functions return None where the result is not rational; algebra takes over there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from benchfill.tools.expression_syntax import ExpressionError

__all__ = ["MAX_DIGITS", "OF_LISTS", "RATIONAL", "bounded", "counted", "decimal", "power"]

MAX_DIGITS = 2000  # decimal digits of any numerator or denominator
_MAX_BITS = int(MAX_DIGITS * math.log2(10))


def bounded(value: Fraction) -> Fraction:
    """Refuse numbers of more than ``MAX_DIGITS`` digits."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MAX_BITS:
        raise ExpressionError(f"a number has more than {MAX_DIGITS:,} digits")
    return value


def power(base: Fraction, exponent: Fraction) -> Fraction | None:
    """Power with an integer exponent, bounded before it is computed; None for a fractional exponent."""
    if exponent.denominator != 1:
        return None
    if base in (0, 1, -1):
        parity = exponent.numerator % 2
        if base == 0 and exponent < 0:
            raise ZeroDivisionError
        if base == 0:
            return Fraction(int(exponent == 0))
        return base if parity else Fraction(1)
    bits = max(base.numerator.bit_length(), base.denominator.bit_length()) - 1
    if abs(exponent) * max(bits, 1) > _MAX_BITS:
        raise ExpressionError(f"the power has more than {MAX_DIGITS:,} digits")
    return bounded(base**exponent.numerator)


def _integers(values: Sequence[Fraction], what: str) -> list[int]:
    if not values or any(value.denominator != 1 for value in values):
        raise ExpressionError(f"{what} needs integers")
    return [value.numerator for value in values]


def _factorial(n: Fraction) -> Fraction | None:
    if n.denominator != 1 or n < 0:
        raise ExpressionError("factorial needs a non-negative integer")
    if n > 800:  # 801! has 1,980 digits, and one more number would pass the limit soon
        raise ExpressionError(
            f"the factorial has more than {MAX_DIGITS:,} digits; use binomial, or cancel first"
        )
    return Fraction(math.factorial(n.numerator))


def _binomial(n: Fraction, k: Fraction) -> Fraction:
    whole, part = _integers([n, k], "binomial")
    if whole < 0 or part < 0:
        raise ExpressionError("binomial needs non-negative integers")
    smaller = min(part, whole - part)
    # binomial(n, k) <= (e n / k)^k bounds its digits without computing it.
    if smaller > 0 and smaller * (1 + math.log(whole / smaller)) > MAX_DIGITS * math.log(10):
        raise ExpressionError(f"the binomial coefficient has more than {MAX_DIGITS:,} digits")
    return Fraction(math.comb(whole, part))


def _root(x: Fraction, n: Fraction) -> Fraction | None:
    """The real root when it is rational, None otherwise."""
    degree = _integers([n], "root")[0]
    if not 1 <= degree <= 1000 or (x < 0 and degree % 2 == 0):
        return None
    parts = [_integer_root(abs(x.numerator), degree), _integer_root(x.denominator, degree)]
    if None in parts:
        return None
    root = Fraction(parts[0] or 0, parts[1] or 1)
    return -root if x < 0 else root


def _integer_root(value: int, degree: int) -> int | None:
    low, high = 0, 1 << (value.bit_length() // degree + 1)
    while low < high:
        middle = (low + high) // 2
        if middle**degree < value:
            low = middle + 1
        else:
            high = middle
    return low if low**degree == value else None


def _round(x: Fraction, digits: Fraction = Fraction(0)) -> Fraction:
    places = _integers([digits], "the number of digits of round")[0]
    if abs(places) > 100:
        raise ExpressionError("round allows at most 100 digits")
    scaled = abs(x) * Fraction(10) ** places
    rounded = Fraction(math.floor(scaled + Fraction(1, 2))) / Fraction(10) ** places
    return -rounded if x < 0 else rounded


OF_LISTS = {"min", "max", "gcd", "lcm", "sum", "product"}
RATIONAL: dict[str, Callable[..., Fraction | None]] = {
    "abs": lambda x: abs(x),
    "floor": lambda x: Fraction(math.floor(x)),
    "ceil": lambda x: Fraction(math.ceil(x)),
    "round": _round,
    "gcd": lambda *xs: Fraction(math.gcd(*_integers(xs, "gcd"))),
    "lcm": lambda *xs: Fraction(math.lcm(*_integers(xs, "lcm"))),
    "factorial": _factorial,
    "binomial": _binomial,
    "mod": lambda a, b: a % b,
    "min": lambda *xs: min(xs),
    "max": lambda *xs: max(xs),
    "sum": lambda *xs: sum(xs, Fraction(0)),
    "product": lambda *xs: math.prod(xs, start=Fraction(1)),
    "sqrt": lambda x: _root(x, Fraction(2)),
    "cbrt": lambda x: _root(x, Fraction(3)),
    "root": _root,
}
_ARGUMENTS = {"round": (1, 2), "binomial": (2, 2), "mod": (2, 2), "root": (2, 2)} | dict.fromkeys(
    ("min", "max", "gcd", "lcm", "sum", "product"), (1, 1000)
)


def counted(name: str, arguments: list[Any]) -> list[Any]:
    """Check the number of arguments of a function."""
    fewest, most = _ARGUMENTS.get(name, (1, 1))
    if not fewest <= len(arguments) <= most:
        raise ExpressionError(f"{name} does not take {len(arguments)} arguments")
    return arguments


def decimal(value: Fraction) -> str:
    """``= 0.75`` when the decimals end within 15 digits, else ``≈`` and 12 significant digits."""
    exact = Context(prec=15).divide(Decimal(value.numerator), Decimal(value.denominator))
    if Fraction(exact) == value:
        return f"= {exact:f}" if abs(exact.adjusted()) < 20 else f"= {exact}"
    return f"≈ {Context(prec=12).divide(Decimal(value.numerator), Decimal(value.denominator))}"
