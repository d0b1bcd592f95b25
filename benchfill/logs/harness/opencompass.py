"""OpenCompass ``results/<model>/<data set>.json``, written with ``dump_details``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchfill.logs.harness.item_texts import content_text
from benchfill.logs.harness.record import ItemText, LogRecord, ReadContext, fingerprint
from benchfill.logs.harness.source import Source

__all__ = ["OpenCompass"]

_CORRECT = ("correct", "is_correct", "cascade_correct")


class OpenCompass:
    name = "opencompass"
    verified = False

    def detect(self, source: Source) -> bool:
        first = source.first
        details = first.get("details") if first is not None else None
        if isinstance(details, dict):
            details = [value for value in details.values() if isinstance(value, dict)]
        return (
            isinstance(details, list)
            and bool(details)
            and isinstance(details[0], dict)
            and bool({*_CORRECT, "example_abbr"} & set(details[0]))
        )

    def read(self, source: Source, context: ReadContext) -> Iterator[LogRecord]:
        details = source.document["details"]
        entries = (
            [(key, each) for key, each in details.items() if isinstance(each, dict)]
            if isinstance(details, dict)
            else [(str(number), each) for number, each in enumerate(details) if isinstance(each, dict)]
        )
        model = context.name_model("", source.path.absolute().parent.name or source.name, source)
        for number, (key, entry) in enumerate(entries, 1):
            scores = {name: entry[name] for name in _CORRECT if name in entry}
            # Several runs of a data set stand as lists under one example.
            runs = max((len(value) for value in scores.values() if isinstance(value, list)), default=1)
            for run in range(runs):
                found = {name: _run(value, run) for name, value in scores.items()}
                yield LogRecord(
                    model=model,
                    item=str(entry.get("example_abbr") or key),
                    scores=found,
                    task=source.name,
                    attempt=str(run + 1),
                    missing="" if found else "no verdict in the log",
                    main_metric="correct",
                    response=fingerprint(str(_run(entry.get("origin_prediction", entry.get("pred")), run))),
                    text=_text(entry, run),
                    line=number,
                )


def _run(value: Any, run: int) -> Any:
    if not isinstance(value, list):
        return value
    return value[run] if run < len(value) else None


def _text(entry: Mapping[str, Any], run: int) -> ItemText:
    prompt = entry.get("prompt", entry.get("origin_prompt"))
    if isinstance(prompt, list) and prompt and isinstance(prompt[0], dict):
        turns = [each for each in prompt if isinstance(each, dict) and each.get("role") == "HUMAN"]
        prompt = content_text(turns[-1].get("prompt")) if turns else ""
    return ItemText(
        question=prompt if isinstance(prompt, str) else "",
        key=_run(entry.get("references", entry.get("answer")), run),
        from_prompt=True,
    )
