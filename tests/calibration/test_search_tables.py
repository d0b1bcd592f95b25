"""What simulated searches are summed up to: shares of fixed batches by closed form, and the picture of the frontier."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from benchmarks.search_picture import Batch, frontier_picture
from benchmarks.search_tables import Row, share_of_fixed, summarise


def row(deviation: float, attempts: float) -> Row:
    return Row(
        searches=100, met=1.0, true_deviation=deviation, true_se=0.05 * deviation, claimed=deviation,
        coverage90=0.9, coverage_se=0.03, attempts=attempts, attempts_all=attempts, low=0.0, high=0.0, fresh=0.0,
        bound=500.0, candidates=8.0, refusals=0.0,
    )  # fmt: skip


def test_between_fixed_batches_attempts_go_by_a_power_of_the_deviation():
    fixed = [row(deviation, 1000 * (0.012 / deviation) ** 2) for deviation in (0.010, 0.013, 0.016)]
    assert share_of_fixed(row(0.012, 330), fixed) == pytest.approx(0.33)
    # What is far less exact has no say.
    assert share_of_fixed(row(0.012, 330), [*fixed, row(0.03, 900.0)]) == pytest.approx(0.33)


def test_nothing_is_said_beyond_the_fixed_batches_that_were_searched():
    fixed = [row(0.013, 900), row(0.016, 600)]
    assert share_of_fixed(row(0.012, 330), fixed) is None
    assert share_of_fixed(row(0.017, 330), fixed) is None
    assert share_of_fixed(row(0.014, 330), fixed[:1]) is None


def test_means_are_of_the_searches_that_met_the_tolerance():
    def ended(status: str, off: float, *, covered: bool) -> dict[str, object]:
        figures = dict.fromkeys(("attempts", "fresh", "bound", "candidates", "refusals"), 100)
        return {"status": status, "off": off, "covered": covered, "claimed": 0.01, **figures}

    found = summarise(
        [
            ended("filled", 0.01, covered=True),
            ended("filled", 0.03, covered=False),
            ended("outside", 0.5, covered=False),
        ]
    )
    assert (found.searches, found.met, found.coverage90) == (3, pytest.approx(2 / 3), 0.5)
    assert found.true_deviation == pytest.approx(0.02)
    assert found.true_se == pytest.approx(np.std([0.01, 0.03], ddof=1) / math.sqrt(2))
    assert found.coverage_se == pytest.approx(math.sqrt(0.25 / 2))


def test_the_picture_has_a_panel_an_axis_and_a_dot_a_batch_and_method():
    batches = [Batch(k, tau, row(0.2 / k, 100.0 * k)) for k in (10, 20, 30) for tau in (0.01, 0.02)]
    picture = frontier_picture([("a", batches, [("ours", row(0.01, 3000))]), ("b", batches[:2], [])])
    drawn = ET.fromstring(picture)  # noqa: S314 - our own
    panels = drawn.findall("{http://www.w3.org/2000/svg}svg")
    assert len(panels) == 2
    dots = [len([each for each in panel.iter() if each.tag.endswith("circle")]) for panel in panels]
    # Beside them one of each kind in the legend.
    assert dots == [6 + 1 + 2 + 1, 2 + 2]
