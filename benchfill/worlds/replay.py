"""The replay world: real items and the logged answers of real models, behind the same endpoint."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Mapping
from typing import Any

from benchfill.worlds.bank import Bank, LoggedItem, logged_outcome
from benchfill.worlds.chat import Call, ChatError, ChatRequest, Turn
from benchfill.worlds.draws import Draws
from benchfill.worlds.prompt import PromptItem, RewritePrompt, read_judge, read_rewrite
from benchfill.worlds.settings import ReplaySettings

__all__ = ["ReplayWorld", "wrong_answer"]

_UNKNOWN = "cannot be determined"
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def wrong_answer(item: LoggedItem) -> str:
    """An answer that no grader takes for the key: another letter, a number far off, or a text that says so."""
    if item.answer_type in ("mcq", "mcq-multi"):
        letters = _LETTERS[: max(len(item.choices), 2)]
        return next((letter for letter in letters if letter not in item.answer.upper()), "A")
    letter = re.fullmatch(r"(?:\\text\{)?\(?([A-Z])\)?\}?", item.answer.strip())
    if letter is not None:
        return "B" if letter.group(1) == "A" else "A"
    plain = item.answer.replace(",", "").replace("$", "").strip()
    if re.fullmatch(r"-?\d+(\.\d+)?", plain):
        return str(-7 * abs(int(float(plain))) - 13)
    return r"\text{wrong answer}"


class ReplayWorld:
    """Offers bank items, answers with logged attempts, judges by the known key."""

    name = "replay"

    def __init__(self, config: Mapping[str, Any], settings: ReplaySettings) -> None:
        self.settings = settings
        self.bank = Bank(config)
        self.models = ("judge", "rewriter", *self.bank.models)
        self._guesses = self.bank.guesses(settings.guess_correlation, settings.seed)
        benchmark = [item.failure for item in self.bank.items.values() if item.counts and not item.from_bank]
        # Ten points of the prompt's scale are the benchmark's whole range, easiest to hardest.
        self._points = 10.0 / max(max(benchmark) - min(benchmark), 1e-9) if benchmark else 1.0

    def reply(self, request: ChatRequest) -> Turn:
        """One turn, drawn from the request's seed and content alone."""
        if request.model == "rewriter":
            return self._rewrite(request)
        if request.model == "judge":
            return self._judge(request)
        return self._respond(request)

    def _respond(self, request: ChatRequest) -> Turn:
        asked = request.texts("user")
        item = self.bank.find(asked[-1]) if asked else None
        if item is None:
            return Turn("I cannot determine a single answer: no attempt at this question was ever logged.")
        right = logged_outcome(item, request.model, request.seed)
        if right is None:
            raise ChatError(
                f"no logged attempt of {request.model} at this item is left",
                code="attempts_exhausted",
                param="seed",
            )
        return Turn(f"\\boxed{{{item.answer if right else wrong_answer(item)}}}")

    def _shown(self, item: PromptItem) -> LoggedItem | None:
        return self.bank.find(item.question, item.choices)

    def _offset(self, prompt: RewritePrompt) -> float:
        """How far stated difficulties lie above the guesses in points, on average over what the prompt shows."""
        residuals = []
        for shown in (prompt.parent, *prompt.references):
            item = self._shown(shown)
            if item is not None and shown.difficulty is not None and item.id in self._guesses:
                residuals.append(shown.difficulty - self._points * self._guesses[item.id])
        return statistics.fmean(residuals) if residuals else 5.0

    def _ranked(self, prompt: RewritePrompt) -> list[LoggedItem]:
        """Bank items the prompt does not show yet, the best guess for the target first."""
        known = {item.id for shown in (prompt.parent, *prompt.references, *prompt.earlier)
                 if (item := self._shown(shown)) is not None}  # fmt: skip
        offset = self._offset(prompt)

        def miss(item: LoggedItem) -> tuple[float, str]:
            return abs(offset + self._points * self._guesses[item.id] - prompt.target), item.id

        free = [item for item in self.bank.offered() if item.id not in known and item.id in self._guesses]
        return sorted(free, key=miss)

    def _rewrite(self, request: ChatRequest) -> Turn:
        prompt = read_rewrite(request)
        if prompt is None or "submit_item" not in request.tools:
            return Turn("Please state a target difficulty, a parent item and references, and let me submit.")
        refused = sum(text.startswith("refused:") for text in request.texts("tool"))
        # Writers of one round see the same list and take every `of`-th place of it.
        place = prompt.writer - 1 + prompt.of * refused
        ranked = self._ranked(prompt)
        if place >= len(ranked):
            return Turn("I have no further item to offer.")
        item = ranked[place]
        fields: dict[str, Any] = {
            "question": item.question,
            "answer": item.answer,
            "solution": item.solution or f"The key of this item is {item.answer}.",
            "rationale": f"Of the items I know it should lie nearest to {prompt.target:.2f}.",
        }
        if item.choices:
            fields["choices"] = list(item.choices)
        return Turn(calls=(Call("submit_item", json.dumps(fields, ensure_ascii=False)),))

    def _judge(self, request: ChatRequest) -> Turn:
        shown = read_judge(request)
        if shown is None:
            return Turn("Please show me an item.")
        item = self.bank.find(shown.question, shown.choices)
        if shown.key is None:
            errs = self._errs("blind", request.seed, shown.question)
            answer = _UNKNOWN if item is None else wrong_answer(item) if errs else item.answer
            if "submit_answer" in request.tools:
                return Turn(calls=(Call.of("submit_answer", answer=answer),))
            return Turn(f"The answer is {answer}.")
        if "submit_verdict" not in request.tools:
            return Turn("I would give a verdict, but I have no way to do so.")
        right = item is not None and shown.key == item.answer
        valid = right != self._errs("reveal", request.seed, shown.question)
        problems = [] if valid else ["under_specified" if item is None else "key_wrong"]
        call = Call.of(
            "submit_verdict",
            valid=valid,
            problems=problems,
            answer=item.answer if item else _UNKNOWN,
            reason="The key agrees with what I know."
            if valid
            else "The key does not agree with what I know.",
        )
        return Turn(calls=(call,))

    def _errs(self, phase: str, seed: int, question: str) -> bool:
        return Draws("judge", phase, seed, question).uniform() < self.settings.judge_error / 2
