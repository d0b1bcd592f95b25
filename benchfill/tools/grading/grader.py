"""Is a response right? The one way in: find the answer, compare it with the key, say why."""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchfill.grading_settings import GradingSettings
from benchfill.item import AnswerType, Item, is_built_in
from benchfill.tools.grading.answers import Answer, find_answer
from benchfill.tools.grading.choices import key_letters, options_of, read_choice
from benchfill.tools.grading.cleaning import FinalText, clean_characters, final_text, whole_text
from benchfill.tools.grading.comparison import compare
from benchfill.tools.grading.declarations import Declaration, Declared, find_declarations
from benchfill.tools.grading.equality import Comparison, Undecided, Unreadable
from benchfill.tools.grading.evaluation import TooLarge, exact
from benchfill.tools.grading.kinds import infer_answer_type, key_text
from benchfill.tools.grading.latex import canonical_math
from benchfill.tools.grading.library import compare_by_library
from benchfill.tools.grading.mathtext import Node
from benchfill.tools.grading.symbolic import compare_symbolically
from benchfill.tools.grading.values import read_value
from benchfill.tools.grading.verdicts import Grade, Verdict
from benchfill.tools.grading.whole import check_constraints, grade_whole, is_whole
from benchfill.tools.grading.words import clauses, matches_pattern, plain_words, read_yes_no
from benchfill.tools.sandbox import Sandbox, SandboxError

__all__ = ["Grader"]

LONGEST_FORMULA = 500
_TAKEN_BACK = re.compile(r"[\s,;:(-]*(?:but|or|although|no|not|actually)\b", re.IGNORECASE)
_SEVERAL_PARTS = frozenset(["set", "tuple", "mcq-multi", "interval"])


