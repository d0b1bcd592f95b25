"""Inspect AI: ``.json`` logs, and ``.eval`` archives (zip; newer versions compress the members with Zstandard)."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

from benchfill.errors import InputError
from benchfill.logs.harness.item_texts import content_text
from benchfill.logs.harness.record import ItemText, LogRecord, ReadContext, fingerprint
from benchfill.logs.harness.source import Source, as_object, decode_json

__all__ = ["InspectAi"]

_ZSTANDARD = 93
# No log member is as large; a larger one is no log.
_MAX_MEMBER = 1 << 30


class InspectAi:
    name = "inspect"
    verified = True

    def detect(self, source: Source) -> bool:
        if source.magic[:2] == b"PK":
            try:
                with zipfile.ZipFile(source.path) as archive:
                    return bool(
                        {"header.json", "start.json", "_journal/start.json"} & set(archive.namelist())
                    )
            except (OSError, zipfile.BadZipFile):
                # A cut archive has lost its directory; its name still says what it was to be.
                return source.path.suffix == ".eval"
        first = source.first
        return (
            first is not None
            and isinstance(first.get("eval"), dict)
            and "model" in first["eval"]
            and ("samples" in first or "status" in first)
        )

    def read(self, source: Source, context: ReadContext) -> Iterator[LogRecord]:
        if source.magic[:2] == b"PK":
            head, samples = _read_archive(source)
        else:
            head = source.document
            samples = [
                (number, each)
                for number, each in enumerate(head.get("samples") or [], 1)
                if isinstance(each, dict)
            ]
        spec = as_object(head.get("eval"))
        status = head.get("status") or "started"
        if status != "success":
            context.note(f"{source.shown}: incomplete run (status {status}); what it lacks is missing.")
        model = context.name_model(str(spec.get("model") or ""), source.name, source)
        task = str(spec.get("task") or "")
        seen: set[str] = set()
        for number, sample in samples:
            item = sample.get("id")
            if not isinstance(item, str):
                raise InputError(
                    f"{source.shown}: sample {number} has no 'id'.",
                    kind="missing_field",
                    path=source.shown,
                    lines=(number,),
                )
            seen.add(str(item))
            scores = _scores(sample.get("scores"))
            yield LogRecord(
                model=model,
                item=str(item),
                scores=scores,
                task=task,
                attempt=str(sample.get("epoch") or "1"),
                missing=_why_missing(sample, scores),
                response=_response(sample),
                uid=str(sample.get("uuid") or ""),
                text=_text(sample),
                line=number,
            )
        for item in _planned(spec):
            if item not in seen:
                yield LogRecord(model, item, {}, task=task, missing="never run")


def _scores(value: Any) -> dict[str, Any]:
    """Values by scorer; a value with parts gives one metric a part."""
    scores: dict[str, Any] = {}
    for scorer, score in as_object(value).items():
        found = score.get("value") if isinstance(score, dict) else score
        if isinstance(found, dict):
            scores.update({f"{scorer}/{part}": each for part, each in found.items()})
        else:
            scores[str(scorer)] = found
    return scores


def _why_missing(sample: Mapping[str, Any], scores: Mapping[str, Any]) -> str:
    error = sample.get("error")
    if error:
        message = error.get("message") if isinstance(error, dict) else error
        return f"error: {str(message).strip().splitlines()[0][:120] if str(message).strip() else 'unnamed'}"
    if sample.get("invalidation"):
        return "invalidated"
    return "" if scores else "not scored"


def _text(sample: Mapping[str, Any]) -> ItemText:
    given = sample.get("input")
    if isinstance(given, list):
        users = [
            content_text(each.get("content"))
            for each in given
            if isinstance(each, dict) and each.get("role") == "user"
        ]
        question = "\n\n".join(text for text in users if text)
    else:
        question = str(given) if isinstance(given, str) else ""
    choices = sample.get("choices")
    return ItemText(
        question=question,
        key=sample.get("target"),
        key_form="letter",
        choices=choices if isinstance(choices, list) and choices else None,
    )


def _response(sample: Mapping[str, Any]) -> str | None:
    output = sample.get("output")
    if not isinstance(output, dict):
        return None
    return fingerprint(json.dumps([output.get("completion"), output.get("choices")], sort_keys=True))


def _planned(spec: Mapping[str, Any]) -> list[str]:
    ids = as_object(spec.get("dataset")).get("sample_ids")
    return sorted({str(each) for each in ids if isinstance(each, str)}) if isinstance(ids, list) else []


def _read_archive(source: Source) -> tuple[dict[str, Any], list[tuple[int, dict[str, Any]]]]:
    """Header and samples; an archive without a header is the log of a run that did not end."""
    module = _zip_module()
    try:
        with module.ZipFile(source.path) as archive:
            names = archive.namelist()
            head = _member(archive, "header.json", source) if "header.json" in names else {}
            if not head:
                start = "start.json" if "start.json" in names else "_journal/start.json"
                head = {**_member(archive, start, source), "status": "started"}
            if "results.json" in names:
                head |= _member(archive, "results.json", source)
            samples = sorted(each for each in names if each.startswith("samples/") and each.endswith(".json"))
            return head, [(number, _member(archive, each, source)) for number, each in enumerate(samples, 1)]
    except NotImplementedError as error:
        raise InputError(
            f"{source.shown} is compressed with Zstandard, which this Python cannot read.",
            "Install backports.zstd, or convert the log: inspect log convert --to json.",
            kind="missing_package",
            path=source.shown,
        ) from error
    except (zipfile.BadZipFile, module.BadZipFile, OSError, EOFError, KeyError, ValueError) as error:
        raise InputError(
            f"{source.shown} is an archive that is cut or damaged.",
            "Copy or download it again.",
            kind="corrupt_archive",
            path=source.shown,
        ) from error


def _member(archive: zipfile.ZipFile, name: str, source: Source) -> dict[str, Any]:
    if archive.getinfo(name).file_size > _MAX_MEMBER:
        raise InputError(
            f"{source.shown}: {name} unpacks to more than {_MAX_MEMBER >> 30} GiB.",
            kind="corrupt_archive",
            path=source.shown,
        )
    return as_object(decode_json(archive.read(name).decode("utf-8")))


def _zip_module() -> Any:
    """The zip reader that knows Zstandard: Python's own from 3.14 on, else the backport when it is there."""
    if sys.version_info < (3, 14):
        try:
            import backports.zstd.zipfile as backport
        except ImportError:
            return zipfile
        return backport
    return zipfile
