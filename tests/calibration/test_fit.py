"""What every engine owes its caller: known truth, invariances, extremes, readable refusals."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np
import pytest

from benchfill.calibration import nuts
from benchfill.calibration.fit import Fit, fit_1pl
from benchfill.calibration.gate import ESS_LIMIT
from benchfill.calibration.response_log import ResponseLog
from benchfill.errors import InputError
from tests.calibration.answers import answer, read_case
from tests.calibration.simulated import log_of

RNG = np.random.default_rng(11)
THETA = RNG.normal(0, 1.2, 8)
THETA -= THETA.mean()
B = RNG.normal(0.5, 1.4, 30)


@pytest.fixture(scope="module")
def log() -> ResponseLog:
    return answer(THETA, B, 12, seed=4)


@pytest.fixture(scope="module")
def fit(log: ResponseLog) -> Fit:
    return fit_1pl(log, seed=3)


def test_known_parameters_are_recovered_within_their_stated_uncertainty(fit: Fit) -> None:
    assert fit.gate.passed, fit.gate.reasons
    for found, sd, truth in ((fit.b, fit.b_sd, B), (fit.theta, fit.theta_sd, THETA)):
        z = (found - truth) / sd
        assert np.abs(z).max() < 4
        assert 0.4 < np.mean(z**2) < 2.0
    inside = (fit.b_lo90 <= B) & (fit.b_hi90 >= B)
    assert 22 <= inside.sum() <= 30
    assert fit.theta.sum() == pytest.approx(0, abs=1e-12)
    assert np.abs(fit.theta_draws.sum(axis=1)).max() < 1e-10
    assert fit.mu_b_draws.mean() == pytest.approx(B.mean(), abs=4 * fit.mu_b_draws.std())
    assert fit.sigma_b_draws.mean() == pytest.approx(B.std(), abs=4 * fit.sigma_b_draws.std())
    assert fit.theta_draws.shape == (fit.mu_b_draws.size, 8)
    assert not fit.censored.any()


def test_the_gate_is_met_with_room_and_says_what_made_the_numbers(fit: Fit) -> None:
    assert fit.gate.rhat_max is not None
    assert fit.gate.rhat_max <= 1.01
    assert fit.gate.ess_min is not None
    assert fit.gate.ess_min >= 1000
    assert fit.gate.divergences == 0
    assert fit.gate.pareto_k is None
    assert fit.seed == 3
    assert {"python", "numpy", "pymc", "sampler"} <= set(fit.versions)
    assert "pymc.NUTS" in fit.versions["sampler"]


def test_equal_keys_have_equal_difficulties_to_the_last_bit(log: ResponseLog, fit: Fit) -> None:
    totals = log.correct.sum(axis=0)
    repeated = [each for each in set(totals.tolist()) if (totals == each).sum() > 1]
    assert repeated, "the simulated log has no two items with equal totals"
    for total in repeated:
        for figure in (fit.b, fit.b_sd, fit.b_lo90, fit.b_hi90):
            assert np.unique(figure[totals == total]).size == 1


def test_intervals_hold_90_percent_of_the_posterior(fit: Fit) -> None:
    width = (fit.b_hi90 - fit.b_lo90) / fit.b_sd
    assert np.abs(width - 2 * 1.645).max() < 0.15  # 96 answers an item: close to normal
    assert ((fit.b_lo90 < fit.b) & (fit.b < fit.b_hi90)).all()


@pytest.mark.parametrize("engine", ["mml", "laplace"])
def test_the_fast_engines_agree_with_nuts(log: ResponseLog, fit: Fit, engine: str) -> None:
    fast = fit_1pl(log, engine=engine, seed=1)
    assert fast.gate.passed
    error = np.sqrt(np.mean((fast.b - fit.b) ** 2))
    assert error < (0.02 if engine == "mml" else 0.012)
    assert np.abs(fast.theta - fit.theta).max() < 0.1 * fit.theta_sd.max()
    if engine == "laplace":
        assert np.abs(fast.b_sd / fit.b_sd - 1).max() < 0.06
        assert np.abs(fast.theta_sd / fit.theta_sd - 1).max() < 0.12
    else:
        assert fast.theta_draws.shape == (1, 8)
        assert np.isnan(fast.b_sd).all()
        assert np.isnan(fast.theta_sd).all()


@pytest.mark.parametrize("engine", ["mml", "laplace"])
def test_names_and_so_the_order_of_models_and_items_change_nothing(log: ResponseLog, engine: str) -> None:
    rows, columns = RNG.permutation(8), RNG.permutation(30)
    shuffled = replace(log, correct=log.correct[rows][:, columns], attempts=log.attempts[rows][:, columns])
    one, other = fit_1pl(log, engine=engine), fit_1pl(shuffled, engine=engine)
    near = 1e-6 if engine == "mml" else 0.1 * one.theta_sd.max()
    assert np.abs(other.b - one.b[columns]).max() < near
    assert np.abs(other.theta - one.theta[rows]).max() < near


def test_the_same_seed_gives_the_same_numbers_also_in_a_thread_of_a_running_loop(
    log: ResponseLog, fit: Fit, capfd: pytest.CaptureFixture[str]
) -> None:
    async def in_thread() -> Fit:
        return await asyncio.to_thread(fit_1pl, log, seed=3)

    again = asyncio.run(in_thread())
    for name in ("theta", "theta_draws", "b", "b_sd", "b_lo90", "b_hi90", "mu_b_draws", "sigma_b_draws"):
        assert np.array_equal(getattr(fit, name), getattr(again, name)), name
    assert fit.gate == again.gate
    small = answer(THETA[:3], B[:10], 8, seed=2)
    one, other = (fit_1pl(small, engine="laplace") for _ in range(2))
    assert np.array_equal(one.theta_draws, other.theta_draws)
    assert not np.array_equal(one.theta_draws, fit_1pl(small, engine="laplace", seed=1).theta_draws)
    assert capfd.readouterr() == ("", "")


def test_progress_rises_to_one_and_what_it_raises_ends_the_fit() -> None:
    small = answer(THETA[:3], B[:6], 4, seed=2)
    seen: list[tuple[float, str]] = []
    fit_1pl(small, engine="laplace", progress=lambda fraction, message: seen.append((fraction, message)))
    fractions = [fraction for fraction, _ in seen]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert all(message for _, message in seen)

    def stop(fraction: float, message: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_1pl(small, progress=stop)


def test_missing_cells_and_unequal_attempts_are_no_failures() -> None:
    attempts = RNG.integers(0, 40, (8, 30))
    holes = fit_1pl(answer(THETA, B, attempts, seed=9), engine="laplace")
    asked = fit_1pl(answer(THETA, B, 20, seed=10), engine="laplace")
    assert np.abs((holes.b - B) / holes.b_sd).max() < 4
    assert np.abs((asked.b - B) / asked.b_sd).max() < 4


def test_guessing_is_part_of_the_model() -> None:
    chance = np.where(np.arange(30) % 2, 0.25, 0.0)
    log = answer(THETA, B, 40, seed=12, guessing=chance)
    aware, blind = (fit_1pl(log, engine="mml", guessing=each) for each in (chance, None))
    hard = (B > 1.0) & (chance > 0)
    assert hard.sum() >= 3
    assert np.abs(aware.b - B)[hard].mean() < 0.4
    assert (blind.b - B)[hard].mean() < -0.6
    assert np.array_equal(aware.guessing, chance)


def test_one_model_has_ability_zero_and_difficulties_from_its_own_rates() -> None:
    single = fit_1pl(log_of(np.array([[1, 5, 9, 10, 10]]), 10), engine="laplace")
    assert single.theta.tolist() == [0.0]
    assert (np.diff(single.b[:4]) < 0).all()
    assert single.b[3] == single.b[4]
    assert np.isfinite(single.b).all()


@pytest.mark.parametrize(
    ("engine", "case"),
    # The engines share their density: what takes seconds is tried where all items are extreme.
    [("mml", each) for each in ("m01", "m02", "m16", "m17", "m35")] + [("nuts", "m17")],
)
def test_hostile_matrices_stay_finite_and_in_order(
    shared, case: str, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No more draws than the gate asks for: only orders, signs and refusals are looked at.
    monkeypatch.setattr(nuts, "ESS_WANTED", ESS_LIMIT)
    log = read_case(next((shared / "cases" / "matrices").glob(f"{case}_*.csv")))
    found = fit_1pl(log, engine=engine)
    b, theta = dict(zip(found.items, found.b, strict=True)), dict(zip(found.models, found.theta, strict=True))
    assert np.isfinite(found.b).all()
    assert np.isfinite(found.theta).all()
    assert found.gate.passed == (case != "m17"), found.gate.reasons
    if case == "m01":
        assert b["easy"] < b["c"] < b["hard"]
        assert {item for item, flag in zip(found.items, found.censored, strict=True) if flag} == {
            "easy",
            "hard",
        }
    if case == "m02":
        assert theta["worst"] < theta["x"] < theta["best"]
        assert any("best" in note for note in found.notes)
        assert any("worst" in note for note in found.notes)
    if case == "m16":
        assert found.censored.all()
        assert theta["m1"] == pytest.approx(theta["m2"], abs=0.2)
    if case == "m17":
        assert found.censored.all()
        assert any("no_variation" in note for note in found.notes)
        assert any("No variation" in reason for reason in found.gate.reasons)


def test_groups_without_a_common_answer_are_refused_and_named(shared) -> None:
    log = read_case(shared / "cases" / "matrices" / "m19_disconnected.csv")
    with pytest.raises(InputError) as caught:
        fit_1pl(log)
    assert caught.value.kind == "disconnected"
    for name in ("m1", "m3", "q1", "q4", "2 groups"):
        assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_impossible_input_is_refused_in_one_line() -> None:
    log = log_of(np.array([[1, 0], [0, 1]]), 1)
    for guessing in (np.array([0.1]), np.array([0.1, 1.0]), np.array([np.nan, 0.0])):
        with pytest.raises(InputError, match="guessing"):
            fit_1pl(log, engine="mml", guessing=guessing)
    with pytest.raises(InputError, match="nutpie"):
        fit_1pl(log, engine="nutpie")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"models": ("b", "a")}, "sorted"),
        ({"items": ("x", "x")}, "sorted"),
        ({"models": ()}, "no models"),
        ({"correct": np.array([[2, 0], [0, 0]])}, "2 of 1"),
        ({"correct": np.array([[-1, 0], [0, 0]])}, "-1 of 1"),
        ({"correct": np.array([[0.5, 0], [0, 0]])}, "whole"),
        ({"attempts": np.array([[np.nan, 1], [1, 1]])}, "whole"),
        ({"attempts": np.ones((2, 3))}, "shape"),
    ],
)
def test_a_response_log_cannot_hold_the_impossible(change, words: str) -> None:
    good = ResponseLog(("a", "b"), ("x", "y"), np.zeros((2, 2)), np.ones((2, 2)))
    with pytest.raises(InputError, match=words):
        replace(good, **change)


def test_a_response_log_selects_by_id_and_keeps_its_order() -> None:
    log = ResponseLog(("a", "b"), ("x", "y", "z"), np.array([[1, 0, 1], [0, 1, 1]]), np.ones((2, 3)))
    part = log.select_items(["z", "x"]).select_models({"b"})
    assert (part.models, part.items) == (("b",), ("x", "z"))
    assert part.correct.tolist() == [[0, 1]]
    with pytest.raises(InputError, match="'q'"):
        log.select_items(["q", "x"])