class Grader:
    """Grades responses and bare answers.

    Parameters
    ----------
    sandbox
        Where comparisons that are more than rational arithmetic run.
    settings
        What is accepted where people differ.
    """

    def __init__(self, sandbox: Sandbox, settings: GradingSettings | None = None) -> None:
        self._sandbox = sandbox
        self.settings = settings or GradingSettings()

    async def grade(self, item: Item, response: str, *, finish_reason: str = "stop") -> Grade:
        """Grade what a model sent.

        Parameters
        ----------
        item
            Item as it was shown (for reordered options see :func:`~benchfill.tools.grading.shown_item`). Further
            accepted keys may stand in ``item.extra["accepted_answers"]``.
        response
            The whole response, reasoning and all.
        finish_reason
            ``length`` when the response was cut: then only a complete statement counts.
        """
        try:
            return await self._graded(item, response, cut=finish_reason == "length")
        except Exception as error:  # a fault of the grader is never a wrong answer
            return _failed(error)

    async def _graded(self, item: Item, response: str, *, cut: bool) -> Grade:
        if is_whole(item.answer_type):
            final = whole_text(response)
            empty = _without_text(final, response)
            if empty is None and cut:
                empty = Grade("no_answer", None, "cut before the response was complete")
            return empty or await grade_whole(self._sandbox, item, final.text, self.settings)
        final = final_text(response, cut_run_on=self.settings.cut_run_on)
        empty = _without_text(final, response)
        if empty is not None:
            return empty
        kind = self.kind(item)
        join = self.settings.join_boxes and kind in _SEVERAL_PARTS
        declared = find_declarations(final.text, join_boxes=join)
        if declared.unclosed is not None:
            if not self.settings.unclosed_box:
                return Grade("no_answer", None, "the last box was never closed")
            box = Declaration("box", declared.unclosed, len(final.text))
            declared = Declared((*declared.declarations, box), False, None)
        if kind in ("mcq", "mcq-multi"):
            return self._choice(item, kind, final.text, declared, cut)
        keys = _keys(item)
        answer = find_answer(
            kind,
            final.text,
            declared,
            symbolic=_symbolic(keys),
            undeclared=self.settings.undeclared == "last_value" and not cut,
        )
        if answer is None:
            reason = "cut before an answer was stated" if cut else "no answer was found"
            return Grade("no_answer", None, reason)
        return await self._against(item, kind, keys, answer)

    async def equivalent(self, item: Item, answer: str) -> Grade:
        """Grade a bare answer, as a judge submits it, against the key."""
        try:
            return await self._bare_graded(item, answer)
        except Exception as error:  # as above
            return _failed(error)

    async def _bare_graded(self, item: Item, answer: str) -> Grade:
        if is_whole(item.answer_type):
            if not answer.strip():
                return Grade("no_answer", None, "empty answer")
            return await grade_whole(self._sandbox, item, answer.strip(), self.settings)
        kind = self.kind(item)
        text = key_text(answer)
        if not text.strip():
            return Grade("no_answer", None, "empty answer")
        box = Declared((Declaration("box", text, 0),), False, None)
        if kind in ("mcq", "mcq-multi"):
            return self._choice(item, kind, text, box, cut=False)
        keys = _keys(item)
        found = find_answer(kind, text, box, symbolic=_symbolic(keys), undeclared=False)
        if found is None:
            return Grade("no_answer", None, "no answer was found")
        return await self._against(item, kind, keys, found)

    async def self_check(self, item: Item) -> Grade:
        """Grade the key against itself: bare, and as a response that puts it into a box.

        Patterns and constraints are no answers: they are checked for whether anything can match or keep them. An
        installed grader is given the item's solution, or its key where there is none.
        """
        if item.answer_type == "regex":
            return _check_pattern(item.answer)
        if item.answer_type == "instructions":
            return check_constraints(item.answer)
        if is_whole(item.answer_type):
            return await self.equivalent(item, item.solution or item.answer)
        bare = await self.equivalent(item, item.answer)
        key = key_text(item.answer)
        if bare.verdict != "correct" or key.count("{") != key.count("}"):
            return bare
        boxed = await self.grade(item, f"The answer is \\boxed{{{key}}}.")
        return bare if boxed.verdict == "correct" else boxed

    def kind(self, item: Item) -> AnswerType:
        """The type an item is graded by: its own, or for ``text`` and ``expr`` what the form of the key says.

        Sources name a formula of any kind an expression; an interval or a set still has to be compared as one.
        """
        if not is_built_in(item.answer_type):
            raise ValueError(f"{item.answer_type} is graded by an installed package")
        if item.answer_type not in ("text", "expr"):
            return item.answer_type
        inferred = infer_answer_type(item.answer, item.choices)
        return "expr" if item.answer_type == "expr" and inferred in ("text", "yesno") else inferred

    def _choice(self, item: Item, kind: AnswerType, text: str, declared: Declared, cut: bool) -> Grade:
        keys = [key_letters(item, key) for key in (item.answer, *_accepted(item))]
        if not all(keys) or (kind == "mcq" and any(len(key) > 1 for key in keys)):
            return Grade("ungraded", None, f"the key {item.answer!r} names no single option")
        chosen = read_choice(text, declared, options_of(item), several=kind == "mcq-multi")
        if chosen is None or (cut and not declared.declarations):
            return Grade("no_answer", None, "no option was chosen")
        extracted = ", ".join(chosen.letters)
        if chosen.ambiguous:
            possible = any(set(chosen.letters) & set(key) for key in keys)
            return Grade(
                "ungraded" if possible else "wrong", extracted, "the text of several options was given"
            )
        if kind == "mcq" and len(chosen.letters) > 1:
            return Grade(
                self.settings.hedged, extracted, "several options were chosen where one is asked for"
            )
        right = chosen.letters in keys
        return Grade("correct" if right else "wrong", extracted, "same option" if right else "another option")

    async def _against(self, item: Item, kind: AnswerType, keys: Sequence[str], answer: Answer) -> Grade:
        if answer.hedged:
            return Grade(
                self.settings.hedged, answer.text, "several values were offered where one is asked for"
            )
        grades = [await self._compared(item, kind, key, answer) for key in keys]
        order: tuple[Verdict, ...] = ("correct", "ungraded", "wrong")
        return min(grades, key=lambda grade: order.index(grade.verdict))

    async def _compared(self, item: Item, kind: AnswerType, key: str, answer: Answer) -> Grade:
        text = answer.text
        if kind == "text":
            return _words_verdict(key, text)
        if kind == "yesno":
            return _verdict(read_yes_no(key) == read_yes_no(text), text)
        try:
            if kind == "regex":
                return _verdict(
                    await self._sandbox.call(matches_pattern, key, text, seconds=self.settings.seconds), text
                )
            return _verdict(await self._equal(kind, key, text, item.tolerance), text)
        except Unreadable as unreadable:
            return await self._by_library(key, text, key_unreadable=unreadable.key)
        except SandboxError as error:
            if error.reason == "crashed":
                return await self._by_library(key, text, key_unreadable=False)
            return Grade("ungraded", text, f"the comparison hit its limit of {error.reason}")

    async def _equal(self, kind: AnswerType, key: str, answer: str, tolerance: float | None) -> bool:
        try:
            return compare(kind, key, answer, Comparison(self.settings, tolerance, _undecided))
        except Undecided:
            equal: bool = await self._sandbox.call(
                compare_symbolically,
                kind,
                key,
                answer,
                self.settings,
                tolerance,
                seconds=self.settings.seconds,
            )
            return equal

    async def _by_library(self, key: str, answer: str, *, key_unreadable: bool) -> Grade:
        if plain_words(key) == plain_words(answer):
            return _verdict(True, answer)
        if not key_unreadable and _only_words(answer):
            return Grade("wrong", answer, "words where the key is a value")
        if max(len(key), len(answer)) > LONGEST_FORMULA:
            return Grade("ungraded", answer[:LONGEST_FORMULA], "too long to be compared")
        try:
            outcome = await self._sandbox.call(compare_by_library, key, answer, seconds=self.settings.seconds)
        except SandboxError as error:
            return Grade("ungraded", answer, f"the comparison failed ({error.reason})")
        if outcome == "unreadable":
            side = "key" if key_unreadable else "answer"
            return Grade("ungraded", answer, f"the {side} cannot be read as this type of answer")
        return _verdict(outcome == "equal", answer)


