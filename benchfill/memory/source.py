"""The item file a run began with, kept byte for byte: what is merged later is written as that file was."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchfill.errors import InputError
from benchfill.memory.runs import RunFolder

__all__ = ["LINEAGE_NAME", "Source", "keep_source", "kept_source"]

# Beside an item file that a merge has written: where its added items came from.
LINEAGE_NAME = "lineage.jsonl"


@dataclass(frozen=True, slots=True)
class Source:
    """An item file and how it was read.

    Parameters
    ----------
    path
        The file.
    name
        What it was called where the user had it.
    mapping
        Field of an item to its name in the file, where the user said so.
    lineage
        Rows on items that earlier merges have added, oldest first; None where there are none.
    """

    path: Path
    name: str
    mapping: Mapping[str, str]
    lineage: Path | None = None


def keep_source(folder: RunFolder, items: Path, mapping: Mapping[str, str]) -> None:
    """Copy an item file, and the lineage beside it, into the folder of a run.

    Raises
    ------
    InputError
        The file cannot be read (kind ``unreadable``).
    """
    folder.source.mkdir(mode=0o700)
    try:
        (folder.source / "items").write_bytes(items.read_bytes())
        lineage = items.with_name(LINEAGE_NAME)
        if lineage.is_file():
            (folder.source / LINEAGE_NAME).write_bytes(lineage.read_bytes())
    except OSError as error:
        raise InputError(
            f"{items} cannot be copied into the run: {error.strerror}.", kind="unreadable", path=str(items)
        ) from None
    about = {"name": items.name, "mapping": dict(mapping)}
    (folder.source / "source.json").write_text(json.dumps(about, ensure_ascii=False), encoding="utf-8")


def kept_source(folder: RunFolder) -> Source | None:
    """What `keep_source` kept; None where the items came with a log, or the run is of an earlier version."""
    about = folder.source / "source.json"
    if not about.is_file():
        return None
    document = json.loads(about.read_text(encoding="utf-8"))
    lineage = folder.source / LINEAGE_NAME
    return Source(
        folder.source / "items",
        document["name"],
        document["mapping"],
        lineage if lineage.is_file() else None,
    )
