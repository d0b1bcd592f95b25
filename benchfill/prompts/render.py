"""The one place where prompts are rendered.

The method stands in the prompt files, the data of the items between tags (:mod:`benchfill.prompts.tags`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchfill.item import Item, is_built_in
from benchfill.prompts.files import VERSION, PromptFiles
from benchfill.prompts.language import item_language
from benchfill.prompts.tags import (
    PromptItem,
    attempt_tag,
    block,
    choices_tag,
    full_tag,
    make_nonce,
    number,
    opening,
    reference_tag,
    safe_nonce,
    show_choices,
    show_item,
    tag,
)

__all__ = ["Message", "PromptBook", "PromptItem", "make_nonce", "show_choices", "show_item"]

Message = dict[str, Any]

_LEVERS: dict[str, tuple[str, ...]] = {
    "mcq": ("levers_choice.md",),
    "mcq-multi": ("levers_choice.md",),
    "text": ("levers_logic.md", "levers_instruction.md"),
    "yesno": ("levers_logic.md",),
    "regex": ("levers_instruction.md",),
    "instructions": ("levers_instruction.md",),
}
# Of answer types that installed packages bring.
_CUSTOM_KEY_FORM = "exactly the form of the parent's key"
# The whole response is the answer: nothing is asked for besides the question.
_WHOLE = "instructions"
_LEVER_TITLES = {
    "levers_mathematics.md": "Mathematics",
    "levers_choice.md": "Multiple choice",
    "levers_logic.md": "Logic",
    "levers_instruction.md": "Following instructions",
}


class PromptBook:
    """All prompts of a run.

    Parameters
    ----------
    folder
        Folder of the user's whose files replace packaged ones of the same name.

    Attributes
    ----------
    version
        Name of the packaged version; with files of the user's, "+" and eight digits of the fingerprint.
    fingerprint
        Sha256 (hex) over names and hashes of all prompt files in use.
    overridden
        Names of the files the user's folder replaces.

    Raises
    ------
    InputError
        The folder or one of its files is unusable, see :class:`~benchfill.prompts.files.PromptFiles`.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._files = PromptFiles(folder)
        self.overridden = self._files.overridden
        self.fingerprint = self._files.fingerprint()
        self.version = f"{VERSION}+{self.fingerprint[:8]}" if self.overridden else VERSION

    def hashes(self) -> dict[str, str]:
        """Sha256 (hex) of every prompt file in use, by file name; lineage shows the first eight digits."""
        return self._files.hashes()

    def rewrite(
        self,
        *,
        target: float,
        parent: PromptItem,
        references: Sequence[PromptItem],
        earlier: Sequence[PromptItem],
        writer: int,
        writers: int,
        round: int,
        nonce: str,
    ) -> list[Message]:
        """System and user message of one rewrite. Neither depends on the order of references or attempts.

        Parameters
        ----------
        target
            Wanted difficulty, 10 z.
        parent, references
            Measured items; references are shown by ascending difficulty, ties by id.
        earlier
            What earlier rounds produced, shown by round, then by difficulty, unmeasured ones last.
        writer, writers, round
            One-based number of this writer, number of writers in parallel, one-based round.
        """
        items = [parent.item, *(r.item for r in references), *(e.item for e in earlier)]
        nonce = safe_nonce(nonce, items)
        answer_type = parent.item.answer_type
        task = opening(
            f"task-{nonce}",
            writer=str(writer),
            of=str(writers),
            round=str(round),
            answer_type=answer_type,
            language=item_language(parent.item),
            target=number(target),
        )
        ruler = sorted(references, key=lambda r: (_required(r), r.item.id))
        history = sorted(earlier, key=_history_order)
        user = self._files.fill(
            "rewriter_task.md",
            {
                "nonce": nonce,
                "task": task.removesuffix(">") + " />",
                "parent": full_tag("parent", parent, nonce),
                "references": block("references", [reference_tag(r, nonce) for r in ruler], nonce),
                "earlier": block("earlier", [attempt_tag(e, nonce) for e in history], nonce),
                "writer": str(writer),
                "writers": str(writers),
                "target": number(target),
            },
        )
        system = self._files.fill(
            "rewriter.md",
            {"levers": self._levers(answer_type), "key_form": self._key_form(parent.item)},
        )
        return [_message("system", system), _message("user", user)]

    def judge_blind(self, item: Item, *, nonce: str) -> list[Message]:
        """System and user message of the blind solution: question and choices, neither key nor solution."""
        nonce = safe_nonce(nonce, [item])
        shown = block("item", [tag("question", item.question, nonce), *choices_tag(item, nonce)], nonce)
        system = self._files.fill("judge.md", {"answer_form": self._answer_form(item)})
        user = self._files.fill("judge_item.md", {"nonce": nonce, "item": shown})
        return [_message("system", system), _message("user", user)]

    def judge_reveal(self, item: Item, *, nonce: str) -> Message:
        """User message that shows key and solution, after the blind answer."""
        nonce = safe_nonce(nonce, [item])
        key, solution = tag("key", item.answer, nonce), tag("solution", item.solution, nonce)
        values = {"nonce": nonce, "key": key, "solution": solution, "key_form": self._key_form(item)}
        return _message("user", self._files.fill("judge_key.md", values))

    def answer(self, item: Item) -> list[Message]:
        """System message with the form of the final answer, and the bare question with its choices.

        Where the whole response is the answer (constraints on it, or a grader of another package) there is no system
        message: it would be one more demand on the text that is graded.
        """
        choices = show_choices(item)
        question = _message("user", f"{item.question}\n\n{choices}" if choices else item.question)
        if item.answer_type == _WHOLE or not is_built_in(item.answer_type):
            return [question]
        form = self._answer_form(item)
        return [_message("system", self._files.fill("respondent.md", {"answer_form": form})), question]

    def grade(self, item: Item, response: str, *, nonce: str) -> list[Message]:
        """System and user message of the last resort of grading: item, key and a response to it."""
        nonce = safe_nonce(nonce, [item, replace(item, question=response)])
        shown = block("item", [tag("question", item.question, nonce), *choices_tag(item, nonce)], nonce)
        values = {
            "nonce": nonce,
            "item": shown,
            "key": tag("key", item.answer, nonce),
            "response": tag("response", response, nonce),
            "key_form": self._key_form(item),
        }
        return [
            _message("system", self._files.fill("grader.md", {})),
            _message("user", self._files.fill("grader_item.md", values)),
        ]

    def _key_form(self, item: Item) -> str:
        return self._files.key_forms.get(item.answer_type, _CUSTOM_KEY_FORM)

    def _answer_form(self, item: Item) -> str:
        return self._files.answer_forms.get(item.answer_type, self._files.answer_forms[_WHOLE])

    def _levers(self, answer_type: str) -> str:
        names = _LEVERS.get(answer_type, ("levers_mathematics.md",))
        return "\n\n".join(f"## {_LEVER_TITLES[name]}\n\n{self._files.fill(name, {})}" for name in names)


def _message(role: str, content: str) -> Message:
    return {"role": role, "content": content}


def _required(prompt_item: PromptItem) -> float:
    if prompt_item.difficulty is None:
        raise ValueError(f"reference {prompt_item.item.id} has no difficulty")
    return prompt_item.difficulty


def _history_order(attempt: PromptItem) -> tuple[int, bool, float, str]:
    measured = attempt.difficulty is not None and not attempt.refused
    return (attempt.round or 0, not measured, attempt.difficulty or 0.0, attempt.item.id)
