"""Values of parsed mathematical text: exact where they are rational, approximate at chosen points."""

from __future__ import annotations

import cmath
import math
from collections.abc import Mapping
from fractions import Fraction

from benchfill.tools.grading.mathtext import Node

__all__ = [
    "TooLarge",
    "approximate",
    "differ_clearly",
    "exact",
    "has_plus_minus",
    "signs",
    "surely_huge",
    "symbols",
]

MOST_BITS = 60_000
LARGEST_FACTORIAL = 3000
CONSTANTS = {"pi": math.pi, "e": math.e, "i": 1j, "oo": math.inf}


class TooLarge(Exception):
    """The exact value has more digits than are worth computing in this process."""


def exact(node: Node) -> Fraction | None:
    """The rational value of a tree, None when it is not rational, not a number or undefined.

    Raises
    ------
    TooLarge
        The value is rational but too large to be written out.
    """
    kind = node[0]
    if kind == "num":
        value: Fraction = node[1]
        return value
    if kind in ("sym", "const", "func", "log", "pm"):
        return None
    values = [exact(child) for child in node[1:]]
    if None in values:
        return None
    numbers = [value for value in values if value is not None]
    return _bounded(_combine(kind, numbers))


def _combine(kind: str, numbers: list[Fraction]) -> Fraction | None:
    first, last = numbers[0], numbers[-1]
    if kind == "add":
        return first + last
    if kind == "mul":
        return first * last
    if kind == "div":
        return first / last if last else None
    if kind == "neg":
        return -first
    if kind == "abs":
        return abs(first)
    if kind == "pct":
        return first / 100
    if kind == "deg":
        return None  # as a value an angle is irrational (radians); a bare angle is compared by its number
    if kind == "fact":
        return _factorial(first)
    if kind == "pow":
        return _power(first, last)
    if kind == "root":
        return _power(last, 1 / first) if first else None
    if (
        kind == "binom"
        and first.denominator == last.denominator == 1
        and 0 <= last <= first <= LARGEST_FACTORIAL
    ):
        return Fraction(math.comb(int(first), int(last)))
    return None


def _bounded(value: Fraction | None) -> Fraction | None:
    if value is not None and max(value.numerator.bit_length(), value.denominator.bit_length()) > MOST_BITS:
        raise TooLarge
    return value


def _factorial(value: Fraction) -> Fraction | None:
    if value.denominator != 1 or value < 0:
        return None
    if value > LARGEST_FACTORIAL:
        raise TooLarge
    return Fraction(math.factorial(int(value)))


def _power(base: Fraction, exponent: Fraction) -> Fraction | None:
    if exponent.denominator == 1:
        size = max(base.numerator.bit_length(), base.denominator.bit_length())
        if abs(base) != 1 and base != 0 and size * abs(exponent) > MOST_BITS:
            raise TooLarge
        if base == 0 and exponent < 0:
            return None
        if abs(base) <= 1 and base.denominator == 1:
            return base ** (1 if exponent % 2 else 2) if exponent else Fraction(1)
        return base ** int(exponent)
    if base < 0 or exponent.denominator > 64:
        return None
    top = _root(base.numerator, exponent.denominator)
    bottom = _root(base.denominator, exponent.denominator)
    if top is None or bottom is None or bottom == 0:
        return None
    return _power(Fraction(top, bottom), Fraction(exponent.numerator))


def _root(value: int, degree: int) -> int | None:
    """The exact integer root, None when there is none."""
    if degree == 2:
        root = math.isqrt(value)
        return root if root * root == value else None
    if value.bit_length() > 1000:
        return None
    guess = round(value ** (1 / degree))
    return next((root for root in (guess - 1, guess, guess + 1) if root >= 0 and root**degree == value), None)


def surely_huge(node: Node) -> bool:
    """Whether a tree is a power or factorial of an integer with more digits than any exact value here."""
    if node[0] == "neg":
        return surely_huge(node[1])
    if node[0] not in ("pow", "fact"):
        return False
    grown = node[-1]
    try:
        base = exact(node[1]) if node[0] == "pow" else Fraction(2)
        size = exact(grown)
    except TooLarge:
        return surely_huge(grown) and (node[0] == "fact" or _integer_above_one(node[1]))
    if base is None or size is None or base.denominator != 1 or abs(base) < 2:
        return False
    return size > (2 * MOST_BITS if node[0] == "pow" else LARGEST_FACTORIAL)


