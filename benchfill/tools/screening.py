r"""Screening of a submitted item before anything is paid for it. Refusals have stable codes.

==================  =====================================================================================
incomplete          a field is empty, a placeholder or holds tags; braces or environments do not match
control_characters  characters that do not belong in text, as a rule LaTeX damaged by JSON escapes
too_long            much longer than its parent
language            written in another script than its parent
choices             options absent, unasked for, not distinct, of another number, or the key is none of their letters
wrong_type          the key is not of its parent's type (numeric stays numeric)
answer_leak         the question tells the key
copy                the parent, unchanged
near_duplicate      as good as an item of the pool (or the parent)
key_ungradable      the grader does not find the key equal to itself
==================  =====================================================================================

Near-duplicates. Changed numbers make another item of the same template, and that is the most usual rewrite; so
likeness of wording alone proves nothing. Two items count as near-duplicates when their texts are equal after
normalisation, or when all three hold: the same multiset of numbers, operators and LaTeX commands; wording
(``rapidfuzz.fuzz.ratio`` of the normalised questions) at or over the threshold; and options, where there are any,
at or over it too, since new distractors under an old stem make a new item. The multiset is compared first, by a
dictionary, so that a pool of many thousand items costs next to nothing.

A key that the parent kept although the numbers changed is no business of the screening: the judge finds it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from benchfill.item import Item
from benchfill.tools.latex import suspected_damage
from benchfill.tools.normal_text import Fingerprint, number_of, script_of
from benchfill.tools.rewriter import Refusal, Submission

if TYPE_CHECKING:
    from benchfill.tools.grading import Grader

__all__ = ["Screen", "alike"]

LENGTH_FACTOR = 3
LENGTH_SLACK = 400  # characters

_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff]"
)
# Tabs that indent a line are text, except before the tails of \tan, \to, \top, \tag.
_TAB_DAMAGE = re.compile(r"(?<![\t\n])\t[A-Za-z]|\t(?:an|o|op|ag)(?![A-Za-z])")
_PLACEHOLDER = re.compile(
    r"(?i)^\W*(?:todo|tbd|n/?a|none|null|undefined|placeholder|\.{3,}|…)\W*$|\[insert\b|\{\{\s*[a-z_]{3,}\s*\}\}"
)
_TAGS = re.compile(
    r"(?i)</?(?:question|answer|solution|choices|parent|item|task|references?|earlier|attempt|key|think|"
    r"tool_calls?|invoke|parameter|function)(?:[-=:\s][^<>]{0,80})?/?>|<\|[a-z_]+\|>|\bsubmit_item\b"
)
_LEAK = (
    r"(?:\banswer(?:\s+(?:key|here))?|\bsolution|\bkey|\bresult|\bans\.?)\s*(?:is|are|was|=|:|->|→|equals)+\s*"
    r"|\b(?:show|prove|verify|check|confirm|demonstrate)\s+that\b[^.?!]{0,200}?(?:=|\bis|\bequals|\bequal\s+to)\s*"
    r"|\\boxed\s*\{\s*"
    r"|(?:答案|正确答案|結果|结果|解)\s*(?:是|为|為|等于|：|:|=)+\s*"
)
# What speaks to whoever checks the item instead of to who answers it.
_ADDRESSED = re.compile(
    r"(?i)\b(?:judges?|graders?|reviewers?|evaluators?|verdicts?|ratings?)\b[^.?!\n]{0,60}"
    r"\b(?:must|should|shall|accept|approve|correct|valid|pass)\b"
    r"|\b(?:ignore|disregard|forget|override)\b[^.?!\n]{0,40}"
    r"\b(?:instructions?|references?|keys?|rules?|prompts?|above|previous)\b"
    r"|\b(?:accept|approve)\s+(?:this|the)\s+item\b|^\s*(?:system|assistant|developer)\s*:"
    r"|\bsubmit_(?:verdict|answer)\b|\[\[\s*\w+\s*\]\]|</?instructions?>|\balways\s+answer\b",
    re.MULTILINE,
)
_SHAPES = {
    "yesno": re.compile(r"(?i)\W*(?:yes|no|true|false|y|n|是|否|对|错|正确|错误)\W*"),
    "mcq": re.compile(r"[A-Z]"),
    "mcq-multi": re.compile(r"[A-Z](?:\s*,\s*[A-Z])*"),
}


class Screen:
    """Checks submissions against a pool of known items.

    Parameters
    ----------
    pool
        Items that must not come back: the benchmark and every item made so far.
    threshold
        Likeness of wording, 0 to 1, at and over which items with the same numbers are near-duplicates; 0.9 is a
        sensible value.
    grader
        Grades the key against itself.
    """

    def __init__(self, pool: Sequence[Item], *, threshold: float, grader: Grader) -> None:
        if not 0 < threshold <= 1:
            raise ValueError("the threshold of likeness is in (0, 1]")
        self._threshold = threshold
        self._grader = grader
        self._items = pool

    @cached_property
    def _pool(self) -> dict[tuple[str, ...], list[tuple[str, Fingerprint]]]:
        """Known items by their numbers. Of a large pool this takes seconds: it waits for the first submission."""
        found: dict[tuple[str, ...], list[tuple[str, Fingerprint]]] = {}
        for item in self._items:
            known = Fingerprint.of(item.question, item.choices)
            found.setdefault(known.quantities, []).append((item.id, known))
        return found

    async def check(self, submission: Submission, parent: Item) -> Refusal | None:
        """Screen one submission; the cheap checks come first.

        Parameters
        ----------
        submission
            With repaired LaTeX, as ``rewrite`` hands it over.
        parent
            The item it was made from.

        Returns
        -------
        Refusal or None
            The first fault found, with a detail that tells the model what to change; None when there is none.
        """
        for code, check in (
            ("control_characters", _control_characters),
            ("incomplete", _incomplete),
            ("too_long", _too_long),
            ("language", _language),
            ("choices", _choices),
            ("wrong_type", _wrong_type),
            ("answer_leak", _answer_leak),
            ("addresses_judge", _addresses_judge),
        ):
            detail = check(submission, parent)
            if detail:
                return Refusal(submission, code, detail)
        known = self._known(submission, parent)
        if known is not None:
            return known
        grade = await self._grader.self_check(submission.item("submission", parent))
        if grade.verdict != "correct":
            detail = (
                f"the key cannot be graded against itself ({grade.reason}); write it in its parent's form"
            )
            return Refusal(submission, "key_ungradable", detail)
        return None

    def _known(self, submission: Submission, parent: Item) -> Refusal | None:
        """Copy of the parent, or near-duplicate of anything known."""
        from rapidfuzz import fuzz, process

        mine = Fingerprint.of(submission.question, submission.choices)
        original = Fingerprint.of(parent.question, parent.choices)
        if mine == original:
            return Refusal(
                submission, "copy", "the question is its parent, unchanged; change what makes it hard"
            )
        same_numbers = list(self._pool.get(mine.quantities, ()))
        if mine.quantities == original.quantities and all(
            item_id != parent.id for item_id, _ in same_numbers
        ):
            same_numbers.append((parent.id, original))
        cutoff = 100 * self._threshold
        hits = process.extract(
            mine.question,
            [known.question for _, known in same_numbers],
            scorer=fuzz.ratio,
            score_cutoff=cutoff,
            limit=None,
        )
        for _, likeness, place in hits:
            item_id, known = same_numbers[place]
            if fuzz.ratio(mine.options, known.options) >= cutoff:
                detail = (
                    f"it has the numbers of item {item_id} and {likeness:.0f} % of its wording; change more"
                )
                return Refusal(submission, "near_duplicate", detail)
        return None


def alike(one: Item, other: Item, threshold: float) -> bool:
    """Whether one of two items is a near-duplicate of the other, as `Screen` would find it in a pool."""
    from rapidfuzz import fuzz

    mine = Fingerprint.of(one.question, one.choices)
    known = Fingerprint.of(other.question, other.choices)
    cutoff = 100 * threshold
    return (
        mine.quantities == known.quantities
        and fuzz.ratio(mine.question, known.question) >= cutoff
        and fuzz.ratio(mine.options, known.options) >= cutoff
    )


def _control_characters(submission: Submission, parent: Item) -> str:
    fields = (submission.question, submission.answer, submission.solution, *submission.choices)
    for text in fields:
        found = _FORBIDDEN.search(text)
        if found:
            return (
                f"the character U+{ord(found.group(0)):04X} before {text[found.end() : found.end() + 12]!r} does not "
                "belong in text; in JSON write every LaTeX backslash twice"
            )
        if _TAB_DAMAGE.search(text):
            return "a tab stands before a letter; in JSON write every LaTeX backslash twice, and use no tabs"
        suspect = suspected_damage(text)
        if suspect:
            return f"a line break inside a formula looks like {suspect}; write the backslash twice, or no line break"
    return ""


def _incomplete(submission: Submission, parent: Item) -> str:
    named = {"question": submission.question, "answer": submission.answer, "solution": submission.solution}
    for name, text in named.items():
        if not text.strip():
            return f"the {name} is empty"
        # "None" and "N/A" are placeholders of texts, but can be keys.
        if name != "answer" and _PLACEHOLDER.search(text):
            return f"the {name} is a placeholder"
    for name, text in [*named.items(), *(("options", choice) for choice in submission.choices)]:
        if _TAGS.search(text):
            return f"the {name} holds tags of the prompt or of a tool call; give the bare text"
        unmatched = _unmatched(text)
        if unmatched:
            return f"in the {name} {unmatched} do not match"
    return ""


def _addresses_judge(submission: Submission, parent: Item) -> str:
    known = " ".join((parent.question, *parent.choices, parent.solution))
    if _ADDRESSED.search(known):
        # A benchmark may be about judges and instructions.
        return ""
    for text in (submission.question, *submission.choices, submission.solution):
        found = _ADDRESSED.search(text)
        if found:
            return (
                f"{found.group(0).strip()[:60]!r} speaks to whoever checks the item; write for who answers it"
            )
    return ""


def _unmatched(text: str) -> str:
    bare = re.sub(r"\\\\|\\[{}]", "", text)
    if bare.count("{") != bare.count("}"):
        return "braces"
    if len(re.findall(r"\\begin\b", text)) != len(re.findall(r"\\end\b", text)):
        return "\\begin and \\end"
    if len(re.findall(r"\\left(?![A-Za-z])", text)) != len(re.findall(r"\\right(?![A-Za-z])", text)):
        return "\\left and \\right"
    return ""


def _too_long(submission: Submission, parent: Item) -> str:
    length = len(submission.question) + sum(map(len, submission.choices))
    allowed = LENGTH_FACTOR * (len(parent.question) + sum(map(len, parent.choices))) + LENGTH_SLACK
    if length > allowed:
        return f"{length:,} characters are too long beside the parent; at most {allowed:,}"
    return ""


def _language(submission: Submission, parent: Item) -> str:
    wanted = script_of("\n".join((parent.question, *parent.choices)))
    found = script_of("\n".join((submission.question, *submission.choices)))
    # A question of hardly any words has no script to keep.
    if wanted and found and wanted != found:
        return f"it is written in {found} script, its parent in {wanted}; keep the language"
    return ""


def _choices(submission: Submission, parent: Item) -> str:
    options = submission.choices
    if not parent.choices:
        return "the parent has no options; leave choices out" if options else ""
    if len(options) != len(parent.choices):
        return f"the parent has {len(parent.choices)} options, the submission {len(options)}"
    seen: dict[str, str] = {}
    for letter, option in zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", options, strict=False):
        if not option.strip():
            return f"option {letter} is empty"
        value = number_of(option)
        same = str(value) if value is not None else "".join(option.split()).casefold()
        if same in seen:
            return f"options {seen[same]} and {letter} are the same"
        seen[same] = letter
    letters = {chr(ord("A") + place) for place in range(len(options))}
    if (
        parent.answer_type in {"mcq", "mcq-multi"}
        and not set(re.findall(r"\w+", submission.answer)) <= letters
    ):
        return f"the key must be among the letters A to {max(letters)}"
    return ""


def _wrong_type(submission: Submission, parent: Item) -> str:
    shape = _SHAPES.get(parent.answer_type)
    if shape is not None and not shape.fullmatch(submission.answer):
        wanted = {"mcq": "one capital letter", "mcq-multi": "capital letters separated by commas"}
        return (
            f"the key must be {wanted.get(parent.answer_type, 'yes or no, as its parent’s')} and nothing else"
        )
    numeric = parent.answer_type == "numeric" or (
        parent.answer_type == "text" and number_of(parent.answer) is not None
    )
    if numeric and number_of(submission.answer) is None:
        return "the parent's key is a number; the key must be one number, without words"
    return ""


def _answer_leak(submission: Submission, parent: Item) -> str:
    """The key after words that announce an answer, or after a value that is then asked for.

    A key that merely occurs among the givens is no leak: numbers coincide.
    """
    keys = {submission.answer.strip().strip("$")}
    if submission.choices and re.fullmatch(r"[A-Z]", submission.answer):
        place = ord(submission.answer) - ord("A")
        keys.update(submission.choices[place : place + 1])
    for key in keys:
        told = rf"(?:{_LEAK})[$(\s]*(?:[A-Za-z]\s*=\s*)?{_whole(key)}"
        if key and re.search(told, submission.question, re.IGNORECASE):
            return "the question tells its own answer; ask without giving it away"
    return ""


def _whole(key: str) -> str:
    """Pattern of the key as a whole number or word."""
    value = number_of(key)
    forms = {re.escape(key)}
    if value is not None and value.denominator == 1 and math.fabs(value) < 10**15:
        forms |= {str(value.numerator), re.escape(f"{value.numerator:,}")}
    return rf"(?:{'|'.join(sorted(forms))})(?![\w]|[.,]\d)"
