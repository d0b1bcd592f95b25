"""Which filter and which metric of a task count, and what a score then means: decided once for all files.

A filter is a way to extract the answer; lm-evaluation-harness repeats every row for each. Without a named one the
first of the log counts, which is the first its task lists, and the report says on how many answers the others
differ. A metric is never chosen among differing ones unless the log or the harness calls one its main metric.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from benchfill.errors import InputError
from benchfill.logs.harness.record import LogRecord
from benchfill.logs.scores import BAD, MISSING, ScoreTable, remedy_for
from benchfill.logs.text import listing

__all__ = ["Choice", "Scorer", "choose_filters", "choose_metrics", "score_text"]

_PARTIAL = "p"


@dataclass(frozen=True)
class Choice:
    """What was chosen for a task.

    Parameters
    ----------
    chosen, rule
        The name, and why: ``only``, ``named``, ``same scores``, ``first of the log``, ``main metric``.
    means
        Mean score of each that was there, over its scored answers.
    differ, compared
        Answers on which the scores of those that were there differ, of how many that have several.
    """

    chosen: str
    rule: str
    means: dict[str, float | None] = field(default_factory=dict)
    differ: int = 0
    compared: int = 0


class Scorer:
    """Outcome of each score of a metric: right, wrong or missing with a reason.

    Parameters
    ----------
    threshold
        Scores strictly between 0 and 1 count as right from here on; None refuses them.
    """

    def __init__(self, threshold: float | None) -> None:
        if threshold is not None and not 0.0 < threshold <= 1.0:
            raise InputError(f"A threshold lies above 0 and at most at 1, not at {threshold:g}.")
        self.table = ScoreTable(threshold)
        self._threshold = threshold
        self._partial: list[str] = []
        self._bad: list[tuple[str, str]] = []

    def outcome(self, record: LogRecord, metric: str) -> tuple[bool | None, str]:
        """True, False, or None with the reason why nothing is known."""
        if record.missing:
            return None, record.missing
        metric = "" if "" in record.scores else metric
        if metric not in record.scores:
            return None, f"no score {metric!r}" if metric else "not scored"
        text = score_text(record.scores[metric])
        if text.strip().casefold() == _PARTIAL and self._threshold is None:
            return None, "partial (P) without --threshold"
        code = self.table[_half(text)]
        if code == MISSING:
            return None, "no score"
        if code == BAD:
            shown = f"{record.model!r} on {record.item!r} has {text!r}"
            if _is_fraction(text):
                self._partial.append(shown)
            else:
                self._bad.append((shown, text))
            return None, "unusable score"
        return code == 1, ""

    def raise_unusable(self) -> None:
        """Refuse scores that were met and mean nothing here.

        Raises
        ------
        InputError
            ``partial_scores`` without a threshold, or ``not_binary``.
        """
        if self._bad:
            raise InputError(
                f"{len(self._bad)} scores are neither 0, 1 nor a known letter: {self._bad[0][0]}.",
                f"{remedy_for(self._bad[0][1])} --metric names another metric.",
                kind="not_binary",
            )
        if self._partial:
            raise InputError(
                f"{len(self._partial)} scores lie between 0 and 1: {self._partial[0]}.",
                "Say from where on they count as right (--threshold 0.5), or name another metric (--metric).",
                kind="partial_scores",
            )


def choose_filters(
    records: Sequence[LogRecord], files: Sequence[int], named: Sequence[str]
) -> dict[str, Choice]:
    """Filter of each task whose rows have any.

    Parameters
    ----------
    records, files
        Records in the order of their logs, and the number of the file of each.
    named
        What the user named.

    Raises
    ------
    InputError
        ``unknown_filter``, ``filter_needed`` (files list filters in different orders, or lack the chosen one) or
        ``duplicate_response`` (rows repeat a document without saying why, as in old versions).
    """
    order: dict[str, dict[int, dict[str, None]]] = defaultdict(lambda: defaultdict(dict))
    for record, file in zip(records, files, strict=True):
        if record.filter:
            order[record.task][file].setdefault(record.filter)
    everything = {name for by_file in order.values() for names in by_file.values() for name in names}
    _check_named("filter", named, everything)
    choices = {}
    for task, by_file in sorted(order.items()):
        available = sorted({name for names in by_file.values() for name in names})
        own = [each for each in records if each.task == task and each.filter]
        means, differ, compared = _compare(own, available, _by_filter)
        wanted = [name for name in available if name in named]
        firsts = {next(iter(names)) for names in by_file.values()}
        if len(available) == 1:
            chosen, rule = available[0], "only"
        elif len(wanted) == 1:
            chosen, rule = wanted[0], "named"
        elif any(name.startswith("#") for name in available):
            repeated = sorted({each.item for each in own if each.filter != "#1"})
            raise InputError(
                f"{task}: documents stand twice without a filter being named: {listing(repeated)}"
                f" ({differ} of {compared} with different scores).",
                "Old logs repeat every document for each filter, unnamed; take the first of each with --filter '#1'.",
                kind="duplicate_response",
            )
        elif len(firsts) == 1 and not wanted:
            chosen, rule = firsts.pop(), "first of the log" if differ else "same scores"
        else:
            raise InputError(
                f"{task} has the filters {listing(available)}, which differ on {differ} of {compared} answers.",
                "Name one with --filter.",
                kind="filter_needed",
            )
        _check_everywhere(task, chosen, by_file, own)
        choices[task] = Choice(chosen, rule, means, differ, compared)
    return choices


def choose_metrics(records: Iterable[LogRecord], named: Sequence[str]) -> dict[str, Choice]:
    """Metric of each task that has scores.

    Raises
    ------
    InputError
        ``unknown_metric``, or ``metric_needed`` when several differ and none is the main one.
    """
    by_task: dict[str, list[LogRecord]] = defaultdict(list)
    for record in records:
        if record.scores and "" not in record.scores:
            by_task[record.task].append(record)
    _check_named("metric", named, {name for own in by_task.values() for each in own for name in each.scores})
    choices = {}
    for task, own in sorted(by_task.items()):
        available = sorted({name for each in own for name in each.scores})
        means, differ, compared = _compare(own, available, _by_metric)
        wanted = [name for name in available if name in named]
        main = {each.main_metric for each in own} - {""}
        if len(wanted) == 1:
            chosen, rule = wanted[0], "named"
        elif len(available) == 1:
            chosen, rule = available[0], "only"
        elif len(main & set(available)) == 1 and not wanted:
            chosen, rule = next(iter(main & set(available))), "main metric" if differ else "same scores"
        elif not differ and not wanted and all(len(each.scores) == len(available) for each in own):
            chosen, rule = available[0], "same scores"
        else:
            shown = ", ".join(f"{name} (mean {_shown(means[name])})" for name in available)
            raise InputError(
                f"{task or 'The log'} has several metrics, which differ on {differ} of {compared} answers: {shown}.",
                "Name one with --metric.",
                kind="metric_needed",
            )
        choices[task] = Choice(chosen, rule, means, differ, compared)
    return choices


def score_text(value: object) -> str:
    """A score as the text a table of responses would have."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else "" if value is None else repr(value)


