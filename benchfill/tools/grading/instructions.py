"""Instruction following: does a whole response keep every constraint of its item?

The key is JSON with the public field names: ``{"instruction_id_list": [...], "kwargs": [{...}, ...]}``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from benchfill.tools.grading import instruction_counts as counts
from benchfill.tools.grading import instruction_forms as forms
from benchfill.tools.grading.languages import LANGUAGES

__all__ = [
    "INSTRUCTIONS",
    "Constraint",
    "ConstraintFault",
    "check_instructions",
    "conflict",
    "read_constraints",
]

Check = Callable[[str, dict[str, Any]], str]

_RELATION, _COUNT, _TEXT, _TEXTS, _LANGUAGE = "relation", "count", "text", "texts", "language"

# Name of a constraint -> its arguments with their kinds, and its check.
INSTRUCTIONS: dict[str, tuple[dict[str, str], Check]] = {
    "keywords:existence": ({"keywords": _TEXTS}, counts.keywords_exist),
    "keywords:frequency": (
        {"keyword": _TEXT, "relation": _RELATION, "frequency": _COUNT},
        counts.keyword_frequency,
    ),
    "keywords:forbidden_words": ({"forbidden_words": _TEXTS}, counts.forbidden_words),
    "keywords:letter_frequency": (
        {"letter": _TEXT, "let_relation": _RELATION, "let_frequency": _COUNT},
        counts.letter_frequency,
    ),
    "language:response_language": ({"language": _LANGUAGE}, forms.language),
    "length_constraints:number_words": ({"relation": _RELATION, "num_words": _COUNT}, counts.number_words),
    "length_constraints:number_sentences": (
        {"relation": _RELATION, "num_sentences": _COUNT},
        counts.number_sentences,
    ),
    "length_constraints:number_paragraphs": ({"num_paragraphs": _COUNT}, counts.number_paragraphs),
    "length_constraints:nth_paragraph_first_word": (
        {"num_paragraphs": _COUNT, "nth_paragraph": _COUNT, "first_word": _TEXT},
        counts.first_word,
    ),
    "detectable_content:number_placeholders": ({"num_placeholders": _COUNT}, forms.placeholders),
    "detectable_content:postscript": ({"postscript_marker": _TEXT}, forms.postscript),
    "detectable_format:number_bullet_lists": ({"num_bullets": _COUNT}, forms.bullets),
    "detectable_format:constrained_response": ({}, forms.constrained),
    "detectable_format:number_highlighted_sections": ({"num_highlights": _COUNT}, forms.highlights),
    "detectable_format:multiple_sections": (
        {"section_spliter": _TEXT, "num_sections": _COUNT},
        forms.sections,
    ),
    "detectable_format:json_format": ({}, forms.is_json),
    "detectable_format:title": ({}, forms.title),
    "combination:two_responses": ({}, forms.two_responses),
    "combination:repeat_prompt": ({"prompt_to_repeat": _TEXT}, forms.repeats_prompt),
    "startend:start_checker": ({"start_phrase": _TEXT}, forms.starts_with),
    "startend:end_checker": ({"end_phrase": _TEXT}, forms.ends_with),
    "startend:quotation": ({}, forms.quoted),
    "change_case:capital_word_frequency": (
        {"capital_relation": _RELATION, "capital_frequency": _COUNT},
        counts.capital_words,
    ),
    "change_case:english_capital": ({}, forms.all_capitals),
    "change_case:english_lowercase": ({}, forms.all_lowercase),
    "punctuation:no_comma": ({}, forms.no_comma),
}


class ConstraintFault(ValueError):
    """A key that is no list of known constraints; the message says what is wrong."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """One constraint: its public name and its arguments."""

    name: str
    arguments: Mapping[str, Any]


def read_constraints(key: str) -> tuple[Constraint, ...]:
    """The constraints of a key.

    Raises
    ------
    ConstraintFault
        No JSON of that form, an unknown constraint, or an argument that is absent, unknown or of another kind.
    """
    try:
        document = json.loads(key)
    except (ValueError, RecursionError) as error:
        raise ConstraintFault("the key is not JSON") from error
    if not isinstance(document, dict):
        raise ConstraintFault("the key is no JSON object with instruction_id_list and kwargs")
    names, given = document.get("instruction_id_list"), document.get("kwargs")
    if not isinstance(names, list) or not isinstance(given, list) or not names or len(names) != len(given):
        raise ConstraintFault("instruction_id_list and kwargs are not two lists of one length")
    return tuple(_constraint(name, arguments) for name, arguments in zip(names, given, strict=True))


def _constraint(name: Any, given: Any) -> Constraint:
    if not isinstance(name, str) or name not in INSTRUCTIONS:
        raise ConstraintFault(f"there is no constraint {name!r}")
    if given is not None and not isinstance(given, dict):
        raise ConstraintFault(f"the arguments of {name} are no object")
    # Tables with one column an argument fill the others with null.
    present = {key: value for key, value in (given or {}).items() if value is not None}
    wanted = INSTRUCTIONS[name][0]
    for missing in sorted(set(wanted) - set(present)):
        raise ConstraintFault(f"{name} lacks {missing}")
    for unknown in sorted(set(present) - set(wanted)):
        raise ConstraintFault(f"{name} has no argument {unknown}")
    return Constraint(name, {key: _argument(name, key, wanted[key], present[key]) for key in wanted})


def _argument(name: str, argument: str, kind: str, value: Any) -> Any:
    if kind == _COUNT:
        whole = isinstance(value, int | float) and not isinstance(value, bool) and value == int(value) >= 0
        good, value = whole, int(value) if whole else value
    elif kind == _TEXTS:
        good = (
            isinstance(value, list) and bool(value) and all(isinstance(e, str) and e.strip() for e in value)
        )
    else:
        good = isinstance(value, str) and bool(value.strip())
    if good and kind == _RELATION:
        good = value in counts.RELATIONS
    if good and kind == _LANGUAGE:
        good = value.strip().lower().split("-")[0].split("_")[0] in LANGUAGES
    if not good:
        raise ConstraintFault(f"{argument} of {name} cannot be {value!r}")
    return value


def check_instructions(key: str, text: str, loose: bool) -> tuple[str, str]:
    """Task of the sandbox: whether a text keeps all constraints of a key.

    Parameters
    ----------
    key
        The constraints.
    text
        The whole response outside of its reasoning.
    loose
        A constraint also counts as kept when it is without the first line, the last one or both, or without
        asterisks: introductions, closing words and markup are forgiven.

    Returns
    -------
    verdict, reason
        ``correct``, ``wrong``, or ``ungraded`` when one cannot be told and none is broken.
    """
    try:
        constraints = read_constraints(key)
    except ConstraintFault as fault:
        return "ungraded", str(fault)
    undecided = ""
    for each in constraints:
        broken, unclear = _broken(each, _variants(text) if loose else [text])
        if unclear:
            undecided = undecided or f"{each.name}: {unclear}"
        elif broken:
            return "wrong", f"{each.name}: {broken}"
    if undecided:
        return "ungraded", undecided
    return "correct", f"all {len(constraints)} constraints are kept"


def _broken(constraint: Constraint, texts: list[str]) -> tuple[str, str]:
    """What is wrong with the first text when no text keeps the constraint, and why that cannot be told."""
    check = INSTRUCTIONS[constraint.name][1]
    first = unclear = ""
    for text in texts:
        try:
            wrong = check(text, dict(constraint.arguments))
        except forms.Undecidable as error:
            unclear = unclear or str(error)
            continue
        if not wrong:
            return "", ""
        first = first or wrong
    return first, unclear


def _variants(text: str) -> list[str]:
    lines = text.split("\n")
    cut = ["\n".join(part).strip() for part in (lines, lines[1:], lines[:-1], lines[1:-1])]
    return [each for part in cut for each in (part, part.replace("*", "")) if each]


def conflict(constraints: tuple[Constraint, ...]) -> str:
    """Two constraints that exclude each other by their bounds or words; empty when none are found."""
    low: dict[str, int] = {}
    high: dict[str, int] = {}
    wanted: set[str] = set()
    forbidden: set[str] = set()
    for each in constraints:
        given = each.arguments
        wanted.update(word.casefold() for word in given.get("keywords", ()))
        forbidden.update(word.casefold() for word in given.get("forbidden_words", ()))
        relation = next((given[name] for name in given if name.endswith("relation")), "")
        bound = next((value for value in given.values() if isinstance(value, int)), None)
        if not relation or bound is None:
            continue
        what = " ".join([each.name, str(given.get("keyword", given.get("letter", ""))).casefold()]).strip()
        if relation in ("at least", "more than", "exactly"):
            low[what] = max(low.get(what, 0), bound + (relation == "more than"))
        if relation in ("at most", "less than", "exactly"):
            high[what] = min(high.get(what, bound), bound - (relation == "less than"))
    for what in sorted(set(low) & set(high)):
        if low[what] > high[what]:
            return f"no response keeps both bounds of {what}"
    for what in sorted(high):
        if high[what] < 0:
            return f"no response keeps the bound of {what}"
    both = sorted(wanted & forbidden)
    return f"{both[0]!r} is wanted and forbidden" if both else ""
