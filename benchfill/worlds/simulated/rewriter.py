"""The rewriter: reads target, parent and references from its prompt, changes the parent's structure, and aims."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchfill.worlds.chat import Call, ChatRequest, Turn
from benchfill.worlds.draws import Draws
from benchfill.worlds.prompt import PromptItem, RewritePrompt, read_rewrite
from benchfill.worlds.settings import SimulatedSettings
from benchfill.worlds.simulated.chain import Chain, read_expression, write_expression
from benchfill.worlds.simulated.language import (
    FAMILY_NAMES,
    Question,
    read_question,
    understood,
    write_question,
    write_solution,
)
from benchfill.worlds.simulated.outline import Outline, build, draw_outline, outline_of, vary

__all__ = ["Notion", "notion_of", "reply"]

# Before it has seen any reference, the rewriter expects a logit of skill to be about this much difficulty,
# and holds on to that as firmly as to references whose squared distances from their mean sum to this.
_SLOPE = 1.15
_FIRMNESS = 0.5
_MIDDLE = 5.0
# An item measured to this sd on the 0-10 scale counts half; stated difficulties of references count fully.
_PRECISE = 0.2
_NINETY = 3.29
# How many variants are tried at which jitter of the operands' decimal sizes, from coarse to fine.
_PROPOSALS = ((24, 0.5), (24, 0.15), (24, 0.04))


@dataclass(frozen=True, slots=True)
class Notion:
    """The rewriter's rough idea of difficulty: a line from its own estimate of hardness to the stated scale."""

    hardness: float
    difficulty: float
    slope: float

    def predict(self, question: Question) -> float:
        return self.difficulty + self.slope * (question.hardness - self.hardness)


def _weight(item: PromptItem) -> float:
    if item.lo is None or item.hi is None:
        return 1.0
    spread = (item.hi - item.lo) / _NINETY
    return _PRECISE**2 / (_PRECISE**2 + spread**2)


def notion_of(prompt: RewritePrompt) -> Notion:
    """Ridge regression of stated difficulties on hardness over parent, references and earlier attempts."""
    shown: dict[str, tuple[float, float, float]] = {}
    for item in (prompt.parent, *prompt.references, *prompt.earlier):
        read = read_question(item.question)
        if read is not None and item.difficulty is not None:
            shown[item.question] = (read.hardness, item.difficulty, _weight(item))
    total = sum(w for _, _, w in shown.values())
    if not total:
        return Notion(0.0, _MIDDLE, _SLOPE)
    x_mean = sum(w * x for x, _, w in shown.values()) / total
    y_mean = sum(w * y for _, y, w in shown.values()) / total
    xx = sum(w * (x - x_mean) ** 2 for x, _, w in shown.values())
    xy = sum(w * (x - x_mean) * (y - y_mean) for x, y, w in shown.values())
    return Notion(x_mean, y_mean, (xy + _FIRMNESS * _SLOPE) / (xx + _FIRMNESS))


def _search(prompt: RewritePrompt, settings: SimulatedSettings, draws: Draws) -> tuple[str, Chain]:
    """Family and chain of a variant of the parent whose predicted difficulty is what is aimed at."""
    notion = notion_of(prompt)
    away = 0.0 if prompt.parent.difficulty is None else prompt.parent.difficulty - prompt.target
    spread = math.hypot(settings.aim_sd, settings.aim_growth * away)
    aim = prompt.target + settings.aim_bias + spread * draws.normal()
    parent = read_question(prompt.parent.question)
    family = parent.family if parent else draws.pick(FAMILY_NAMES)
    best: Outline = outline_of(parent.chain) if parent else draw_outline(draws)
    missed, chain = float("inf"), build(best)
    for count, jitter in _PROPOSALS:
        centre = best
        for _ in range(count):
            # Structure is changed while the search is coarse; afterwards only the operands move.
            edits = 1 + draws.below(3) if jitter == _PROPOSALS[0][1] else 0
            outline = vary(centre, draws, edits=edits, jitter=jitter)
            variant = understood(family, build(outline))
            if variant is None:
                continue
            miss = abs(notion.predict(variant) - aim)
            if miss < missed and (parent is None or variant.chain != parent.chain):
                missed, best, chain = miss, outline, variant.chain
    return family, chain


def _calculated(request: ChatRequest) -> Chain | None:
    """The chain whose value this conversation has already worked out with the tool, None when there is none."""
    for message in reversed(request.messages):
        for call in message.get("tool_calls") or []:
            if call["function"]["name"] == "evaluate_expression":
                try:
                    expression = json.loads(call["function"]["arguments"]).get("expression")
                except (ValueError, AttributeError):
                    continue
                if isinstance(expression, str):
                    return read_expression(expression)
    return None


def _submission(
    prompt: RewritePrompt, question: Question, text: str, settings: SimulatedSettings, draws: Draws
) -> Turn:
    fault = draws.uniform()
    answer = question.answer
    if fault < settings.nothing:
        return Turn("I have an item in mind, but I would like to think about it some more.")
    fault -= settings.nothing
    if fault < settings.copy:
        text, solution = prompt.parent.question, prompt.parent.solution or prompt.parent.answer
        return _submit(text, prompt.parent.answer, solution, "The parent already fits the target.")
    fault -= settings.copy
    solution = write_solution(question)
    if fault < settings.wrong_key:
        answer += draws.pick((-10, -1, 1, 2, 10, 100))
        solution = write_solution(question, answer)
    fault -= settings.wrong_key
    reason = f"Changed steps and operand sizes of {prompt.parent.id or 'the parent'} to aim at {prompt.target:.2f}."
    turn = _submit(text, str(answer), solution, reason)
    if 0 <= fault < settings.damaged_json:
        whole = turn.calls[0].arguments
        # A reply cut off in the middle of a text, the most common damage.
        return Turn(calls=(Call("submit_item", whole[: len(whole) * 2 // 3]),))
    return turn


def _submit(question: str, answer: str, solution: str, rationale: str) -> Turn:
    call = Call.of("submit_item", question=question, answer=answer, solution=solution, rationale=rationale)
    return Turn(calls=(call,))


def _references_to_look_up(prompt: RewritePrompt) -> Sequence[PromptItem]:
    return [item for item in (*prompt.references, prompt.parent) if item.id]


def reply(request: ChatRequest, settings: SimulatedSettings) -> Turn:
    """The rewriter's next turn: a calculation first, then a submission, another one after every refusal."""
    prompt = read_rewrite(request)
    if prompt is None:
        return Turn("Please state a target difficulty, a parent item and references.")
    content = "\n".join(message["content"] for message in request.messages)
    draws = Draws("rewriter", request.seed, content)
    refused = any(text.startswith("refused:") for text in request.texts("tool"))
    chain = None if refused else _calculated(request)
    parent = read_question(prompt.parent.question)
    if chain is not None and parent is not None:
        family = parent.family
    else:
        family, chain = _search(prompt, settings, draws)
    calculates = "evaluate_expression" in request.tools and request.forced in ("", "evaluate_expression")
    if calculates and not refused and _calculated(request) is None:
        calls = [Call.of("evaluate_expression", expression=write_expression(chain))]
        known = _references_to_look_up(prompt)
        if draws.uniform() < settings.look_up and "look_up_item" in request.tools and known:
            calls.insert(0, Call.of("look_up_item", id=draws.pick(known).id))
        return Turn(calls=tuple(calls))
    question = understood(family, chain)
    if question is None or "submit_item" not in request.tools:
        return Turn("I would submit an item, but I have no way to do so.")
    return _submission(prompt, question, write_question(family, chain, draws), settings, draws)
