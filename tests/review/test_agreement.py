"""Agreement figures against handed values, a published example and computation by hand."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path

import pytest

from benchfill.review.agreement import agreement, wilson90

Verdicts = dict[str, dict[str, str]]


def two(first: list[str], second: list[str]) -> Verdicts:
    return {f"i{n:03}": {"r1": a, "r2": b} for n, (a, b) in enumerate(zip(first, second, strict=True))}


def test_percent_and_kappa_are_the_handed_ones(shared: Path) -> None:
    cases = [json.loads(line) for line in (shared / "cases/numeric/kappa.jsonl").read_text().splitlines()]
    assert len(cases) == 7
    for case in cases:
        found = agreement(two(case["r1"], case["r2"]))
        assert found.percent == pytest.approx(case["percent"], abs=1e-9)
        if case["kappa"] is None:
            assert found.kappa is None
        else:
            assert found.kappa == pytest.approx(case["kappa"], abs=1e-9)


def test_alpha_of_the_published_example_with_missing_values() -> None:
    # Krippendorff, Computing Krippendorff's Alpha-Reliability (2011): four observers, twelve units, nominal: 0.743.
    table = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."]
    verdicts: Verdicts = {
        f"u{unit:02}": {f"o{who}": row[unit] for who, row in enumerate(table) if row[unit] != "."}
        for unit in range(12)
    }
    found = agreement(verdicts)
    assert found.alpha == pytest.approx(0.743, abs=5e-4)
    assert found.kappa is None, "kappa is of two reviewers"
    assert found.items == 11, "a unit that one observer saw says nothing"
    assert found.alpha_lo90 is not None
    assert found.alpha_hi90 is not None
    assert found.alpha_lo90 < found.alpha < found.alpha_hi90


def by_hand(verdicts: Verdicts) -> tuple[float, float]:
    """Kappa and alpha of two reviewers, counted pair by pair."""
    pairs = [(row["r1"], row["r2"]) for row in verdicts.values()]
    n = len(pairs)
    same = sum(a == b for a, b in pairs) / n
    firsts, seconds = [a for a, _ in pairs], [b for _, b in pairs]
    chance = sum(firsts.count(v) * seconds.count(v) for v in set(firsts + seconds)) / n**2
    pooled = firsts + seconds
    differing = sum(a != b for a, b in itertools.permutations(pooled, 2)) / (2 * n * (2 * n - 1))
    return (same - chance) / (1 - chance), 1 - (1 - same) / differing


@pytest.mark.parametrize("seed", range(5))
def test_kappa_and_alpha_are_what_counting_pairs_gives(seed: int) -> None:
    draw = random.Random(seed)
    words = ["approve", "reject", "unsure"]
    first = draw.choices(words, [5, 2, 1], k=60)
    second = [each if draw.random() < 0.7 else draw.choice(words) for each in first]
    verdicts = two(first, second)
    kappa, alpha = by_hand(verdicts)
    found = agreement(verdicts)
    assert found.kappa == pytest.approx(kappa, abs=1e-12)
    assert found.alpha == pytest.approx(alpha, abs=1e-12)
    # The order of items and the reviewers' names change nothing.
    assert agreement(dict(reversed(verdicts.items()))) == found
    assert found.kappa_lo90 is not None
    assert found.kappa_hi90 is not None
    assert found.kappa_lo90 < kappa < found.kappa_hi90


def test_the_bootstrap_interval_covers_the_truth_as_often_as_it_says() -> None:
    # Two reviewers who each are right about a fair coin with probability 0.9: kappa is (2 * 0.82 - 1) = 0.64.
    draw, covered = random.Random(1), 0
    for _ in range(60):
        truth = [draw.random() < 0.5 for _ in range(80)]
        first, second = ([str(t == (draw.random() < 0.9)) for t in truth] for _ in range(2))
        found = agreement(two(first, second))
        assert found.kappa_lo90 is not None
        assert found.kappa_hi90 is not None
        covered += found.kappa_lo90 <= 0.64 <= found.kappa_hi90
    # Binomial(60, 0.9): 99.8 % lie between 46 and 60.
    assert 46 <= covered <= 60


def test_what_is_undefined_stays_undefined() -> None:
    alone = agreement({"u1": {"r1": "approve"}, "u2": {"r2": "approve"}})
    assert (alone.percent, alone.kappa, alone.alpha) == (None, None, None)
    assert alone.reason == "no doubly reviewed item"
    same = agreement(two(["a"] * 5, ["a"] * 5))
    assert (same.percent, same.kappa, same.alpha) == (1.0, None, None)
    assert same.reason == "only one verdict was given"
    # Reviewers who never differ: the bootstrap cannot tell how sure that is, Wilson's interval can.
    never = agreement(two(["a", "r"] * 5, ["a", "r"] * 5))
    assert (never.kappa, never.kappa_lo90, never.kappa_hi90) == (1.0, None, None)
    assert never.percent_lo90 == pytest.approx(0.787, abs=1e-3)


def test_wilson_is_the_root_of_its_equation() -> None:
    assert wilson90(0, 0) == (None, None)
    for successes, trials in ((3, 10), (0, 7), (40, 41)):
        lo, hi = wilson90(successes, trials)
        assert lo is not None
        assert hi is not None
        for edge in (lo, hi):
            if 0 < edge < 1:
                score = (successes / trials - edge) / (edge * (1 - edge) / trials) ** 0.5
                assert abs(score) == pytest.approx(1.6448536, abs=1e-6)
