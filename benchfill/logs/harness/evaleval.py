"""EvalEval ("Every Eval Ever") instance records: one sample a line, after their published schema."""

from __future__ import annotations

import json
from collections.abc import Iterator

from benchfill.logs.harness.item_texts import first_text, prompt_frame
from benchfill.logs.harness.record import ItemText, LogRecord, ReadContext, fingerprint
from benchfill.logs.harness.source import Source, as_object

__all__ = ["EvalEval"]

_MARKS = {"evaluation_name", "sample_id", "model_id", "evaluation"}


class EvalEval:
    name = "evaleval"
    verified = False

    def detect(self, source: Source) -> bool:
        return source.first is not None and set(source.first) >= _MARKS

    def read(self, source: Source, context: ReadContext) -> Iterator[LogRecord]:
        given = [as_object(row.get("input")) for _, row in source.records]
        prompts = [first_text(each, ("raw",)) for each in given]
        front, back = prompt_frame(prompts)
        if front or back:
            context.note(
                f"{source.shown}: {front} characters in front of and {back} behind every question, the same in all "
                "prompts, are taken for instructions and left out."
            )
        for (line, row), shown, prompt in zip(source.records, given, prompts, strict=True):
            verdict = as_object(row.get("evaluation"))
            error = row.get("error")
            scores = {"is_correct": verdict.get("is_correct"), "score": verdict.get("score")}
            output = row.get("output") or row.get("messages")
            yield LogRecord(
                model=context.name_model(str(row.get("model_id") or ""), source.name, source),
                item=str(row.get("sample_id")),
                scores={name: value for name, value in scores.items() if value is not None},
                task=str(row.get("evaluation_name") or ""),
                attempt=str(row.get("evaluation_id") or "1"),
                missing=f"error: {str(error).splitlines()[0][:120]}" if error else "",
                main_metric="is_correct",
                response=fingerprint(json.dumps(output, sort_keys=True)) if output else None,
                text=ItemText(
                    question=prompt[front : len(prompt) - back].strip(),
                    key=shown.get("reference"),
                    key_form="text",
                    choices=shown.get("choices") or None,
                    from_prompt=True,
                ),
                line=line,
            )
