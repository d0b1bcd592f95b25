"""Formulas on the page: which parts of a text are one, and that nothing but listed elements ever comes out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchfill.review.mathml import ATTRIBUTES, ELEMENTS, pieces


def elements(tree: Any) -> Iterator[tuple[str, dict[str, str]]]:
    if not isinstance(tree, str):
        yield tree[0], tree[1]
        for child in tree[2]:
            yield from elements(child)


def text(tree: Any) -> str:
    return tree if isinstance(tree, str) else "".join(text(child) for child in tree[2])


@pytest.mark.parametrize(
    ("given", "formulas"),
    [
        (r"If $x^2 = 4$, find \(x\) and \[\frac{1}{x}.\] Then $$\sum_1^n k$$.", 4),
        ("It costs $5 and $6, or $7.", 0),
        (r"A \$5 note and $x$ dollars", 1),
        ("$ x $ has blanks inside", 0),
        ("no formula", 0),
        ("设 $x^2-5x+6=0$，求 $x$", 2),
    ],
)
def test_which_parts_are_formulas(given: str, formulas: int) -> None:
    found = pieces(given)
    assert sum(piece[0] == "math" for piece in found) == formulas
    assert "".join(piece[1] if piece[0] == "text" else piece[2] for piece in found) == given


def test_a_bare_key_is_a_formula_and_a_word_is_not() -> None:
    assert pieces(r"\frac{3}{4}", key=True)[0][0] == "math"
    assert pieces(r"2\sqrt{3}", key=True)[0][0] == "math"
    for plain in ("42", "B", "north_east", "C:\\temp"):
        assert pieces(plain, key=True) == [["text", plain]]


def test_display_and_structure_are_kept() -> None:
    (piece,) = pieces(r"$$\frac{a}{b}$$")
    assert piece[1][0] == "math"
    assert piece[1][1]["display"] == "block"
    assert [tag for tag, _ in elements(piece[1])] == ["math", "mrow", "mfrac", "mrow", "mi", "mrow", "mi"]


@pytest.mark.parametrize(
    "hostile",
    [
        r"$\text{<script>alert(1)</script>}$",
        r"$\text{<img src=x onerror=alert(1)>}$",
        r"$\href{javascript:alert(1)}{x}$",
        r"$\class{a\" onclick=\"alert(1)}{x}$",
        r"$\style{background:url(//x)}{x}$",
        r"$\left( x$",
        "$" + "{" * 3000 + "$",
        "$" + "x" * 5000 + "$",
    ],
)
def test_foreign_markup_is_text_or_gone(hostile: str) -> None:
    for piece in pieces(hostile):
        for tag, attributes in elements(piece[1]):
            assert tag in ELEMENTS
            assert set(attributes) <= ATTRIBUTES - {"href", "style", "class"}


def test_a_script_in_a_formula_is_shown_as_it_was_written() -> None:
    assert pieces(r"$\text{<script>alert(1)</script>}$") == [["text", r"$\text{<script>alert(1)</script>}$"]]


@settings(max_examples=40)
@given(st.text(alphabet="$\\()[]{}^_<>&ab1 \n\"'" + "中"))
def test_any_text_comes_back_whole(given: str) -> None:
    found = pieces(given)
    assert "".join(piece[1] if piece[0] == "text" else piece[2] for piece in found) == given
    for piece in found:
        if piece[0] == "math":
            assert all(tag in ELEMENTS and set(known) <= ATTRIBUTES for tag, known in elements(piece[1]))
