"""Item curves: information and headroom against numerical derivatives, closed forms, and the published table."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

from benchfill.calibration.item_curves import ItemCurves
from benchfill.calibration.model_slopes import fit_item_model
from tests.calibration.simulated import simulate


def some_curves(items: int = 40) -> ItemCurves:
    generator = np.random.default_rng(5)
    c = generator.uniform(0.0, 0.5, items)
    return ItemCurves(
        models=("one", "two"),
        items=tuple(f"item-{at:02}" for at in range(items)),
        theta=np.array([-1.0, 1.0]),
        slope=np.array([0.5, 1.5]),
        b=generator.normal(0.0, 2.0, items),
        a=generator.uniform(0.2, 3.0, items),
        c=c,
        d=c + (1.0 - c) * generator.uniform(0.3, 1.0, items),
    )


def test_information_is_the_expected_second_derivative_of_the_log_likelihood() -> None:
    curves, theta, h = some_curves(), np.linspace(-2.5, 2.5, 11), 1e-3

    def bend(log_chance: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        return (low - 2.0 * log_chance + high) / h**2

    below, at, above = (curves.success(theta + step, 1.3) for step in (-h, 0.0, h))
    expected = -at * bend(np.log(at), np.log(below), np.log(above)) - (1.0 - at) * bend(
        np.log1p(-at), np.log1p(-below), np.log1p(-above)
    )
    assert curves.information(theta, 1.3) == pytest.approx(expected, rel=1e-4, abs=1e-7)
    assert curves.headroom(theta, 1.3) == pytest.approx((above - below) / (2.0 * h), rel=1e-4)


def test_a_slope_belongs_to_its_model() -> None:
    curves = some_curves()
    both = curves.information(curves.theta, curves.slope)
    for row, (theta, slope) in enumerate(zip(curves.theta, curves.slope, strict=True)):
        assert curves.information(theta, slope)[0] == pytest.approx(both[row], rel=1e-14)


def test_far_from_an_item_nothing_is_undefined() -> None:
    curves = some_curves()
    one = ItemCurves(("m",), ("i",), np.zeros(1), np.ones(1), *(np.array([x]) for x in (0.0, 1.0, 0.0, 1.0)))
    with np.errstate(all="raise", under="ignore"):
        assert (curves.information([-900.0, 900.0]) < 1e-50).all()
        assert one.information([-30.0, 30.0]).ravel() == pytest.approx([expit(-30.0)] * 2, rel=1e-9)


def test_a_fit_gives_its_own_curves() -> None:
    log = simulate(8, 60, 4, seed=3).log
    guessing = np.where(np.arange(60) < 20, 0.25, 0.0)
    fit = fit_item_model(log, "model_slopes", guessing=guessing)
    curves = fit.curves()
    assert np.array_equal(curves.c, guessing)
    plain = expit(fit.slope[:, None] * (fit.theta[:, None] - fit.b))
    assert curves.success(fit.theta, fit.slope) == pytest.approx(guessing + (1.0 - guessing) * plain)


def test_the_published_table_of_benchmarks_is_reproduced(shared: Path) -> None:
    folder = shared / "data" / "psn_irt"
    with (folder / "dataset_analysis.csv").open(newline="") as file:
        published = {row["Dataset"].replace(" ", "").replace("-", ""): row for row in csv.DictReader(file)}
    with (folder / "student_abilities.csv").open(newline="") as file:
        highest = max(float(row["ability"]) for row in csv.DictReader(file))
    paths = sorted(folder.glob("*_item_params.csv.gz"))
    assert len(paths) == len(published) == 11
    for path in paths:
        with gzip.open(path, "rt") as file:
            assert next(file).strip() == "item_id,difficulty,discrimination,guessing,feasibility"
            b, a, c, d = np.array([line.rsplit(",", 4)[1:] for line in file]).astype(np.float64).T
        curves = ItemCurves((), (), np.empty(0), np.empty(0), b, a, c, d)
        theirs = published[path.name.removesuffix("_item_params.csv.gz").replace("-", "")]
        assert curves.information(highest).mean() == pytest.approx(
            float(theirs["Fisher Information"]), rel=1e-9
        )
        # Theirs is a difference over 1e-4 logits.
        assert curves.headroom(highest).mean() == pytest.approx(float(theirs["LEH"]), rel=1e-4)
