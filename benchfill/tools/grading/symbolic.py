"""Comparison inside a child process: equality of two trees by high-precision values at several points.

Two expressions of the kinds read here that agree to 50 digits at points of both signs are equal; a simplifier
would be slower and gives up on forms that this settles. Texts that the parser does not know (sums, integrals,
determinants) go to math-verify, see :mod:`benchfill.tools.grading.library`.
"""

from __future__ import annotations

from typing import Any

from benchfill.grading_settings import GradingSettings
from benchfill.item import AnswerType
from benchfill.tools.grading.comparison import compare
from benchfill.tools.grading.equality import Comparison
from benchfill.tools.grading.evaluation import sample_points, symbols
from benchfill.tools.grading.mathtext import Node

__all__ = ["SANDBOX_IMPORTS", "compare_symbolically"]

SANDBOX_IMPORTS = ("mpmath",)

DIGITS = 60
AGREE = 45


def _mpmath() -> Any:
    """Imported in children only, and before their clock starts."""
    import mpmath  # type: ignore[import-untyped]

    return mpmath


class NotComparable(ValueError):
    """The expressions are defined together at too few points to tell."""


def compare_symbolically(
    kind: AnswerType, key: str, answer: str, settings: GradingSettings, tolerance: float | None
) -> bool:
    """Task of the sandbox: :func:`~benchfill.tools.grading.comparison.compare` with a prover."""
    return compare(kind, key, answer, Comparison(settings, tolerance, equal_values))


def equal_values(a: Node, b: Node) -> bool:
    """Whether two trees agree to 45 significant digits wherever both are defined.

    Raises
    ------
    NotComparable
        They are not both defined at two points, or at one when there are no symbols.
    """
    mpmath = _mpmath()
    names = symbols(a) | symbols(b)
    agreed = 0
    with mpmath.workdps(DIGITS):
        for point in sample_points(names)[: 6 if names else 1]:
            precise = {name: mpmath.mpf(repr(value.real)) for name, value in point.items()}
            try:
                x, y = _value(a, precise), _value(b, precise)
            except (ArithmeticError, ValueError):
                continue
            if not (mpmath.isfinite(x) and mpmath.isfinite(y)):
                if not names and x == y:
                    return True
                continue
            scale = max(abs(x), abs(y))
            # Rounding errors of a sum that cancels are about 1e-60 of its terms, which are unknown here: below
            # 1e-45 a value counts as zero only when the other one is as small.
            if abs(x - y) > scale * mpmath.mpf(10) ** -AGREE and not (
                names and scale < mpmath.mpf(10) ** -AGREE
            ):
                return _tiny_sum(a, b, x, y)
            agreed += 1
    if agreed < (2 if names else 1):
        raise NotComparable("the expressions are undefined where they were compared")
    return True


def _tiny_sum(a: Node, b: Node, x: Any, y: Any) -> bool:
    """One side may be a sum that cancels to zero: its value is then pure rounding error."""
    mpmath = _mpmath()
    small = mpmath.mpf(10) ** -50
    zero = ("num", 0)
    return (abs(x) < small and abs(y) < small) and (
        (a[0] == "num" and a == zero) or (b[0] == "num" and b == zero)
    )


def _value(node: Node, point: dict[str, Any]) -> Any:
    mpmath = _mpmath()
    kind = node[0]
    if kind == "num":
        return mpmath.mpf(node[1].numerator) / node[1].denominator
    if kind == "sym":
        return point[node[1]]
    if kind == "const":
        return {"pi": mpmath.pi, "e": mpmath.e, "i": mpmath.mpc(0, 1), "oo": mpmath.inf}[node[1]] * 1
    if kind == "func":
        return _function(node[1], _value(node[2], point))
    values = [_value(child, point) for child in node[1:]]
    return _combined(kind, values)


def _combined(kind: str, values: list[Any]) -> Any:
    mpmath = _mpmath()
    a, b = values[0], values[-1]
    if kind == "add":
        return a + b
    if kind == "mul":
        return a * b
    if kind == "div":
        return a / b
    if kind == "neg":
        return -a
    if kind == "abs":
        return abs(a)
    if kind == "pct":
        return a / 100
    if kind == "deg":
        return a * mpmath.pi / 180
    if kind == "fact":
        return mpmath.factorial(a)
    if kind == "pow":
        return mpmath.power(a, b)
    if kind == "root":
        if mpmath.im(b) == 0 and mpmath.re(b) < 0 and a == mpmath.floor(a) and a % 2 == 1:
            return -mpmath.root(-b, int(a))
        return mpmath.power(b, 1 / a)
    if kind == "log":
        return mpmath.log(b) / mpmath.log(a)
    if kind == "binom":
        return mpmath.binomial(a, b)
    raise ValueError(f"no value of {kind}")


def _function(name: str, x: Any) -> Any:
    mpmath = _mpmath()
    if name.startswith("arc"):
        return getattr(mpmath, "a" + name[3:])(x)
    return getattr(mpmath, name)(x)
