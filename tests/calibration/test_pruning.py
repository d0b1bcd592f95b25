"""Pruning against brute force, against the dense dynamic programme, and against the whole benchmark."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import kendalltau

from benchfill.calibration.measure import ddm, max_gap
from benchfill.calibration.pruning import kept_count, order_agreement, prune
from benchfill.calibration.quantile_matching import quantile_matching
from benchfill.calibration.response_log import ResponseLog
from benchfill.calibration.targets import Beta, Histogram, Sample, Target, Uniform
from benchfill.errors import InputError


def shapes(rng: np.random.Generator, n: int) -> list[NDArray[np.float64]]:
    return [
        rng.random(n) * 1.4 - 0.2,
        rng.integers(0, max(2, n // 3), n) / max(1, n // 3 - 1),
        rng.normal(0.5, 0.1, n),
        rng.beta(0.2, 0.2, n),
        rng.exponential(0.2, n),
    ]


def targets(rng: np.random.Generator) -> list[Target]:
    return [
        Uniform(),
        Beta(2.0, 5.0),
        Histogram((1.0, 0.0, 3.0, 2.0)),
        Sample(rng.beta(2.0, 5.0, int(rng.integers(1, 12)))),
    ]


def cost(z: NDArray[np.float64], target: Target) -> float:
    """W1 on a fine grid of levels, from the quantile function alone."""
    levels = (np.arange(4_000) + 0.5) / 4_000
    own = np.sort(z)[np.minimum((levels * z.size).astype(int), z.size - 1)]
    return float(np.abs(own - target.quantile(levels)).mean())


def dense(z: NDArray[np.float64], m: int, target: Target) -> float:
    """Dynamic programme over (rank, items left out so far), every cell of it."""
    z = np.sort(z)
    best = np.zeros(z.size - m + 1)
    for k in range(1, m + 1):
        slice_cost = target.integral_abs(
            z[k - 1 : k + z.size - m], np.array((k - 1) / m), np.array(min(k / m, 1.0))
        )
        best = np.minimum.accumulate(best + slice_cost)
    return float(best[-1])


def test_every_subset_of_small_benchmarks_is_worse_or_equal() -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        n = int(rng.integers(1, 9))
        m = int(rng.integers(1, n + 1))
        for z in shapes(rng, n):
            counts, found = quantile_matching(z, m)
            kept = np.repeat(np.unique(z), counts)
            assert counts.sum() == m
            assert (counts <= np.unique(z, return_counts=True)[1]).all()
            assert (counts >= 0).all()
            assert found == pytest.approx(ddm(kept), abs=1e-12)
            least = min(ddm(z[list(chosen)]) for chosen in itertools.combinations(range(n), m))
            assert found == pytest.approx(least, abs=1e-12)


def test_any_target_against_all_subsets_by_a_grid() -> None:
    rng = np.random.default_rng(2)
    for target in targets(rng):
        for z in shapes(rng, 6):
            counts, found = quantile_matching(z, 3, target)
            assert found == pytest.approx(cost(np.repeat(np.unique(z), counts), target), abs=2e-3)
            least = min(cost(z[list(chosen)], target) for chosen in itertools.combinations(range(6), 3))
            assert found <= least + 2e-3


def test_the_dense_dynamic_programme_finds_nothing_better() -> None:
    rng = np.random.default_rng(3)
    for _ in range(5):
        n = int(rng.integers(20, 120))
        m = int(rng.integers(1, n + 1))
        for z, target in itertools.product(shapes(rng, n), targets(rng)):
            assert quantile_matching(z, m, target)[1] == pytest.approx(dense(z, m, target), abs=1e-11)


def test_a_large_benchmark_with_many_ties_is_fast() -> None:
    rng = np.random.default_rng(4)
    z = np.concatenate([rng.integers(0, 4000, 20_000) / 4000, rng.beta(0.3, 0.3, 21_871)])
    start = time.process_time()
    counts, found = quantile_matching(z, 20_936)
    assert time.process_time() - start < 10.0
    assert counts.sum() == 20_936
    assert found < ddm(z)


def test_prune_keeps_the_axis_the_models_and_never_narrows_a_gap() -> None:
    rng = np.random.default_rng(5)
    ids = tuple(f"q{index:03d}" for index in range(200))
    z = np.clip(rng.normal(0.5, 0.15, 200), 0, 1)
    attempts = np.full((8, 200), 4)
    attempts[2, ::7] = 0
    success = 1 / (1 + np.exp(6 * (z - np.linspace(0.2, 0.8, 8)[:, None])))
    log = ResponseLog(
        tuple(f"m{index}" for index in range(8)), ids, rng.binomial(attempts, success), attempts
    )
    found = prune(ids, z, 0.25, log=log)
    kept = [ids.index(each) for each in found.kept]
    assert (found.n_before, found.n_after, len(set(found.kept))) == (200, 50, 50)
    assert found.ddm_before == pytest.approx(ddm(z))
    assert found.ddm_after == pytest.approx(ddm(z[kept]))
    assert found.ddm_after < found.ddm_before
    assert found.max_gap_after == max_gap(z[kept]) >= found.max_gap_before
    with np.errstate(invalid="ignore"):
        rates = log.correct / log.attempts
    expected = kendalltau(np.nanmean(rates, axis=1), np.nanmean(rates[:, kept], axis=1)).statistic
    assert found.tau == pytest.approx(expected)
    mixed = rng.permutation(200)
    assert prune([ids[index] for index in mixed], z[mixed], 0.25, log=log) == found


def test_tau_counts_ties_as_tau_b_does() -> None:
    correct = np.array([[1, 1, 1, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]])
    log = ResponseLog(("a", "b", "c", "d"), ("q1", "q2", "q3", "q4"), correct, np.ones_like(correct))
    tau, reversed_pairs = order_agreement(log, ["q1", "q4"])
    full, part = correct.mean(axis=1), correct[:, [0, 3]].mean(axis=1)
    assert tau == pytest.approx(kendalltau(full, part).statistic)
    assert reversed_pairs == 1
    assert order_agreement(log.select_models(["a"]), ["q1"]) == (None, 0)


def test_items_at_one_place_are_kept_evenly_through_their_ids() -> None:
    ids = [f"q{index}" for index in range(8)]
    assert prune(ids, [0.5] * 8, 4).kept == ("q1", "q3", "q5", "q7")
    assert prune(ids, [0.5] * 8, 8).kept == tuple(ids)


def test_what_cannot_be_kept_is_refused() -> None:
    assert [kept_count(keep, 5) for keep in (0.5, 1.0, 5, 0.1)] == [3, 1, 5, 1]
    for keep in (0, -1, 6, 2.5, 0.01, float("nan")):
        with pytest.raises(InputError) as caught:
            kept_count(keep, 5)
        assert caught.value.kind == "bad_keep"
    for z, kind in (([], "no_data"), ([0.1, float("nan")], "not_finite")):
        with pytest.raises(InputError) as caught:
            quantile_matching(z, 1)
        assert caught.value.kind == kind
