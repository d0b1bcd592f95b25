"""What ``benchfill doctor`` found, as lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from rich.text import Text

from benchfill.display.console import make_console
from benchfill.display.text import plain_text

__all__ = ["print_checks"]

STYLES = {"ok": "green", "warning": "yellow", "broken": "bold red"}


def print_checks(stream: TextIO, checks: Sequence[tuple[str, str, str, str]], hosts: Sequence[str]) -> None:
    """Print a line a check, its remedy below it, and the hosts that would be contacted.

    Parameters
    ----------
    checks
        Name, status (ok, warning, broken), what was found, remedy.
    """
    console = make_console(stream)
    widest = max(len(name) for name, *_ in checks)
    for name, status, found, remedy in checks:
        line = Text.assemble(
            (status.ljust(8), STYLES[status]), plain_text(name).ljust(widest + 2), plain_text(found)
        )
        console.print(line, soft_wrap=True)
        if remedy:
            console.print(Text(" " * 8 + " " * (widest + 2) + plain_text(remedy)), soft_wrap=True)
    console.print(
        Text(f"Hosts this configuration contacts: {', '.join(map(plain_text, hosts)) or 'none'}"),
        soft_wrap=True,
    )
