"""The decisions of one reviewer on disk: a line each, there before the page is told so."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchfill.errors import InputError
from benchfill.logs.json_records import read_json_records
from benchfill.memory.runs import try_lock

__all__ = ["Journal", "StaleDecision"]


class StaleDecision(Exception):
    """The item was decided on in the meantime, e.g. in another tab; nothing was saved."""

    def __init__(self, current: Mapping[str, Any]) -> None:
        self.current = current
        super().__init__("decided on in the meantime")


class Journal:
    """The file ``decisions.jsonl`` of a packet, held by this process until it ends.

    Lines are only ever appended. A reviewer who changes their mind adds a line whose ``revision`` is one higher; the
    highest counts. A line that a crash cut short is dropped when the file is opened.

    Raises
    ------
    InputError
        ``in_use``: another page serves this packet; ``unwritable``; what `read_json_records` raises.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._file = path.open("a+", encoding="utf-8", newline="\n")
        except OSError as error:
            raise InputError(
                f"{path} cannot be written: {error.strerror}.",
                "Copy the packet to a folder you can write to.",
                kind="unwritable",
                path=str(path),
            ) from None
        try:
            if not try_lock(self._file):
                raise InputError(
                    "This packet is being reviewed on another page already.",
                    "Go on there, or end that `benchfill review serve`.",
                    kind="in_use",
                    path=str(path),
                )
            whole = self._whole_lines(path)
            rows = read_json_records(whole, str(path)) if whole.strip() else []
        except BaseException:
            self._file.close()
            raise
        self._current: dict[str, dict[str, Any]] = {}
        for _, row in rows:
            self._current[str(row.get("blind_id"))] = {**row, "revision": int(str(row.get("revision", 1)))}

    def _whole_lines(self, path: Path) -> str:
        content = path.read_bytes()
        end = content.rfind(b"\n") + 1
        if end < len(content):
            os.truncate(path, end)
        return content[:end].decode()

    def current(self) -> Mapping[str, Mapping[str, Any]]:
        """The decision that counts, by blind id."""
        return self._current

    def save(self, row: Mapping[str, Any], based_on: int) -> int:
        """Append one decision and wait until it is on disk. Returns its revision.

        Parameters
        ----------
        row
            Fields of the form, with ``blind_id``.
        based_on
            The revision that the reviewer saw, 0 for none.

        Raises
        ------
        StaleDecision
            There is a newer one.
        """
        before = self._current.get(row["blind_id"])
        if before is not None and before["revision"] != based_on:
            raise StaleDecision(before)
        whole = {**row, "revision": based_on + 1 if before is not None else 1}
        self._file.write(json.dumps(whole, ensure_ascii=False) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._current[row["blind_id"]] = whole
        return int(whole["revision"])

    def close(self) -> None:
        self._file.close()
