"""Answers of several parts: lists, sets, tuples, intervals and matrices, split but not yet compared."""

from __future__ import annotations

import re
from dataclasses import dataclass

from benchfill.tools.grading.evaluation import has_plus_minus, signs
from benchfill.tools.grading.latex import ROW_END
from benchfill.tools.grading.values import Value, read_value

__all__ = ["Group", "Interval", "Part", "matrix_rows", "parts", "read_intervals", "read_part", "split_top"]

MOST_PARTS = 200

_OPEN = {"(": ")", "[": "]", "{": "}"}
_WORDS = re.compile(
    r"\s*,?\s*(?<![a-zA-Z\\])(?:and|or|und|oder|et|ou)(?![a-zA-Z])\s*|\s*[和或及与]\s*|\s*;\s*|\s*&\s*",
    re.IGNORECASE,
)
_MEMBER = re.compile(r"^(?:[a-zA-Z]\w*(?:\([a-z]\))?|\\[a-z]+)\s*(?:\\in\b|=|:)\s*(?=[({\[\\])")
_THOUSAND = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_MATRIX = re.compile(
    r"\\begin\{([pbvBV]?matrix|smallmatrix|array)\}\s*(?:\{[lcr| ]*\})?(.*?)\\end\{\1\}", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Group:
    """Parts in brackets: ``opening`` is "(", "[" or "{" (a set)."""

    opening: str
    closing: str
    parts: tuple[Part, ...]


Part = Value | Group


@dataclass(frozen=True, slots=True)
class Interval:
    """One piece of a set of real numbers; None as an end is infinity, equal closed ends are a point."""

    low: Value | None
    high: Value | None
    low_closed: bool
    high_closed: bool


def split_top(text: str) -> list[str]:
    """Split at commas and at "and"/"or" outside of brackets; a comma between digits without blank may group them."""
    text = _WORDS.sub(", ", text)
    grouping = ", " in text
    pieces: list[str] = []
    depth = 0
    start = 0
    for index, character in enumerate(text):
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == "," and depth == 0 and not (grouping and _THOUSAND.match(text, index)):
            pieces.append(text[start:index].strip())
            start = index + 1
    pieces.append(text[start:].strip())
    return [piece for piece in pieces if piece][:MOST_PARTS]


def read_part(text: str, depth: int = 0) -> Part | None:
    """A bracketed group of parts, else one value; None when it is neither."""
    text = text.strip().strip(",;").strip()
    text = _MEMBER.sub("", text)
    if text == "\\emptyset" or re.fullmatch(r"\\\{\s*\\\}", text):
        return Group("{", "}", ())
    inner, opening, closing = _brackets(text)
    if inner is not None and depth < 6:
        pieces = split_top(inner)
        if len(pieces) > 1 or opening == "{":
            read = [read_part(piece, depth + 1) for piece in pieces]
            if any(part is None for part in read):
                return None
            return Group(opening, closing, tuple(part for part in read if part is not None))
    return read_value(text)


def _brackets(text: str) -> tuple[str | None, str, str]:
    """What stands between brackets that hold the whole text, and the brackets."""
    if text.startswith("\\{") and text.endswith("\\}"):
        return text[2:-2], "{", "}"
    if not text or text[0] not in "([{" or text[-1] not in ")]}":
        return None, "", ""
    depth = 0
    for index, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0 and index < len(text) - 1:
            return None, "", ""
    if text[0] == "{" and text[-1] == "}":
        return text[1:-1], "{", "}"
    return (text[1:-1], text[0], text[-1]) if text[-1] in ")]" and text[0] in "([" else (None, "", "")


def parts(text: str, *, unwrap: bool = True) -> tuple[list[Part], str] | None:
    """The parts of a list, set or tuple, and the bracket around it ("" for a bare list).

    A plus-minus stands for its two values.
    """
    whole = read_part(text)
    opening = ""
    if isinstance(whole, Group) and unwrap:
        found: list[Part | None] = list(whole.parts)
        opening = whole.opening
    elif whole is not None:
        found = [whole]
    else:
        found = [read_part(piece) for piece in split_top(text)]
    if any(part is None for part in found):
        return None
    expanded: list[Part] = []
    for part in found:
        if isinstance(part, Value) and has_plus_minus(part.node):
            expanded += [Value(part.text, signs(part.node, sign), part.unit) for sign in (1, -1)]
        elif part is not None:
            expanded.append(part)
    return expanded, opening


def matrix_rows(text: str) -> list[list[Part]] | None:
    """Entries of a matrix in a LaTeX environment or as a list of rows; None when it is no matrix."""
    match = _MATRIX.search(text)
    if match is None:
        whole = read_part(text)
        if not isinstance(whole, Group) or not whole.parts:
            return None
        if all(isinstance(part, Group) for part in whole.parts):
            return [list(part.parts) for part in whole.parts if isinstance(part, Group)]
        return [[part] for part in whole.parts]
    rows: list[list[Part]] = []
    for row in match.group(2).split(ROW_END):
        if row.strip() and row.strip() != "\\hline":
            entries = [read_part(entry) for entry in row.replace("\\hline", "").split("&")]
            if any(entry is None for entry in entries):
                return None
            rows.append([entry for entry in entries if entry is not None])
    return rows or None


def read_intervals(text: str, *, inequalities: bool) -> list[Interval] | None:
    """The pieces of a set of real numbers, in the order written; None when the text is no such set."""
    text = re.sub(r"^\s*[a-zA-Z]\w*\s*\\in\b", "", text.strip())
    pieces: list[Interval] = []
    for piece in re.split(r"\\cup|(?<![a-zA-Z\\])(?:or|and|U)(?![a-zA-Z])|;", text):
        read = _piece(piece.strip().strip(","), inequalities)
        if read is None:
            return None
        pieces += read
    return pieces


def _piece(text: str, inequalities: bool) -> list[Interval] | None:
    text = re.sub(r"^\s*[a-zA-Z]\w*\s*\\in\b", "", text).strip()
    if text.startswith("\\reals"):
        return _without_points(text[len("\\reals") :].strip())
    if text == "\\emptyset":
        return []
    inner, opening, closing = _brackets(text)
    if inner is not None and opening == "{":
        points = [read_value(piece) for piece in split_top(inner)]
        if all(point is not None for point in points):
            return [Interval(point, point, True, True) for point in points]
        builder = re.match(r"^\s*[a-zA-Z]\s*(?:\\in\s*\\reals\s*)?[|:](.*)$", inner)
        return _inequality(builder.group(1)) if builder and inequalities else None
    if inner is not None:
        ends = split_top(inner)
        if len(ends) != 2:
            return None
        read = _ends(ends[0], ends[1])
        if read is None:
            return None
        low, high = read
        return [Interval(low, high, opening == "[" and low is not None, closing == "]" and high is not None)]
    return _inequality(text) if inequalities else None


def _without_points(rest: str) -> list[Interval] | None:
    if not rest:
        return [Interval(None, None, False, False)]
    if not rest.startswith(("\\setminus", "-")):
        return None
    inner, opening, _ = _brackets(rest.removeprefix("\\setminus").removeprefix("-").strip())
    points = (
        [read_value(piece) for piece in split_top(inner)] if inner is not None and opening == "{" else [None]
    )
    if len(points) != 1 or points[0] is None:
        return None
    return [Interval(None, points[0], False, False), Interval(points[0], None, False, False)]


def _ends(low: str, high: str) -> tuple[Value | None, Value | None] | None:
    """The ends of an interval, each None where it is infinite; None when one is unreadable."""
    values = [read_value(text, units="none") for text in (low, high)]
    if values[0] is None or values[1] is None:
        return None
    return _finite(values[0]), _finite(values[1])


def _finite(value: Value) -> Value | None:
    return None if value.node in (("const", "oo"), ("neg", ("const", "oo"))) else value


_RELATION = re.compile(r"<=|>=|!=|<|>")


def _inequality(text: str) -> list[Interval] | None:
    """Pieces of "a < x <= b", "x > a" or "x != a" in one letter."""
    relations = _RELATION.findall(text)
    sides = [side.strip() for side in _RELATION.split(text)]
    if not relations or len(relations) > 2:
        return None
    values = [read_value(side, units="none") for side in sides]
    letters = [index for index, value in enumerate(values) if value is not None and value.node[0] == "sym"]
    if any(value is None for value in values) or len(letters) != 1:
        return None
    if len(relations) == 1:
        letter = letters[0]
        relation = relations[0] if letter == 0 else relations[0].translate(str.maketrans("<>", "><"))
        bound = values[1 - letter]
        if relation == "!=":
            return [Interval(None, bound, False, False), Interval(bound, None, False, False)]
        if relation[0] == "<":
            return [Interval(None, bound, False, relation == "<=")]
        return [Interval(bound, None, relation == ">=", False)]
    if letters != [1] or relations[0][0] != relations[1][0] or "!=" in relations:
        return None
    low, high = (values[0], values[2]) if relations[0][0] == "<" else (values[2], values[0])
    closed = [relation.endswith("=") for relation in relations]
    if relations[0][0] == ">":
        closed.reverse()
    if low is None or high is None:
        return None
    return [Interval(_finite(low), _finite(high), closed[0], closed[1])]
