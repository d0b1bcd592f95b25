"""SWE-bench run reports ``<model>.<run>.json``: lists of instance ids by outcome.

An instance whose evaluation broke, or for which nothing was submitted, was not measured: missing, not wrong. An empty
patch is an answer that failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchfill.logs.harness.record import LogRecord, ReadContext
from benchfill.logs.harness.source import Source
from benchfill.logs.text import Faults

__all__ = ["SweBench"]


class SweBench:
    name = "swebench"
    verified = False

    def detect(self, source: Source) -> bool:
        first = source.first
        return (
            first is not None
            and isinstance(first.get("resolved_ids"), list)
            and ("completed_ids" in first or "unresolved_ids" in first)
        )

    def read(self, source: Source, context: ReadContext) -> Iterator[LogRecord]:
        report: dict[str, Any] = source.document
        ids = {
            name: {str(each) for each in report.get(f"{name}_ids") or [] if isinstance(each, str)}
            for name in (
                "resolved",
                "unresolved",
                "empty_patch",
                "error",
                "incomplete",
                "completed",
                "submitted",
            )
        }
        faults = Faults(source.shown)
        for item in sorted(ids["resolved"] & (ids["unresolved"] | ids["empty_patch"] | ids["error"])):
            faults.add("conflicting_outcome", 1, f"{item!r} is resolved and not resolved")
        faults.raise_any()
        model = context.name_model(
            "", source.name.rpartition(".")[0].replace("__", "/") or source.name, source
        )
        known = set().union(*ids.values())
        for item in sorted(known):
            missing = ""
            if item in ids["error"]:
                missing = "error: the evaluation did not end"
            elif item not in ids["resolved"] | ids["unresolved"] | ids["empty_patch"] | ids["completed"]:
                missing = (
                    "error: submitted, no outcome"
                    if item in ids["submitted"]
                    else "incomplete: never submitted"
                )
            scores = {} if missing else {"resolved": item in ids["resolved"]}
            yield LogRecord(model, item, scores, task="swe-bench", missing=missing)
        empty = len(ids["empty_patch"])
        if empty:
            context.note(f"{source.shown}: {empty} empty patch(es) count as wrong answers.")
