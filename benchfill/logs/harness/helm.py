"""HELM run folders: ``per_instance_stats.json``, with ``run_spec.json`` and ``scenario_state.json`` beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from benchfill.errors import InputError
from benchfill.logs.harness.item_texts import first_text
from benchfill.logs.harness.record import ItemText, LogRecord, ReadContext, fingerprint
from benchfill.logs.harness.source import Source, as_object

__all__ = ["Helm"]

_STATS = "per_instance_stats.json"
# Figures of correctness among the many statistics of a run; any other can be named.
_CORRECTNESS = re.compile(r".*(?:exact_match|equiv|correct|accuracy|accurate|_acc|solved)(?!@).*")
_MODEL_IN_NAME = re.compile(r",?model=[^,]*")


class Helm:
    name = "helm"
    verified = True

    def detect(self, source: Source) -> bool:
        if source.is_folder:
            return (source.path / _STATS).is_file()
        first = source.first
        return first is not None and "instance_id" in first and "stats" in first

    def read(self, source: Source, context: ReadContext) -> Iterator[LogRecord]:
        stats = source.sibling(_STATS) if source.is_folder else source
        spec, states = _document(source.sibling("run_spec.json")), _states(source)
        adapter = as_object(spec.get("adapter_spec"))
        fallback = source.path.absolute().parent.name if not source.is_folder else source.path.name
        model = context.name_model(first_text(adapter, ("model",)), fallback, source)
        task = _MODEL_IN_NAME.sub("", first_text(spec, ("name",))).rstrip(":,")
        perturbed = 0
        for line, row in stats.records:
            item = row.get("instance_id")
            if not isinstance(item, str):
                raise InputError(
                    f"{stats.shown}: entry {line} has no 'instance_id'.",
                    kind="missing_field",
                    path=stats.shown,
                    lines=(line,),
                )
            found = [each for each in row.get("stats") or [] if isinstance(each, dict)]
            names = [each["name"] for each in found if isinstance(each.get("name"), dict)]
            # The perturbation may stand in the row, in the name of the statistic, or in both.
            if row.get("perturbation") or any(name.get("perturbation") for name in names):
                perturbed += 1
                continue
            trial = str(row.get("train_trial_index", "0"))
            state = states.get((item, trial), {})
            scores = _scores(found)
            yield LogRecord(
                model=model,
                item=str(item),
                scores=scores,
                task=task,
                attempt=trial,
                missing="" if scores else "no statistics of correctness",
                main_metric="exact_match",
                response=_response(state),
                text=_text(state),
                line=line,
            )
        if perturbed:
            context.note(
                f"{stats.shown}: {perturbed} entries with perturbed questions are left out; they are other items."
            )


def _scores(stats: list[dict[str, Any]]) -> dict[str, Any]:
    scores: dict[str, Any] = {}
    for stat in stats:
        name = stat.get("name")
        text = str(name.get("name")) if isinstance(name, dict) else str(name)
        if _CORRECTNESS.fullmatch(text):
            scores[text] = stat.get("mean")
    return scores


def _document(source: Source) -> dict[str, Any]:
    return as_object(source.document) if source.path.is_file() else {}


def _states(source: Source) -> dict[tuple[str, str], dict[str, Any]]:
    found = _document(source.sibling("scenario_state.json")).get("request_states")
    states: dict[tuple[str, str], dict[str, Any]] = {}
    for state in found if isinstance(found, list) else ():
        instance = state.get("instance") if isinstance(state, dict) else None
        if isinstance(instance, dict) and not instance.get("perturbation"):
            key = str(instance.get("id")), str(state.get("train_trial_index", "0"))
            states.setdefault(key, state)
    return states


def _text(state: Mapping[str, Any]) -> ItemText | None:
    instance = state.get("instance")
    if not isinstance(instance, dict):
        return None
    references = [each for each in instance.get("references") or [] if isinstance(each, dict)]
    options = [first_text(each.get("output"), ("text",)) for each in references]
    right = [
        text
        for text, each in zip(options, references, strict=True)
        if "correct" in (each.get("tags") or []) and text
    ]
    return ItemText(
        question=first_text(instance.get("input"), ("text",)),
        key=right,
        key_form="text",
        choices=options if state.get("output_mapping") and len(options) > 1 else None,
    )


def _response(state: Mapping[str, Any]) -> str | None:
    result = state.get("result")
    completions = result.get("completions") if isinstance(result, dict) else None
    if not isinstance(completions, list):
        return None
    return fingerprint(*(str(each.get("text")) for each in completions if isinstance(each, dict)))
