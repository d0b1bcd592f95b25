"""Plain tables and item files, read by `benchfill.logs.responses` and `benchfill.logs.items`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchfill.errors import InputError
from benchfill.logs.harness.record import LogRecord, ReadContext
from benchfill.logs.harness.source import Source
from benchfill.logs.items import read_items
from benchfill.logs.long_log import is_long_header
from benchfill.logs.responses import ResponseFile, read_responses

__all__ = ["ItemFileFormat", "Table", "cell_records"]

_FIRST_HEADERS = ("model", "item", "item_id")


class Table:
    """CSV or JSON Lines, long or wide."""

    name = "table"
    verified = True

    def detect(self, source: Source) -> bool:
        first = source.first
        if first is not None:
            return is_long_header(list(first)) and "model" in {name.casefold() for name in first}
        if source.is_folder or source.magic[:2] == b"PK" or source.magic == b"PAR1":
            return False
        try:
            header = source.text.partition("\n")[0].strip()
        except InputError:
            return False
        names = [
            name.strip().strip('"').casefold()
            for name in header.replace(";", ",").replace("\t", ",").split(",")
        ]
        if {"family", "size_b"} & set(names):
            # A table about the models, for --models.
            return False
        return len(names) > 1 and (names[0] in _FIRST_HEADERS or is_long_header(names))

    def read(self, source: Source, context: ReadContext) -> Iterator[LogRecord]:
        file = read_responses(source.path, rows=context.rows, threshold=context.threshold)
        yield from cell_records(file, source, context)


class ItemFileFormat:
    """Items alone: texts for the ids of the other files."""

    name = "items"
    verified = True

    def detect(self, source: Source) -> bool:
        first = source.first
        if first is None or "correct" in first:
            return False
        if {"prompt", "instruction_id_list", "kwargs"} <= set(first):
            return True
        return (
            bool({"id", "item_id", "item"} & set(first))
            and "question" in first
            and bool({"answer", "answerKey"} & set(first))
        )

    def read(self, source: Source, context: ReadContext) -> Iterator[LogRecord]:
        file = read_items(source.path)
        context.items.extend(file.items)
        for note in file.notes:
            context.note(f"{source.shown}: {note}")
        return iter(())


def cell_records(file: ResponseFile, source: Source, context: ReadContext) -> Iterator[LogRecord]:
    """One record a cell with answers, with its counts; a model or item without any keeps its place by a missing one."""
    for note in file.notes:
        context.note(f"{source.shown}: {note}")
    log = file.log
    for row, column in np.argwhere(log.attempts > 0).tolist():
        counts = int(log.correct[row, column]), int(log.attempts[row, column])
        yield LogRecord(log.models[row], log.items[column], {}, counts=counts)
    silent_items = np.flatnonzero(~np.any(log.attempts, axis=0)).tolist()
    silent_models = np.flatnonzero(~np.any(log.attempts, axis=1)).tolist()
    empty = [(0, column) for column in silent_items] + [(row, 0) for row in silent_models]
    for row, column in dict.fromkeys(empty):
        yield LogRecord(log.models[row], log.items[column], {}, missing="no answer in the table")
