"""``benchfill init``: a commented benchfill.toml to begin with."""

from __future__ import annotations

from typing import Annotated

import typer

from benchfill.errors import InputError

__all__ = ["init"]


def init(
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Write a commented benchfill.toml into this folder, with an example of every kind of server.

    Examples:

      benchfill init

      benchfill init && benchfill doctor
    """
    from importlib.resources import files
    from pathlib import Path

    from benchfill.atomic import write_whole
    from benchfill.settings import SETTINGS_FILE

    path = Path(SETTINGS_FILE)
    if path.exists() and not force:
        raise InputError(
            f"{path} is there already.",
            "--force writes over it.",
            kind="file_exists",
            path=str(path),
        )
    write_whole(path, (files("benchfill.commands") / "template.toml").read_bytes())
    typer.echo(f"{path} is written: put in your models, remove the others, then run benchfill doctor.")
