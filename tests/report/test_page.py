"""The page of a diagnosis: complete in itself, true to the document, and safe with foreign names."""

from __future__ import annotations

import copy
import re
from functools import partial
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from benchfill.calibration import chance, diagnosis
from benchfill.calibration.diagnosis import diagnose
from benchfill.calibration.figures import benchmark_figures
from benchfill.calibration.response_log import ResponseLog
from benchfill.display.text import interval
from benchfill.report.page import render_page

_VOID = {"meta", "br"}


class Reading(HTMLParser):
    """Checks that tags close in order, and collects what the page shows and loads."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(page: str) -> Reading:
    reading = Reading()
    reading.feed(page)
    reading.close()
    assert reading.open == []
    return reading


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """8 models, 20 items, 12 attempts a cell from a known 1PL; one item that nobody solves."""
    rng = np.random.default_rng(3)
    theta, b = np.linspace(-2, 2, 8), np.append(np.linspace(-2, 2, 19), 30.0)
    attempts = np.full((8, 20), 12)
    correct = rng.binomial(attempts, 1 / (1 + np.exp(b - theta[:, None])))
    models, items = tuple(f"model {n}" for n in range(8)), tuple(f"q{n:02d}" for n in range(20))
    log = ResponseLog(models, items, correct, attempts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chance, "MOST", chance.FEWEST)
        patch.setattr(diagnosis, "benchmark_figures", partial(benchmark_figures, draws=40))
        found = diagnose(log, engine="laplace", seed=1, pool_subsets=True)
    return {**found.document(), "name": "tens"}


def test_one_file_without_scripts_or_anything_loaded(document: dict[str, Any]) -> None:
    page = render_page([document])
    reading = read(page)
    assert not {"script", "link", "img", "iframe", "object"} & {tag for tag, _ in reading.tags}
    assert not re.search(r"https?:|url\((?!#)|@import", page)
    assert "prefers-color-scheme: dark" in page
    ids = [attributes["id"] for _, attributes in reading.tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_every_item_model_gap_and_limit_is_there(document: dict[str, Any]) -> None:
    page = render_page([document])
    reading = read(page)
    text = " ".join(reading.text)
    for item in document["items"]:
        assert f"{item['id']}: z {item['z']:.3f}" in text
    for model in document["models"]:
        assert f"{model['id']}: ability" in text
    for gap in document["gaps"][:5]:
        assert f"{gap['p_empty']:.3f}" in text
    for limit in document["limits"]:
        assert limit in text
    assert f"{document['ddm']:.3f}" in text
    assert document["fingerprint"] in text
    circles = [attributes.get("class") for tag, attributes in reading.tags if tag == "circle"]
    assert circles.count("censored") == 1 + 1  # the item, and its key in the legend
    shaded = [attributes.get("class") for tag, attributes in reading.tags if tag == "rect"]
    resolved = sum(gap["resolved"] is True for gap in document["gaps"])
    assert shaded.count("gap-yes") == resolved + 1
    pairs = [each for each in shaded if each and each.startswith("pair ")]
    assert len(pairs) == 8 * 7 // 2 + 5


def test_what_is_resolved_and_what_another_pool_would_say(document: dict[str, Any]) -> None:
    shown = " ".join(read(render_page([document])).text)
    assert document["resolution"]["sentence"] in shown
    pool = document["pool_dependence"]
    assert "Another pool" in shown
    for key in ("ddm", "own_ddm", "own_max_gap"):
        assert interval(pool[f"{key}_lo90"], pool[f"{key}_hi90"]) in shown
    assert pool["own_ddm_wider"] in ("pool", "posterior")
    assert [gap["width_wider"] in ("pool", "posterior") for gap in pool["gaps"]] == [True] * 5
    for kind in ("items", "models"):
        assert f"Residual misfit of {kind}: median" in shown


def test_the_area_of_the_distributions_is_the_ddm(document: dict[str, Any]) -> None:
    """The polygon between the curves, split into its monotone slices, has the area that the figure says."""
    z = np.sort([item["z"] for item in document["items"]])
    grid = np.linspace(-0.5, 1.5, 200_001)
    empirical = np.searchsorted(z, grid, side="right") / z.size
    target = np.interp(grid, document["target_curve"]["z"], document["target_curve"]["cdf"])
    area = np.abs(empirical - target).mean() * 2.0
    assert area == pytest.approx(document["ddm"], abs=2e-4)


def test_a_failed_fit_has_no_plots(document: dict[str, Any]) -> None:
    failed = copy.deepcopy(document)
    failed["gate"].update(passed=False, reasons=["R-hat is 1.4."])
    failed["scale"] = None
    reading = read(render_page([failed]))
    text = " ".join(reading.text)
    assert "failed" in text
    assert "R-hat is 1.4." in text
    assert not any(tag == "svg" for tag, _ in reading.tags)


def test_several_benchmarks_in_one_page(document: dict[str, Any]) -> None:
    other = {**document, "name": "<i>other</i>"}
    reading = read(render_page([document, other]))
    text = " ".join(reading.text)
    assert "2 benchmarks" in text
    assert "<i>other</i>" in text
    assert not any(tag == "i" for tag, _ in reading.tags)
    ids = [attributes["id"] for _, attributes in reading.tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_many_items_are_thinned_and_banded(document: dict[str, Any]) -> None:
    many = copy.deepcopy(document)
    row = many["items"][0]
    many["items"] = [
        {**row, "id": f"q{n}", "z": n / 4000, "z_lo90": n / 4000 - 0.1, "z_hi90": n / 4000 + 0.1}
        for n in range(4001)
    ]
    page = render_page([many])
    assert 'class="band"' in page
    assert len(page) < 1_200_000
