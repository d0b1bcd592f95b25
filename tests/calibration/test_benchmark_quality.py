"""CBRC, DS, CAD, BQS and stability by hand on small tables; intervals against simulated truth; what is not defined."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import kendalltau

from benchfill.calibration.benchmark_quality import QualityRules, benchmark_qualities, discriminability
from benchfill.calibration.bootstrap import agreement_interval, hull_interval, percentile_interval
from benchfill.calibration.ladders import inversions, ladder_pairs
from benchfill.calibration.quality_report import quality_document
from benchfill.calibration.response_log import ResponseLog
from benchfill.errors import InputError

FAMILIES = {
    "big": ("f", 70.0),
    "mid": ("f", 8.0),
    "small": ("f", 1.0),
    "other": ("g", 7.0),
    "moe": ("f", None),
}


def table(rates: dict[str, list[int]], attempts: int = 4) -> ResponseLog:
    models = tuple(sorted(rates))
    correct = np.array([rates[model] for model in models])
    items = tuple(f"q{at:02d}" for at in range(correct.shape[1]))
    return ResponseLog(models, items, correct, np.full(correct.shape, attempts))


def test_ladders_are_of_one_family_with_named_sizes() -> None:
    found = ladder_pairs(("big", "mid", "moe", "nameless", "other", "small"), FAMILIES)
    assert found == (("big", "mid"), ("big", "small"), ("mid", "small"))
    assert ladder_pairs(("a", "b"), {"a": ("f", 7.0), "b": ("f", 7.0)}) == ()
    assert ladder_pairs(("a", "b"), {"a": ("", 7.0), "b": ("", 8.0)}) == ()


def test_inversion_by_hand_and_cells_that_were_not_asked() -> None:
    rates = np.array([[1.0, 0.25, 0.0], [0.5, 0.75, np.nan]])
    found = inversions(rates, ("big", "small"), (("big", "small"),))
    assert found.of_items[:2] == pytest.approx([0.0, 0.75 * 0.75])
    assert np.isnan(found.of_items[2])
    assert found.mean == pytest.approx(0.75 * 0.75 / 2)
    assert found.worst.tolist() == [0, 0, -1]
    assert inversions(rates, ("big", "small"), ()).mean is None


def test_ds_by_hand() -> None:
    # sigma of (0.2, 0.4, 0.41) over its mean, times two pairs of three: 0.4 and 0.41 are not told apart.
    scores = np.array([0.2, 0.4, 0.41])
    ds, share = discriminability(scores, 0.02)
    assert float(share) == pytest.approx(2 / 3)
    assert float(ds) == pytest.approx(scores.std() / scores.mean() * 2 / 3)
    # A difference of exactly epsilon does not count, however its last digit falls.
    assert float(discriminability(np.array([0.30, 0.28]), 0.02)[1]) == 0.0
    assert np.isnan(discriminability(np.zeros(3), 0.02)[0])


def test_figures_of_two_benchmarks_by_hand() -> None:
    one = table({"big": [4, 4, 3, 0], "mid": [4, 2, 2, 1], "other": [3, 3, 0, 0], "small": [2, 0, 0, 0]})
    two = table({"big": [4, 3], "mid": [2, 2], "other": [4, 4], "small": [1, 0]})
    (first, second), (agreement,) = benchmark_qualities({"one": one, "two": two}, FAMILIES, seed=1)
    p = one.correct / 4
    scores = p.mean(axis=1)
    big, mid, small = p[0], p[1], p[3]
    mean = np.mean([(1 - big) * mid, (1 - big) * small, (1 - mid) * small])
    tau = kendalltau(scores, (two.correct / 4).mean(axis=1)).statistic
    assert first.cbrc.value == second.cbrc.value == agreement.tau.value == pytest.approx(tau)
    assert first.cad.value == pytest.approx(np.exp(-12 * mean))
    assert first.ds.value == pytest.approx(float(discriminability(scores, 0.02)[0]))
    assert first.bqs.value == pytest.approx(0.3 * tau + 0.3 * first.ds.value + 0.4 * first.cad.value)
    heavier, _ = benchmark_qualities({"one": one}, FAMILIES, QualityRules(steepness=1.0, weights=(0, 0, 2)))
    assert heavier[0].bqs.value == pytest.approx(2 * np.exp(-mean))
    assert heavier[0].cbrc.value is None


def test_order_of_logs_models_and_families_changes_nothing() -> None:
    rng = np.random.default_rng(4)
    logs = {
        name: table(dict(zip(FAMILIES, rng.integers(0, 5, (5, 20)).tolist(), strict=True))) for name in "abc"
    }
    rules = QualityRules(draws=50)
    forward, _ = benchmark_qualities(logs, FAMILIES, rules, seed=2)
    back, _ = benchmark_qualities(
        dict(reversed(logs.items())), dict(reversed(FAMILIES.items())), rules, seed=2
    )
    for each, other in zip(forward, reversed(back), strict=True):
        assert (each.ds, each.cad, each.stability) == (other.ds, other.cad, other.stability)
        assert each.cbrc.value == pytest.approx(other.cbrc.value)
        assert each.bqs.lo95 == pytest.approx(other.bqs.lo95)


def test_what_cannot_be_had_is_not_defined_and_says_why() -> None:
    log = table({"a": [0, 0], "b": [0, 0], "c": [0, 0]})
    other = table({"a": [1, 2], "b": [3, 1], "x": [4, 4]})
    (zero, _), _ = benchmark_qualities({"zero": log, "other": other}, {}, QualityRules(draws=20))
    document = quality_document([zero], [], {}, QualityRules(), pool="own", worst=3, seed=0)
    json.dumps(document, allow_nan=False)
    found = document["benchmarks"][0]
    assert [found[name] for name in ("cbrc", "ds", "cad", "bqs", "stability", "cad_1pl")] == [None] * 6
    assert found["not_defined"] == {
        "cbrc": "no other benchmark shares 3 models",
        "ds": "every model scores 0",
        "cad": "no family with two sizes",
        "bqs": "CBRC and DS and CAD not defined",
        "stability": "the models are not ranked",
    }
    (alone,), agreements = benchmark_qualities({"one": other}, {}, QualityRules(draws=20))
    assert (alone.cbrc.value, alone.cbrc.reason, agreements) == (None, "only one benchmark", ())


@pytest.mark.parametrize(
    "wrong", [{"epsilon": -0.1}, {"steepness": 0.0}, {"weights": (0.3, -1.0, 0.4)}, {"draws": 1}]
)
def test_rules_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError):
        QualityRules(**wrong)  # type: ignore[arg-type]


def test_intervals_hold_draws_and_draws_turned_about_and_are_cut_to_the_range() -> None:
    draws = np.append(np.linspace(0.5, 0.9, 1001), np.nan)
    hull, percentiles = hull_interval(0.8, draws, -1.0, 1.0, ""), percentile_interval(0.8, draws, "")
    # Percentiles 0.51 and 0.89, turned about 0.8 they are 0.71 and 1.09.
    assert (hull.lo95, hull.hi95) == pytest.approx((0.51, 1.0))
    assert (percentiles.lo95, percentiles.hi95) == pytest.approx((0.51, 0.89))
    assert hull_interval(np.nan, draws, -1.0, 1.0, "why").reason == "why"


def test_an_agreement_reaches_up_to_where_attenuation_puts_it() -> None:
    # 0.5 of resampled items, 0.6 as measured: turned about 0.7; on the scale of correlations
    # sin(54 deg)^2 / sin(45 deg) = 0.9256, of which tau is 0.7529.
    found = agreement_interval(0.6, np.full(100, 0.5), "")
    assert (found.lo95, found.hi95) == pytest.approx((0.5, 0.7529), abs=1e-4)
    assert agreement_interval(0.9, np.full(100, 0.5), "").hi95 == 1.0
    # Where draws hardly differ from the estimate, next to nothing is added.
    draws = np.linspace(0.74, 0.84, 1001)
    plain = hull_interval(0.8, draws, -1.0, 1.0, "")
    assert agreement_interval(0.8, draws, "").hi95 == pytest.approx(plain.hi95, abs=0.02)
    opposed = np.linspace(-0.4, 0.2, 101)
    assert agreement_interval(-0.1, opposed, "") == hull_interval(-0.1, opposed, -1.0, 1.0, "")
    assert agreement_interval(None, draws, "why").reason == "why"


def test_under_the_1pl_inversions_are_as_many_as_the_floor_says_and_a_wrong_key_stands_out() -> None:
    """Simulated: 12 models on three ladders, 80 items of which the first has a key that only small models hit."""
    rng = np.random.default_rng(7)
    models = tuple(f"m{at:02d}" for at in range(12))
    families = {model: (f"f{at // 4}", float(1 + at % 4)) for at, model in enumerate(models)}
    theta = np.array([at // 4 * 0.3 + at % 4 * 0.6 for at in range(12)])
    chance = expit(theta[:, None] - rng.normal(1.0, 1.2, 80))
    right = rng.binomial(5, chance)
    items = tuple(f"q{at:02d}" for at in range(80))
    sound = ResponseLog(models, items, right, np.full(right.shape, 5))
    (found,), _ = benchmark_qualities({"a": sound}, families, QualityRules(draws=200), seed=1)
    assert found.expected is not None
    assert found.expected_cad == pytest.approx(found.cad.value, abs=0.04)
    truth = inversions(chance, models, found.pairs).mean
    assert found.cad.lo95 <= np.exp(-12 * truth) <= found.cad.hi95
    wrong = right.copy()
    wrong[:, 0] = np.where(np.arange(12) % 4 < 2, 5, 0)
    log = ResponseLog(models, items, wrong, np.full(right.shape, 5))
    (found,), _ = benchmark_qualities({"a": log}, families, QualityRules(draws=20))
    worst = quality_document([found], [], families, QualityRules(), pool="own", worst=2, seed=0)[
        "benchmarks"
    ][0]["worst_items"]
    assert worst[0]["id"] == "q00"
    assert worst[0]["inversion"] > 2 * worst[0]["inversion_1pl"]
