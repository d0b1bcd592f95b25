"""Equality of values and of lists of them, exact where rational arithmetic decides.

What rational arithmetic does not decide and floating point does not refute is left to a prover: it raises
:class:`Undecided` in the main process and computes in a child.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from benchfill.grading_settings import GradingSettings
from benchfill.tools.grading.evaluation import (
    TooLarge,
    approximate,
    differ_clearly,
    exact,
    has_plus_minus,
    signs,
    surely_huge,
    symbols,
)
from benchfill.tools.grading.mathtext import Node
from benchfill.tools.grading.structures import Group, Part
from benchfill.tools.grading.units import conversion
from benchfill.tools.grading.values import ORDINAL, Value

__all__ = ["Comparison", "Prover", "Undecided", "Unreadable", "squeezed"]

Prover = Callable[[Node, Node], bool]


class Undecided(Exception):
    """The values agree in floating point; only a prover can tell whether they are equal."""


class Unreadable(Exception):
    """One side is not an answer of this type. ``key`` says which."""

    def __init__(self, *, key: bool) -> None:
        self.key = key
        super().__init__("the key cannot be read" if key else "the answer cannot be read")


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two answers are compared.

    Parameters
    ----------
    settings
        What is accepted.
    tolerance
        Relative tolerance of numbers, None for exact values.
    prove
        Decides the equality of two trees that agree in floating point; raises Undecided outside of a child.
    """

    settings: GradingSettings
    tolerance: float | None
    prove: Prover

    def nodes(self, a: Node, b: Node) -> bool:
        """Whether two trees have the same value."""
        if a == b:
            return True
        if has_plus_minus(a) or has_plus_minus(b):
            if not (has_plus_minus(a) and has_plus_minus(b)):
                return False
            pairs = [[self.nodes(signs(a, x), signs(b, y)) for y in (1, -1)] for x in (1, -1)]
            return (pairs[0][0] and pairs[1][1]) or (pairs[0][1] and pairs[1][0])
        try:
            x, y = exact(a), exact(b)
        except TooLarge:
            if surely_huge(a) != surely_huge(b) and (_is_exact(a) or _is_exact(b)):
                return False
            return self.prove(a, b)
        if x is not None and y is not None:
            return x == y
        if differ_clearly(a, b):
            return False
        return self.prove(a, b)

    def values(self, key: Value, answer: Value) -> bool:
        """Whether two values are equal, with what the settings allow for units, percent signs and rounding."""
        settings = self.settings
        if settings.form == "same" and squeezed(key.text) != squeezed(answer.text):
            return False
        node = answer.node
        if key.percent != answer.percent:
            if settings.percent_as_fraction and self._numbers(_scaled(key), _scaled(answer)):
                return True
            if not settings.percent_sign_optional:
                return False
        factor = self._unit_factor(key, answer)
        if factor is None:
            return False
        if factor != 1:
            node = ("mul", node, ("num", factor))
        return self._numbers(key, Value(answer.text, node, places=answer.places, digits=answer.digits))

    def _unit_factor(self, key: Value, answer: Value) -> Fraction | None:
        if key.unit == answer.unit or not key.unit:
            return (
                None
                if answer.unit == ORDINAL and not self.settings.ordinals and not key.unit
                else Fraction(1)
            )
        if not answer.unit:
            return Fraction(1) if self.settings.unit_optional else None
        return conversion(answer.unit, key.unit) if self.settings.convert_units else None

    def _numbers(self, key: Value, answer: Value) -> bool:
        if self.tolerance is not None:
            close = self._within_tolerance(key.node, answer.node, self.tolerance)
            if close is not None:
                return close
        if self.nodes(key.node, answer.node):
            return True
        rounding = self.settings.rounding
        enough = self.settings.significant_digits
        if rounding != "exact" and key.places is not None and key.digits >= enough:
            finer = answer.places is None or answer.places > key.places
            if finer and self._rounds_to(answer.node, key.node, key.places):
                return True
        if (
            rounding == "both"
            and answer.places is not None
            and answer.digits >= enough
            and key.places is None
        ):
            return self._rounds_to(key.node, answer.node, answer.places)
        return False

    def _within_tolerance(self, key: Node, answer: Node, tolerance: float) -> bool | None:
        try:
            x, y = exact(key), exact(answer)
            if x is not None and y is not None:
                return abs(y - x) <= Fraction(tolerance) * abs(x)
            if symbols(key) or symbols(answer):
                return None
            p, q = approximate(key, {}), approximate(answer, {})
        except (TooLarge, ArithmeticError, ValueError, KeyError):
            return None
        return abs(q - p) <= tolerance * abs(p) * (1 + 1e-12)

    def _rounds_to(self, value: Node, printed: Node, places: int) -> bool:
        """Whether ``printed`` is ``value`` rounded to ``places`` decimals (a half may go either way)."""
        target = exact(printed)
        half = Fraction(1, 2 * 10**places)
        try:
            number = exact(value)
            if number is None and not symbols(value):
                real = approximate(value, {})
                number = Fraction(real.real) if abs(real.imag) < 1e-12 else None
        except (TooLarge, ArithmeticError, ValueError, KeyError):
            return False
        return target is not None and number is not None and abs(number - target) <= half

    def parts(self, key: Part, answer: Part) -> bool:
        """Whether two parts are equal: values, or groups of the same bracket in the same order (sets: any)."""
        if isinstance(key, Value) and isinstance(answer, Value):
            return self.values(key, answer)
        if isinstance(key, Group) and isinstance(answer, Group):
            if key.opening == "{" or answer.opening == "{":
                return key.opening == answer.opening and self.unordered(key.parts, answer.parts)
            return self.ordered(key.parts, answer.parts)
        return False

    def ordered(self, key: Sequence[Part], answer: Sequence[Part]) -> bool:
        """Same number of parts, equal one by one."""
        return len(key) == len(answer) and all(self.parts(a, b) for a, b in zip(key, answer, strict=True))

    def unordered(self, key: Sequence[Part], answer: Sequence[Part]) -> bool:
        """Every part of each side is on the other one."""
        missing = [a for a in key if not any(self.parts(a, b) for b in answer)]
        return not missing and all(any(self.parts(a, b) for a in key) for b in answer)


def _is_exact(node: Node) -> bool:
    try:
        return exact(node) is not None
    except TooLarge:
        return False


def _scaled(value: Value) -> Value:
    return Value(value.text, ("pct", value.node)) if value.percent else value


def squeezed(text: str) -> str:
    """Text without blanks, but for those between digits: "1 1/2" is not "11/2"."""
    return re.sub(r"(?<!\d)\s+|\s+(?!\d)", "", text)