def _without_text(final: FinalText, response: str) -> Grade | None:
    if final.open_thinking:
        return Grade("no_answer", None, "the reasoning was never closed")
    if not final.text.strip():
        reason = "no text outside of the reasoning" if response.strip() else "empty response"
        return Grade("no_answer", None, reason)
    return None


def _failed(error: Exception) -> Grade:
    return Grade("ungraded", None, f"the grader failed ({type(error).__name__})")


def _undecided(a: Node, b: Node) -> bool:
    raise Undecided


def _verdict(equal: bool, extracted: str) -> Grade:
    return Grade(
        "correct" if equal else "wrong", extracted, "equal to the key" if equal else "differs from the key"
    )


def _accepted(item: Item) -> list[str]:
    """Further accepted keys."""
    return [str(other) for other in item.extra.get("accepted_answers", ())]


def _keys(item: Item) -> list[str]:
    return [key_text(key) for key in (item.answer, *_accepted(item))]


def _symbolic(keys: Sequence[str]) -> bool:
    """Whether an answer may hold letters: unless all keys are rational numbers, with or without unit."""
    for key in keys:
        value = read_value(canonical_math(key).rstrip(". "), units="first")
        try:
            if value is None or exact(value.node) is None:
                return True
        except TooLarge:
            continue
    return False


def _words_verdict(key: str, answer: str) -> Grade:
    """Whether the answer, or its beginning up to a clause that takes nothing back, is the key."""
    wanted = plain_words(clean_characters(key))
    for clause in clauses(answer):
        if not wanted or plain_words(clause) != wanted:
            continue
        rest = answer.strip()[len(clause) :]
        if _TAKEN_BACK.match(rest):
            continue
        if re.match(r"\s*[,/]", rest) and len(rest.split()) <= 3:
            return Grade("ungraded", answer, "the key is the first of several names")
        return _verdict(True, answer)
    return _verdict(False, answer)


def _only_words(answer: str) -> bool:
    return (
        re.fullmatch(r"[^\d\\=+*/^<>|{}\[\]]*[^\W\d_]{3,}[^\d\\=+*/^<>|{}\[\]]*", plain_words(answer))
        is not None
    )


def _check_pattern(pattern: str) -> Grade:
    try:
        empty = re.fullmatch(pattern, "") is not None
    except re.error as error:
        return Grade("ungraded", None, f"the key is no regular expression: {error}")
    return (
        Grade("ungraded", None, "the key matches an empty answer")
        if empty
        else Grade("correct", pattern, "compiles")
    )
