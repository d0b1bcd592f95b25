"""The tests of a gain against exact enumeration, their level under no gain, and where they find one."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from benchfill.calibration.detection import detect
from benchfill.calibration.pairing import identical_repeats, pair_logs, pooled_log
from benchfill.calibration.redealing import Counts, Redealing, window_sizes
from benchfill.calibration.response_log import ResponseLog
from benchfill.errors import InputError


def log(correct: object, attempts: object, model: str = "m", prefix: str = "q") -> ResponseLog:
    rights = np.atleast_2d(np.asarray(correct))
    asked = np.broadcast_to(np.asarray(attempts), rights.shape)
    models = (model,) if len(rights) == 1 else tuple(f"{model}{index}" for index in range(len(rights)))
    return ResponseLog(
        models, tuple(f"{prefix}{index:02d}" for index in range(rights.shape[1])), rights, asked
    )


def enumerate_p(x: list[int], n: list[int], y: list[int], m: list[int]) -> tuple[float, float]:
    """Exact p-values of both tests: every re-deal with its hypergeometric weight, every window by hand."""
    total = [a + b for a, b in zip(x, y, strict=True)]
    ranges = [range(max(0, t - a), min(t, b) + 1) for t, a, b in zip(total, n, m, strict=True)]

    def statistics(later: tuple[int, ...]) -> tuple[float, float]:
        gain = [v / b - (t - v) / a for v, t, a, b in zip(later, total, n, m, strict=True)]
        spread = [
            (1 / a + 1 / b) ** 2 * b * t / (a + b) * (1 - t / (a + b)) * a / (a + b - 1)
            for t, a, b in zip(total, n, m, strict=True)
        ]
        scan = -math.inf
        for size in (1, 2, 4):
            for start in range(len(x) - size + 1):
                variance = sum(spread[start : start + size])
                if variance > 1e-12:
                    scan = max(scan, sum(gain[start : start + size]) / math.sqrt(variance))
        return sum(gain), scan

    observed = statistics(tuple(y))
    reached = [0.0, 0.0]
    for later in itertools.product(*ranges):
        weight = math.prod(
            math.comb(t, v) * math.comb(a + b - t, b - v) / math.comb(a + b, b)
            for v, t, a, b in zip(later, total, n, m, strict=True)
        )
        for index, value in enumerate(statistics(later)):
            reached[index] += weight * (value >= observed[index] - 1e-9)
    return reached[0], reached[1]


@pytest.mark.parametrize(
    ("x", "n", "y", "m"),
    [
        ([1, 0, 2, 0], [4, 4, 4, 4], [2, 3, 2, 0], [4, 4, 4, 4]),
        ([0, 1, 5, 2, 1], [1, 3, 5, 4, 2], [3, 2, 5, 3, 0], [6, 2, 5, 3, 1]),
        ([1, 1, 0], [1, 1, 1], [1, 0, 1], [1, 1, 1]),
    ],
)
def test_p_values_agree_with_the_enumeration_of_all_redeals(
    x: list[int], n: list[int], y: list[int], m: list[int]
) -> None:
    pairing = pair_logs(log(x, n), log(y, m))
    places = {item: index / len(x) for index, item in enumerate(pairing.items)}
    found = detect(pairing, places, randomisations=20_000, seed=3).groups["all"]
    expected = enumerate_p(x, n, y, m)
    assert found.p_mean == pytest.approx(expected[0], abs=0.015)
    assert found.p_scan == pytest.approx(expected[1], abs=0.015)
    assert found.gain == pytest.approx(np.mean(np.divide(y, m) - np.divide(x, n)))


def test_without_a_gain_both_tests_keep_their_level() -> None:
    rng = np.random.default_rng(11)
    p = np.array([0.05, 0.2, 0.5, 0.6, 0.7, 0.9, 0.97])
    before, after = np.array([3, 8, 8, 1, 16, 5, 8]), np.array([8, 8, 2, 4, 16, 3, 8])
    size, redeals = 3000, 59
    counts = [
        rng.binomial(attempts, p, (size, 7))[..., None]
        if drawn
        else np.broadcast_to(attempts, (size, 7))[..., None]
        for attempts in (before, after)
        for drawn in (True, False)
    ]
    test = Redealing(Counts(*counts))
    drawn = test.redeal(rng, redeals)
    for statistic in (test.mean_statistic, test.scan_statistic):
        p_values = (1 + test.at_least(statistic(drawn), statistic(test.gains)).sum(axis=0)) / (1 + redeals)
        for level in (0.05, 0.2):
            assert (p_values <= level).mean() <= level + 3 * math.sqrt(level * (1 - level) / size)
        assert (p_values <= 0.2).mean() > 0.1


def test_a_lift_on_one_item_is_placed_by_the_scan() -> None:
    rng = np.random.default_rng(4)
    p = rng.uniform(0.1, 0.6, 40)
    raised = p.copy()
    raised[17] += 0.4
    before, after = log(rng.binomial(64, p), 64), log(rng.binomial(64, raised), 64)
    pairing = pair_logs(before, after)
    places = {item: 1 - index / 39 for index, item in enumerate(pairing.items)}
    found = detect(pairing, places, seed=1, width=0.1).groups["all"]
    assert found.p_scan is not None
    assert found.p_scan <= 0.01
    assert found.window is not None
    assert "q17" in found.window.items
    assert found.window.lo <= places["q17"] <= found.window.hi
    assert found.gap is not None
    assert found.gap.width == pytest.approx(1 / 39)
    assert found.hides is False
    again = detect(pairing, dict(reversed(places.items())), seed=1, width=0.1).groups["all"]
    assert again == found


def test_original_and_added_items_are_tested_separately_too() -> None:
    before, after = log([3, 3, 3, 1], 8), log([3, 3, 3, 8], 8)
    pairing = pair_logs(before, after)
    places = {"q00": 0.1, "q01": 0.2, "q02": 0.9, "q03": 0.5}
    found = detect(pairing, places, added=["q03"], width=0.45, randomisations=999)
    assert set(found.groups) == {"all", "original", "added"}
    original, added, both = (found.groups[name] for name in ("original", "added", "all"))
    assert original.gain == 0.0
    assert original.p_mean > 0.5
    assert original.hides is True
    assert both.hides is False
    assert added.p_mean < 0.01
    assert both.gain == pytest.approx(added.gain / 4)
    with pytest.raises(InputError, match="not asked on both sides"):
        detect(pairing, places, added=["q99"])


def test_nothing_that_varies_is_no_evidence() -> None:
    pairing = pair_logs(log([0, 4], 4), log([0, 4], 4))
    found = detect(pairing, {"q00": 0.0, "q01": 1.0}, randomisations=99).groups["all"]
    assert (found.p_mean, found.p_scan, found.window) == (1.0, None, None)
    unplaced = detect(pair_logs(log([0, 1], 4), log([3, 4], 4)), {}, randomisations=999).groups["all"]
    assert unplaced.p_mean < 0.05
    assert (unplaced.p_scan, unplaced.gap, unplaced.n_placed) == (None, None, 0)


def test_windows_that_cannot_vary_are_left_out() -> None:
    test = Redealing(
        Counts(*(np.array(each)[:, None] for each in ([0, 1, 4], [4, 4, 4], [0, 3, 4], [4, 4, 4])))
    )
    best = test.best_window()
    assert best is not None
    assert (best.start, best.stop) == (1, 2)
    assert window_sizes(9) == [1, 2, 4, 8]


def test_logs_are_paired_by_model_and_item() -> None:
    before = ResponseLog(
        ("a", "b"), ("q1", "q2", "q3"), np.zeros((2, 3), int), np.array([[2, 2, 0], [2, 0, 2]])
    )
    after = ResponseLog(("a", "c"), ("q2", "q3", "q4"), np.ones((2, 3), int), np.full((2, 3), 3))
    pairing = pair_logs(before, after)
    assert pairing.models == (("a", "a"),)
    assert pairing.items == ("q2",)
    assert (pairing.only_before, pairing.only_after) == (("q1",), ("q3", "q4"))
    both = pair_logs(before, after, [("b", "c"), ("a", "a")])
    assert both.items == ("q2", "q3")
    pooled = pooled_log(both)
    assert pooled.correct.tolist() == [[1, 1], [1, 1]]
    assert pooled.attempts.tolist() == [[5, 3], [3, 5]]
    single = pair_logs(before.select_models(["b"]), after.select_models(["c"]))
    assert single.models == (("b", "c"),)
    for first, second, pairs, kind in (
        (before.select_models(["b"]), after, None, "no_common_model"),
        (before, after, [("a", "zzz")], "unknown_id"),
        (before, after, [("a", "a"), ("a", "c")], "bad_pairing"),
        (before.select_items(["q1"]), after, None, "no_common_item"),
    ):
        with pytest.raises(InputError) as caught:
            pair_logs(first, second, pairs)
        assert caught.value.kind == kind


def test_several_models_are_dealt_within_each_model() -> None:
    # A strong model asked mostly after, a weak one mostly before: pooled counts alone would look like a gain.
    before, after = (
        log([[18, 18], [0, 0]], [[20, 20], [180, 180]]),
        log([[162, 162], [0, 0]], [[180, 180], [20, 20]]),
    )
    found = detect(pair_logs(before, after), {"q00": 0.0, "q01": 1.0}, randomisations=499).groups["all"]
    assert found.gain == pytest.approx(0.0)
    assert found.p_mean > 0.3


def test_greedy_repeats_are_noticed_and_honest_ones_are_not() -> None:
    rng = np.random.default_rng(2)
    sure = rng.integers(0, 2, 30)
    rights = np.stack([sure * 8, rng.binomial(8, rng.beta(0.3, 0.3, 30)), np.zeros(30, int), sure])
    asked = np.stack([np.full(30, 8)] * 3 + [np.ones(30, int)])
    assert identical_repeats(log(rights, asked)) == (0,)
    assert identical_repeats(log([[2, 0, 2]], 2)) == ()


def test_impossible_requests_are_refused() -> None:
    pairing = pair_logs(log([1, 2], 4), log([2, 3], 4))
    for options in ({"width": 0.0}, {"width": 1.5}, {"width": math.nan}, {"randomisations": 0}):
        with pytest.raises(InputError):
            detect(pairing, {"q00": 0.0, "q01": 1.0}, **options)  # type: ignore[arg-type]
