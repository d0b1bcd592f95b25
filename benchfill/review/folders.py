"""A folder of packets that is written whole or not at all, its files all of one time."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchfill.errors import InputError

__all__ = ["staged_folders"]

# 1 January 1980, the earliest time a zip archive can hold: the time of a file tells nothing.
SAME_TIME = 315_532_800


@contextlib.contextmanager
def staged_folders(out: Path, folders: Mapping[str, Mapping[str, bytes]]) -> Iterator[None]:
    """Write folders of files beside ``out``; they have its name once the block ends without error.

    Where ``out`` holds the very same files nothing is touched: what a reviewer has added beside them stays.

    Parameters
    ----------
    folders
        Files by name (with ``/`` in it for folders within) for each folder.

    Raises
    ------
    InputError
        ``out_exists``: something else is there; ``unwritable``.
    """
    wanted = {f"{folder}/{name}": data for folder, files in folders.items() for name, data in files.items()}
    out = out.resolve()
    unfinished = out.with_name(f".{out.name}.unfinished")
    try:
        if out.exists() and not out.is_dir():
            raise _taken(out)
        if out.is_dir() and any(out.iterdir()):
            if any(
                not (out / name).is_file() or (out / name).read_bytes() != data
                for name, data in wanted.items()
            ):
                raise _taken(out)
            yield
            return
        shutil.rmtree(unfinished, ignore_errors=True)
        _write(unfinished, wanted)
        yield
        if out.is_dir():
            out.rmdir()
        unfinished.rename(out)
    except OSError as error:
        raise InputError(
            f"{out} cannot be written: {error.strerror}.",
            "Name a folder in an existing one that you can write to.",
            kind="unwritable",
            path=str(out),
        ) from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _write(root: Path, files: Mapping[str, bytes]) -> None:
    root.mkdir(parents=True)
    for name in sorted(files):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # Not forced to disk: should the machine die, the same export gives the same bytes again.
        path.write_bytes(files[name])
        os.utime(path, (SAME_TIME, SAME_TIME))
    for folder in sorted((path for path in root.rglob("*") if path.is_dir()), reverse=True):
        os.utime(folder, (SAME_TIME, SAME_TIME))


def _taken(out: Path) -> InputError:
    return InputError(
        f"{out} holds something else already.",
        "Packets are never overwritten: choose another --out.",
        kind="out_exists",
        path=str(out),
    )
