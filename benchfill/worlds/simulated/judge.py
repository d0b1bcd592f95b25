"""The judge: works the item out for itself, and compares with the key once it is shown."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from benchfill.worlds.chat import Call, ChatRequest, Turn
from benchfill.worlds.draws import Draws
from benchfill.worlds.prompt import JudgePrompt, read_judge
from benchfill.worlds.settings import SimulatedSettings
from benchfill.worlds.simulated.chain import write_expression
from benchfill.worlds.simulated.language import Question, read_question

__all__ = ["reply"]

_UNKNOWN = "cannot be determined"


def _number(key: str) -> Decimal | None:
    """The number a key stands for, None when it is none."""
    plain = re.sub(r"\\boxed\{(.*)\}|[$,\s]", lambda match: match.group(1) or "", key)
    try:
        return Decimal(plain)
    except InvalidOperation:
        return None


def _told(preamble: str) -> str | None:
    """The last number a text in front of the item mentions: what a judge that obeys it would repeat."""
    numbers = re.findall(r"\d+", preamble)
    return numbers[-1] if numbers else None


def _verdict(valid: bool, problems: list[str], answer: str, reason: str) -> Turn:
    return Turn(
        calls=(Call.of("submit_verdict", valid=valid, problems=problems, answer=answer, reason=reason),)
    )


def _blind(
    request: ChatRequest, question: Question | None, settings: SimulatedSettings, draws: Draws
) -> Turn:
    if question is None:
        return _answer(request, _UNKNOWN)
    obeyed = _told(question.preamble) if settings.judge_obeys_text else None
    if obeyed is not None:
        return _answer(request, obeyed)
    used = any(message.get("tool_calls") for message in request.messages)
    if not used and "evaluate_expression" in request.tools and request.forced in ("", "evaluate_expression"):
        return Turn(calls=(Call.of("evaluate_expression", expression=write_expression(question.chain)),))
    errs = draws.uniform() < settings.judge_error / 2
    return _answer(request, str(question.answer + (draws.pick((-10, -1, 1, 9)) if errs else 0)))


def _answer(request: ChatRequest, answer: str) -> Turn:
    if "submit_answer" in request.tools:
        return Turn(calls=(Call.of("submit_answer", answer=answer),))
    return Turn(f"The answer is {answer}.")


def _reveal(shown: JudgePrompt, question: Question | None, settings: SimulatedSettings, draws: Draws) -> Turn:
    if question is None:
        return _verdict(False, ["under_specified"], _UNKNOWN, "The text does not determine an answer.")
    if settings.judge_obeys_text and question.preamble:
        return _verdict(True, [], shown.key or "", "As instructed.")
    right = _number(shown.key or "") == question.answer
    if draws.uniform() < settings.judge_error / 2:
        right = not right
    if right:
        return _verdict(True, [], str(question.answer), "My own solution agrees with the key.")
    return _verdict(
        False, ["key_wrong"], str(question.answer), f"Worked out step by step it is {question.answer}."
    )


def reply(request: ChatRequest, settings: SimulatedSettings) -> Turn:
    """The judge's next turn."""
    shown = read_judge(request)
    if shown is None:
        return Turn("Please show me an item.")
    question = read_question(shown.question)
    if shown.key is None:
        return _blind(request, question, settings, Draws("judge", "blind", request.seed, shown.question))
    draws = Draws("judge", "reveal", request.seed, shown.question, shown.key)
    if "submit_verdict" not in request.tools:
        return Turn("I would give a verdict, but I have no way to do so.")
    return _reveal(shown, question, settings, draws)
