"""Constraints on the form of a response: lists, titles, sections, JSON, case, language, how it begins and ends."""

from __future__ import annotations

import json
import re
from typing import Any

from benchfill.tools.grading.languages import language_of

__all__ = [
    "Undecidable",
    "all_capitals",
    "all_lowercase",
    "bullets",
    "constrained",
    "ends_with",
    "highlights",
    "is_json",
    "language",
    "no_comma",
    "placeholders",
    "postscript",
    "quoted",
    "repeats_prompt",
    "sections",
    "starts_with",
    "title",
    "two_responses",
]

_BULLET = re.compile(r"^[ \t]*[-*+•][ \t]+\S", re.MULTILINE)
_HIGHLIGHT = re.compile(r"\*\*(?=[^\s*])[^\n*]*\*\*|(?<!\*)\*(?=[^\s*])[^\n*]*(?<=\S)\*(?!\*)")
_PLACEHOLDER = re.compile(r"\[[^\[\]\n]+\]")
_TITLE = re.compile(r"<<([^\n<>]+)>>")
_FENCE = re.compile(r"\A```\w*[ \t]*\n(.*)\n?```\Z", re.DOTALL)
_OPTIONS = ("my answer is yes.", "my answer is no.", "my answer is maybe.")
_QUOTES = (('"', '"'), ("“", "”"), ("„", "“"), ("„", "”"), ("”", "”"))


class Undecidable(Exception):
    """Nobody can tell whether a constraint holds; the message says why."""


def bullets(text: str, given: dict[str, Any]) -> str:
    count = len(_BULLET.findall(text))
    return (
        ""
        if count == given["num_bullets"]
        else f"{count} bullet points, exactly {given['num_bullets']} wanted"
    )


def highlights(text: str, given: dict[str, Any]) -> str:
    return _at_least(len(_HIGHLIGHT.findall(text)), given["num_highlights"], "highlighted parts")


def placeholders(text: str, given: dict[str, Any]) -> str:
    return _at_least(len(_PLACEHOLDER.findall(text)), given["num_placeholders"], "placeholders")


def sections(text: str, given: dict[str, Any]) -> str:
    """Sections that begin with a word and a number, like ``SECTION 1``."""
    found = re.findall(rf"(?<!\w){re.escape(given['section_spliter'].strip())}\s?\d+", text)
    return _at_least(len(found), given["num_sections"], "sections")


def _at_least(count: int, bound: int, what: str) -> str:
    return "" if count >= bound else f"{count} {what}, at least {bound} wanted"


def title(text: str, given: dict[str, Any]) -> str:
    return "" if any(found.strip() for found in _TITLE.findall(text)) else "no title in << >>"


def is_json(text: str, given: dict[str, Any]) -> str:
    """The whole response is one JSON object or array, with or without a code fence around it."""
    fenced = _FENCE.match(text.strip())
    try:
        value = json.loads(fenced.group(1) if fenced else text.strip())
    except (ValueError, RecursionError):
        return "not JSON"
    return "" if isinstance(value, dict | list) else "JSON, but no object or array"


def constrained(text: str, given: dict[str, Any]) -> str:
    lowered = " ".join(text.casefold().split())
    return "" if any(option in lowered for option in _OPTIONS) else "none of the given answers"


def postscript(text: str, given: dict[str, Any]) -> str:
    letters = [part for part in re.split(r"[.\s]+", given["postscript_marker"].strip()) if part]
    marker = r"\.\s?".join(map(re.escape, letters)) + (r"\.?" if len(letters) > 1 else "")
    return "" if re.search(rf"(?<!\w){marker}", text, re.IGNORECASE) else "no postscript"


def two_responses(text: str, given: dict[str, Any]) -> str:
    parts = [part.strip() for part in re.split(r"\*{6}", text)]
    if any(not part for part in parts[1:-1]):
        return "an empty response between two dividers"
    answers = [part for part in parts if part]
    if len(answers) != 2:
        return f"{len(answers)} responses between dividers, exactly 2 wanted"
    return "" if answers[0] != answers[1] else "the two responses are the same"


def repeats_prompt(text: str, given: dict[str, Any]) -> str:
    wanted = " ".join(given["prompt_to_repeat"].casefold().split())
    return "" if " ".join(text.casefold().split()).startswith(wanted) else "the request is not repeated first"


def starts_with(text: str, given: dict[str, Any]) -> str:
    wanted = given["start_phrase"].strip().casefold()
    return "" if text.strip().lstrip('"“').casefold().startswith(wanted) else "it begins otherwise"


def ends_with(text: str, given: dict[str, Any]) -> str:
    wanted = given["end_phrase"].strip().casefold()
    return "" if text.strip().rstrip('"”').casefold().endswith(wanted) else "it ends otherwise"


def quoted(text: str, given: dict[str, Any]) -> str:
    text = text.strip()
    whole = len(text) > 1 and any(text[0] == first and text[-1] == last for first, last in _QUOTES)
    return "" if whole else "no double quotation marks around it"


def no_comma(text: str, given: dict[str, Any]) -> str:
    return "with a comma" if re.search("[,，،]", text) else ""


def all_capitals(text: str, given: dict[str, Any]) -> str:
    return _english_in_case(text, text.isupper(), "capitals")


def all_lowercase(text: str, given: dict[str, Any]) -> str:
    return _english_in_case(text, text.islower(), "lowercase letters")


def _english_in_case(text: str, in_case: bool, case: str) -> str:
    if not in_case:
        return f"not all in {case}"
    found = language_of(text)
    return "" if found in ("en", None) else f"its language is {found}, en wanted"


def language(text: str, given: dict[str, Any]) -> str:
    wanted = given["language"].strip().lower().split("-")[0].split("_")[0]
    found = language_of(text)
    if found is None:
        raise Undecidable("the text does not tell its language")
    return "" if found == wanted else f"its language is {found}, {wanted} wanted"
