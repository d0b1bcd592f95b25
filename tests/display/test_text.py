"""Foreign text steers no terminal; numbers read as they are."""

from __future__ import annotations

import io
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich import box
from rich.console import Console
from rich.table import Table

from benchfill.display.console import print_table
from benchfill.display.text import amount, cost, counted, duration, interval, number, plain_text, z_interval


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, \\frac{1}{2} & [bold] 一个 ٣ é", "plain, \\frac{1}{2} & [bold] 一个 ٣ é"),
        ("\x1b[31mred\x1b[0m \x1b[2J\x1b[1;1Hhome", "red home"),
        ("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "alink"),
        ("\x9b31mred \x9d0;t\x9cend \x90q\x1b\\dcs", "red end dcs"),
        ("\x1b]0;never ended, but still text", "0;never ended, but still text"),
        ("\x1b\x1b[31m[31mnested", "[31mnested"),
        ("\x1bcreset\x1b(Bset", "resetset"),
        ("a\r\nb\tc\u2028d\x85e", "a b c d e"),
        ("bell\x07 back\x08 nul\x00 del\x7f", "bell back nul del"),
        ("evil\u202etxt.exe\u2066\u200f", "eviltxt.exe"),
        ("half \ud83d of an emoji", "half  of an emoji"),
    ],
)
def test_what_steers_a_terminal_is_removed_and_nothing_else(text: str, shown: str) -> None:
    assert plain_text(text) == shown


@given(st.text(alphabet=st.sampled_from("\x1b\x9b\x9d\x90[]();0123mHJ\\\x07ab \n\r\u202e\x00\x7f")))
def test_no_control_survives_whatever_is_nested(text: str) -> None:
    shown = plain_text(text)
    assert shown.isprintable()
    assert plain_text(shown) == shown


def test_numbers() -> None:
    assert number(None) == number(math.nan) == number(math.inf) == "-"
    assert number(-0.0001) == "0.000"
    assert number(-0.0506) == "-0.051"
    assert z_interval(0.598, 0.571, 0.6241) == "0.598 [0.571, 0.624]"
    assert z_interval(None, None, None) == "-"
    assert interval(0.1, None) == ""
    assert [amount(n) for n in (None, 0, 9999, 10_000, 99_949, 123_456, 999_999, 1_234_567, 2e9)] == [
        "-",
        "0",
        "9,999",
        "10.0k",
        "99.9k",
        "123k",
        "1000k",
        "1.2M",
        "2.0G",
    ]
    assert [duration(s) for s in (None, -1.0, 41.4, 59.6, 3725)] == ["-", "0:00", "0:41", "1:00", "1:02:05"]
    assert [cost(c, 9) for c in (None, 0.0123, 12.345)] == ["no prices", "cost 0.0123", "cost 12.35"]
    assert cost(None, 0) == "nothing spent"
    assert [counted(n, "retry") for n in (0, 1, 1200)] == ["0 retries", "1 retry", "1,200 retries"]


def test_a_table_that_is_too_wide_gives_way_where_words_end():
    stream = io.StringIO()
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for header in ("run", "tokens in", "tokens out"):
        table.add_column(header, overflow="fold")
    table.add_row("a-long-name-of-a-run", "1", "2")
    print_table(Console(file=stream, width=20 + 2 * 6 + 3 * 2 + 1), table)
    lines = [" ".join(line.split()) for line in stream.getvalue().splitlines()]
    assert lines[1:3] == ["tokens tokens", "run in out"]
    assert lines[4] == "a-long-name-of-a-run 1 2"


def test_a_table_in_a_narrow_terminal_becomes_lists_of_what_is_there():
    stream = io.StringIO()
    table = Table("name", "items", "score")
    table.add_row("a-benchmark-with-a-long-name", "30", "0.5")
    table.add_row("", "", "[0.4, 0.6]")
    table.add_row("", "7", "")
    print_table(Console(file=stream, width=20), table)
    assert [line.split() for line in stream.getvalue().split("\n\n")[0].splitlines()] == [
        ["name", "a-benchmark-with-a-long-name"],
        ["items", "30"],
        ["score", "0.5", "[0.4,", "0.6]"],
    ]
    assert "score" not in stream.getvalue().split("\n\n")[1]
    assert stream.getvalue().count("a-benchmark") == 2
