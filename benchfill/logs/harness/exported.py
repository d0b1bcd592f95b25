"""The folder that ``benchfill import`` writes, so that an import can be imported, also together with new logs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from benchfill.errors import InputError
from benchfill.item import Item
from benchfill.logs.harness.record import ItemText, LogRecord, ReadContext
from benchfill.logs.harness.source import Source
from benchfill.logs.harness.tabular import cell_records
from benchfill.logs.items import read_items
from benchfill.logs.model_names import read_models
from benchfill.logs.responses import read_responses
from benchfill.logs.text import read_text

__all__ = ["ATTEMPT_HEADER", "MISSING_HEADER", "Exported"]

ATTEMPT_HEADER = ("model", "item_id", "attempt", "correct")
MISSING_HEADER = ("model", "item_id", "attempt", "reason")


class Exported:
    name = "benchfill"
    verified = True

    def detect(self, source: Source) -> bool:
        return source.is_folder and all(
            (source.path / name).is_file() for name in ("responses.csv", "missing.csv", "report.json")
        )

    def read(self, source: Source, context: ReadContext) -> Iterator[LogRecord]:
        folder = source.path
        items = read_items(folder / "items.jsonl").items if (folder / "items.jsonl").is_file() else ()
        context.items.extend(items)
        if (folder / "models.csv").is_file():
            context.models.update(read_models(folder / "models.csv"))
        place = _Places(source, {item.id: _shown(item) for item in items})
        missing = [row for row in _rows(folder / "missing.csv", MISSING_HEADER) if len(row) == 4]
        responses = folder / "responses.csv"
        # Read whole for its checks: a folder that somebody edited is checked like any table.
        file = read_responses(responses, threshold=context.threshold)
        if not read_text(responses).startswith(",".join(ATTEMPT_HEADER) + "\n"):
            for record in cell_records(file, source, context):
                yield replace(record, **place(record.item))
            for model, item, attempt, reason in missing:
                yield LogRecord(model, scores={}, attempt=attempt, missing=reason, **place(item))
            return
        reasons = {tuple(row[:3]): row[3] for row in missing}
        for line, row in enumerate(_rows(responses, ATTEMPT_HEADER), 2):
            model, item, attempt, correct = row
            yield LogRecord(
                model,
                scores={"": correct},
                attempt=attempt,
                missing="" if correct.strip() else reasons.get((model, item, attempt), "empty cell"),
                line=line,
                **place(item),
            )


class _Places:
    """Task, id in it and text of each item: an import of several tasks put the task in front of the ids."""

    def __init__(self, source: Source, texts: Mapping[str, ItemText]) -> None:
        report = source.sibling("report.json").document
        tasks = report.get("tasks") if isinstance(report, dict) else None
        self._tasks = sorted((str(each) for each in tasks or []), key=len, reverse=True)
        self._texts = texts

    def __call__(self, item: str) -> dict[str, Any]:
        text = self._texts.get(item)
        if len(self._tasks) == 1:
            return {"item": item, "task": self._tasks[0], "text": text}
        for task in self._tasks:
            if item.startswith(f"{task}/"):
                return {"item": item.removeprefix(f"{task}/"), "task": task, "text": text}
        return {"item": item, "task": "", "text": text}


def _shown(item: Item) -> ItemText:
    key: Any = item.answer.split(",") if item.answer_type == "mcq-multi" else item.answer
    return ItemText(item.question, key, "letter", list(item.choices) or None, item.solution)


def _rows(path: object, header: tuple[str, ...]) -> Iterator[list[str]]:
    rows = csv.reader(io.StringIO(read_text(str(path)), newline=""))
    if tuple(next(rows, ())) != header:
        raise InputError(
            f"{path}: the first line is not {','.join(header)}.", kind="bad_header", path=str(path)
        )
    return rows
