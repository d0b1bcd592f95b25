"""The part of expressions that needs sympy: roots, functions, symbols, equations, calculus.

Imported only when an expression needs it. sympy objects are built from parsed nodes; its own text parsers,
which end in ``eval``, are never used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import sympy

from benchfill.tools.expression_rational import MAX_DIGITS, bounded, decimal
from benchfill.tools.expression_syntax import ExpressionError

__all__ = ["apply", "call", "constant_or_symbol", "series", "shown"]

MAX_POWER = 1000  # of an expression with symbols or irrational numbers
_CONSTANTS = {
    "pi": sympy.pi,
    "e": sympy.E,
    "oo": sympy.oo,
    "inf": sympy.oo,
    "I": sympy.I,
    "deg": sympy.pi / 180,
}
_SYMBOL = re.compile(
    r"(?:[A-Za-z]|[α-ωΑ-Ω]|alpha|beta|gamma|delta|epsilon|theta|lambda|mu|phi|omega)(?:_?[A-Za-z0-9])?"
)


def constant_or_symbol(name: str) -> Any:
    """A constant, or a symbol: one letter, or a Greek name, with at most one index."""
    if name in _CONSTANTS:
        return _CONSTANTS[name]
    if _SYMBOL.fullmatch(name) and name not in _FUNCTIONS:
        return sympy.Symbol(name)
    raise ExpressionError(
        f"unknown name {name[:40]!r}; symbols are single letters, functions are followed by '('"
    )


def apply(operator: str, left: Any, right: Any) -> Any:
    """One binary operator where at least one side is not rational, or the result may not be."""
    a, b = _to_sympy(left), _to_sympy(right)
    match operator:
        case "+":
            return _back(a + b)
        case "-":
            return _back(a - b)
        case "*":
            return _back(a * b)
        case "/":
            return _back(a / b)
        case "//":
            return _back(sympy.floor(a / b))
        case "mod":
            return _back(sympy.Mod(a, b))
        case "^":
            return _back(_power(a, b))
    return _relation(operator, a, b)


def series(name: str, term: Any, index: str, first: Any, last: Any) -> Any:
    """A sum or product with symbolic, infinite or far ends, in closed form."""
    limits = (sympy.Symbol(index), _to_sympy(first), _to_sympy(last))
    closed = (sympy.summation if name == "sum" else sympy.product)(_to_sympy(term), limits)
    if closed.has(sympy.Sum, sympy.Product):
        raise ExpressionError(f"no closed form of this {name} was found")
    return _back(closed)


def call(name: str, arguments: Sequence[Any]) -> Any:
    """Call a function by name."""
    if name not in _FUNCTIONS:
        raise ExpressionError(f"unknown function {name[:40]!r}; known are {', '.join(sorted(_FUNCTIONS))}")
    function, fewest, most = _FUNCTIONS[name]
    if not fewest <= len(arguments) <= most:
        raise ExpressionError(f"{name} does not take {len(arguments)} arguments")
    return _back(function(*[_to_sympy(argument) for argument in arguments]))


def shown(value: Any) -> str:
    """Text of a result, with decimals of numbers that are not rational."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        entries = [_exact_and_decimal(entry) for entry in value]
        exact = f"[{', '.join(text for text, _ in entries)}]"
        if all(number for _, number in entries) and any(number != text for text, number in entries):
            return f"{exact} ≈ [{', '.join(number for _, number in entries)}]"
        return exact if entries else "[] (no solution found)"
    if isinstance(value, sympy.Eq):
        raise ExpressionError("an equation by itself has no value; use solve(equation, x)")
    exact, number = _exact_and_decimal(value)
    return f"{exact} ≈ {number}" if number and number != exact else exact


def _exact_and_decimal(value: Any) -> tuple[str, str]:
    """Exact text, and decimals (the same text for integers, empty where there is no number)."""
    if isinstance(value, Fraction):
        text = str(value)
        return text, text if value.denominator == 1 else decimal(value).split(" ")[1]
    if isinstance(value, dict):
        return "{" + ", ".join(
            f"{key}: {_exact_and_decimal(_back(value[key]))[0]}" for key in _ordered(value)
        ) + "}", ""
    text = sympy.sstr(value)
    if value in (sympy.oo, -sympy.oo):
        return text, text
    number = isinstance(value, sympy.Expr) and value.is_number
    return text, sympy.sstr(value.evalf(12)) if number else ""


