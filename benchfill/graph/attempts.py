"""One attempt of one model at one item: the same for a search, for anchors and for a log made from scratch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from benchfill.item import Item
from benchfill.memory.records import AttemptRow
from benchfill.prompts.render import PromptBook, make_nonce
from benchfill.tools.client import ModelClient, derive_seed
from benchfill.tools.grading import Grade, Grader, in_original_letters, shown_item, shuffled_order
from benchfill.tools.llm_grader import ask_grader, shown_response
from benchfill.tools.respondent import ask_respondent

__all__ = ["NO_ANSWER", "Panel", "counted_as"]

# Reason of an attempt whose reply is complete and holds no answer, or was cut at max tokens.
NO_ANSWER = "no_answer"


@dataclass(frozen=True)
class Panel:
    """The pool of models, and how it is asked.

    Parameters
    ----------
    benchmark
        Name of the benchmark: replies are found again for the same benchmark, prompt, parameters and number of the
        attempt, and by nothing else.
    seed
        Of the run; goes out only to models that are sent a seed.
    clients
        By name of the model.
    down
        Models whose latest call showed that none can succeed, with the reason.
    failed
        Attempts that are known to have failed, by item, model and number: taken as they are, not asked.
    grader_model
        Asked where the grader cannot tell; None leaves such attempts missing.
    shuffle
        Whether the options of an item stand in another order at every attempt, where it allows that.
    twins
        By item: how many items before it have the same text. Each of them has attempts of its own.
    """

    benchmark: str
    seed: int
    clients: Mapping[str, ModelClient]
    prompts: PromptBook
    grader: Grader
    failed: Mapping[tuple[str, str, int], AttemptRow] = field(default_factory=dict)
    down: dict[str, str] = field(default_factory=dict)
    grader_model: ModelClient | None = None
    shuffle: bool = False
    twins: Mapping[str, int] = field(default_factory=dict)

    async def ask(self, item: Item, model: str, attempt: int) -> AttemptRow:
        """Ask once; a failure of the infrastructure is a missing attempt with its reason.

        Parameters
        ----------
        attempt
            Its number, from 0.
        """
        known = self.failed.get((item.id, model, attempt))
        if known is not None:
            return known
        # By item, model and number alone: runs of other seeds find the reply again.
        order = (
            shuffled_order(item, derive_seed(0, "options", item.id, model, attempt)) if self.shuffle else ()
        )
        shown = shown_item(item, order) if order else item
        twin = self.twins.get(item.id, 0)
        result = await ask_respondent(
            self.clients[model],
            self.prompts.answer(shown),
            item=shown,
            grader=self.grader,
            seed=derive_seed(self.seed, "respondent", item.id, model, attempt),
            tag=f"respondent/{self.benchmark}/a{attempt}" + (f"/twin{twin}" if twin else ""),
            attempt=attempt,
            last_resort=None if self.grader_model is None else partial(self._ask_grader, self.grader_model),
        )
        if result.down:
            self.down[model] = result.reason
        else:
            self.down.pop(model, None)
        return AttemptRow(
            item=item.id,
            model=model,
            attempt=attempt,
            outcome=result.outcome,
            reason=result.reason,
            extracted=in_original_letters(result.extracted, order) if order else result.extracted,
        )

    async def _ask_grader(
        self, client: ModelClient, item: Item, response: str, model: str, attempt: int
    ) -> Grade | None:
        about = f"{model}/a{attempt}"
        messages = self.prompts.grade(
            item, shown_response(response), nonce=make_nonce("grade", item.id, model, str(attempt))
        )
        return await ask_grader(
            client,
            messages,
            seed=lambda turn: derive_seed(self.seed, "grader", item.id, about, turn),
            tag=f"grader/{self.benchmark}/{about}",
        )


def counted_as(
    row: AttemptRow, no_answer: Literal["missing", "wrong"]
) -> Literal["correct", "wrong", "missing"]:
    """How an attempt counts when replies without an answer count as ``no_answer`` says.

    They are kept as missing with their reason, so that both readings can be made of the same attempts.
    """
    return "wrong" if no_answer == "wrong" and row.reason == NO_ANSWER else row.outcome
