"""Attempts of each model at each item: repeated ones kept, the same one counted once, contradictions refused."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchfill.errors import InputError
from benchfill.logs.harness.choice import score_text
from benchfill.logs.harness.record import LogRecord
from benchfill.logs.text import listing

__all__ = ["Answer", "Attempts", "collect_attempts"]


@dataclass(frozen=True, slots=True)
class Answer:
    """One attempt, or the counts of several.

    Parameters
    ----------
    correct
        None when missing, with the ``reason``.
    response
        Fingerprint of the reply, None when unknown.
    counts
        Right answers and attempts, where the log has only these; ``correct`` is None then.
    """

    correct: bool | None
    reason: str = ""
    response: str | None = None
    counts: tuple[int, int] | None = None


@dataclass
class Attempts:
    """Answers by (model, item), in the order of their attempts, and what was noticed.

    Parameters
    ----------
    duplicates
        Rows that repeat an answer that is there already, by how it was seen.
    reruns
        Models with several logs that hold the same items; these are repeated attempts.
    identical
        Models whose repeated attempts are the same in every cell: pseudo-replication.
    """

    answers: dict[tuple[str, str], list[Answer]] = field(default_factory=dict)
    duplicates: dict[str, int] = field(default_factory=dict)
    reruns: dict[str, int] = field(default_factory=dict)
    identical: list[str] = field(default_factory=list)


def collect_attempts(
    records: Sequence[LogRecord],
    names: Sequence[str],
    answers: Sequence[Answer],
    files: Sequence[int],
    shown: Sequence[str],
) -> Attempts:
    """Sort answers into cells.

    Parameters
    ----------
    records, names, answers, files
        Of equal length: record, id of its item, outcome, number of its file.
    shown
        Name of each file.

    Raises
    ------
    InputError
        ``duplicate_response``: one log has one attempt twice with different scores.
    """
    found = Attempts()
    kept = _without_duplicates(records, names, files, shown, found)
    cells: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index in kept:
        cells[records[index].model, names[index]].append(index)
    in_files: dict[str, int] = defaultdict(int)
    for cell in sorted(cells):
        order = sorted(cells[cell], key=lambda each: (shown[files[each]], _natural(records[each]), each))
        found.answers[cell] = [answers[each] for each in order]
        in_files[cell[0]] = max(in_files[cell[0]], len({files[each] for each in order}))
    found.reruns = {model: times for model, times in sorted(in_files.items()) if times > 1}
    found.identical = _identical(found.answers)
    return found


def _without_duplicates(
    records: Sequence[LogRecord],
    names: Sequence[str],
    files: Sequence[int],
    shown: Sequence[str],
    found: Attempts,
) -> list[int]:
    """Numbers of the records that count."""
    uids: dict[tuple[str, str, str], int] = {}
    places: dict[tuple[int, str, str, str], int] = {}
    contradictions: dict[str, set[str]] = defaultdict(set)
    kept = []
    for index, record in enumerate(records):
        if record.uid:
            first = uids.setdefault((record.model, names[index], record.uid), index)
            if first != index:
                _count(found, "the same sample in two logs")
                continue
        place = files[index], record.model, names[index], record.attempt
        first = places.setdefault(place, index)
        if first != index and not (record.missing and record.counts is None and records[first].counts):
            if _content(records[first]) != _content(record):
                contradictions[shown[files[index]]].add(record.item)
            _count(found, "the same row twice in one log")
            continue
        kept.append(index)
    for name, items in sorted(contradictions.items()):
        raise InputError(
            f"{name}: {len(items)} items stand twice with different content: {listing(sorted(items))}.",
            "Remove the rows that do not count; repeats need an epoch, trial or sample number.",
            kind="duplicate_response",
            path=name,
        )
    return kept


def _count(found: Attempts, how: str) -> None:
    found.duplicates[how] = found.duplicates.get(how, 0) + 1


def _content(record: LogRecord) -> object:
    scores = sorted((name, score_text(value)) for name, value in record.scores.items())
    return scores, record.missing, record.response, record.counts


def _natural(record: LogRecord) -> tuple[int, int, str]:
    text = record.attempt
    return (0, int(text), "") if text.isascii() and text.isdigit() else (1, 0, text)


def _identical(cells: dict[tuple[str, str], list[Answer]]) -> list[str]:
    """Models with repeats that are the same in every cell: the same reply, or where it is unknown the same score.

    Equal scores say little about a few cells or an always-right model: there must be both right and wrong ones, in at
    least five cells.
    """
    same: dict[str, bool] = {}
    replies: dict[str, bool] = {}
    outcomes: dict[str, list[bool | None]] = defaultdict(list)
    for (model, _), answers in cells.items():
        scored = [each for each in answers if each.correct is not None]
        if len(scored) < 2:
            continue
        known = all(each.response is not None for each in scored)
        replies[model] = replies.get(model, True) and known
        repeats = {(each.correct, each.response if known else None) for each in scored}
        same[model] = same.get(model, True) and len(repeats) == 1
        outcomes[model].append(scored[0].correct)
    return sorted(
        model
        for model, alike in same.items()
        if alike and (replies[model] or (len(outcomes[model]) >= 5 and len(set(outcomes[model])) == 2))
    )
