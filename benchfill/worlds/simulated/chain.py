"""What an item of the simulated world is made of: a chain of whole-number arithmetic, and how hard its steps are."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

__all__ = [
    "KINDS",
    "Chain",
    "Kind",
    "Operation",
    "Step",
    "half_point",
    "operations",
    "read_expression",
    "step_load",
    "write_expression",
]

Kind = Literal["add", "sub", "mul", "div", "addprod", "subprod"]
KINDS: tuple[Kind, ...] = get_args(Kind)
MOST_STEPS = 12
LARGEST = 10**12


@dataclass(frozen=True, slots=True)
class Step:
    """One change of the running value: ``a`` is added, taken away, ...; ``a * b`` in the two ``prod`` kinds."""

    kind: Kind
    a: int
    b: int = 1


@dataclass(frozen=True, slots=True)
class Chain:
    """A starting value and the steps applied to it, left to right."""

    start: int
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """One elementary operation a solver carries out.

    ``aside`` marks a product worked out on its own, whose result is the right operand of the next operation;
    any other operation has the running value on its left.
    """

    sign: Literal["+", "-", "*", "/"]
    left: int
    right: int
    result: int
    aside: bool = False


def operations(chain: Chain) -> tuple[Operation, ...] | None:
    """The elementary operations of a chain, the last one yielding its value.

    None where the chain has no well-behaved solution: a division that leaves a remainder, a value below
    zero, no step at all, or numbers out of bounds.
    """
    if not 1 <= len(chain.steps) <= MOST_STEPS or chain.start < 1:
        return None
    value = chain.start
    done: list[Operation] = []
    for step in chain.steps:
        operand = step.a
        if operand < 1 or step.b < 1:
            return None
        if step.kind in ("addprod", "subprod"):
            operand = step.a * step.b
            done.append(Operation("*", step.a, step.b, operand, aside=True))
        if step.kind in ("add", "addprod"):
            done.append(Operation("+", value, operand, value + operand))
        elif step.kind in ("sub", "subprod"):
            done.append(Operation("-", value, operand, value - operand))
        elif step.kind == "mul":
            done.append(Operation("*", value, operand, value * operand))
        else:
            if value % operand:
                return None
            done.append(Operation("/", value, operand, value // operand))
        value = done[-1].result
        if not 0 <= value <= LARGEST:
            return None
    return tuple(done)


@lru_cache(maxsize=65536)
def _size(number: int) -> float:
    """Decimal digits that need care: trailing zeros cost a quarter of a digit."""
    zeros = 0
    while number >= 10 and number % 10 == 0:
        number //= 10
        zeros += 1
    return math.log10(number + 1) + 0.25 * zeros


def _carries(sign: str, left: int, right: int) -> int:
    count = carry = 0
    while right or carry:
        left, over = divmod(left, 10)
        right, under = divmod(right, 10)
        carry = int(over + under + carry > 9) if sign == "+" else int(over - under - carry < 0)
        count += carry
        if not left and not right and sign == "-":
            break
    return count


def step_load(operation: Operation) -> float:
    """How demanding an elementary operation is, in logits: a solver of that skill slips half of the time.

    Smooth in the sizes of the operands, so that difficulty can be set finely; carries and borrows add to it.
    """
    left, right = _size(operation.left), _size(operation.right)
    if operation.sign == "+":
        return -5.6 + 0.62 * (left + right) + 0.12 * _carries("+", operation.left, operation.right)
    if operation.sign == "-":
        return -5.4 + 0.62 * (left + right) + 0.15 * _carries("-", operation.left, operation.right)
    if operation.sign == "*":
        return -5.2 + 1.0 * (left + right) + 0.35 * left * right
    return -4.9 + 0.9 * (left + right) + 0.3 * left * right


def half_point(loads: Sequence[float]) -> float:
    """The skill at which all steps succeed together half of the time: sum of log(1 + exp(load - x)) = log 2."""
    top = max(loads)
    x = top + math.log(sum(math.exp(load - top) for load in loads) / math.log(2.0))
    for _ in range(5):
        excess = [math.exp(load - x) for load in loads]
        value = sum(map(math.log1p, excess)) - math.log(2.0)
        x += value / sum(e / (1.0 + e) for e in excess)
    return x


_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "addprod": "+", "subprod": "-"}


def write_expression(chain: Chain, *, times: str = "*", over: str = "/") -> str:
    """The chain as one expression with as few brackets as precedence allows."""
    text, is_sum = str(chain.start), False
    for step in chain.steps:
        sign = _SIGNS[step.kind]
        if sign in "*/":
            text = f"({text})" if is_sum else text
            text, is_sum = f"{text} {times if sign == '*' else over} {step.a}", False
        else:
            operand = f"{step.a} {times} {step.b}" if step.kind.endswith("prod") else str(step.a)
            text, is_sum = f"{text} {sign} {operand}", True
    return text


_TOKEN = re.compile(r"\s*(\d{1,15}|[-+*/()])")
_Tree = int | tuple[str, "_Tree", "_Tree"]


class _Reader:
    """Recursive descent over ``expression = term (+- term)*``, ``term = factor (*/ factor)*``."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        at = 0
        text = text.rstrip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise ValueError("not an expression of this grammar")
            self.tokens.append(match.group(1))
            at = match.end()
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]

    def sums(self, depth: int) -> _Tree:
        tree = self.products(depth)
        while self.peek() in ("+", "-"):
            tree = (self.take(), tree, self.products(depth))
        return tree

    def products(self, depth: int) -> _Tree:
        tree = self.factor(depth)
        while self.peek() in ("*", "/"):
            tree = (self.take(), tree, self.factor(depth))
        return tree

    def factor(self, depth: int) -> _Tree:
        if depth > 2 * MOST_STEPS:
            raise ValueError("nested too deeply")
        if self.peek() == "(":
            self.take()
            tree = self.sums(depth + 1)
            if self.peek() != ")":
                raise ValueError("a bracket is not closed")
            self.take()
            return tree
        if not self.peek().isdigit():
            raise ValueError("a number is missing")
        return int(self.take())


def read_expression(text: str) -> Chain | None:
    """The chain an expression stands for, None when the text is anything else; inverts `write_expression`."""
    plain = text.replace("×", "*").replace("÷", "/")
    try:
        reader = _Reader(plain)
        tree = reader.sums(0)
    except ValueError:
        return None
    if reader.peek():
        return None
    steps: list[Step] = []
    while not isinstance(tree, int):
        sign, tree, right = tree
        if isinstance(right, int):
            kind: Kind = {"+": "add", "-": "sub", "*": "mul", "/": "div"}[sign]  # type: ignore[assignment]
            steps.append(Step(kind, right))
        elif right[0] == "*" and sign in "+-" and isinstance(right[1], int) and isinstance(right[2], int):
            steps.append(Step("addprod" if sign == "+" else "subprod", right[1], right[2]))
        else:
            return None
    return Chain(tree, tuple(reversed(steps)))
