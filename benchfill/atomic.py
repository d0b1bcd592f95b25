"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from benchfill.errors import InputError

__all__ = ["write_whole"]


def write_whole(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Write a file beside its name and move it there once it is on disk.

    Parameters
    ----------
    content
        The bytes, or parts of them one after the other.

    Raises
    ------
    InputError
        The file cannot be written (kind ``unwritable``); nothing is left behind.
    """
    # A link is written through; a device or a pipe is nothing to be replaced.
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise InputError(
            f"{path} is not a regular file.",
            "Name a file to write.",
            kind="unwritable",
            path=str(path),
        )
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        with unfinished.open("wb") as handle:
            handle.writelines([content] if isinstance(content, bytes) else content)
            handle.flush()
            os.fsync(handle.fileno())
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise InputError(
            f"{path} cannot be written: {error.strerror}.",
            "Name a file in an existing folder you can write to.",
            kind="unwritable",
            path=str(path),
        ) from None
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