def _to_sympy(value: Any) -> Any:
    if isinstance(value, Fraction):
        return sympy.Rational(value.numerator, value.denominator)
    if isinstance(value, list):
        return [_to_sympy(entry) for entry in value]
    if isinstance(value, bool):
        raise ExpressionError("a relation is not a number")
    return value


def _back(value: Any) -> Any:
    """Rational results are fractions again, so that arithmetic stays exact; undefined ones are refused."""
    if isinstance(value, list):
        return [_back(entry) for entry in value]
    if value is sympy.true or value is sympy.false:
        return bool(value)
    if isinstance(value, sympy.Rational):
        return bounded(Fraction(int(value.p), int(value.q)))
    if isinstance(value, sympy.Basic) and value.has(sympy.zoo, sympy.nan):
        raise ExpressionError("undefined (division by zero, or a value outside the domain)")
    return value


def _power(base: Any, exponent: Any) -> Any:
    # Checked before: sympy computes integer powers of numbers at once, whatever their size.
    if exponent.is_number:
        size = abs(sympy.N(exponent, 6))
        if size.is_finite and size > MAX_POWER:
            raise ExpressionError(f"exponents are limited to {MAX_POWER:,} here")
        if isinstance(base, sympy.Rational):
            digits = len(str(max(abs(base.p), base.q)))
            if size.is_finite and digits * size > MAX_DIGITS:
                raise ExpressionError(f"the power has more than {MAX_DIGITS:,} digits")
    return base**exponent


def _relation(operator: str, left: Any, right: Any) -> Any:
    if operator != "=":
        build = {"<": sympy.Lt, ">": sympy.Gt, "<=": sympy.Le, ">=": sympy.Ge}[operator]
        return _back(build(left, right))
    if left.is_number and right.is_number:
        same = (left - right).equals(0)
        if same is None:
            raise ExpressionError("could not decide whether the two sides are equal")
        return bool(same)
    return sympy.Eq(left, right, evaluate=False)


def _solve(equations: Any, *unknowns: Any) -> Any:
    several = equations if isinstance(equations, list) else [equations]
    if len(unknowns) == 1 and isinstance(unknowns[0], list):
        unknowns = tuple(unknowns[0])
    if not unknowns:
        unknowns = tuple(_ordered(set().union(*(equation.free_symbols for equation in several))))
    if not unknowns or not all(isinstance(unknown, sympy.Symbol) for unknown in unknowns):
        raise ExpressionError("write solve(equation, x) or solve([equation, equation], [x, y])")
    for equation in several:
        if isinstance(equation, sympy.Eq) and sympy.simplify(equation.lhs - equation.rhs) == 0:
            raise ExpressionError("an equation holds for every value of its symbols")
    if len(several) == 1 and len(unknowns) == 1:
        return _solve_one(several[0], unknowns[0])
    return _ordered_solutions(sympy.solve(several, list(unknowns), dict=True))


def _solve_one(equation: Any, unknown: Any) -> Any:
    solutions = sympy.solve(equation, unknown)
    if not isinstance(solutions, list):  # an inequality: a condition
        return sympy.sstr(solutions)
    if equation.has(sympy.functions.elementary.trigonometric.TrigonometricFunction):
        # sympy lists representatives, and a list that looks complete would mislead.
        return f"{shown(_back(_ordered(solutions)))} (periodic solutions are not all listed)"
    return _ordered(solutions)


def _ordered(values: Any) -> list[Any]:
    return sorted(values, key=sympy.default_sort_key)


def _ordered_solutions(solutions: list[dict[Any, Any]]) -> list[dict[Any, Any]]:
    return sorted(solutions, key=lambda one: [sympy.default_sort_key(one[key]) for key in _ordered(one)])


def _integer(value: Any, most_digits: int) -> int:
    if not isinstance(value, sympy.Integer):
        raise ExpressionError("an integer is needed")
    if len(str(abs(value))) > most_digits:
        raise ExpressionError(f"an integer of at most {most_digits} digits is needed")
    return int(value)


