"""A search without endpoints: the worlds' own functions asked directly, by the same prompts, seeds and decisions.

For `ablate` and the benchmarks. Rewriter and judge get the prompts of a run; answers are those the world would give
over its endpoint to a request with the same seed, compared with the key as numbers (simulated) or as they were logged
(replay). What a run adds is the grading of free text, the ledger and the checkpoints.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from benchfill.calibration.search_loop import Counts, Frozen, Written
from benchfill.graph.references import nearest_on_both_sides
from benchfill.item import Item
from benchfill.prompts.render import PromptBook, PromptItem, make_nonce
from benchfill.tools.client import derive_seed
from benchfill.worlds.bank import full_log_z, logged_outcome
from benchfill.worlds.chat import Call, ChatRequest, Turn, World
from benchfill.worlds.replay import ReplayWorld
from benchfill.worlds.simulated.language import read_question
from benchfill.worlds.simulated.respondents import answer_number
from benchfill.worlds.simulated.truth import true_z
from benchfill.worlds.simulated.world import SimulatedWorld

__all__ = ["Candidate", "DirectSource", "LoggedAnswers", "WorkedAnswers", "answers_of"]

# Turns of one rewrite: a calculation, a submission, and another one after a refused copy.
MOST_TURNS = 4


class Answers(Protocol):
    """What the pool of a world answers, and the truth of it."""

    def outcome(self, item: Item, model: str, seed: int) -> bool | None:
        """Whether the attempt with this seed is right; None when there is none."""
        ...

    def true_place(self, item: Item, frozen: Frozen, models: Sequence[str]) -> float: ...

    def key_is_right(self, item: Item) -> bool: ...


@dataclass(frozen=True)
class WorkedAnswers:
    """Of the simulated world: the respondents work the item out."""

    def outcome(self, item: Item, model: str, seed: int) -> bool | None:
        number = answer_number(model, item.question, seed)
        return None if number is None else str(number) == item.answer.replace(",", "").strip()

    def true_place(self, item: Item, frozen: Frozen, models: Sequence[str]) -> float:
        scale = frozen.scale
        return true_z(frozen.theta.tolist(), item.question, scale.lo, scale.hi, list(models))

    def key_is_right(self, item: Item) -> bool:
        question = read_question(item.question)
        return question is not None and item.answer.replace(",", "").strip() == str(question.answer)


@dataclass(frozen=True)
class LoggedAnswers:
    """Of the replay world: logged attempts, drawn without replacement."""

    world: ReplayWorld

    def outcome(self, item: Item, model: str, seed: int) -> bool | None:
        logged = self.world.bank.find(item.question, _lettered(item))
        return None if logged is None else logged_outcome(logged, model, seed)

    def true_place(self, item: Item, frozen: Frozen, models: Sequence[str]) -> float:
        logged = self.world.bank.find(item.question, _lettered(item))
        if logged is None:
            raise LookupError(f"{item.id} is no item of the bank")
        theta = dict(zip(models, frozen.theta.tolist(), strict=True))
        return full_log_z(theta, logged.counts, frozen.scale.lo, frozen.scale.hi, item.guessing)

    def key_is_right(self, item: Item) -> bool:
        logged = self.world.bank.find(item.question, _lettered(item))
        return logged is not None and logged.answer == item.answer


def answers_of(world: World) -> Answers:
    """The answers of a world."""
    if isinstance(world, ReplayWorld):
        return LoggedAnswers(world)
    if isinstance(world, SimulatedWorld):
        return WorkedAnswers()
    raise TypeError("no direct answers of this world")


def _lettered(item: Item) -> str:
    return "\n".join(
        f"{letter}) {text}" for letter, text in zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", item.choices, strict=False)
    )


@dataclass(frozen=True, slots=True)
class Candidate:
    """A submission the judge passed."""

    item: Item
    round: int
    target: float


@dataclass(eq=False)
class DirectSource:
    """Candidates and answers of one gap, straight from a world.

    Parameters
    ----------
    originals
        Items of the benchmark by id.
    models
        Names of the pool in the order of the abilities.
    references
        How many a writer is shown; 0 for none (the baseline).
    """

    world: World
    answers: Answers
    prompts: PromptBook
    originals: Mapping[str, Item]
    models: tuple[str, ...]
    seed: int
    gap: int
    target: float
    references: int = 16
    passed: dict[str, Candidate] = field(default_factory=dict)
    judged: int = 0

    def item(self, name: str) -> Item:
        return self.originals[name] if name in self.originals else self.passed[name].item

    def write(self, round: int, parents: Sequence[str], known: dict[str, float]) -> list[Written]:
        written = []
        # Writers of one round do not see each other's items.
        before = dict(self.passed)
        for writer, parent in enumerate(parents, start=1):
            name = f"g{self.gap}r{round:02d}w{writer}"
            item = self._rewrite(name, writer, len(parents), round, parent, known, before)
            if item is None or not self._judge(name, item):
                continue
            if any(item.question == other.item.question for other in self.passed.values()):
                continue
            self.passed[name] = Candidate(item, round, self.target)
            written.append(Written(name, parent, item.guessing))
        return written

    def answer(self, candidate: str, first: int, stop: int) -> Counts:
        item = self.passed[candidate].item
        right, known = np.zeros(len(self.models), dtype=np.int64), np.zeros(len(self.models), dtype=np.int64)
        for place, model in enumerate(self.models):
            for attempt in range(first, stop):
                seed = derive_seed(self.seed, "respondent", item.id, model, attempt)
                outcome = self.answers.outcome(item, model, seed)
                known[place] += outcome is not None
                right[place] += outcome is True
        return right, known

    # -- rewriter and judge -------------------------------------------------------------------------

    def _rewrite(
        self,
        name: str,
        writer: int,
        writers: int,
        round: int,
        parent: str,
        known: dict[str, float],
        before: Mapping[str, Candidate],
    ) -> Item | None:
        start = self.item(parent)
        shown = nearest_on_both_sides(known, self.target, self.references) if self.references else []
        messages: list[dict[str, Any]] = list(
            self.prompts.rewrite(
                target=10.0 * self.target,
                parent=PromptItem(start, 10.0 * known[parent]),
                references=[PromptItem(self.item(each), 10.0 * known[each]) for each in shown],
                earlier=[
                    PromptItem(each.item, 10.0 * known[key], round=each.round, target=10.0 * each.target)
                    for key, each in before.items()
                    if key in known and self.references
                ],
                writer=writer,
                writers=writers,
                round=round,
                nonce=make_nonce(str(self.seed), "rewrite", name),
            )
        )
        for turn in range(MOST_TURNS):
            seed = derive_seed(self.seed, "rewriter", name, "rewriter", turn)
            said = self._ask("rewriter", messages, seed, "evaluate_expression", "submit_item")
            submitted = next((call for call in said.calls if call.name == "submit_item"), None)
            if submitted is None and not said.calls:
                return None
            if submitted is not None:
                item = _submitted(submitted, start)
                if item is None or item.question != start.question:
                    return item
            results = ["refused: copy" if call is submitted else _result(call) for call in said.calls]
            messages += _answered(said, results)
        return None

    def _judge(self, name: str, item: Item) -> bool:
        """Blind answer and verdict, as the judge gives them without its calculator."""
        self.judged += 1
        nonce = make_nonce(str(self.seed), "judge", name)
        messages: list[dict[str, Any]] = list(self.prompts.judge_blind(item, nonce=nonce))
        seed = derive_seed(self.seed, "judge", item.id, "judge", 0)
        blind = self._ask("judge", messages, seed, "submit_answer")
        if not blind.calls or json.loads(blind.calls[0].arguments)["answer"].strip() != item.answer.strip():
            return False
        messages += [*_answered(blind, ["noted"]), self.prompts.judge_reveal(item, nonce=nonce)]
        seed = derive_seed(self.seed, "judge", item.id, "judge", 1)
        verdict = self._ask("judge", messages, seed, "submit_verdict")
        return bool(verdict.calls) and bool(json.loads(verdict.calls[0].arguments)["valid"])

    def _ask(self, model: str, messages: Sequence[Mapping[str, Any]], seed: int, *tools: str) -> Turn:
        digest = hashlib.sha256(json.dumps([model, seed, *map(dict, messages)]).encode()).hexdigest()
        return self.world.reply(ChatRequest(model, seed, tuple(messages), frozenset(tools), "", None, digest))


def _submitted(call: Call, parent: Item) -> Item | None:
    """The item of a submission; None when its arguments are damaged."""
    try:
        given = json.loads(call.arguments)
    except ValueError:
        return None
    text = "\x1f".join((given["question"], *given.get("choices", ()), given["answer"]))
    return Item(
        id="bf-" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12],
        question=given["question"],
        answer=given["answer"],
        solution=given["solution"],
        choices=tuple(given.get("choices", ())),
        answer_type=parent.answer_type,
        tolerance=parent.tolerance,
    )


def _result(call: Call) -> str:
    # The rewriters of these worlds look at the expression they asked for, never at its value.
    return "calculated" if call.name == "evaluate_expression" else "not available"


def _answered(said: Turn, results: Sequence[str]) -> list[dict[str, Any]]:
    """A turn as the conversation keeps it, with the results of its calls."""
    calls = [
        {"id": f"c{place}", "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for place, call in enumerate(said.calls)
    ]
    return [
        {"role": "assistant", "content": said.content, "tool_calls": calls},
        *(
            {"role": "tool", "tool_call_id": call["id"], "content": result}
            for call, result in zip(calls, results, strict=True)
        ),
    ]
