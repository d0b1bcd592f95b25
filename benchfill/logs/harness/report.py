"""The report of an import: what was read, what was chosen, what is missing and what was found twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from benchfill.logs.harness.choice import Choice
from benchfill.logs.model_names import ModelName
from benchfill.logs.text import listing

__all__ = ["FileReport", "ImportReport", "ModelReport"]


@dataclass(frozen=True)
class FileReport:
    """One log: as the user named it, its format, and how many records it gave."""

    path: str
    format: str
    verified: bool
    records: int


@dataclass(frozen=True)
class ModelReport:
    """One model: attempts that count, of these right, and missing ones."""

    family: str
    size_b: float | None
    items: int
    attempts: int
    correct: int
    missing: int

    @property
    def mean_score(self) -> float | None:
        """Right answers over attempts; None without any."""
        return self.correct / self.attempts if self.attempts else None


@dataclass
class ImportReport:
    """Everything a reader of the figures must know about where they come from.

    Parameters
    ----------
    missing
        Missing attempts by reason.
    duplicates
        Rows left out because the same answer is there already, by how it was seen.
    same_files
        Files left out because another has the same content.
    collisions
        ``merged_by_text``, ``same_text_kept_apart``: groups of ids; ``split_ids``, ``different_prompts``: ids.
    conflicting_keys
        Id to the different keys of its logs.
    without_text
        Items that have responses and no place in ``items.jsonl``, by reason.
    skipped
        Files of named folders that are no log.
    """

    files: list[FileReport] = field(default_factory=list)
    tasks: list[str] = field(default_factory=list)
    models: dict[str, ModelReport] = field(default_factory=dict)
    items: int = 0
    attempts: int = 0
    missing: dict[str, int] = field(default_factory=dict)
    filters: dict[str, Choice] = field(default_factory=dict)
    metrics: dict[str, Choice] = field(default_factory=dict)
    threshold: float | None = None
    duplicates: dict[str, int] = field(default_factory=dict)
    same_files: list[str] = field(default_factory=list)
    reruns: dict[str, int] = field(default_factory=dict)
    identical_repeats: list[str] = field(default_factory=list)
    collapsed: bool = False
    collisions: dict[str, list[Any]] = field(default_factory=dict)
    conflicting_keys: dict[str, list[str]] = field(default_factory=dict)
    without_text: dict[str, list[str]] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """Plain values for JSON."""
        body = asdict(self)
        for name, model in self.models.items():
            body["models"][name]["mean_score"] = model.mean_score
        return {"v": 1, **body}

    def names(self) -> dict[str, ModelName]:
        """Family and size of each model."""
        return {name: ModelName(each.family, each.size_b) for name, each in self.models.items()}

    def warnings(self) -> list[str]:
        """What changes figures or needs a decision, one sentence each."""
        return [*self._unverified(), *self._choices(), *self._repeats(), *self._items(), *self.notes]

    def _unverified(self) -> Iterator[str]:
        names = sorted({each.format for each in self.files if not each.verified})
        if names:
            yield (
                f"Format {', '.join(names)} is unverified: its reader follows the documents, it was not held against"
                " files of the harness. Compare the mean scores below with the harness's own."
            )

    def _choices(self) -> Iterator[str]:
        for what, choices in (("filter", self.filters), ("metric", self.metrics)):
            for task, choice in choices.items():
                if choice.differ and len(choice.means) > 1:
                    means = ", ".join(f"{name} {_shown(mean)}" for name, mean in choice.means.items())
                    yield (
                        f"{task or 'The log'}: {what} {choice.chosen!r} counts ({choice.rule}); means: {means};"
                        f" they differ on {choice.differ} of {choice.compared} answers. --{what} names another."
                    )

    def _repeats(self) -> Iterator[str]:
        if self.reruns:
            yield f"Several logs hold the same items of {listing(self.reruns)}: counted as repeated attempts."
        if self.identical_repeats:
            done = (
                "only the first counts."
                if self.collapsed
                else "one attempt, not several (--collapse-repeats keeps the first)."
            )
            yield f"Repeats are identical in every cell of {listing(self.identical_repeats)}: {done}"
        for how, times in self.duplicates.items():
            yield f"{times} rows left out: {how}."
        if self.same_files:
            yield f"Left out, the same content as another file: {listing(self.same_files)}."

    def _items(self) -> Iterator[str]:
        texts = {
            "merged_by_text": "Ids with the same text are one item",
            "same_text_kept_apart": "Ids with the same text that one model answered apart stay apart",
            "split_ids": "Ids that mean different items in different logs are split",
            "different_prompts": "Ids under which logs show different texts are one item each",
        }
        for kind, sentence in texts.items():
            found = self.collisions.get(kind, [])
            if found:
                named = listing(" = ".join(each) if isinstance(each, list) else each for each in found)
                yield f"{sentence}: {len(found)} ({named})."
        if self.conflicting_keys:
            yield (
                f"{len(self.conflicting_keys)} items have different keys in different logs, so their scores mean"
                f" different things: {listing(self.conflicting_keys)}."
            )
        for reason, ids in self.without_text.items():
            yield f"{len(ids)} items are not in items.jsonl: {reason} ({listing(ids)})."


def _shown(mean: float | None) -> str:
    return "unknown" if mean is None else f"{mean:.3f}"
