"""Grammar of expressions a model may compute: own tokens and parser, so no text ever reaches Python's.

Loosest first: relations, ``+ -``, ``* / // % mod`` and implied products, unary minus, ``^`` (to the right),
postfix ``!`` and ``%``. Ways of writing that people read in two ways are refused with a hint: a wrong number
would cost more than a second try.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

__all__ = [
    "MAX_LENGTH",
    "Binary",
    "Call",
    "ExpressionError",
    "List",
    "Name",
    "Negative",
    "Node",
    "Number",
    "Postfix",
    "parse",
]

MAX_LENGTH = 2000  # characters of an expression
MAX_DEPTH = 40  # nested parentheses, powers and signs
MAX_EXPONENT = 1000  # of a literal such as 1e6


class ExpressionError(ValueError):
    """The expression cannot be computed; the text tells the model why and what to write instead."""


@dataclass(frozen=True)
class Number:
    value: Fraction


@dataclass(frozen=True)
class Name:
    name: str


@dataclass(frozen=True)
class Negative:
    operand: Node


@dataclass(frozen=True)
class Postfix:
    operator: str  # "!" or "%"
    operand: Node


@dataclass(frozen=True)
class Binary:
    operator: str  # + - * / // mod ^ = < > <= >=
    left: Node
    right: Node


@dataclass(frozen=True)
class Call:
    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True)
class List:
    entries: tuple[Node, ...]


Node = Number | Name | Negative | Postfix | Binary | Call | List

_SPELLINGS = (
    dict.fromkeys("×·⋅∙∗", "*")
    | dict.fromkeys("÷∕⁄", "/")
    | dict.fromkeys("−–—﹣-", "-")
    | {"**": "^", "≤": "<=", "≥": ">=", "==": "=", "π": "pi", "∞": "oo", "°": " deg", "（": "(", "）": ")"}
    | {"，": ",", "＋": "+", "＝": "=", "\u00a0": " ", "\u202f": " ", "\u2009": " "}
)
_SPELLING = re.compile("|".join(re.escape(text) for text in sorted(_SPELLINGS, key=len, reverse=True)))
_TOKEN = re.compile(
    r"(?P<number>[0-9]+(?:_[0-9]+)*(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[^\W\d_][^\W_]*(?:_[^\W_]+)*)"
    r"|(?P<operator>//|<=|>=|[-+*/%^!()\[\],=<>√])"
    r"|(?P<space>[ \t\n]+)"
)
_GROUP = re.compile(r"[0-9]{3}(?:\.[0-9]*)?$")


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


def parse(expression: str) -> Node:
    """Parse one expression.

    Parameters
    ----------
    expression
        At most ``MAX_LENGTH`` characters. ``^`` and ``**`` are powers; ``× · ÷ − √ π ≤ ≥`` and thousands
        separators outside argument lists are understood.

    Raises
    ------
    ExpressionError
        For anything else.
    """
    if len(expression) > MAX_LENGTH:
        raise ExpressionError(
            f"{len(expression):,} characters are too long, at most {MAX_LENGTH:,} are allowed"
        )
    text = _SPELLING.sub(lambda found: _SPELLINGS[found.group(0)], expression)
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._at = 0
        self._depth = 0

    def whole(self) -> Node:
        if not self._tokens:
            raise ExpressionError("the expression is empty")
        node = self._relation(listed=False)
        token = self._peek()
        if token is not None:
            hint = "; only one expression at a time" if token.text == "," else ""
            raise ExpressionError(f"did not expect {token.text!r} after a complete expression{hint}")
        return node

    def _peek(self, ahead: int = 0) -> _Token | None:
        place = self._at + ahead
        return self._tokens[place] if place < len(self._tokens) else None

    def _take(self, *texts: str) -> str | None:
        token = self._peek()
        if token is None or token.kind == "number" or token.text not in texts:
            return None
        self._at += 1
        return token.text

    def _expect(self, text: str) -> None:
        if not self._take(text):
            token = self._peek()
            found = repr(token.text) if token else "the end"
            raise ExpressionError(f"expected {text!r} but found {found}")

    def _deeper(self, change: int) -> None:
        self._depth += change
        if self._depth > MAX_DEPTH:
            raise ExpressionError(f"nested more than {MAX_DEPTH} deep; compute it in parts")

    # ``listed`` is true directly inside an argument list, where a comma separates and never groups digits.
    def _relation(self, listed: bool) -> Node:
        left = self._sum(listed)
        operator = self._take("=", "<", ">", "<=", ">=")
        if operator is None:
            return left
        node = Binary(operator, left, self._sum(listed))
        if self._take("=", "<", ">", "<=", ">="):
            raise ExpressionError("chained relations are not supported; write one relation")
        return node

    def _sum(self, listed: bool) -> Node:
        node = self._product(listed)
        while operator := self._take("+", "-"):
            node = Binary(operator, node, self._product(listed))
        return node

    def _product(self, listed: bool) -> Node:
        node = self._signed(listed)
        divided = False
        while True:
            token = self._peek()
            if operator := self._take("*", "/", "//"):
                node = Binary(operator, node, self._signed(listed))
                divided = operator != "*"
            elif token and token.kind != "number" and token.text in {"%", "mod"}:
                self._at += 1
                node = Binary("mod", node, self._signed(listed))
                divided = True
            elif token and (token.kind in {"number", "name"} or token.text in {"(", "√"}):
                node = Binary("*", node, self._implied(token, divided, listed))
            else:
                return node

    def _implied(self, token: _Token, divided: bool, listed: bool) -> Node:
        before = self._tokens[self._at - 1]
        if token.kind == "number" or (before.kind == "number" and re.match(r"[xX][0-9]", token.text)):
            raise ExpressionError(f"an operator is missing before {token.text!r}")
        if divided:
            raise ExpressionError("ambiguous product after a division; write * and parentheses, e.g. a/(b*c)")
        if before.kind == "name" and token.text == "(":
            raise ExpressionError(f"{before.text!r} is not a known function; write * for a product")
        return self._power(listed)

    def _signed(self, listed: bool) -> Node:
        self._deeper(1)
        if self._take("-"):
            node: Node = Negative(self._signed(listed))
        elif self._take("+"):
            node = self._signed(listed)
        else:
            node = self._power(listed)
        self._deeper(-1)
        return node

    def _power(self, listed: bool) -> Node:
        base = self._postfix(listed)
        return Binary("^", base, self._signed(listed)) if self._take("^") else base

    def _postfix(self, listed: bool) -> Node:
        node: Node = self._atom(listed)
        while True:
            if self._take("!"):
                if isinstance(node, Postfix):
                    raise ExpressionError("two postfix signs are ambiguous; use factorial() and parentheses")
                node = Postfix("!", node)
                continue
            token, after = self._peek(), self._peek(1)
            if token is None or token.text != "%":
                return node
            if after and (after.kind in {"number", "name"} or after.text in {"(", "[", "mod"}):
                return node  # the remainder, an infix
            if after and after.text in {"+", "-"}:
                raise ExpressionError("'%' before a sign is ambiguous; write mod(a, b), or /100 for per cent")
            self._at += 1
            node = Postfix("%", node)

    def _atom(self, listed: bool) -> Node:
        token = self._peek()
        if token is None:
            raise ExpressionError("the expression ends too early")
        if token.kind == "number":
            return self._number(listed)
        self._at += 1
        if token.text == "(":
            self._deeper(1)
            node: Node = self._relation(listed=False)
            self._expect(")")
            self._deeper(-1)
            return node
        if token.text == "[":
            return List(self._entries("]"))
        if token.kind == "name":
            return self._named(token)
        if token.text == "√":
            self._deeper(1)
            node = Call("sqrt", (self._atom(listed),))
            self._deeper(-1)
            return node
        raise ExpressionError(f"did not expect {token.text!r}")

    def _named(self, token: _Token) -> Node:
        following = self._peek()
        name = token.text
        if following and following.text == "(" and len(name) > 1:
            self._at += 1
            return Call(name, self._entries(")"))
        return Name(name)

    def _entries(self, closing: str) -> tuple[Node, ...]:
        self._deeper(1)
        entries: list[Node] = []
        if not self._take(closing):
            entries.append(self._relation(listed=True))
            while self._take(","):
                entries.append(self._relation(listed=True))
            self._expect(closing)
        self._deeper(-1)
        return tuple(entries)

    def _number(self, listed: bool) -> Node:
        token = self._tokens[self._at]
        self._at += 1
        digits = token.text
        # 1,234,567: groups of three that touch their commas, and never in an argument list.
        while not listed and len(digits.split(",")[0]) <= 3 and digits.replace(",", "").isdigit():
            comma, group = self._peek(), self._peek(1)
            if not (comma and group and comma.text == "," and _GROUP.match(group.text)):
                break
            if comma.start != token.end or group.start != comma.end:
                break
            digits += "," + group.text
            token = group
            self._at += 2
        return Number(_exact(digits))


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    place = 0
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            sign = text[place]
            hint = {
                "\\": "; write a plain expression, not LaTeX",
                "|": "; write abs(x)",
                "{": "; use parentheses",
                "$": "; leave currency and dollar signs out",
                "_": "; names begin with a letter",
            }.get(sign, "")
            raise ExpressionError(f"did not understand {sign!r}{hint}")
        if found.lastgroup != "space":
            tokens.append(_Token(str(found.lastgroup), found.group(0), found.start(), found.end()))
        place = found.end()
    return tokens


def _exact(digits: str) -> Fraction:
    plain = digits.replace(",", "").replace("_", "")
    exponent = re.search(r"[eE][+-]?(\d+)$", plain)
    if exponent and (len(exponent.group(1)) > 4 or int(exponent.group(1)) > MAX_EXPONENT):
        raise ExpressionError(f"exponents of numbers are limited to {MAX_EXPONENT}")
    return Fraction(plain)
