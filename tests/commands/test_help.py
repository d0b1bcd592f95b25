"""Help says everything it says in 80 columns: no name is cut, nothing in brackets is taken for a style."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from benchfill.cli import app


def _pages(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any, str]]:
    context = command.make_context("benchfill", [], terminal_width=80, resilient_parsing=True)
    yield words, command, command.get_help(context)
    for name, inner in getattr(command, "commands", {}).items():
        yield from _pages(inner, (*words, name))


def _words(text: str) -> str:
    return " ".join(text.split())


def test_help_is_whole_in_80_columns():
    shown = list(_pages(typer.main.get_command(app)))
    pages = {words: text for words, _, text in shown}
    assert len(pages) > 30
    for words, command, text in shown:
        assert max(map(len, text.splitlines())) <= 80, words
        for option in command.params:
            names = [*option.opts, *option.secondary_opts, getattr(option, "envvar", None) or ""]
            assert all(name in text for name in names if name.startswith(("-", "BENCHFILL"))), (words, names)
        for name, inner in getattr(command, "commands", {}).items():
            assert f"{name} {_words(inner.get_short_help_str(1000))}" in _words(text), (words, name)
    assert "[[pool]]" in pages["answer",]
    assert "[grading] of benchfill.toml" in _words(pages["grade",])
    # An example of two lines is broken as a shell reads it.
    assert "--responses R.csv \\\n      --bank-items B.jsonl" in pages["run",]
