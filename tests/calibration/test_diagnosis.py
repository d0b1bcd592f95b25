"""The diagnosis of fits made by hand, and of small logs through the real fit."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchfill.calibration.diagnosis import Diagnosis, diagnose, diagnosis_of
from benchfill.calibration.fit import Fit
from benchfill.calibration.gate import Gate
from benchfill.calibration.response_log import ResponseLog
from benchfill.errors import InputError

PASSED = Gate(rhat_max=1.003, ess_min=1500.0, divergences=0, pareto_k=None, passed=True, reasons=())
FAILED = replace(PASSED, rhat_max=1.3, passed=False, reasons=("R-hat is 1.3000.",))


def fitted(b: list[float], *, censored: tuple[int, ...] = (), gate: Gate = PASSED, sd: float = 0.5) -> Fit:
    difficulty = np.array(b)
    return Fit(
        engine="nuts",
        models=("m1", "m2"),
        items=tuple(f"q{index}" for index in range(len(b))),
        theta=np.array([-1.0, 1.0]),
        theta_sd=np.array([0.3, 0.3]),
        theta_draws=np.array([[-1.0, 1.0]]),
        mu_b_draws=np.zeros(1),
        sigma_b_draws=np.ones(1),
        b=difficulty,
        b_sd=np.full(len(b), sd),
        b_lo90=difficulty - 1.645 * sd,
        b_hi90=difficulty + 1.645 * sd,
        censored=np.isin(np.arange(len(b)), censored),
        guessing=np.zeros(len(b)),
        gate=gate,
        seed=7,
        versions={"numpy": "2"},
        notes=("about the fit",),
    )


def described(fit: Fit, **options: object) -> Diagnosis:
    """The description of a fit made by hand, over answers that say little: the fit's numbers are what is looked at."""
    correct = np.array([[1], [3]]) * np.ones((1, len(fit.items)), dtype=np.int64)
    correct[:, fit.censored] = 0
    log = ResponseLog(fit.models, fit.items, correct, np.full(correct.shape, 4))
    return diagnosis_of(fit, log, fast=True, **options)  # type: ignore[arg-type]


def test_figures_gaps_and_places_by_hand() -> None:
    found = described(fitted([-2.0, 0.0, 2.0]), notes=["about the file"])
    document = found.document()
    assert document["v"] == 1
    assert (document["n_items"], document["n_models"], document["n_censored"]) == (3, 2, 0)
    # Items at 0, 1/2 and 1: each third of the unit interval is moved by 1/6, 1/12 and 1/6 on average.
    assert document["ddm"] == pytest.approx((1 / 6 + 1 / 12 + 1 / 6) / 3)
    assert (document["max_gap"], document["top5_sum"]) == (0.5, 1.0)
    assert [[gap[key] for key in ("lo", "hi", "width", "target")] for gap in document["gaps"]] == [
        [0.0, 0.5, 0.5, 0.25],
        [0.5, 1.0, 0.5, 0.75],
    ]
    assert document["scale"] == {"name": "minmax", "lo": -2.0, "hi": 2.0}
    fit_of_item = {"infit", "outfit", "residual", "p", "p_adjusted"}
    assert {key: value for key, value in document["items"][1].items() if key not in fit_of_item} == {
        "id": "q1",
        "b": 0.0,
        "b_sd": 0.5,
        "z": 0.5,
        "z_lo90": pytest.approx(0.5 - 1.645 * 0.125),
        "z_hi90": pytest.approx(0.5 + 1.645 * 0.125),
        "censored": False,
        "success": 0.5,
        "rest_correlation": None,
        "guessing": 0.0,
    }
    assert {key: document["gate"][key] for key in ("rhat_max", "ess_min", "divergences", "passed")} == {
        "rhat_max": 1.003,
        "ess_min": 1500.0,
        "divergences": 0,
        "passed": True,
    }
    assert (document["engine"], document["seed"], document["versions"]) == ("nuts", 7, {"numpy": "2"})
    assert document["notes"] == ["about the file", "about the fit"]


def test_figures_without_censored_items_stand_on_the_same_axis() -> None:
    found = described(fitted([-2.0, -1.0, 1.0, 2.0], censored=(0,)))
    assert found.document()["n_items"] == 4
    whole, rest = found.document(), found.document()["uncensored"]
    assert whole["max_gap"] == pytest.approx(0.5)
    assert rest["n_items"] == 3
    assert rest["max_gap"] == pytest.approx(0.5)
    assert rest["top5_sum"] == pytest.approx(1.0)
    assert rest["ddm"] != whole["ddm"]
    (note,) = (each for each in found.notes if "set the easy end of the axis" in each)
    assert "depends on the prior" in note
    both = described(fitted([-2.0, 0.0, 2.0], censored=(0, 2))).notes
    assert any("the easy and the hard end" in note for note in both)
    assert not any(
        "end of the axis" in note for note in described(fitted([-2.0, 0.0, 2.0], censored=(1,))).notes
    )


