"""EvalScope reviews: version 1 (``sample_score`` a row) and version 0 (chat completions with a ``review`` each)."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping
from typing import Any

from benchfill.logs.harness.item_texts import content_text, first_text, prompt_frame, split_options
from benchfill.logs.harness.record import ItemText, LogRecord, ReadContext, fingerprint
from benchfill.logs.harness.source import Source, as_object

__all__ = ["EvalScope", "EvalScopeV0"]


class EvalScope:
    name = "evalscope"
    verified = True

    def detect(self, source: Source) -> bool:
        first = source.first
        return first is not None and "sample_score" in first and "index" in first

    def read(self, source: Source, context: ReadContext) -> Iterator[LogRecord]:
        prompts = [_asked(row) for _, row in source.records]
        front, back = prompt_frame(prompts)
        if front or back:
            context.note(
                f"{source.shown}: {front} characters in front of and {back} behind every question, the same in all "
                "prompts, are taken for instructions and left out."
            )
        for (line, row), prompt in zip(source.records, prompts, strict=True):
            sample = as_object(row.get("sample_score"))
            score = as_object(sample.get("score"))
            scores = dict(as_object(score.get("value")))
            item = sample.get("group_id") if sample.get("group_id") is not None else row.get("index")
            question, options = split_options(prompt[front : len(prompt) - back].strip())
            target = row.get("target")
            lettered = isinstance(target, str) and re.fullmatch("[A-Z]", target) is not None
            yield LogRecord(
                model=context.name_model(_model(row), _folder_model(source), source),
                item=str(item),
                scores=scores,
                task=_task(source),
                attempt=str(sample.get("sample_id", "1")),
                missing="" if scores else "not scored",
                main_metric=first_text(score, ("main_score_name",)),
                response=fingerprint(str(score.get("prediction"))),
                text=ItemText(
                    question=question if lettered else prompt[front : len(prompt) - back].strip(),
                    key=target,
                    key_form="letter",
                    choices=options if lettered and options else None,
                    from_prompt=True,
                ),
                line=line,
            )


class EvalScopeV0:
    name = "evalscope-v0"
    verified = False

    def detect(self, source: Source) -> bool:
        first = source.first
        return first is not None and "raw_input" in first and "choices" in first and "index" in first

    def read(self, source: Source, context: ReadContext) -> Iterator[LogRecord]:
        for line, row in source.records:
            choices = row.get("choices")
            answers = (
                [each for each in choices if isinstance(each, dict)] if isinstance(choices, list) else []
            )
            raw = as_object(row.get("raw_input"))
            spec = as_object(row.get("model_spec"))
            found = first_text(row, ("model",)) or first_text(spec, ("model_id",))
            model = context.name_model(found, _folder_model(source), source)
            for number, answer in enumerate(answers or [{}], 1):
                review = as_object(answer.get("review"))
                result = review.get("result")
                message = answer.get("message")
                yield LogRecord(
                    model=model,
                    item=str(row.get("index")),
                    scores=dict(result) if isinstance(result, dict) else {"result": result} if review else {},
                    task=_task(source),
                    attempt=str(number),
                    missing="" if review else "not reviewed",
                    response=fingerprint(content_text(message.get("content")))
                    if isinstance(message, dict)
                    else None,
                    text=_raw_text(raw, review),
                    line=line,
                )


def _raw_text(raw: Mapping[str, Any], review: Mapping[str, Any]) -> ItemText:
    lettered = [raw[each] for each in string.ascii_uppercase if isinstance(raw.get(each), str)]
    choices = raw.get("choices") or (lettered if len(lettered) > 1 else None)
    solution = first_text(raw, ("solution", "answer"))
    return ItemText(
        question=first_text(raw, ("question", "problem", "prompt", "input")),
        key=review.get("gold"),
        key_form="letter",
        choices=choices if isinstance(choices, list | dict) else None,
        solution=solution if solution != review.get("gold") else "",
    )


def _asked(row: Mapping[str, Any]) -> str:
    """The last message of the user before the first answer."""
    messages = row.get("messages")
    asked = ""
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict) and message.get("role") == "assistant":
            break
        if isinstance(message, dict) and message.get("role") == "user":
            asked = content_text(message.get("content"))
    return asked


def _model(row: Mapping[str, Any]) -> str:
    messages = row.get("messages")
    found = [
        first_text(message, ("model",))
        for message in (messages if isinstance(messages, list) else ())
        if isinstance(message, dict) and message.get("role") == "assistant"
    ]
    return next((name for name in found if name), "")


def _folder_model(source: Source) -> str:
    return source.path.absolute().parent.name or source.name


def _task(source: Source) -> str:
    return source.name.removeprefix("reviews_")
