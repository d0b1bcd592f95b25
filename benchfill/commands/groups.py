"""Groups of commands: their help is plain text, which wraps whole in any terminal."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

__all__ = ["command_group"]


class _WholeSentences(TyperGroup):
    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands with their first sentence, which is never cut."""
        commands = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, command.get_short_help_str(1000)) for name, command in commands if command is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def command_group(**settings: Any) -> typer.Typer:
    """Make a group of commands.

    Help is not laid out as tables, which cut names of options and variables at 80 columns, and not read as markup,
    which takes ``[grading]`` for a style.

    Parameters
    ----------
    settings
        What `typer.Typer` takes.
    """
    return typer.Typer(cls=_WholeSentences, rich_markup_mode=None, **settings)
