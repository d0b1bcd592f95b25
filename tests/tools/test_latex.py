"""LaTeX through a correct JSON parser, and what must not be touched."""

from __future__ import annotations

import json

import pytest

from benchfill.tools.latex import repair_latex, suspected_damage


@pytest.mark.parametrize(
    "meant",
    [
        r"\frac{1}{2}+\frac{1}{2}",
        r"\beta + \binom{5}{2}",
        r"5 \times 3",
        r"\theta = \tau",
        r"\left(x\right)",
        r"a \neq b",
        r"\nabla f",
        r"\boxed{7}",
        r"\begin{cases} x \end{cases}",
        r"\text{if } x",
        r"\forall x",
        r"\rho \rightarrow \rfloor",
        r"\bmod 7",
        r"\triangle ABC",
        r"x \notin S",
    ],
)
def test_a_forgotten_doubling_is_undone(meant: str) -> None:
    """The independent truth is what was meant: JSON of it with the doubling forgotten, then repaired."""
    other_commands = ("end", "left(")
    sent = '"' + meant + '"'
    for command in other_commands:  # \e and \l are no JSON escapes: a model that got so far doubled those
        sent = sent.replace("\\" + command, "\\\\" + command)
    damaged = json.loads(sent)
    assert damaged != meant
    assert repair_latex(damaged) == meant


@pytest.mark.parametrize(
    "text",
    [
        r"\frac{1}{2} \times \beta",
        "Line one.\nnumber two follows.",
        "First.\nu is the speed.",
        "First.\ne is the base.",
        "Rows:\nequal parts",
        "one\n\nneither",
        "列方程。\n求解。",
    ],
)
def test_sound_text_is_left_alone(text: str) -> None:
    assert repair_latex(text) == text


def test_an_unknown_command_is_left_for_the_screening() -> None:
    assert repair_latex("a\tan apple") == "a\tan apple"
    assert repair_latex("\x0cracture") == "\x0cracture"


def test_line_ends_of_windows_become_newlines() -> None:
    assert repair_latex("a\r\nb") == "a\nb"
    assert repair_latex("a\r\night") == "a\night"


def test_nu_is_restored_only_beside_certain_damage() -> None:
    damaged = json.loads(r'"Compute 5 \times 3 and \nu = 2."')
    assert repair_latex(damaged) == r"Compute 5 \times 3 and \nu = 2."


def test_suspicion_needs_a_formula() -> None:
    assert suspected_damage("$a \ne b$") == r"\ne"
    assert suspected_damage(r"\(a " + "\n" + r"u\)") == r"\nu"
    assert suspected_damage("$a$\ne is the base of $\\ln$") == ""
    assert suspected_damage("$a +\nb$") == ""
    assert suspected_damage("It costs $5.\nu is free and $3 too") == ""
