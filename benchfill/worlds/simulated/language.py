"""Items as text: a chain is told in a family's sentences, and any such text is read back into its chain."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from benchfill.worlds.draws import Draws
from benchfill.worlds.simulated.chain import (
    Chain,
    Operation,
    Step,
    half_point,
    operations,
    read_expression,
    step_load,
    write_expression,
)
from benchfill.worlds.simulated.sentences import EXPRESSION, EXPRESSION_FRAMES, FAMILIES, Family

__all__ = ["FAMILY_NAMES", "Question", "read_question", "write_question", "write_solution"]

FAMILY_NAMES = (EXPRESSION, *FAMILIES)

_NUMBER = r"\d{1,3}(?:,\d{3})+|\d{1,15}"
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+|\n+")


@dataclass(frozen=True, slots=True)
class Question:
    """What a reader of the text understands.

    Parameters
    ----------
    family, chain
        The setting and the arithmetic.
    preamble
        Text in front of the item that is no part of it.
    steps, loads
        Elementary operations and how demanding each is, in logits, the family's reading load included.
    """

    family: str
    chain: Chain
    preamble: str
    steps: tuple[Operation, ...]
    loads: tuple[float, ...]

    @property
    def answer(self) -> int:
        return self.steps[-1].result

    @property
    def hardness(self) -> float:
        """The skill, in logits, that solves this question half of the time."""
        return half_point(self.loads)


def understood(family: str, chain: Chain, preamble: str = "") -> Question | None:
    """The question a chain is in a family, None when the chain has no well-behaved solution."""
    steps = operations(chain)
    if steps is None:
        return None
    reading = FAMILIES[family].reading if family in FAMILIES else 0.0
    return Question(family, chain, preamble, steps, tuple(step_load(step) + reading for step in steps))


def _pattern(wording: str, words: Mapping[str, tuple[str, ...]]) -> str:
    out = re.escape(wording).replace(r"\ ", " ")
    for slot in "nab":
        out = out.replace(rf"\{{{slot}\}}", rf"(?P<{slot}>{_NUMBER})")
    for slot, options in words.items():
        out = out.replace(rf"\{{{slot}\}}", f"(?:{'|'.join(map(re.escape, options))})")
    return out


@lru_cache(maxsize=1)
def _patterns() -> dict[str, dict[str, list[re.Pattern[str]]]]:
    compiled: dict[str, dict[str, list[re.Pattern[str]]]] = {}
    for name, family in FAMILIES.items():
        compiled[name] = {}
        for kind, wordings in family.sentences.items():
            # Only the opening sentence may have foreign text in front of it.
            front = r"(?:^|(?<=\s))" if kind == "start" else "^"
            compiled[name][kind] = [re.compile(f"{front}{_pattern(w, family.words)}$") for w in wordings]
    return compiled


_FRAMES = [
    re.compile(
        r"(?:^|(?<=\s))"
        + re.escape(frame).replace(r"\ ", " ").replace(r"\{e\}", r"(?P<e>[\d(][^.?!]*)")
        + "$"
    )
    for frame in EXPRESSION_FRAMES
]


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _read_step(sentence: str, patterns: Mapping[str, list[re.Pattern[str]]]) -> Step | None:
    for kind, options in patterns.items():
        if kind in ("start", "ask"):
            continue
        for pattern in options:
            match = pattern.search(sentence)
            if match is None:
                continue
            if kind in ("addprod", "subprod"):
                return Step(kind, _number(match["a"]), _number(match["b"]))  # type: ignore[arg-type]
            return Step(kind, _number(match["n"]))  # type: ignore[arg-type]
    return None


def _read_story(family: str, sentences: list[str]) -> Chain | None:
    """The chain of a story whose opening is the first sentence; None unless every sentence is understood."""
    patterns = _patterns()[family]
    opening = next((found for p in patterns["start"] if (found := p.search(sentences[0]))), None)
    if opening is None or len(sentences) < 3:
        return None
    if not any(pattern.search(sentences[-1]) for pattern in patterns["ask"]):
        return None
    steps = [_read_step(sentence, patterns) for sentence in sentences[1:-1]]
    if None in steps:
        return None
    return Chain(_number(opening["n"]), tuple(step for step in steps if step is not None))


@lru_cache(maxsize=8192)
def read_question(text: str) -> Question | None:
    """Understand a question, None when any sentence of it is foreign or it has no well-behaved answer.

    Text in front of the opening sentence is set aside as `Question.preamble`; nothing may follow the question.
    """
    sentences = [part for part in _SENTENCE_END.split(text.strip()) if part]
    if not sentences:
        return None
    for frame in _FRAMES:
        match = frame.search(sentences[-1])
        if match is not None:
            chain = read_expression(match["e"])
            front = " ".join([*sentences[:-1], sentences[-1][: match.start()]]).strip()
            return None if chain is None else understood(EXPRESSION, chain, front)
    for place, sentence in enumerate(sentences):
        for family in FAMILIES:
            found = [m for p in _patterns()[family]["start"] if (m := p.search(sentence))]
            if found:
                chain = _read_story(family, sentences[place:])
                front = " ".join([*sentences[:place], sentence[: found[0].start()]]).strip()
                return None if chain is None else understood(family, chain, front)
    return None


def write_question(family: str, chain: Chain, draws: Draws) -> str:
    """Tell a chain in a family's sentences; wordings and names are drawn, the arithmetic is the chain's."""
    if family == EXPRESSION:
        signs = {"times": "×", "over": "÷"} if draws.below(2) else {"times": "*", "over": "/"}
        return draws.pick(EXPRESSION_FRAMES).format(e=write_expression(chain, **signs))
    setting: Family = FAMILIES[family]
    words = {slot: draws.pick(options) for slot, options in setting.words.items()}
    parts = [draws.pick(setting.sentences["start"]).format(n=chain.start, **words)]
    before = ""
    for step in chain.steps:
        fresh = [wording for wording in setting.sentences[step.kind] if wording != before]
        before = draws.pick(fresh)
        parts.append(before.format(n=step.a, a=step.a, b=step.b, **words))
    parts.append(draws.pick(setting.sentences["ask"]).format(**words))
    return " ".join(parts)


def write_solution(question: Question, answer: int | None = None) -> str:
    """The worked solution, one elementary operation a line; ``answer`` replaces the last line's result."""
    lines = [f"{step.left} {step.sign} {step.right} = {step.result}" for step in question.steps]
    final = question.answer if answer is None else answer
    if answer is not None:
        last = question.steps[-1]
        lines[-1] = f"{last.left} {last.sign} {last.right} = {answer}"
    return "\n".join([*lines, f"The answer is {final}."])
