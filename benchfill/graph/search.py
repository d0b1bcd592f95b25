"""What every node works with: the runtime context of one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.new_item_fit import lowest_slope
from benchfill.calibration.predictive_fit import OwnItems, own_items
from benchfill.calibration.scale import Scale
from benchfill.calibration.selection import CandidateView
from benchfill.calibration.strategy import Strategy, make_strategy
from benchfill.graph.attempts import Panel
from benchfill.item import Item
from benchfill.memory.pool import Pool
from benchfill.memory.records import AttemptRow, Estimate
from benchfill.prompts.render import PromptBook, PromptItem, make_nonce
from benchfill.settings import SearchSettings
from benchfill.tools.client import ModelClient
from benchfill.tools.grading import Grader
from benchfill.tools.sandbox import Sandbox

__all__ = ["Emit", "Search", "to_prompt_scale"]


class Emit(Protocol):
    """Takes an event: its name and plain values."""

    def __call__(self, event: str, /, **fields: Any) -> None: ...


@dataclass(eq=False)
class Search:
    """One run: its memory, its frozen scale, its models.

    Parameters
    ----------
    models
        Names of the pool, sorted; the order of ``theta`` (models,) and ``theta_draws`` (draws, models), in logits.
    respondents
        A client a model of the pool.
    grader_model
        The last resort of grading, None where none is configured.
    shuffle
        Whether options stand in another order at every attempt.
    no_answer
        How a reply without an answer counts.
    min_models
        With fewer of the pool left the run pauses.
    failed
        Attempts that are not asked because they are known to have failed.
    landed
        Places (mean and sd of z) of candidates by their answers alone, by candidate and number of attempts: worked
        out once.
    measured
        Candidates as they stood after so many attempts of every model, likewise.
    """

    run: str
    seed: int
    settings: SearchSettings
    pool: Pool
    scale: Scale
    scale_id: str
    models: tuple[str, ...]
    theta: NDArray[np.float64]
    theta_draws: NDArray[np.float64]
    prompts: PromptBook
    rewriter: ModelClient
    judge: ModelClient
    respondents: Mapping[str, ModelClient]
    grader: Grader
    sandbox: Sandbox
    emit: Emit
    grader_model: ModelClient | None = None
    shuffle: bool = False
    no_answer: Literal["missing", "wrong"] = "missing"
    min_models: int = 6
    failed: Mapping[tuple[str, str, int], AttemptRow] = field(default_factory=dict)
    landed: dict[tuple[str, int], tuple[float, float]] = field(default_factory=dict)
    measured: dict[tuple[str, int], tuple[CandidateView, Estimate, bool]] = field(default_factory=dict)

    @cached_property
    def panel(self) -> Panel:
        """The pool as it is asked."""
        outline = self.pool.benchmark_outline()
        if outline is None:
            raise LookupError("the benchmark is not in the memory")
        return Panel(
            outline[0],
            self.seed,
            self.respondents,
            self.prompts,
            self.grader,
            self.failed,
            grader_model=self.grader_model,
            shuffle=self.shuffle,
        )

    @cached_property
    def lowest_slope(self) -> float:
        """Slope below which an item's key is suspect, by the benchmark's own items."""
        items, correct, attempts = self._log
        if not items:
            return 0.0
        guessing = np.asarray([item.guessing for item in items])
        return lowest_slope(self.theta, correct, attempts, guessing)

    @cached_property
    def own_items(self) -> OwnItems:
        """How the benchmark's own items fit, to hold new ones against."""
        items, correct, attempts = self._log
        estimates = self.pool.estimates()
        b = np.asarray([estimates[item.id].b for item in items])
        return own_items(self.theta, correct, attempts, b, np.asarray([item.guessing for item in items]))

    @cached_property
    def _log(self) -> tuple[list[Item], NDArray[np.int64], NDArray[np.int64]]:
        """Original items, right answers and attempts (models, items) of the models that are asked."""
        stored = self.pool.benchmark()
        if stored is None:
            return [], np.zeros((0, 0), dtype=np.int64), np.zeros((0, 0), dtype=np.int64)
        _, _, models, responses = stored
        rows = [models.index(model) for model in self.models]
        items = [item for item in self.pool.items("original") if item.id in responses]
        counts = np.asarray([responses[item.id] for item in items])[:, rows, :]
        return items, counts[:, :, 0].T, counts[:, :, 1].T

    def nonce(self, *parts: str) -> str:
        """Tag of the data in one prompt; the same whenever that prompt is rendered again."""
        return make_nonce(str(self.seed), *parts)

    @cached_property
    def strategy(self) -> Strategy:
        """How attempts are bought, as the settings name it."""
        return make_strategy(
            self.settings.strategy, attempts=self.settings.fixed_attempts, tau=self.settings.fixed_tau
        )

    def prompt_item(self, item: Item, estimate: Estimate | None) -> PromptItem:
        """An item with its difficulty on the scale that prompts speak."""
        if estimate is None:
            return PromptItem(item)
        return PromptItem(
            item,
            difficulty=to_prompt_scale(estimate.z),
            lo=to_prompt_scale(estimate.z_lo90),
            hi=to_prompt_scale(estimate.z_hi90),
        )


def to_prompt_scale(z: float) -> float:
    """z as prompts speak it: 0-10, larger is harder."""
    return 10.0 * z
