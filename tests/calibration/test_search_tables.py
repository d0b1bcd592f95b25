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


def batch(k: int) -> tuple[int, Row]:
    """As exact as 1 / sqrt(k), for ten candidates of 12 models."""
    return k, row(0.096 / math.sqrt(k), 120.0 * k)


def test_between_fixed_batches_deviation_and_attempts_are_powers_of_k():
    # 0.012 is what k = 64 would come to.
    assert share_of_fixed(row(0.012, 2560), map(batch, (48, 80, 96))) == pytest.approx(1 / 3)
    # What is far less exact has no say.
    assert share_of_fixed(row(0.012, 2560), [batch(48), batch(80), (8, row(0.034, 1))]) == pytest.approx(
        1 / 3
    )


def test_nothing_is_said_beyond_the_fixed_batches_that_were_searched():
    assert share_of_fixed(row(0.012, 2560), map(batch, (32, 48))) is None
    assert share_of_fixed(row(0.012, 2560), map(batch, (80, 96))) is None
    assert share_of_fixed(row(0.012, 2560), [batch(64)]) is None


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
