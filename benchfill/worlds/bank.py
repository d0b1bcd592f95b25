"""The logged items of the replay world: found by their text, with every model's attempts."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from benchfill.errors import InputError
from benchfill.worlds.draws import Draws
from benchfill.worlds.peak import likelihood_peak

__all__ = ["Bank", "LoggedItem", "full_log_difficulty", "full_log_z", "lettered", "logged_outcome"]

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class LoggedItem:
    """An item with its log.

    Parameters
    ----------
    counts
        Model to (correct, attempts).
    from_bank
        Whether the rewriter may offer it.
    """

    id: str
    question: str
    answer: str
    solution: str
    choices: tuple[str, ...]
    answer_type: str
    counts: Mapping[str, tuple[int, int]]
    from_bank: bool

    @property
    def failure(self) -> float:
        """Logit of the mean failure rate over models, half a success and half a failure added."""
        rates = [correct / attempts for correct, attempts in self.counts.values() if attempts]
        wrong = sum(1.0 - rate for rate in rates)
        return math.log((wrong + 0.5) / (len(rates) - wrong + 0.5))


def lettered(choices: Sequence[str]) -> str:
    """Choices as a prompt shows them, one a line."""
    return "\n".join(f"{letter}) {text}" for letter, text in zip(_LETTERS, choices, strict=False))


def _key(question: str, choices: str = "") -> str:
    return " ".join(f"{question}\n{choices}".split())


def _items(
    given: Iterable[Mapping[str, Any]], rows: Iterable[Sequence[Any]], *, bank: bool
) -> list[LoggedItem]:
    counts: dict[str, dict[str, tuple[int, int]]] = {}
    for model, item, correct, count in rows:
        if not 0 <= int(correct) <= int(count):
            raise InputError(f"the log has {correct} of {count} attempts right ({model}, {item}).")
        counts.setdefault(str(item), {})[str(model)] = (int(correct), int(count))
    return [
        LoggedItem(
            id=str(item["id"]),
            question=str(item["question"]),
            answer=str(item["answer"]),
            solution=str(item.get("solution") or ""),
            choices=tuple(map(str, item.get("choices") or ())),
            answer_type=str(item.get("answer_type") or "text"),
            counts=counts.get(str(item["id"]), {}),
            from_bank=bank,
        )
        for item in given
    ]


class Bank:
    """All items of a replay world, benchmark and bank.

    Raises
    ------
    InputError
        A count is impossible, an id stands twice, or two items of one text have different keys.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        try:
            items = [
                *_items(config["benchmark_items"], config["benchmark_responses"], bank=False),
                *_items(config["bank_items"], config["bank_responses"], bank=True),
            ]
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"the configuration of the replay world is incomplete or misshapen ({error})."
            ) from error
        # The benchmark goes first, so that a text of its own is never offered from the bank.
        self.items = {item.id: item for item in sorted(items, key=lambda item: (item.from_bank, item.id))}
        if len(self.items) != len(items):
            raise InputError("an item id stands twice in the items of the replay world.")
        self._by_text: dict[str, LoggedItem] = {}
        for item in self.items.values():
            twin = self._by_text.setdefault(_key(item.question, lettered(item.choices)), item)
            if twin.answer != item.answer:
                raise InputError(f"the items {twin.id} and {item.id} have one text and different keys.")
        self.models = tuple(sorted({model for item in items for model in item.counts}))

    def find(self, question: str, choices: str = "") -> LoggedItem | None:
        """The item of exactly this text, up to white space; ``choices`` as lines ``A) ...``."""
        return self._by_text.get(_key(question, choices))

    def offered(self) -> list[LoggedItem]:
        """Bank items, each text once, by id."""
        first = {item.id for item in self._by_text.values()}
        return [item for item in self.items.values() if item.from_bank and item.id in first]

    def guesses(self, correlation: float, seed: int) -> dict[str, float]:
        """A noisy guess of every item's difficulty on the logit scale of `LoggedItem.failure`.

        The guess is the best one could make of a figure that correlates with the failure logit as told: shrunk
        towards the mean, off by noise that depends on the item's id and the seed alone.
        """
        truth = {item.id: item.failure for item in self.items.values() if item.counts}
        mean = statistics.fmean(truth.values())
        spread = statistics.pstdev(truth.values())
        out = {}
        for name, value in truth.items():
            noise = spread * Draws("guess", seed, name).normal()
            figure = correlation * (value - mean) + math.sqrt(1.0 - correlation**2) * noise
            out[name] = mean + correlation * figure
        return out


@lru_cache(maxsize=16384)
def _order(stream: int, model: str, item: str, correct: int, attempts: int) -> bytes:
    """The cell's attempts in the order one run draws them: 1 right, 0 wrong."""
    logged = [1] * correct + [0] * (attempts - correct)
    return bytes(Draws("cell", stream, model, item).shuffled(logged))


def logged_outcome(item: LoggedItem, model: str, seed: int) -> bool | None:
    """The logged attempt that a request's seed stands for, drawn without replacement.

    ``seed % 4096`` is the number of the attempt and the rest of the seed fixes the order. None when the cell
    has no such attempt left.
    """
    correct, attempts = item.counts.get(model, (0, 0))
    number = seed % 4096
    if number >= attempts:
        return None
    return bool(_order(seed >> 12, model, item.id, correct, attempts)[number])


def full_log_difficulty(
    theta: Mapping[str, float], counts: Mapping[str, tuple[int, int]], guessing: float = 0.0
) -> float:
    """Difficulty of an item under frozen abilities, from all that was ever logged of it.

    Parameters
    ----------
    theta
        Ability of every model, logits.
    counts
        Model to (correct, attempts); models without attempts or ability are left out, the others count equally.
    guessing
        Chance of a blind right answer.

    Returns
    -------
    float
        Logits; infinite where every logged attempt agrees (see `likelihood_peak`).
    """
    used = sorted(model for model in counts if model in theta and counts[model][1])
    rates = [counts[model][0] / counts[model][1] for model in used]
    return likelihood_peak([theta[model] for model in used], rates, guessing=guessing)


def full_log_z(
    theta: Mapping[str, float],
    counts: Mapping[str, tuple[int, int]],
    lo: float,
    hi: float,
    guessing: float = 0.0,
) -> float:
    """`full_log_difficulty` on a frozen axis whose 0 and 1 lie at ``lo`` and ``hi`` logits."""
    return (full_log_difficulty(theta, counts, guessing) - lo) / (hi - lo)
