"""Argilla 2: settings and records for ``rg.Settings.from_json`` and ``dataset.records.from_json``, and its exports.

The blind id is the record's own id, which comes back with the responses; records carry no suggestions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchfill.review.vocabulary import REASONS, VERDICTS

__all__ = ["argilla_decisions", "argilla_records", "argilla_settings", "is_argilla"]

QUESTIONS = ("answer", "verdict", "reasons", "comment")


def argilla_settings(guidelines: str) -> dict[str, Any]:
    """Settings of a dataset: the item as fields, the form as questions.

    Parameters
    ----------
    guidelines
        Shown to the annotators, Markdown.
    """
    text = {"type": "text", "use_markdown": False}
    verdicts = {"type": "label_selection", "options": _options(VERDICTS), "visible_options": None}
    reasons = {
        "type": "multi_label_selection",
        "options": _options(REASONS),
        "visible_options": None,
        "options_order": "natural",
    }
    return {
        "guidelines": guidelines,
        "fields": [
            {"name": "question", "title": "Question", "required": True, "settings": text},
            {"name": "key", "title": "Key: answer first", "required": True, "settings": text},
        ],
        "questions": [
            {"name": "answer", "title": "Your own answer", "required": False, "settings": text},
            {"name": "verdict", "title": "Verdict", "required": True, "settings": verdicts},
            {
                "name": "reasons",
                "title": "Reasons, when you do not approve",
                "required": False,
                "settings": reasons,
            },
            {"name": "comment", "title": "Comment", "required": False, "settings": text},
        ],
        "vectors": [],
        "metadata": [
            {
                "name": "item_hash",
                "title": "item_hash",
                "visible_for_annotators": False,
                "settings": {"type": "terms", "visible_for_annotators": False},
            }
        ],
        "allow_extra_metadata": False,
        "distribution": {"strategy": "overlap", "min_submitted": 1},
    }


def argilla_records(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Records to add, from the rows of a form."""
    return [
        {
            "id": row["blind_id"],
            "fields": {"question": row["question"], "key": row["key"]},
            "metadata": {"item_hash": row["item_hash"]},
            "suggestions": {},
            "responses": {},
            "vectors": {},
        }
        for row in rows
    ]


def is_argilla(record: Mapping[str, Any]) -> bool:
    """Whether a JSON record is one of an Argilla export, nested (``to_json``) or flat (``to_datasets``)."""
    return isinstance(record.get("responses"), Mapping) or any(
        name.endswith((".responses", ".responses.users")) for name in record
    )


def argilla_decisions(record: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """Rows of our form from one record: one a user who responded. Drafts and discarded ones have no verdict."""
    by_user: dict[str, dict[str, Any]] = {}
    for question in QUESTIONS:
        for user, value in _responses(record, question):
            by_user.setdefault(user, {})[question] = value
    metadata = record.get("metadata")
    hashes = metadata if isinstance(metadata, Mapping) else record
    for given in [by_user[user] for user in sorted(by_user)] or [{}]:
        reasons = given.get("reasons")
        yield {
            "blind_id": record.get("id"),
            "item_hash": hashes.get("item_hash"),
            "verdict": given.get("verdict"),
            "answer": given.get("answer") or "",
            "reasons": reasons if isinstance(reasons, list) else [],
            "comment": given.get("comment") or "",
            "seconds": None,
        }


def _responses(record: Mapping[str, Any], question: str) -> Iterable[tuple[str, Any]]:
    nested = record.get("responses")
    if isinstance(nested, Mapping):
        # This form does not tell drafts; a record that is still pending has nothing that was submitted.
        for each in () if record.get("status") == "pending" else nested.get(question) or ():
            if isinstance(each, Mapping):
                yield str(each.get("user_id")), each.get("value")
        return
    name = f"{question}.responses"
    values = record.get(name) or []
    users = record.get(f"{name}.users") or [""] * len(values)
    states = record.get(f"{name}.status") or ["submitted"] * len(values)
    for user, value, state in zip(users, values, states, strict=False):
        if state == "submitted":
            yield str(user), value


def _options(values: Sequence[str]) -> list[dict[str, str]]:
    return [{"value": value, "text": value} for value in values]
