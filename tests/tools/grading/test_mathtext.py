"""The strict parser against independent arithmetic and against sympy."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchfill.tools.grading.evaluation import TooLarge, approximate, exact, surely_huge
from benchfill.tools.grading.mathtext import MathTextError, parse_math

Pair = tuple[str, Fraction]


def _leaf(number: int) -> Pair:
    return str(number), Fraction(number)


def _grow(children: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    two = st.tuples(children, children)
    return st.one_of(
        two.map(lambda p: (f"({p[0][0]}+{p[1][0]})", p[0][1] + p[1][1])),
        two.map(lambda p: (rf"\left({p[0][0]}\right)\cdot({p[1][0]})", p[0][1] * p[1][1])),
        two.map(lambda p: (f"({p[0][0]}) - ({p[1][0]})", p[0][1] - p[1][1])).map(
            lambda p: (f"({p[0]})", p[1])
        ),
        two.filter(lambda p: p[1][1] != 0).map(
            lambda p: (rf"\dfrac{{{p[0][0]}}}{{{p[1][0]}}}", p[0][1] / p[1][1])
        ),
        # A square of a square of a square has more digits than a failure's report can show.
        children.filter(lambda p: p[1].numerator.bit_length() + p[1].denominator.bit_length() < 200).map(
            lambda p: (f"({p[0]})^2", p[1] ** 2)
        ),
        children.map(lambda p: (f"(-{p[0]})", -p[1])),
        children.map(lambda p: (rf"|{p[0]}|", abs(p[1]))),
    )


@settings(max_examples=300, deadline=None)
@given(st.recursive(st.integers(0, 99).map(_leaf), _grow, max_leaves=8))
def test_rational_arithmetic_is_exact(pair: Pair) -> None:
    text, value = pair
    assert exact(parse_math(text)) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"2\frac13", Fraction(7, 3)),
        ("1 1/4", Fraction(5, 4)),
        (r"-1\frac{1}{2}", Fraction(-3, 2)),
        (r"2\frac{7}{3}", Fraction(14, 3)),  # improper: a product, as nobody writes mixed numbers so
        ("-2^2", Fraction(-4)),
        ("2^{3^2}", Fraction(512)),
        ("2^-1", Fraction(1, 2)),
        ("1/2/2", Fraction(1, 4)),
        ("6/2*3", Fraction(9)),
        ("12,345.5", Fraction(24691, 2)),
        (r"0.\overline{3}", Fraction(1, 3)),
        (r"0.1\overline{6}", Fraction(1, 6)),
        (r"\binom{5}{2}", Fraction(10)),
        ("5!", Fraction(120)),
        (r"\sqrt{\frac{4}{9}}", Fraction(2, 3)),
        (r"\sqrt[3]{27}", Fraction(3)),
        ("50%", Fraction(1, 2)),
        ("1.5e3", Fraction(1500)),
        ("8^{2/3}", Fraction(4)),
    ],
)
def test_values_worked_by_hand(text: str, value: Fraction) -> None:
    assert exact(parse_math(text)) == value


@pytest.mark.parametrize(
    "text",
    [
        r"\sin^2 x + \cos 2x",
        r"\frac{\sqrt{3}}{2} e^{-x}",
        r"\ln(x^2+1) \cdot \log_2 8",
        r"\arctan x + \tan^{-1} y",
        r"2\pi x - \sqrt[3]{5}",
        r"\left|x-y\right|^3",
        r"\frac{x+y}{x-y}",
        r"\sinh x \cosh y",
        r"x_1 + \theta y",
        r"\sec x \cot y",
    ],
)
def test_formulas_against_sympy(text: str) -> None:
    from latex2sympy2_extended import latex2sympy

    point = {"x": 0.83, "y": 1.37, "theta": 0.61, "x_1": 2.9}
    theirs = latex2sympy(text.replace(r"\left|", "|").replace(r"\right|", "|"), normalization_config=None)
    by_name = {symbol: point[str(symbol)] for symbol in theirs.free_symbols}
    expected = complex(theirs.subs(by_name).evalf())
    ours = approximate(parse_math(text), {name: complex(value) for name, value in point.items()})
    assert ours == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        "garbage words",
        "1 2",
        "3 +",
        "(1",
        "1)",
        "",
        r"\unknown{2}",
        "2 apples",
        "no",
        "x is 3",
        "1,2",
        "a = b",
        "3..5",
        "^2",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(MathTextError):
        parse_math(text)


def test_nesting_is_bounded() -> None:
    with pytest.raises(MathTextError):
        parse_math("(" * 500 + "1" + ")" * 500)
    with pytest.raises(MathTextError):
        parse_math("-" * 500 + "1")
    assert exact(parse_math("(" * 20 + "1" + ")" * 20)) == 1


@pytest.mark.parametrize("text", ["9^{9^{9^9}}", "100000!", "2^{1000000}", "-7^{10^{9}}"])
def test_astronomical_values_are_told_and_not_computed(text: str) -> None:
    node = parse_math(text)
    with pytest.raises(TooLarge):
        exact(node)
    assert surely_huge(node)


@pytest.mark.parametrize("text", ["1^{9^{9^9}}", "5", "2^{10}", r"\frac{1}{2004!}", "x^{100}"])
def test_others_are_not_called_huge(text: str) -> None:
    assert not surely_huge(parse_math(text))


def test_tiny_values_stay_exact() -> None:
    assert exact(parse_math(r"\frac{1}{2004!}")) == Fraction(1, math.factorial(2004))
