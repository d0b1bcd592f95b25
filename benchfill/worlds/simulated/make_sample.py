"""Write the sample benchmark and its response log: ``python -m benchfill.worlds.simulated.make_sample``.

Forty items in four clusters on the difficulty axis, with three wide gaps between them, and the answers of the
twelve respondents to 64 attempts each, given by the very function that answers over HTTP. Everything follows
from one seed, so running it again writes the same bytes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path

from benchfill.worlds.draws import Draws
from benchfill.worlds.peak import likelihood_peak
from benchfill.worlds.simulated import SAMPLE_FOLDER
from benchfill.worlds.simulated.language import FAMILY_NAMES, read_question, write_question, write_solution
from benchfill.worlds.simulated.outline import build, draw_outline
from benchfill.worlds.simulated.respondents import RESPONDENTS, answer_number, success_probability

__all__ = ["ATTEMPTS", "SEED", "fit", "main", "sample_items", "sample_log"]

SEED = 20
LOG_SEED = 5
ATTEMPTS = 64
CANDIDATES = 4000
MOST_STEPS = 6
MOST_ALIKE = 0.75
# Clusters on the axis: where each begins and ends; the gaps between them are 0.215, 0.235 and 0.195 wide.
CLUSTERS = ((0.0, 0.10), (0.315, 0.395), (0.63, 0.705), (0.90, 1.0))
CLUSTER_SIZE = 10
# The ends of the axis in logits, beside abilities equal to the skills: every end item is still solved by some
# respondent sometimes and missed by some respondent sometimes.
ENDS = (-4.7, 4.4)
MODELS = tuple(sorted(RESPONDENTS))


def fit(rates: Sequence[Sequence[float]], sweeps: int = 200) -> tuple[list[float], list[float]]:
    """Joint maximum likelihood of a 1PL with equal attempts, abilities summing to zero.

    Parameters
    ----------
    rates
        Share of right answers, one row an item, one column a respondent.

    Returns
    -------
    theta, b
        Abilities and difficulties, logits.
    """
    theta = [0.0] * len(rates[0])
    b: list[float] = []
    for _ in range(sweeps):
        b = [likelihood_peak(theta, row) for row in rates]
        # An ability is a difficulty seen from the other side: sigmoid(theta - b) = 1 - sigmoid(b - theta).
        fresh = [likelihood_peak(b, [1.0 - row[j] for row in rates]) for j in range(len(theta))]
        mean = sum(fresh) / len(fresh)
        moved = max(abs(new - mean - old) for new, old in zip(fresh, theta, strict=True))
        theta = [new - mean for new in fresh]
        if moved < 1e-7:
            break
    return theta, b


def _candidates() -> list[str]:
    """Questions of all families; short chains only, the shorter the operands the more of them."""
    questions = []
    for number in range(CANDIDATES):
        draws = Draws("sample", SEED, number)
        chain = build(draw_outline(draws))
        family = FAMILY_NAMES[number % len(FAMILY_NAMES)]
        if len(chain.steps) <= MOST_STEPS:
            questions.append(write_question(family, chain, draws))
    return questions


def _rates(question: str) -> list[float]:
    return [chance for model in MODELS if (chance := success_probability(model, question)) is not None]


def _places() -> list[float]:
    """Where the items should lie: the ends of each cluster, the rest spread over it unevenly."""
    draws = Draws("places", SEED)
    out = []
    for low, high in CLUSTERS:
        inner = CLUSTER_SIZE - 1
        shares = [0.6 + 0.8 * draws.uniform() for _ in range(inner)]
        steps = [sum(shares[:k]) / sum(shares) for k in range(CLUSTER_SIZE)]
        out += [low + (high - low) * step for step in steps]
    return out


def _unlike(question: str, others: Sequence[str]) -> bool:
    return all(SequenceMatcher(None, question, other, False).ratio() < MOST_ALIKE for other in others)


def _choose(questions: Sequence[str], difficulty: Mapping[str, float], lo: float, hi: float) -> list[str]:
    """One question a place: the nearest that adds variety and reads unlike those of its family chosen before."""
    families = {question: read.family for question in questions if (read := read_question(question))}
    chosen: list[str] = []
    mates: dict[str, list[str]] = {family: [] for family in FAMILY_NAMES}
    for place in _places():
        wanted = lo + (hi - lo) * place

        # A family used often pays for it in distance, so that every cluster mixes the families.
        def cost(question: str, wanted: float = wanted) -> tuple[float, str]:
            use = 0.0004 * len(mates[families[question]])
            return abs(difficulty[question] - wanted) / (hi - lo) + use, question

        taken = next(q for q in sorted(families, key=cost) if _unlike(q, mates[families[q]]))
        chosen.append(taken)
        mates[families[taken]].append(taken)
    return chosen


def sample_items() -> list[dict[str, str]]:
    """The forty items, easiest first, as they stand in ``items.jsonl``."""
    questions = _candidates()
    rates = {question: _rates(question) for question in questions}
    theta: list[float] = [RESPONDENTS[model] for model in MODELS]
    lo, hi = ENDS
    chosen: list[str] = []
    for _ in range(2):
        difficulty = {question: likelihood_peak(theta, rates[question]) for question in questions}
        near = [question for question in questions if lo - 0.5 < difficulty[question] < hi + 0.5]
        chosen = _choose(near, difficulty, lo, hi)
        theta, b = fit([rates[question] for question in chosen])
        lo, hi = b[0], b[-1]
    items = []
    for number, question in enumerate(chosen, start=1):
        understood = read_question(question)
        assert understood is not None  # noqa: S101 - written by this grammar a moment ago
        items.append(
            {
                "id": f"s-{number:02d}",
                "question": question,
                "answer": str(understood.answer),
                "solution": write_solution(understood),
                "answer_type": "numeric",
            }
        )
    return items


def sample_log(items: Sequence[Mapping[str, str]]) -> list[tuple[str, str, int, int]]:
    """Rows ``model, item_id, correct, count`` of the log."""
    rows = []
    for model in MODELS:
        for item in items:
            cell = Draws("cell", LOG_SEED, model, item["id"]).below(2**40) << 12
            answers = [answer_number(model, item["question"], cell | k) for k in range(ATTEMPTS)]
            rows.append((model, item["id"], answers.count(int(item["answer"])), ATTEMPTS))
    return rows


def main(folder: Path = SAMPLE_FOLDER) -> None:
    """Write ``items.jsonl`` and ``responses.csv`` and print where the gaps lie, truly and as fitted to the log."""
    items = sample_items()
    log = sample_log(items)
    lines = [json.dumps(item, ensure_ascii=False) for item in items]
    (folder / "items.jsonl").write_text("\n".join([*lines, ""]), encoding="utf-8", newline="\n")
    rows = ["model,item_id,correct,count", *(",".join(map(str, row)) for row in log), ""]
    (folder / "responses.csv").write_text("\n".join(rows), encoding="utf-8", newline="\n")
    counts = {(model, item): correct for model, item, correct, _ in log}
    seen = [[counts[model, item["id"]] / ATTEMPTS for model in MODELS] for item in items]
    for name, rates in (("true", [_rates(item["question"]) for item in items]), ("fitted", seen)):
        theta, b = fit(rates)
        lo, width = min(b), max(b) - min(b)
        print(f"{name}: axis {width:.2f} logits, abilities {min(theta):.2f} to {max(theta):.2f}")
        z = sorted((x - lo) / width for x in b)
        for size, low in sorted(((z[k + 1] - z[k], z[k]) for k in range(len(z) - 1)), reverse=True)[:5]:
            middle = lo + width * (low + size / 2)
            chances = [1.0 / (1.0 + math.exp(middle - ability)) for ability in theta]
            information = sum(p * (1.0 - p) for p in chances) / len(chances)
            print(f"  gap {low:.3f} to {low + size:.3f}, {size:.3f} wide, information {information:.3f}")


if __name__ == "__main__":
    main()