# A name, and the scores of one answer under it; the first gives the mean.
_Scored = tuple[str, tuple[object, ...]]


def _by_filter(record: LogRecord) -> list[_Scored]:
    return [(record.filter, tuple(value for _, value in sorted(record.scores.items())))]


def _by_metric(record: LogRecord) -> list[_Scored]:
    return [(name, (value,)) for name, value in record.scores.items()]


def _compare(
    records: Sequence[LogRecord], names: Sequence[str], scored: Callable[[LogRecord], list[_Scored]]
) -> tuple[dict[str, float | None], int, int]:
    """Mean score of each name; answers on which the scores under several names differ, and how many have several."""
    table = ScoreTable()
    found: dict[str, list[float]] = {name: [] for name in names}
    cells: dict[tuple[str, str, str], dict[str, object]] = defaultdict(dict)
    for record in records:
        for name, values in scored(record):
            numbers = [_number(score_text(value), table) for value in values]
            found[name] += [number for number in numbers[:1] if number is not None]
            cells[record.model, record.item, record.attempt][name] = tuple(numbers)
    several = [set(scores.values()) for scores in cells.values() if len(scores) > 1]
    means = {name: sum(numbers) / len(numbers) if numbers else None for name, numbers in found.items()}
    return means, sum(len(different) > 1 for different in several), len(several)


def _number(text: str, table: ScoreTable) -> float | None:
    text = _half(text)
    code = table[text]
    if code >= 0:
        return float(code)
    try:
        return float(text) if code == BAD else None
    except ValueError:
        return None


def _half(text: str) -> str:
    return "0.5" if text.strip().casefold() == _PARTIAL else text


def _is_fraction(text: str) -> bool:
    try:
        return 0.0 < float(_half(text)) < 1.0
    except ValueError:
        return False


def _shown(mean: float | None) -> str:
    return "unknown" if mean is None else f"{mean:.3g}"


def _check_named(what: str, named: Sequence[str], known: set[str]) -> None:
    unknown = [name for name in named if name not in known]
    if unknown:
        raise InputError(
            f"There is no {what} {listing(unknown)} in these logs.",
            f"They have {listing(sorted(known))}." if known else f"They name no {what}s.",
            kind=f"unknown_{what}",
        )


def _check_everywhere(
    task: str, chosen: str, by_file: dict[int, dict[str, None]], own: Sequence[LogRecord]
) -> None:
    lacking = [names for names in by_file.values() if chosen not in names]
    if lacking:
        models = sorted({each.model for each in own} - {each.model for each in own if each.filter == chosen})
        raise InputError(
            f"{task}: {len(lacking)} log(s) lack the filter {chosen!r} and have {listing(lacking[0])}"
            + (f" ({listing(models)})." if models else "."),
            "Answers extracted in different ways cannot be compared; name one that all have with --filter,"
            " or import these logs apart.",
            kind="filter_needed",
        )
