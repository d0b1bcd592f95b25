"""What a search is about: items and the response log over exactly these, from files of any known format."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from benchfill.calibration.response_log import ResponseLog
from benchfill.errors import InputError
from benchfill.item import Item
from benchfill.logs.importing import load_responses
from benchfill.logs.items import ItemFile, check_items_cover, read_items
from benchfill.logs.responses import read_responses

__all__ = ["Benchmark", "read_benchmark"]

# Faults of a log that are choices of its user's, with flags of ``benchfill import`` for them.
LEFT_TO_THE_USER = frozenset(
    ["filter_needed", "metric_needed", "partial_scores", "duplicate_response", "id_conflict"]
)


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Items and the response log over exactly these items.

    Parameters
    ----------
    source, mapping
        The item file and how its fields were named to be read; None where the items came with the log.
    """

    name: str
    items: tuple[Item, ...]
    log: ResponseLog
    notes: tuple[str, ...] = ()
    source: Path | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """Of texts, keys and counts, whatever the order or format of the files."""
        digest = hashlib.sha256()
        for item in self.items:
            digest.update(json.dumps([item.id, item.question, item.answer, item.choices]).encode())
        digest.update(json.dumps([self.log.models, self.log.items]).encode())
        digest.update(np.ascontiguousarray(self.log.correct).tobytes())
        digest.update(np.ascontiguousarray(self.log.attempts).tobytes())
        return digest.hexdigest()

    def responses(self) -> dict[str, list[list[int]]]:
        """``{item: [[correct, attempts] a model]}``."""
        return {
            item: [
                [int(self.log.correct[row, column]), int(self.log.attempts[row, column])]
                for row in range(len(self.log.models))
            ]
            for column, item in enumerate(self.log.items)
        }


def read_benchmark(
    name: str, items: Path | None, responses: Path, mapping: dict[str, str] | None = None
) -> Benchmark:
    """Items of a file, or those whose texts the log holds, and the log over exactly these.

    Parameters
    ----------
    responses
        A log of any format that ``benchfill import`` reads, or a folder of logs.

    Raises
    ------
    InputError
        A file is unusable, or items and log do not belong together. Where the log leaves a choice to its user (a
        metric, a filter, partial scores), the message says how to settle it.
    """
    log, texts, log_notes = _read_log(responses)
    item_file = ItemFile(texts) if items is None else read_items(items, mapping=mapping)
    if not item_file.items:
        raise InputError(
            f"{responses} holds answers, but neither questions nor keys.",
            "Name the items with --items.",
            kind="no_items",
        )
    notes = check_items_cover(item_file.items, log)
    kept = {item.id: item for item in item_file.items}
    log = log.select_items([item for item in log.items if item in kept])
    chosen = tuple(kept[item] for item in log.items)
    every_note = (*item_file.notes, *log_notes, *notes)
    return Benchmark(name, chosen, log, every_note, items, mapping or {})


def _read_log(path: Path) -> tuple[ResponseLog, tuple[Item, ...], tuple[str, ...]]:
    """A response log of any known format, or a folder of them; the items whose texts it holds, and notes."""
    try:
        found = load_responses([path])
    except InputError as error:
        if error.kind == "unknown_format" and path.is_file():
            # A table with a fault is no table of a known form: its own reader says what the fault is.
            file = read_responses(path)
            return file.log, (), file.notes
        if error.kind in LEFT_TO_THE_USER:
            remedy = f"Settle it with: benchfill import {path} --out DIR; then --responses DIR."
            raise InputError(f"{error.message} {error.remedy}".strip(), remedy, kind=error.kind) from error
        raise
    # Items without a text are only missed where no item file is named.
    return found.log, found.items, tuple(replace(found.report, without_text={}).warnings())
