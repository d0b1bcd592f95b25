"""lm-evaluation-harness: ``samples_<task>_<time>.jsonl``, with ``results_<time>.json`` beside it.

One row a document and filter. The model's name, the number of documents and the decoding stand in the results file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from benchfill.errors import InputError
from benchfill.logs.constraints import constraint_key
from benchfill.logs.harness.item_texts import first_text
from benchfill.logs.harness.record import ItemText, LogRecord, ReadContext, fingerprint
from benchfill.logs.harness.source import Source, as_object
from benchfill.logs.json_records import JsonNumber

__all__ = ["LmEval"]

_NAME = re.compile(r"samples_(?P<task>.+?)(?:_(?P<time>\d{4}-\d{2}-\d{2}T.*))?")
_QUESTIONS = (
    "question",
    "problem",
    "Question",
    "query",
    "input",
    "goal",
    "ctx",
    "sentence",
    "text",
    "prompt",
)
_SOLUTIONS = ("solution", "rationale", "explanation")
# Fields of a row that are no metric; a row of an old version does not list its metrics.
_NO_METRICS = {
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash",
    "prompt_hash", "target_hash", "schema_version",
}  # fmt: skip


class LmEval:
    name = "lm-eval"
    verified = True

    def detect(self, source: Source) -> bool:
        first = source.first
        return first is not None and "doc_id" in first and ("resps" in first or "filtered_resps" in first)

    def read(self, source: Source, context: ReadContext) -> Iterator[LogRecord]:
        match = _NAME.fullmatch(source.name)
        task = match["task"] if match else source.name
        results = _results(source, match["time"] if match else None)
        folder = source.path.absolute().parent.name
        model = context.name_model(_model(results), folder.replace("__", "/") or source.name, source)
        _note_size(results, task, source, context)
        # Rows of old versions do not name their filter: the n-th row of a document is the n-th filter.
        nameless = Counter[str]()
        repeated = _repeated(source) if "filter" not in (source.first or {}) else False
        for line, row in source.records:
            item = row.get("doc_id")
            if not isinstance(item, str):
                raise InputError(
                    f"{source.shown}, line {line}: no 'doc_id'.",
                    kind="missing_field",
                    path=source.shown,
                    lines=(line,),
                )
            nameless[item] += 1
            missing = "" if row.get("filtered_resps") or row.get("resps") else "no response in the log"
            yield LogRecord(
                model=model,
                item=str(item),
                scores=_scores(row),
                task=task,
                filter=str(row.get("filter") or (f"#{nameless[item]}" if repeated else "")),
                missing=missing,
                response=fingerprint(str(row.get("resps")), str(row.get("filtered_resps"))),
                text=_text(row),
                line=line,
            )


def _scores(row: Mapping[str, Any]) -> dict[str, Any]:
    named = row.get("metrics")
    if isinstance(named, list):
        # A list holds scores of parts of a response (a constraint each), which are no score of it.
        return {str(name): row.get(str(name)) for name in named if not isinstance(row.get(str(name)), list)}
    return {
        name: value
        for name, value in row.items()
        if name not in _NO_METRICS and (isinstance(value, bool | JsonNumber) or value is None)
    }


def _text(row: Mapping[str, Any]) -> ItemText:
    doc = as_object(row.get("doc"))
    # Tasks of instruction following have no target: what is checked stands in the document.
    target = constraint_key(doc) or row.get("target")
    question, shown = first_text(doc, _QUESTIONS), False
    if not question:
        question, shown = _prompt(row.get("arguments")), True
    choices = doc.get("choices")
    by_number = isinstance(target, JsonNumber) and len(row.get("resps") or ()) > 1
    return ItemText(
        question=question,
        key=target,
        key_form="index" if by_number else "any",
        choices=choices if isinstance(choices, list | dict) and choices else None,
        solution=first_text(doc, _SOLUTIONS),
        from_prompt=shown,
    )


def _prompt(arguments: Any) -> str:
    """Prompt of the first request: ``gen_args_0.arg_0``, or the first of the first list in old versions."""
    if isinstance(arguments, dict):
        prompt = as_object(arguments.get("gen_args_0")).get("arg_0")
    else:
        first = arguments[0] if isinstance(arguments, list) and arguments else None
        prompt = first[0] if isinstance(first, list) and first else first
    return prompt if isinstance(prompt, str) else ""


def _results(source: Source, time: str | None) -> Mapping[str, Any]:
    """The results file of the same time, or the only one in the folder; empty without one."""
    folder = source.path.parent
    found = [folder / f"results_{time}.json"] if time else []
    found = [path for path in found if path.is_file()] or sorted(folder.glob("results*.json"))
    if len(found) != 1:
        return {}
    return as_object(source.sibling(found[0].name).document)


def _model(results: Mapping[str, Any]) -> str:
    config = as_object(results.get("config"))
    name = first_text(results, ("model_name",)) or first_text(config, ("model_name",))
    arguments = config.get("model_args")
    if not name and isinstance(arguments, str):
        parts = dict(part.partition("=")[::2] for part in arguments.split(","))
        name = parts.get("pretrained") or parts.get("model") or ""
    elif not name and isinstance(arguments, dict):
        name = first_text(arguments, ("pretrained", "model"))
    return name


def _note_size(results: Mapping[str, Any], task: str, source: Source, context: ReadContext) -> None:
    expected = as_object(as_object(results.get("n-samples")).get(task)).get("effective")
    documents = len({str(row.get("doc_id")) for _, row in source.records})
    if isinstance(expected, str) and expected.isdigit() and int(expected) != documents:
        context.note(
            f"{source.shown} holds {documents} of the {expected} documents its results file speaks of."
        )


def _repeated(source: Source) -> bool:
    ids = [str(row.get("doc_id")) for _, row in source.records]
    return len(set(ids)) < len(ids)
