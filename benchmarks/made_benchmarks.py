"""Benchmarks in the language of the simulated world: items wherever they are wanted, logs of any size, the truth known.

Everything here is simulated. Items are questions that the respondents of that world work out, so that a search can go
on in it; their answers in the log are drawn with the respondents' exact chances.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.response_log import ResponseLog
from benchfill.graph.benchmark import Benchmark
from benchfill.item import Item
from benchfill.worlds.draws import Draws
from benchfill.worlds.peak import likelihood_peak
from benchfill.worlds.simulated.language import FAMILY_NAMES, read_question, write_question, write_solution
from benchfill.worlds.simulated.outline import build, draw_outline
from benchfill.worlds.simulated.respondents import RESPONDENTS, success_probability

MODELS = tuple(sorted(RESPONDENTS))
# Difficulty in logits beside abilities that equal the skills; every end is still solved and missed by some respondent.
ENDS = (-4.7, 4.4)
DRAWN, MOST_STEPS = 6000, 6
CONFIG = {"world": "simulated", "settings": {}}

Floats = NDArray[np.float64]


@lru_cache(maxsize=1)
def questions() -> tuple[list[str], Floats]:
    """Questions by difficulty, and their difficulties (logits)."""
    skills = [RESPONDENTS[model] for model in MODELS]
    found: dict[str, float] = {}
    for number in range(DRAWN):
        draws = Draws("made benchmark", number)
        chain = build(draw_outline(draws))
        if len(chain.steps) <= MOST_STEPS:
            question = write_question(FAMILY_NAMES[number % len(FAMILY_NAMES)], chain, draws)
            found[question] = likelihood_peak(skills, chances(question))
    ranked = sorted(found, key=lambda question: (found[question], question))
    return ranked, np.array([found[question] for question in ranked])


def chances(question: str) -> list[float]:
    """Chance of success of every respondent."""
    known = [success_probability(model, question) for model in MODELS]
    return [chance for chance in known if chance is not None]


def places_of(density: str, size: int, rng: np.random.Generator) -> Floats:
    """Places between 0 and 1 of so many items, the ends among them."""
    inner = size - 2
    if density == "normal":
        drawn = rng.normal(0.5, 0.2, 4 * inner)
    elif density == "bimodal":
        drawn = np.where(
            rng.random(4 * inner) < 0.5, rng.normal(0.25, 0.1, 4 * inner), rng.normal(0.75, 0.1, 4 * inner)
        )
    elif density == "skew":
        drawn = rng.beta(1.6, 4.0, 4 * inner)
    elif density == "clumps":
        drawn = rng.choice(rng.uniform(0.05, 0.95, 6), 4 * inner) + rng.normal(0, 0.025, 4 * inner)
    else:
        drawn = rng.random(4 * inner)
    drawn = drawn[(drawn > 0.0) & (drawn < 1.0)][:inner]
    return np.sort(np.concatenate([[0.0, 1.0], drawn]))


def made_benchmark(
    name: str, places: Sequence[float] | Floats, attempts: int, rng: np.random.Generator
) -> Benchmark:
    """A benchmark with an item near each place, and a log of so many attempts of every respondent."""
    ranked, b = questions()
    lo, hi = ENDS
    free = np.ones(b.size, dtype=bool)
    chosen = []
    for place in places:
        off = np.where(free, np.abs(b - (lo + (hi - lo) * float(place))), np.inf)
        at = int(off.argmin())
        free[at] = False
        chosen.append(ranked[at])
    items = [_item(f"{name}-{number:03d}", question) for number, question in enumerate(chosen)]
    right = np.array(
        [[rng.binomial(attempts, chance) for chance in chances(item.question)] for item in items]
    )
    log = ResponseLog(MODELS, tuple(item.id for item in items), right.T, np.full(right.T.shape, attempts))
    return Benchmark(name, tuple(items), log)


def _item(name: str, question: str) -> Item:
    read = read_question(question)
    if read is None:
        raise LookupError("the world does not read its own question")
    return Item(
        id=name,
        question=question,
        answer=str(read.answer),
        solution=write_solution(read),
        answer_type="numeric",
    )
