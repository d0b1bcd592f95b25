r"""A strict parser of mathematical text (LaTeX, plain or mixed) to a small tree.

Strict means: what it does not know, it refuses. Words are never read as products of letters, and nothing is left
over behind the value, so two texts are equal only when all of both was understood.

Nodes are tuples ``(kind, ...)``: ``num`` (a Fraction), ``sym``, ``const`` (pi, e, i, oo), ``add``, ``mul``, ``div``,
``pow``, ``neg``, ``fact``, ``abs``, ``func`` (name, argument), ``log`` (base, argument), ``root`` (degree, argument),
``binom``, ``pct``, ``deg`` and ``pm`` (1 or -1, argument).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from benchfill.tools.grading.latex import canonical_math
from benchfill.tools.grading.tokens import FUNCTIONS, GREEK, MathTextError, tokens

__all__ = ["MathTextError", "Node", "parse_canonical", "parse_math"]

Node = tuple[Any, ...]

DEEPEST = 40
# Every operation makes the tree one deeper at most; evaluation recurses through it.
MOST_OPERATIONS = 150

_ALIASES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}
_MARKS = frozenset(
    ["overline", "bar", "vec", "hat", "tilde", "widehat", "widetilde", "overrightarrow", "dot"]
)


def parse_math(text: str) -> Node:
    """Parse any spelling; see :func:`parse_canonical`."""
    return parse_canonical(canonical_math(text))


def parse_canonical(text: str) -> Node:
    """Parse canonical mathematical text.

    Raises
    ------
    MathTextError
        Something in the text is unknown, left over, or nested too deeply.
    """
    parser = _Parser(tokens(text))
    node = parser.sum(0)
    if parser.peek()[0] != "end":
        raise MathTextError(f"unexpected {parser.peek()[1]!r}")
    return node


class _Parser:
    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._at = 0
        self._operations = 0

    def peek(self, ahead: int = 0) -> tuple[str, str]:
        index = self._at + ahead
        return self._tokens[index] if index < len(self._tokens) else ("end", "end of text")

    def _take(self) -> tuple[str, str]:
        token = self.peek()
        self._at += 1
        return token

    def _grown(self, node: Node) -> Node:
        self._operations += 1
        if self._operations > MOST_OPERATIONS:
            raise MathTextError("too many operations")
        return node

    def _accept(self, *values: str) -> bool:
        if self.peek() in [("symbol", value) for value in values]:
            self._at += 1
            return True
        return False

    def _expect(self, value: str) -> None:
        if not self._accept(value):
            raise MathTextError(f"expected {value!r}, not {self.peek()[1]!r}")

    def sum(self, depth: int) -> Node:
        if depth > DEEPEST:
            raise MathTextError("nested too deeply")
        node = self._signed(depth)
        while True:
            if self._accept("+"):
                node = self._grown(("add", node, self._signed(depth)))
            elif self._accept("-"):
                node = self._grown(("add", node, ("neg", self._signed(depth))))
            elif self.peek() in (("command", "pm"), ("command", "mp")):
                sign = 1 if self._take()[1] == "pm" else -1
                node = self._grown(("add", node, ("pm", sign, self._product(depth))))
            else:
                return node

    def _signed(self, depth: int) -> Node:
        if depth > DEEPEST:
            raise MathTextError("nested too deeply")
        if self._accept("-"):
            return ("neg", self._signed(depth + 1))
        if self._accept("+"):
            return self._signed(depth + 1)
        if self.peek() in (("command", "pm"), ("command", "mp")):
            return ("pm", 1 if self._take()[1] == "pm" else -1, self._product(depth))
        return self._product(depth)

    def _product(self, depth: int) -> Node:
        node = self._mixed(depth)
        while True:
            if self._accept("*"):
                node = self._grown(("mul", node, self._factor_signed(depth)))
            elif self._accept("/"):
                node = self._grown(("div", node, self._factor_signed(depth)))
            elif self._starts_factor():
                if self.peek()[0] in ("number", "repeating"):
                    raise MathTextError("two numbers side by side")
                node = self._grown(("mul", node, self._factor(depth)))
            else:
                return node

    def _mixed(self, depth: int) -> Node:
        """An integer followed by a proper fraction is their sum: 2 1/3, 2\\frac{1}{3}."""
        whole = self.peek()
        if whole[0] == "number" and whole[1].isdigit():
            if (
                self.peek(1)[0] == "number"
                and self.peek(2) == ("symbol", "/")
                and self.peek(3)[0] == "number"
            ):
                top, bottom = self.peek(1)[1], self.peek(3)[1]
                if top.isdigit() and bottom.isdigit() and int(top) < int(bottom):
                    self._at += 4
                    return ("num", int(whole[1]) + Fraction(int(top), int(bottom)))
            elif self.peek(1) == ("command", "frac"):
                start = self._at
                self._at += 1
                node = self._factor(depth)
                if node[0] == "div" and node[1][0] == node[2][0] == "num" and 0 < node[1][1] < node[2][1]:
                    return ("num", int(whole[1]) + node[1][1] / node[2][1])
                self._at = start
        return self._factor(depth)

    def _starts_factor(self) -> bool:
        kind, value = self.peek()
        if kind == "command":
            return value not in ("pm", "mp", "rfloor", "rceil", "cup", "cap", "in", "to", "setminus")
        return kind in ("number", "repeating", "letter") or (
            kind == "symbol" and value in ("(", "{", "[", "⌊", "⌈")
        )

    def _factor_signed(self, depth: int) -> Node:
        if depth > DEEPEST:
            raise MathTextError("nested too deeply")
        if self._accept("-"):
            return ("neg", self._factor_signed(depth + 1))
        self._accept("+")
        return self._mixed(depth)

    def _factor(self, depth: int) -> Node:
        node = self._atom(depth)
        while True:
            if self._accept("^"):
                node = self._grown(("pow", node, self._exponent(depth)))
            elif self._accept("!"):
                node = self._grown(("fact", node))
            elif self._accept("%"):
                node = self._grown(("pct", node))
            elif self._accept("°"):
                node = self._grown(("deg", node))
            else:
                return node

    def _exponent(self, depth: int) -> Node:
        if depth > DEEPEST:
            raise MathTextError("nested too deeply")
        if self._accept("-"):
            return ("neg", self._exponent(depth + 1))
        self._accept("+")
        atom = self._atom(depth + 1)
        if self._accept("^"):
            return ("pow", atom, self._exponent(depth + 1))
        return atom

    def _argument(self, depth: int) -> Node:
        """The argument of a command: a brace group, else one digit or one symbol (\\frac12, \\sqrt3)."""
        kind, value = self.peek()
        if kind == "number" and len(value) > 1 and value.isdigit():
            self._tokens[self._at] = (kind, value[1:])
            return ("num", Fraction(int(value[0])))
        return self._atom(depth + 1)

    def _group(self, close: str, depth: int) -> Node:
        node = self.sum(depth + 1)
        self._expect(close)
        return node

    def _atom(self, depth: int) -> Node:
        if depth > DEEPEST:
            raise MathTextError("nested too deeply")
        kind, value = self._take()
        if kind == "number":
            return ("num", Fraction(value.replace(",", "")))
        if kind == "repeating":
            return ("num", _repeating(value))
        if kind == "letter":
            return self._symbol(value, depth)
        if kind == "command":
            return self._command(value, depth)
        closing = {"(": ")", "{": "}", "[": "]"}.get(value)
        if closing:
            return self._group(closing, depth)
        if value in ("|", "\\|"):
            return ("abs", self._group(value, depth))
        if value in ("⌊", "⌈"):
            name = "floor" if value == "⌊" else "ceil"
            return ("func", name, self._group({"⌊": "⌋", "⌈": "⌉"}[value], depth))
        raise MathTextError(f"unexpected {value!r}")

    def _symbol(self, name: str, depth: int) -> Node:
        if self._accept("_"):
            name += "_" + self._label()
        while self._accept("'"):
            name += "'"
        if name in ("e", "i"):
            return ("const", name)
        return ("sym", name)

    def _label(self) -> str:
        if not self._accept("{"):
            return self._take()[1]
        parts = []
        while not self._accept("}"):
            kind, value = self._take()
            if kind == "end":
                raise MathTextError("an open subscript")
            parts.append(value)
        return "".join(parts)

    def _command(self, name: str, depth: int) -> Node:
        if name in GREEK:
            return self._symbol(name, depth)
        if name == "pi":
            return ("const", "pi")
        if name == "infty":
            return ("const", "oo")
        if name == "imath":
            return ("const", "i")
        if name == "frac":
            top = self._argument(depth)
            return ("div", top, self._argument(depth))
        if name == "binom":
            top = self._argument(depth)
            return ("binom", top, self._argument(depth))
        if name in ("sqrt", "cbrt"):
            degree: Node = ("num", Fraction(2 if name == "sqrt" else 3))
            if name == "sqrt" and self._accept("["):
                degree = self._group("]", depth)
            return ("root", degree, self._argument(depth))
        if name in ("lfloor", "lceil"):
            node = self.sum(depth + 1)
            if self._take() != ("command", "r" + name[1:]):
                raise MathTextError(f"{name} is not closed")
            return ("func", "floor" if name == "lfloor" else "ceil", node)
        if name in _MARKS:
            return ("sym", f"{name}_{self._marked()}")
        if name in FUNCTIONS:
            return self._function(_ALIASES.get(name, name), depth)
        raise MathTextError(f"the command {name!r}")

    def _marked(self) -> str:
        return self._label()

    def _function(self, name: str, depth: int) -> Node:
        base: Node | None = None
        power: Node | None = None
        for _ in range(2):
            if name == "log" and base is None and self._accept("_"):
                base = self._argument(depth)
            elif power is None and self._accept("^"):
                power = self._exponent(depth)
        argument = self._function_argument(depth)
        if power == ("neg", ("num", Fraction(1))) and name in ("sin", "cos", "tan"):
            return ("func", "arc" + name, argument)
        if name == "abs":
            node: Node = ("abs", argument)
        elif name in ("log", "lg"):
            default: Node = ("const", "e") if name == "log" else ("num", Fraction(10))
            node = ("log", base or default, argument)
        else:
            node = ("log", ("const", "e"), argument) if name == "ln" else ("func", name, argument)
        return ("pow", node, power) if power is not None else node

    def _function_argument(self, depth: int) -> Node:
        if self.peek() in (("symbol", "("), ("symbol", "{"), ("symbol", "["), ("symbol", "|")):
            return self._atom(depth)
        if depth > DEEPEST:
            raise MathTextError("nested too deeply")
        node = self._factor(depth + 1)
        while self.peek()[0] in ("letter", "number") or (
            self.peek()[0] == "command"
            and (self.peek()[1] in GREEK or self.peek()[1] in ("pi", "frac", "sqrt"))
        ):
            node = self._grown(("mul", node, self._factor(depth + 1)))
        if self.peek() == ("symbol", "/") and self.peek(1)[0] == "number":
            self._at += 1
            node = ("div", node, self._factor(depth))
        return node


def _repeating(value: str) -> Fraction:
    head, _, rest = value.partition(".")
    fixed, _, period = rest.partition("\\overline")
    period = period.strip().strip("{}")
    whole = Fraction(int(head or "0"))
    scale = 10 ** len(fixed)
    return whole + Fraction(int(fixed or "0"), scale) + Fraction(int(period), scale * (10 ** len(period) - 1))