@pytest.mark.parametrize("b", [[0.4, 0.4, 0.4], [-3.0, 0.0, 3.0]])
def test_no_gap_is_claimed_from_the_prior_alone(b: list[float]) -> None:
    found = described(fitted(b, censored=(0, 1, 2)))
    document = found.document()
    assert found.scale is None
    assert document["gaps"] == []
    assert [document[name] for name in ("ddm", "max_gap", "top5_sum", "scale")] == [None] * 4
    rest = document["uncensored"]
    assert rest.pop("n_items") == 0
    assert set(rest.values()) == {None}
    assert all(item["z"] is None and item["b"] is not None for item in document["items"])
    assert any("prior alone" in note for note in document["notes"])


def test_items_of_one_difficulty_have_no_axis() -> None:
    found = described(fitted([0.4, 0.4]))
    assert found.scale is None
    assert any("no axis" in note for note in found.notes)


def test_a_failed_fit_is_shown_as_failed_and_its_figures_only_when_accepted() -> None:
    withheld = described(fitted([-2.0, 0.0, 2.0], gate=FAILED)).document()
    assert withheld["gate"]["passed"] is False
    assert withheld["gate"]["reasons"] == ["R-hat is 1.3000."]
    assert (withheld["ddm"], withheld["gaps"], withheld["scale"]) == (None, [], None)
    assert all(item["b"] is None and item["z"] is None for item in withheld["items"])
    accepted = described(fitted([-2.0, 0.0, 2.0], gate=FAILED), accept_unconverged=True).document()
    assert accepted["max_gap"] == 0.5
    assert accepted["gate"]["passed"] is False
    assert any("accepted" in note for note in accepted["notes"])


def test_the_document_is_json_without_nan() -> None:
    gate = replace(PASSED, rhat_max=math.nan, ess_min=None, divergences=None)
    document = described(fitted([-2.0, 0.0, 2.0], gate=gate, sd=math.nan)).document()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["gate"]["rhat_max"] is None
    assert document["items"][0]["b_sd"] is None
    assert document["items"][0]["z_lo90"] is None


def simulated_log(seed: int = 4) -> tuple[ResponseLog, np.ndarray]:
    """8 models with 60 attempts on 25 items, and the true difficulties."""
    rng = np.random.default_rng(seed)
    theta, b = np.linspace(-2, 2, 8), rng.normal(0, 1.5, 25)
    attempts = np.full((8, 25), 60)
    correct = rng.binomial(attempts, 1 / (1 + np.exp(b - theta[:, None])))
    models, items = tuple(f"m{n}" for n in range(8)), tuple(f"q{n:02d}" for n in range(25))
    return ResponseLog(models, items, correct, attempts), b


def mml(log: ResponseLog) -> Diagnosis:
    return diagnose(log, engine="mml", seed=1, fast=True)


def test_a_simulated_benchmark_is_found_where_it_lies() -> None:
    log, b = simulated_log()
    found = mml(log)
    true_z = (b - b.min()) / (b.max() - b.min())
    document = found.document()
    z = np.array([item["z"] for item in document["items"]], dtype=float)
    assert np.abs(z - true_z).mean() < 0.03
    widest = np.sort(np.diff(np.concatenate([[0.0], np.sort(true_z), [1.0]])))[-1]
    assert document["max_gap"] == pytest.approx(widest, abs=0.06)


def read(shared: Path, name: str) -> ResponseLog:
    """A small handed matrix with items in rows, without the product's reader."""
    lines = (shared / "cases" / "matrices" / name).read_text(encoding="utf-8").splitlines()
    header, *rows = [line.split(",") for line in lines]
    rows.sort()
    cells = np.array([row[1:] for row in rows]).T
    attempts = (cells != "").astype(np.int64)
    return ResponseLog(
        tuple(header[1:]), tuple(row[0] for row in rows), (cells == "1").astype(np.int64), attempts
    )


def test_handed_matrices_that_concern_the_diagnosis(shared: Path) -> None:
    extreme = mml(read(shared, "m01_extreme_items.csv")).document()["items"]
    b = {item["id"]: item["b"] for item in extreme}
    assert all(value is not None for value in b.values())
    assert b["easy"] < b["c"] < b["hard"]
    assert [item["id"] for item in extreme if item["censored"]] == ["easy", "hard"]
    for name in ("m16_identical_models.csv", "m17_all_ones.csv"):
        constant = diagnose(read(shared, name), engine="mml", accept_unconverged=True)
        assert all(item["censored"] and item["b"] is not None for item in constant.document()["items"])
        assert constant.gaps == ()
        assert any("prior alone" in note for note in constant.notes)
    with pytest.raises(InputError):
        mml(read(shared, "m19_disconnected.csv"))
