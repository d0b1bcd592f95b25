"""Is an answer the key? One function for every answer type.

The same functions run in the main process, where they may raise ``Undecided``, and in a child, where they do not.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

from benchfill.item import AnswerType
from benchfill.tools.grading.equality import Comparison, Unreadable, squeezed
from benchfill.tools.grading.evaluation import approximate, symbols
from benchfill.tools.grading.latex import canonical_math
from benchfill.tools.grading.mathtext import MathTextError, Node, parse_canonical
from benchfill.tools.grading.structures import Interval, matrix_rows, parts, read_intervals
from benchfill.tools.grading.values import Value, read_value
from benchfill.tools.grading.words import read_time

__all__ = ["compare", "readable"]


def compare(kind: AnswerType, key: str, answer: str, how: Comparison) -> bool:
    """Whether ``answer`` is ``key``.

    Parameters
    ----------
    kind
        Answer type; for ``text``, ``mcq``, ``mcq-multi``, ``yesno`` and ``regex`` see the modules of words and choices.
    key, answer
        Text of the answers alone, in any spelling.

    Raises
    ------
    Unreadable
        One side is not an answer of this kind.
    Undecided
        Outside of a child process, when only a prover can tell.
    """
    key, answer = canonical_math(key).rstrip(". "), canonical_math(answer).rstrip(".,; ")
    if key and squeezed(key) == squeezed(answer):
        return True
    return _BY_KIND[kind](key, answer, how)


def _single(key: str, answer: str, how: Comparison) -> bool:
    a = _value(key, is_key=True)
    return how.values(a, _value(answer, is_key=False, symbolic=bool(symbols(a.node))))


def _value(text: str, *, is_key: bool, symbolic: bool = True, units_first: bool = False) -> Value:
    value = read_value(text, units="last" if symbolic and not units_first else "first")
    if value is None and re.search(r"(?<![<>!])=", text):
        value = read_value(re.split(r"(?<![<>!])=", text)[-1])
    if value is None:
        raise Unreadable(key=is_key)
    return value


def _number(key: str, answer: str, how: Comparison) -> bool:
    a = _value(key, is_key=True, units_first=True)
    return how.values(a, _value(answer, is_key=False, symbolic=bool(symbols(a.node)), units_first=True))


def _set(key: str, answer: str, how: Comparison) -> bool:
    a, b = parts(key), parts(answer)
    if a is None or b is None:
        raise Unreadable(key=a is None)
    if b[1] == "(" and a[1] == "{":
        return False
    return how.unordered(a[0], b[0])


def _tuple(key: str, answer: str, how: Comparison) -> bool:
    a, b = parts(key), parts(answer)
    if a is None or b is None:
        raise Unreadable(key=a is None)
    return a[1] != "{" != b[1] and how.ordered(a[0], b[0])


def _interval(key: str, answer: str, how: Comparison) -> bool:
    a = read_intervals(key, inequalities=True)
    b = read_intervals(answer, inequalities=True)
    if a is None or b is None:
        raise Unreadable(key=a is None)
    if not how.settings.inequality_as_interval and _is_inequality(key) != _is_inequality(answer):
        return False
    a, b = sorted(a, key=_place), sorted(b, key=_place)
    return len(a) == len(b) and all(_same_piece(x, y, how) for x, y in zip(a, b, strict=True))


def _is_inequality(text: str) -> bool:
    return re.search(r"[<>]|!=", text) is not None


def _place(piece: Interval) -> tuple[float, float]:
    return _float(piece.low, -1.0), _float(piece.high, 1.0)


def _float(value: Value | None, infinite: float) -> float:
    if value is None:
        return infinite * float("inf")
    try:
        return approximate(value.node, {}).real
    except (ArithmeticError, ValueError, KeyError):
        return 0.0


def _same_piece(a: Interval, b: Interval, how: Comparison) -> bool:
    if (a.low_closed, a.high_closed) != (b.low_closed, b.high_closed):
        return False
    for x, y in ((a.low, b.low), (a.high, b.high)):
        if (x is None) != (y is None) or (x is not None and y is not None and not how.values(x, y)):
            return False
    return True


def _equation(key: str, answer: str, how: Comparison) -> bool:
    if _is_inequality(key):
        return _interval(key, answer, how)
    a, b = _sides(key, is_key=True), _sides(answer, is_key=False)
    if len(a) == 1 or len(b) == 1:
        if len(a) == 2 and a[0][0] == "sym" and len(b) == 1:
            return how.nodes(a[1], b[0])
        if len(a) == 1:
            return how.nodes(a[0], b[-1])
        return False
    if how.settings.form == "same":
        return how.nodes(a[0], b[0]) and how.nodes(a[1], b[1])
    first, second = (("add", left, ("neg", right)) for left, right in (a, b))
    return how.nodes(*_proportional(first, second))


def _proportional(first: Node, second: Node) -> tuple[Node, Node]:
    """Two trees that are equal exactly when the given ones differ by a constant factor: f/f(p) and g/g(p)."""
    names = sorted(symbols(first) | symbols(second))
    point = {name: ("num", Fraction(37 + 60 * i, 29 + 4 * i)) for i, name in enumerate(names)}
    return ("div", first, _substituted(first, point)), ("div", second, _substituted(second, point))


def _substituted(node: Node, point: dict[str, Node]) -> Node:
    if node[0] == "sym":
        return point[node[1]]
    return (
        node[0],
        *(_substituted(child, point) if isinstance(child, tuple) else child for child in node[1:]),
    )


def _sides(text: str, *, is_key: bool) -> list[Node]:
    sides = re.split(r"(?<![<>!])=", text)
    try:
        nodes = [parse_canonical(side) for side in sides]
    except MathTextError:
        value = read_value(text) if len(sides) == 1 else None
        if value is None:
            raise Unreadable(key=is_key) from None
        nodes = [value.node]
    return nodes if len(nodes) < 3 else [nodes[0], nodes[-1]]


def _matrix(key: str, answer: str, how: Comparison) -> bool:
    a, b = matrix_rows(key), matrix_rows(answer)
    if a is None or b is None:
        raise Unreadable(key=a is None)
    return len(a) == len(b) and all(how.ordered(x, y) for x, y in zip(a, b, strict=True))


_BASE = re.compile(
    r"^\(?([0-9A-Za-z]+)\)?\s*(?:_\s*\{?\s*\(?(\d+|two|eight|sixteen)\)?\s*\}?|\(?\s*(?:in )?base (\d+)\)?)?$"
)


def _base(key: str, answer: str, how: Comparison) -> bool:
    a, b = _BASE.match(key), _BASE.match(re.sub(r"^[a-zA-Z]\s*=\s*", "", answer))
    if a is None or b is None:
        raise Unreadable(key=a is None)
    bases = [match.group(2) or match.group(3) for match in (a, b)]
    if a.group(1).lstrip("0").lower() != b.group(1).lstrip("0").lower():
        return False
    return bases[0] == bases[1] or (bases[1] is None and how.settings.base_optional) or bases[0] is None


def _ratio(key: str, answer: str, how: Comparison) -> bool:
    a, b = _terms(key), _terms(answer)
    if a is None or b is None:
        raise Unreadable(key=a is None)
    if len(a) != len(b):
        return False
    if how.settings.form == "same":
        return all(how.nodes(x, y) for x, y in zip(a, b, strict=True))
    return all(how.nodes(("mul", a[0], y), ("mul", x, b[0])) for x, y in zip(a[1:], b[1:], strict=True))


def _terms(text: str) -> list[Node] | None:
    text = re.sub(r"^[A-Za-z]\s*:\s*[A-Za-z]\s*=\s*", "", text)
    pieces = re.split(r"\s*:\s*|\s+to\s+|\s*\\to\s*", text)
    if len(pieces) == 1:
        pieces = re.split(r"/", text) if "\\frac" not in text else pieces
    values = [read_value(piece, units="first") for piece in pieces]
    if len(values) == 1 and values[0] is not None and values[0].node[0] == "div":
        return [values[0].node[1], values[0].node[2]]
    return [value.node for value in values if value is not None] if len(values) > 1 and all(values) else None


def _time(key: str, answer: str, how: Comparison) -> bool:
    a, b = read_time(key), read_time(answer)
    if a is None or b is None:
        raise Unreadable(key=a is None)
    if a[1] and b[1]:
        return _half_day(a) == _half_day(b)
    if a[1] or b[1]:
        return a[0] % 43200 == b[0] % 43200 or _half_day(a) == _half_day(b)
    return a[0] == b[0]


def _half_day(time: tuple[int, str]) -> int:
    return time[0] if not time[1] else time[0] % 43200 + (43200 if time[1] == "p" else 0)


_BY_KIND: dict[str, Callable[[str, str, Comparison], bool]] = {
    "numeric": _number,
    "percent": _number,
    "quantity": _number,
    "expr": _single,
    "set": _set,
    "tuple": _tuple,
    "interval": _interval,
    "equation": _equation,
    "matrix": _matrix,
    "base": _base,
    "ratio": _ratio,
    "time": _time,
}


def readable(kind: AnswerType, text: str) -> bool:
    """Whether canonical text has the form of an answer of this type of several parts."""
    try:
        if kind == "equation":
            return read_intervals(text, inequalities=True) is not None or bool(_sides(text, is_key=False))
        if kind == "base":
            return _BASE.match(re.sub(r"^[a-zA-Z]\s*=\s*", "", text)) is not None
        return _PARTED[kind](text) is not None
    except Unreadable:
        return False


_PARTED: dict[str, Callable[[str], object]] = {
    "set": parts,
    "tuple": parts,
    "interval": lambda text: read_intervals(text, inequalities=True),
    "matrix": matrix_rows,
    "ratio": _terms,
}
