"""Exact computation for a model: ``evaluate_expression``, arithmetic and algebra without Python's ``eval``.

Numbers are exact fractions and bounded before anything is computed; whatever is not rational is left to
sympy, whose objects are built one by one and never from text. ``evaluate`` is meant for a child process with
a time limit, because no bound on the input bounds the time of a symbolic solution.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from benchfill.tools.expression_rational import OF_LISTS, RATIONAL, bounded, counted, decimal, power
from benchfill.tools.expression_syntax import (
    MAX_LENGTH,
    Binary,
    Call,
    ExpressionError,
    List,
    Name,
    Negative,
    Node,
    Number,
    Postfix,
    parse,
)

if TYPE_CHECKING:
    from benchfill.tools.sandbox import Sandbox

__all__ = ["MAX_OUTPUT", "evaluate", "evaluate_expression"]

MAX_OUTPUT = 2000  # characters of a result
MAX_TERMS = 10_000  # of a sum or product that is added up term by term
MAX_SECONDS = 10.0  # of CPU time in the child
SANDBOX_IMPORTS = ("sympy",)  # imported by the child before its clock starts

# What the own process may compute: at most 200 characters of digits, signs and + - * / with parentheses.
# Without powers, functions and names a value has at most as many digits as were written, so each of at most
# 100 steps takes microseconds and nothing can grow.
_PLAIN = re.compile(r"[-+*/() .,0-9×÷−]{1,200}")


async def evaluate_expression(sandbox: Sandbox, expression: str) -> str:
    """Compute an expression of a model under limits.

    Parameters
    ----------
    sandbox
        Where everything but plain short arithmetic is computed.
    expression
        Untrusted text.

    Returns
    -------
    str
        The exact result, with its decimal value where it is not an integer, at most ``MAX_OUTPUT``
        characters; or one line ``error: ...`` for the model. Never raises for bad input.
    """
    from benchfill.tools.sandbox import SandboxError

    if len(expression) > MAX_LENGTH or (_PLAIN.fullmatch(expression) and "**" not in expression):
        return evaluate(expression)
    try:
        return str(await sandbox.call(evaluate, expression, seconds=MAX_SECONDS))
    except SandboxError as error:
        return {
            "timeout": f"error: not finished within {MAX_SECONDS:g} seconds; compute it in smaller steps",
            "memory": "error: needs too much memory; compute it in smaller steps",
            "output": f"error: the result has more than {MAX_OUTPUT:,} characters",
        }.get(error.reason, "error: could not be computed; write it in another way")


def evaluate(expression: str) -> str:
    """Compute an expression; see ``EvaluateExpression`` for what it may hold.

    Returns
    -------
    str
        ``"42"``, ``"3/4 = 0.75"``, ``"1/3 ≈ 0.333333333333"``, ``"sqrt(2) ≈ 1.41421356237"``, ``"True"``,
        ``"[-2, 2]"``, ``"2*x"``, or ``"error: ..."``. At most ``MAX_OUTPUT`` characters.

    Raises
    ------
    MemoryError
        When the memory of the process is spent; its owner ends it.
    """
    try:
        text = _shown(_Evaluator().value(parse(expression)))
    except ExpressionError as error:
        return f"error: {error}"
    except ZeroDivisionError:
        return "error: division by zero"
    except MemoryError:
        raise
    except Exception as error:  # sympy raises every kind of exception for what it cannot do
        return f"error: cannot compute this ({type(error).__name__}); write it in another way"
    if len(text) > MAX_OUTPUT:
        return f"error: the result has {len(text):,} characters, at most {MAX_OUTPUT:,} are shown"
    return text


class _Evaluator:
    """Walks the tree. Values are ``Fraction``, ``bool``, lists of values, or sympy expressions."""

    def __init__(self) -> None:
        self._bound: dict[str, Fraction] = {}  # running indices of sums

    def value(self, node: Node) -> Any:
        # A long sum leans to the left as deep as it has terms: that side is walked, not recursed into.
        spine: list[Binary] = []
        while isinstance(node, Binary):
            spine.append(node)
            node = node.left
        result = self._single(node)
        for binary in reversed(spine):
            result = _apply(binary.operator, result, self.value(binary.right))
        return result

    def _single(self, node: Node) -> Any:
        match node:
            case Number(value):
                return bounded(value)
            case Name(name):
                return self._bound[name] if name in self._bound else _algebra().constant_or_symbol(name)
            case Negative(operand):
                return _apply("*", Fraction(-1), self.value(operand))
            case Postfix("%", operand):
                return _apply("/", self.value(operand), Fraction(100))
            case Postfix(_, operand):
                return self._call("factorial", (operand,))
            case List(entries):
                return [self.value(entry) for entry in entries]
            case Call(name, arguments):
                return self._call(name, arguments)
        raise ExpressionError("not an expression")

    def _call(self, name: str, nodes: Sequence[Node]) -> Any:
        if name in {"sum", "product"} and len(nodes) > 1:
            return self._series(name, nodes)
        arguments = [self.value(node) for node in nodes]
        if len(arguments) == 1 and isinstance(arguments[0], list) and name in OF_LISTS:
            arguments = arguments[0]
        if name in RATIONAL and all(isinstance(argument, Fraction) for argument in arguments):
            result = RATIONAL[name](*counted(name, arguments))
            if result is not None:
                return bounded(result)
        return _algebra().call(name, arguments)

    def _series(self, name: str, nodes: Sequence[Node]) -> Any:
        if len(nodes) != 4 or not isinstance(nodes[1], Name):
            raise ExpressionError(f"write {name}(f, k, a, b) with an index k, or {name}([a, b, c])")
        term, index, first, last = nodes[0], nodes[1].name, self.value(nodes[2]), self.value(nodes[3])
        integers = all(isinstance(end, Fraction) and end.denominator == 1 for end in (first, last))
        if not integers or last - first >= MAX_TERMS:
            outer = self._bound.pop(index, None)
            if outer is not None:
                raise ExpressionError(f"the index {index} is already in use")
            return _algebra().series(name, self.value(term), index, first, last)
        if index in self._bound:
            raise ExpressionError(f"the index {index} is already in use")
        operator, result = ("+", Fraction(0)) if name == "sum" else ("*", Fraction(1))
        for k in range(int(first), int(last) + 1):
            self._bound[index] = Fraction(k)
            result = _apply(operator, result, self.value(term))
        self._bound.pop(index, None)
        return result


def _algebra() -> Any:
    """The part that needs sympy, imported when an expression needs it."""
    from benchfill.tools import expression_algebra

    return expression_algebra


def _apply(operator: str, left: Any, right: Any) -> Any:
    if isinstance(left, bool) or isinstance(right, bool):
        raise ExpressionError("a relation is not a number")
    if isinstance(left, list) or isinstance(right, list):
        raise ExpressionError("lists cannot be computed with")
    if not (isinstance(left, Fraction) and isinstance(right, Fraction)):
        return _algebra().apply(operator, left, right)
    match operator:
        case "+":
            return bounded(left + right)
        case "-":
            return bounded(left - right)
        case "*":
            return bounded(left * right)
        case "/":
            return bounded(left / right)
        case "//":
            return Fraction(left // right)
        case "mod":
            return bounded(left % right)
        case "^":
            result = power(left, right)
            return _algebra().apply(operator, left, right) if result is None else result
        case "=":
            return left == right
        case "<":
            return left < right
        case ">":
            return left > right
        case "<=":
            return left <= right
        case _:
            return left >= right


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value)
    if not isinstance(value, Fraction):
        return str(_algebra().shown(value))
    if value.denominator == 1:
        return str(value.numerator)
    return f"{value} {decimal(value)}"
