"""Harness logs of any known format as one response log: found, read, chosen, merged, reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.response_log import ResponseLog
from benchfill.errors import InputError
from benchfill.item import Item
from benchfill.logs.harness.attempts import Answer, Attempts, collect_attempts
from benchfill.logs.harness.choice import Scorer, choose_filters, choose_metrics
from benchfill.logs.harness.finding import content_mark, find_logs
from benchfill.logs.harness.merge import Merged, MergeMode, merge_items
from benchfill.logs.harness.record import LogRecord, ReadContext
from benchfill.logs.harness.registry import known_formats, named_format
from benchfill.logs.harness.report import FileReport, ImportReport, ModelReport
from benchfill.logs.model_names import ModelName, parse_model_name, read_models
from benchfill.logs.text import listing, near_duplicate_note

__all__ = ["ImportOptions", "Imported", "load_responses"]


@dataclass(frozen=True)
class ImportOptions:
    """What a user may say about logs.

    Parameters
    ----------
    format
        Name of the format of all paths; None detects it by content.
    filters, metrics
        Names that count where a task has several.
    tasks
        Only these tasks; empty means all.
    threshold
        Scores strictly between 0 and 1 count as right from here on; None refuses them.
    model
        Name of the model of logs that do not say it.
    rows
        What the rows of a wide table are, where its header is silent.
    merge
        See `benchfill.logs.harness.merge.merge_items`.
    models
        Table ``model,family,size_b`` that overrides what names say.
    collapse_repeats
        Of models whose repeats are identical in every cell only the first attempt counts.
    """

    format: str | None = None
    filters: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    threshold: float | None = None
    model: str | None = None
    rows: Literal["models", "items"] | None = None
    merge: MergeMode = "auto"
    models: Path | None = None
    collapse_repeats: bool = False


@dataclass(frozen=True)
class Imported:
    """An import: counts, items with texts (sorted by id, maybe none), answers by (model, item), and the report."""

    log: ResponseLog
    items: tuple[Item, ...]
    answers: Mapping[tuple[str, str], Sequence[Answer]]
    report: ImportReport

    def guessing(self) -> NDArray[np.float64]:
        """Chance of a blind guess by item of ``log``, shape (items,): 0 where the log does not show options."""
        rates = {item.id: item.guessing for item in self.items}
        return np.array([rates.get(item, 0.0) for item in self.log.items])


@dataclass
class _Reading:
    """Records of all files, with the number of the file of each."""

    records: list[LogRecord] = field(default_factory=list)
    files: list[int] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    items: dict[str, Item] = field(default_factory=dict)
    models: dict[str, ModelName] = field(default_factory=dict)


def load_responses(paths: Sequence[Path | str], options: ImportOptions | None = None) -> Imported:
    """Responses of all logs at these paths.

    Parameters
    ----------
    paths
        Files, or folders that are searched through; the order does not matter.
    options
        None: all by itself, and refused where a choice is the user's.

    Raises
    ------
    InputError
        ``missing_file``, ``unknown_format``, ``no_data``, ``filter_needed``, ``metric_needed``, ``partial_scores``,
        ``duplicate_response``, ``id_conflict`` and the kinds of the readers.
    """
    options = options or ImportOptions()
    report = ImportReport(threshold=options.threshold)
    scorer = Scorer(options.threshold)
    reading = _read_all(paths, options, report)
    _keep_tasks(reading, options)
    report.filters = choose_filters(reading.records, reading.files, options.filters)
    _keep_filters(reading, report)
    report.metrics = choose_metrics(reading.records, options.metrics)
    report.tasks = sorted({record.task for record in reading.records} - {""})
    merged = merge_items(reading.records, reading.files, reading.items, options.merge)
    answers = [_answer(record, report, scorer) for record in reading.records]
    scorer.raise_unusable()
    attempts = collect_attempts(reading.records, merged.names, answers, reading.files, reading.shown)
    if options.collapse_repeats:
        _collapse(attempts)
    log = _count(attempts)
    _fill(report, log, merged, attempts, reading, options)
    report.notes += [note for note in scorer.table.notes() if note not in report.notes]
    known = set(log.items)
    items = tuple(item for item in merged.items if item.id in known)
    return Imported(log, items, attempts.answers, report)


def _read_all(paths: Sequence[Path | str], options: ImportOptions, report: ImportReport) -> _Reading:
    formats, notes = known_formats()
    report.notes.extend(notes)
    forced = named_format(options.format, formats) if options.format else None
    reading = _Reading()
    contents: dict[str, str] = {}
    for source, found in find_logs(paths, formats, forced, report.skipped):
        mark = content_mark(source)
        if contents.setdefault(mark, source.shown) != source.shown:
            report.same_files.append(source.shown)
            continue
        context = ReadContext(options.model, options.rows, options.threshold)
        number, before = len(reading.shown), len(reading.records)
        reading.shown.append(source.shown)
        reading.records.extend(found.read(source, context))
        count = len(reading.records) - before
        reading.files.extend([number] * count)
        report.files.append(FileReport(source.shown, found.name, found.verified, count))
        report.notes += [note for note in context.notes if note not in report.notes]
        reading.models.update(context.models)
        for item in context.items:
            if reading.items.setdefault(item.id, item) != item:
                raise InputError(
                    f"{source.shown}: the item {item.id!r} is another one in an earlier file.",
                    kind="duplicate_item",
                    path=source.shown,
                )
    if not reading.records:
        raise InputError(
            f"No answers in {listing(map(str, paths))}.",
            f"Known formats: {', '.join(each.name for each in formats)}.",
            kind="no_data",
        )
    _check_ids(reading)
    return reading


def _check_ids(reading: _Reading) -> None:
    fine: set[str] = set()
    for record, number in zip(reading.records, reading.files, strict=True):
        for what, text in (("model", record.model), ("item", record.item)):
            if text in fine:
                continue
            fine.add(text)
            if not text.strip():
                raise InputError(
                    f"{reading.shown[number]}, record {record.line}: the {what} has no name.",
                    kind="missing_field",
                    path=reading.shown[number],
                    lines=(record.line,),
                )
            if any("\ud800" <= character <= "\udfff" or character == "\0" for character in text):
                raise InputError(
                    f"{reading.shown[number]}, record {record.line}: the id of the {what} holds half characters.",
                    kind="bad_text",
                    path=reading.shown[number],
                    lines=(record.line,),
                )


def _keep_tasks(reading: _Reading, options: ImportOptions) -> None:
    known = {record.task for record in reading.records}
    unknown = [task for task in options.tasks if task not in known]
    if unknown:
        raise InputError(
            f"There is no task {listing(unknown)} in these logs.",
            f"They have {listing(sorted(known - {''}))}.",
            kind="unknown_task",
        )
    if options.tasks:
        _keep(reading, [record.task in options.tasks for record in reading.records])


def _keep_filters(reading: _Reading, report: ImportReport) -> None:
    chosen = {task: choice.chosen for task, choice in report.filters.items()}
    _keep(reading, [record.filter in ("", chosen.get(record.task, "")) for record in reading.records])


def _keep(reading: _Reading, wanted: Sequence[bool]) -> None:
    reading.records = [each for each, keep in zip(reading.records, wanted, strict=True) if keep]
    reading.files = [each for each, keep in zip(reading.files, wanted, strict=True) if keep]


def _answer(record: LogRecord, report: ImportReport, scorer: Scorer) -> Answer:
    if record.counts is not None:
        return Answer(None, counts=record.counts)
    choice = report.metrics.get(record.task)
    correct, reason = scorer.outcome(record, choice.chosen if choice else "")
    return Answer(correct, reason, record.response)


def _collapse(attempts: Attempts) -> None:
    for (model, item), answers in attempts.answers.items():
        if model in attempts.identical:
            scored = [each for each in answers if each.correct is not None]
            attempts.answers[model, item] = scored[:1] or list(answers[:1])


def _count(attempts: Attempts) -> ResponseLog:
    models = sorted({model for model, _ in attempts.answers})
    items = sorted({item for _, item in attempts.answers})
    row, column = {m: i for i, m in enumerate(models)}, {m: i for i, m in enumerate(items)}
    counts = np.zeros((2, len(models), len(items)), dtype=np.int64)
    for (model, item), answers in attempts.answers.items():
        for answer in answers:
            right, asked = answer.counts or (int(answer.correct is True), int(answer.correct is not None))
            counts[0, row[model], column[item]] += right
            counts[1, row[model], column[item]] += asked
    if not counts[1].any():
        raise InputError("These logs hold no scored answer.", kind="no_data")
    return ResponseLog(tuple(models), tuple(items), counts[0], counts[1])


def _fill(
    report: ImportReport,
    log: ResponseLog,
    merged: Merged,
    attempts: Attempts,
    reading: _Reading,
    options: ImportOptions,
) -> None:
    stated = {**reading.models, **(read_models(options.models) if options.models else {})}
    unknown = sorted(set(stated) - set(log.models)) if options.models else []
    if unknown:
        report.notes.append(f"The table of models names models without responses: {listing(unknown)}.")
    missing = Counter[str]()
    absent = Counter[str]()
    for (model, _), answers in attempts.answers.items():
        for answer in answers:
            if answer.counts is None and answer.correct is None:
                missing[answer.reason] += 1
                absent[model] += 1
    for place, model in enumerate(log.models):
        name = stated.get(model) or parse_model_name(model)
        report.models[model] = ModelReport(
            name.family,
            name.size_b,
            int((log.attempts[place] > 0).sum()),
            int(log.attempts[place].sum()),
            int(log.correct[place].sum()),
            absent[model],
        )
    report.items, report.attempts = len(log.items), int(log.attempts.sum())
    report.missing = dict(sorted(missing.items()))
    report.duplicates, report.reruns = attempts.duplicates, attempts.reruns
    report.identical_repeats, report.collapsed = attempts.identical, options.collapse_repeats
    report.collisions = {
        "merged_by_text": merged.by_text,
        "same_text_kept_apart": merged.same_text,
        "split_ids": merged.split,
        "different_prompts": merged.different_prompts,
    }
    report.conflicting_keys = merged.conflicting_keys
    for item, reason in sorted(merged.unusable.items()):
        report.without_text.setdefault(reason, []).append(item)
    report.notes += [note for note in (near_duplicate_note(log.models, "models"),) if note]