def _integer_above_one(node: Node) -> bool:
    try:
        value = exact(node)
    except TooLarge:
        return False
    return value is not None and value.denominator == 1 and value >= 2


def approximate(node: Node, point: Mapping[str, complex]) -> complex:
    """Floating-point value of a tree with its symbols at ``point``.

    Raises
    ------
    ArithmeticError, ValueError, KeyError
        Undefined or not representable there.
    """
    kind = node[0]
    if kind == "num":
        return complex(float(node[1]))
    if kind == "sym":
        return point[node[1]]
    if kind == "const":
        return complex(CONSTANTS[node[1]])
    if kind == "func":
        return _function(node[1], approximate(node[2], point))
    if kind == "pm":
        raise ValueError("two values")
    a = approximate(node[1], point)
    if kind == "neg":
        return -a
    if kind == "abs":
        return complex(abs(a))
    if kind == "pct":
        return a / 100
    if kind == "deg":
        return a * math.pi / 180
    if kind == "fact":
        return complex(math.gamma(_real(a) + 1))
    b = approximate(node[2], point)
    if kind == "add":
        return a + b
    if kind == "mul":
        return a * b
    if kind == "div":
        return a / b
    if kind == "pow":
        return a**b
    if kind == "root":
        real_odd = b.imag == 0 and b.real < 0 and a.imag == 0 and a.real % 2 == 1
        return -((-b) ** (1 / a)) if real_odd else b ** (1 / a)
    if kind == "log":
        return cmath.log(b) / cmath.log(a)
    n, k = _real(a), _real(b)
    return complex(math.gamma(n + 1) / (math.gamma(k + 1) * math.gamma(n - k + 1)))


def _real(value: complex) -> float:
    if abs(value.imag) > 1e-12 * max(1.0, abs(value.real)):
        raise ValueError("not real")
    return value.real


def _function(name: str, x: complex) -> complex:
    if name == "floor":
        return complex(math.floor(_real(x)))
    if name == "ceil":
        return complex(math.ceil(_real(x)))
    if name in ("cot", "sec", "csc"):
        return {"cot": cmath.cos(x), "sec": 1, "csc": 1}[name] / (
            cmath.cos(x) if name == "sec" else cmath.sin(x)
        )
    if name.startswith("arc"):
        return complex(getattr(cmath, "a" + name[3:])(x))
    return complex(getattr(cmath, name)(x))


# Points of both signs and off every special value; fixed, so that a comparison always gives the same verdict.
_POINTS = (0.7371, 1.6193, -0.4127, 2.3391, -1.2713, 3.1847, 0.2179, -2.6411, 1.1273, 0.5519)


def sample_points(names: frozenset[str]) -> list[dict[str, complex]]:
    """Six points for the symbols, all positive in the first two."""
    ordered = sorted(names)
    return [
        {
            name: complex(abs(_POINTS[(3 * k + 7 * i) % 10]) if k < 2 else _POINTS[(3 * k + 7 * i) % 10])
            for i, name in enumerate(ordered)
        }
        for k in range(6)
    ]


def differ_clearly(a: Node, b: Node) -> bool:
    """Whether two trees have different values at a point where both are defined, far beyond rounding errors."""
    for point in sample_points(symbols(a) | symbols(b)):
        try:
            x, y = approximate(a, point), approximate(b, point)
        except (ArithmeticError, ValueError, KeyError):
            continue
        if not (cmath.isfinite(x) and cmath.isfinite(y)):
            continue
        scale = max(abs(x), abs(y))
        if 1e-200 < scale < 1e200 and abs(x - y) > 1e-6 * scale and abs(x - y) > 1e-9:
            return True
    return False


def symbols(node: Node) -> frozenset[str]:
    """Names of the free symbols of a tree."""
    if node[0] == "sym":
        return frozenset([node[1]])
    return frozenset().union(*(symbols(child) for child in node[1:] if isinstance(child, tuple)))


def has_plus_minus(node: Node) -> bool:
    """Whether the tree stands for two values."""
    return node[0] == "pm" or any(has_plus_minus(child) for child in node[1:] if isinstance(child, tuple))


def signs(node: Node, sign: int) -> Node:
    """The tree with every plus-minus replaced by the upper (1) or the lower (-1) sign."""
    if node[0] == "pm":
        inner = signs(node[2], sign)
        return inner if node[1] * sign > 0 else ("neg", inner)
    return (node[0], *(signs(child, sign) if isinstance(child, tuple) else child for child in node[1:]))
