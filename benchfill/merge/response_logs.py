"""The response logs of a benchmark before and after a merge, and the extended one as a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.response_log import ResponseLog
from benchfill.graph.attempts import counted_as
from benchfill.memory.pool import Pool
from benchfill.memory.records import AttemptRow
from benchfill.merge.selection import Selection, counted_attempts
from benchfill.settings import Settings

__all__ = ["MergedLogs", "log_bytes", "merged_logs"]


@dataclass(frozen=True, eq=False)
class MergedLogs:
    """Both logs over the same models.

    Parameters
    ----------
    before, after
        Original items, and all; items by their ids in the merged file.
    guessing_before, guessing_after
        Chance of a blind guess of each item, in the order of the log.
    added
        Ids of the added items in the merged file, in the order of the merge.
    asked_again
        Original items that the run asked anew: their new answers are in both logs.
    """

    before: ResponseLog
    after: ResponseLog
    guessing_before: NDArray[np.float64]
    guessing_after: NDArray[np.float64]
    added: tuple[str, ...]
    asked_again: tuple[str, ...]


def merged_logs(pool: Pool, selection: Selection, ids: Mapping[str, str]) -> MergedLogs:
    """The log the run began with, and the answers to what is merged.

    Parameters
    ----------
    ids
        Of each added item in the merged file.
    """
    stored = pool.benchmark()
    if stored is None:
        raise LookupError("the benchmark is not in the memory")
    _, _, models, responses = stored
    no_answer = Settings.model_validate(dict(pool.run().settings)).answer.no_answer
    place = {model: row for row, model in enumerate(models)}
    counts = {item: np.asarray(cells, dtype=np.int64) for item, cells in responses.items()}
    guessing = {item.id: item.guessing for item in pool.items("original") if item.id in counts}

    def tally(rows: list[AttemptRow]) -> NDArray[np.int64]:
        found = np.zeros((len(models), 2), dtype=np.int64)
        for row in rows:
            outcome = counted_as(row, no_answer)
            if outcome != "missing":
                found[place[row.model]] += (outcome == "correct", 1)
        return found

    again = []
    for check in pool.rechecks():
        rows = [row for row in pool.attempts(check.item) if check.first <= row.attempt < check.stop]
        counts[check.item] = counts[check.item] + tally(rows)
        again.append(check.item)
    before = _log(models, counts)
    guessing_before = np.asarray([guessing[item] for item in before.items])
    for merged in selection.items:
        written = ids[merged.item.id]
        counts[written] = tally(counted_attempts(pool, merged))
        guessing[written] = merged.item.guessing
    after = _log(models, counts)
    return MergedLogs(
        before,
        after,
        guessing_before,
        np.asarray([guessing[item] for item in after.items]),
        tuple(ids[merged.item.id] for merged in selection.items),
        tuple(again),
    )


def _log(models: list[str], counts: Mapping[str, NDArray[np.int64]]) -> ResponseLog:
    items = sorted(counts)
    order = sorted(range(len(models)), key=models.__getitem__)
    cells = np.stack([counts[item] for item in items])[:, order]
    return ResponseLog(
        tuple(models[row] for row in order), tuple(items), cells[:, :, 0].T.copy(), cells[:, :, 1].T.copy()
    )


def log_bytes(log: ResponseLog) -> bytes:
    """The log as long CSV ``model,item_id,correct,count``; a cell that was never asked has no row."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("model", "item_id", "correct", "count"))
    for row, model in enumerate(log.models):
        for column, item in enumerate(log.items):
            asked = int(log.attempts[row, column])
            if asked:
                writer.writerow((model, item, int(log.correct[row, column]), asked))
    return text.getvalue().encode()