def _factorint(n: Any) -> str:
    powers = sympy.factorint(_integer(n, 45))
    return (
        " * ".join(f"{prime}^{power}" if power > 1 else f"{prime}" for prime, power in sorted(powers.items()))
        or "1"
    )


def _divisors(n: Any) -> list[Any]:
    found = sympy.divisors(_integer(n, 25))
    if len(found) > 500:
        raise ExpressionError(f"there are {len(found):,} divisors, too many to list")
    return [sympy.Integer(divisor) for divisor in found]


def _integrate(f: Any, x: Any, *ends: Any) -> Any:
    if len(ends) == 1:
        raise ExpressionError("write integrate(f, x) or integrate(f, x, a, b)")
    found = sympy.integrate(f, (x, *ends) if ends else x)
    if found.has(sympy.Integral):
        raise ExpressionError("no closed form of this integral was found")
    return found


def _diff(f: Any, x: Any, times: Any = sympy.S.One) -> Any:
    return sympy.diff(f, x, min(_integer(times, 3), 50))


def _real_root(x: Any, n: Any) -> Any:
    return sympy.real_root(x, n) if x.is_real else sympy.root(x, n)


def _rounded(x: Any, digits: Any = sympy.S.Zero) -> Any:
    if not x.is_real:
        raise ExpressionError("round needs a real number")
    scale = sympy.Integer(10) ** _integer(digits, 2)
    return sympy.sign(x) * sympy.floor(abs(x) * scale + sympy.Rational(1, 2)) / scale


_FUNCTIONS: dict[str, tuple[Callable[..., Any], int, int]] = {
    "abs": (sympy.Abs, 1, 1),
    "floor": (sympy.floor, 1, 1),
    "ceil": (sympy.ceiling, 1, 1),
    "round": (_rounded, 1, 2),
    "sqrt": (sympy.sqrt, 1, 1),
    "cbrt": (lambda x: _real_root(x, sympy.Integer(3)), 1, 1),
    "root": (_real_root, 2, 2),
    "min": (sympy.Min, 1, 1000),
    "max": (sympy.Max, 1, 1000),
    "sum": (lambda *xs: sympy.Add(*xs), 1, 1000),
    "product": (lambda *xs: sympy.Mul(*xs), 1, 1000),
    "gcd": (lambda *xs: sympy.gcd_list(list(xs)), 1, 1000),
    "lcm": (lambda *xs: sympy.lcm_list(list(xs)), 1, 1000),
    "mod": (sympy.Mod, 2, 2),
    "factorial": (sympy.factorial, 1, 1),
    "binomial": (sympy.binomial, 2, 2),
    "exp": (sympy.exp, 1, 1),
    "ln": (sympy.log, 1, 1),
    "log": (sympy.log, 1, 2),
    "log10": (lambda x: sympy.log(x, 10), 1, 1),
    "log2": (lambda x: sympy.log(x, 2), 1, 1),
    "sin": (sympy.sin, 1, 1),
    "cos": (sympy.cos, 1, 1),
    "tan": (sympy.tan, 1, 1),
    "cot": (sympy.cot, 1, 1),
    "sec": (sympy.sec, 1, 1),
    "csc": (sympy.csc, 1, 1),
    "asin": (sympy.asin, 1, 1),
    "acos": (sympy.acos, 1, 1),
    "atan": (sympy.atan, 1, 1),
    "sinh": (sympy.sinh, 1, 1),
    "cosh": (sympy.cosh, 1, 1),
    "tanh": (sympy.tanh, 1, 1),
    "atan2": (sympy.atan2, 2, 2),
    "isprime": (lambda n: sympy.true if sympy.isprime(_integer(n, 300)) else sympy.false, 1, 1),
    "factorint": (_factorint, 1, 1),
    "divisors": (_divisors, 1, 1),
    "totient": (lambda n: sympy.totient(_integer(n, 45)), 1, 1),
    "solve": (_solve, 1, 6),
    "simplify": (sympy.simplify, 1, 1),
    "expand": (sympy.expand, 1, 1),
    "factor": (sympy.factor, 1, 1),
    "diff": (_diff, 2, 3),
    "integrate": (_integrate, 2, 4),
    "limit": (lambda f, x, at: sympy.limit(f, x, at), 3, 3),
    "subs": (lambda f, x, value: f.subs(x, value), 3, 3),
}
