"""EvalPlus ``*eval_results.json``: HumanEval+ and MBPP+, each sample with base and plus tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from benchfill.logs.harness.record import LogRecord, ReadContext, fingerprint
from benchfill.logs.harness.source import Source

__all__ = ["EvalPlus"]

# The name of the samples: model, back end, temperature.
_NAME = re.compile(
    r"(?P<model>.+?)(?:_(?:vllm|hf|openai|anthropic|google|bedrock|ollama|gptqmodel))?(?:_temp_[\d.]+)?"
)


class EvalPlus:
    name = "evalplus"
    verified = False

    def detect(self, source: Source) -> bool:
        first = source.first
        tasks = first.get("eval") if first is not None else None
        return isinstance(tasks, dict) and bool(tasks) and all(_samples(each) for each in tasks.values())

    def read(self, source: Source, context: ReadContext) -> Iterator[LogRecord]:
        name = re.sub(r"[._]?eval_results$", "", source.name) or source.path.absolute().parent.name
        match = _NAME.fullmatch(name)
        model = context.name_model("", (match["model"] if match else name).replace("--", "/"), source)
        tasks: dict[str, Any] = source.document["eval"]
        for number, (item, entries) in enumerate(tasks.items(), 1):
            for attempt, (base, plus, solution) in enumerate(_samples(entries), 1):
                scores: dict[str, Any] = {"base": base == "pass" if base else None}
                if plus is not None:
                    # The extra tests are taken on top: as EvalPlus counts, both must pass.
                    scores["plus"] = base == plus == "pass"
                yield LogRecord(
                    model=model,
                    item=str(item),
                    scores=scores,
                    task=item.partition("/")[0],
                    attempt=str(attempt),
                    main_metric="plus",
                    response=fingerprint(solution) if solution else None,
                    line=number,
                )


def _samples(entries: Any) -> list[tuple[Any, Any, str]]:
    """Status of the base tests, of the extra tests, and the solution, in both versions of the format."""
    if isinstance(entries, dict) and isinstance(entries.get("base"), list):
        plus = entries.get("plus") or []
        return [
            (_status(base), _status(plus[index]) if index < len(plus) else None, "")
            for index, base in enumerate(entries["base"])
        ]
    if isinstance(entries, list):
        return [
            (each.get("base_status"), each.get("plus_status"), str(each.get("solution") or ""))
            for each in entries
            if isinstance(each, dict) and "base_status" in each
        ]
    return []


def _status(result: Any) -> Any:
    """``[status, details]``; version 1 called a pass "success"."""
    status = result[0] if isinstance(result, list) and result else result
    return "pass" if status == "success" else status
