"""LiveCodeBench ``output/<model>/*_eval_all.json``: one problem an entry, one verdict a sample."""

from __future__ import annotations

from collections.abc import Iterator

from benchfill.logs.harness.item_texts import first_text
from benchfill.logs.harness.record import ItemText, LogRecord, ReadContext, fingerprint
from benchfill.logs.harness.source import Source

__all__ = ["LiveCodeBench"]


class LiveCodeBench:
    name = "livecodebench"
    verified = False

    def detect(self, source: Source) -> bool:
        first = source.first
        return first is not None and "question_id" in first and isinstance(first.get("graded_list"), list)

    def read(self, source: Source, context: ReadContext) -> Iterator[LogRecord]:
        model = context.name_model("", source.path.absolute().parent.name or source.name, source)
        for number, entry in source.records:
            item = str(entry.get("question_id"))
            # Test output prediction asks about several inputs of one problem.
            if entry.get("test_id") is not None:
                item = f"{item}/{entry['test_id']}"
            graded = entry.get("graded_list")
            answers = entry.get("code_list") or entry.get("pred_list") or entry.get("output_list")
            text = ItemText(question=first_text(entry, ("question_content", "code")))
            for attempt, verdict in enumerate(graded if isinstance(graded, list) else [], 1):
                known = isinstance(answers, list) and attempt <= len(answers)
                yield LogRecord(
                    model=model,
                    item=item,
                    scores={"graded": verdict},
                    task="livecodebench",
                    attempt=str(attempt),
                    response=fingerprint(str(answers[attempt - 1])) if known and answers else None,
                    text=text,
                    line=number,
                )
            if not graded:
                yield LogRecord(
                    model, item, {}, task="livecodebench", missing="not graded", text=text, line=number
                )
