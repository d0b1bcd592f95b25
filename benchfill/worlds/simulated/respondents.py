"""The twelve respondents: they read a question, work it step by step, sometimes slip, and say what they got."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import MappingProxyType

from benchfill.worlds.draws import Draws
from benchfill.worlds.simulated.chain import Operation
from benchfill.worlds.simulated.language import Question, read_question

__all__ = ["RESPONDENTS", "answer_number", "slips", "success_probability", "write_answer"]

# Skill in logits: a respondent fails a step of that load half of the time.
RESPONDENTS = MappingProxyType(
    {
        "alder": 0.75, "beech": -1.8, "cedar": 2.75, "elm": -0.25, "fir": 1.75, "hazel": -2.75,
        "juniper": 0.25, "larch": 2.25, "maple": -1.25, "oak": 1.25, "pine": -2.3, "willow": -0.75,
    }
)  # fmt: skip


@lru_cache(maxsize=32768)
def slips(respondent: str, question: str) -> tuple[float, ...] | None:
    """Probability of a slip at every step, 1 / (1 + exp(skill - load)); None for a question not understood."""
    understood = read_question(question)
    if understood is None:
        return None
    skill = RESPONDENTS[respondent]
    return tuple(1.0 / (1.0 + math.exp(skill - load)) for load in understood.loads)


def success_probability(respondent: str, question: str) -> float | None:
    """Exact probability of a right answer: the product of (1 - slip) over the steps.

    A slip always leads to a wrong final number, so there is no other way to be right. None for a question
    that is not understood and gets no answer.
    """
    chances = slips(respondent, question)
    return None if chances is None else math.prod(1.0 - chance for chance in chances)


def _slipped(step: Operation, left: int, right: int, draws: Draws) -> int:
    """A plausible wrong result: a carry, a digit, or two digits exchanged."""
    value = _apply(step.sign, left, right)
    digits = len(str(abs(value)))
    place = int("1" + "0" * draws.below(digits))
    kind = draws.below(3)
    if kind == 0:
        return value + place * (1 if draws.below(2) else -1)
    if kind == 1:
        return value + place * (2 + draws.below(8))
    text = str(abs(value))
    swapped = int(text[1:2] + text[:1] + text[2:])
    return swapped if swapped != value else value + 1


def _apply(sign: str, left: int, right: int) -> int:
    if sign == "+":
        return left + right
    if sign == "-":
        return left - right
    return left * right if sign == "*" else left // right


def _worked(question: Question, chances: Sequence[float], draws: Draws) -> tuple[list[str], int]:
    """The lines of a working and its final number, wrong exactly when at least one step slipped."""
    lines: list[str] = []
    slipped = False
    value = question.chain.start
    product: int | None = None
    for step, chance in zip(question.steps, chances, strict=True):
        left = step.left if step.aside else value
        right = product if product is not None else step.right
        if draws.uniform() < chance:
            slipped = True
            result = _slipped(step, left, right, draws)
        else:
            result = _apply(step.sign, left, right)
        lines.append(f"{left} {step.sign} {right} = {result}")
        if step.aside:
            product = result
        else:
            value, product = result, None
    if slipped and value == question.answer:
        value += 1
    return lines, value


def _grouped(value: int) -> str:
    return f"{value:,}"


_FORMS: tuple[Callable[[list[str], int], str], ...] = (
    lambda lines, value: f"\\boxed{{{value}}}",
    lambda lines, value: "\n".join([*lines, "", f"\\boxed{{{value}}}"]),
    lambda lines, value: (
        "Step by step:\n" + "\n".join(f"- {line}" for line in lines) + f"\n\nThe answer is {value}."
    ),
    lambda lines, value: f"The final answer is $\\boxed{{{_grouped(value)}}}$.",
    lambda lines, value: "; ".join(lines) + f".\n\n**Answer: {value}**",
    lambda lines, value: "\n".join(lines) + f"\n#### {value}",
    lambda lines, value: f"Working through it gives {lines[-1]}.\n\nFinal answer: {_grouped(value)}",
    lambda lines, value: (
        f"Let me work this out.\n\n{chr(10).join(lines)}\n\nSo the result is \\boxed{{{value}}}."
    ),
)


def answer_number(respondent: str, question: str, seed: int) -> int | None:
    """The number `write_answer` names for the same arguments, None for a question that is not understood."""
    understood = read_question(question)
    chances = slips(respondent, question)
    if understood is None or chances is None:
        return None
    return _worked(understood, chances, Draws("work", seed, respondent, question))[1]


def write_answer(respondent: str, question: str, seed: int, *, no_answer: float = 0.0) -> str:
    """What a respondent replies to a question, drawn from (seed, respondent, question) alone.

    Parameters
    ----------
    no_answer
        Rate at which a reply gives up instead of naming a number.
    """
    understood = read_question(question)
    chances = slips(respondent, question)
    manner = Draws("manner", seed, respondent, question)
    if understood is None or chances is None or manner.uniform() < no_answer:
        return "I cannot determine a single answer from the information given."
    lines, value = _worked(understood, chances, Draws("work", seed, respondent, question))
    return manner.pick(_FORMS)(lines, value)
