"""Geometry of a plot: ticks are round, places land where they should, foreign text stays text."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from benchfill.report.svg import Plot, safe, ticks


@pytest.mark.parametrize(
    ("lo", "hi", "expected"),
    [
        (0.0, 1.0, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (-0.03, 1.03, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (-7.0, 6.0, [-6.0, -4.0, -2.0, 0.0, 2.0, 4.0, 6.0]),
        (0.0, 0.05, [0.0, 0.01, 0.02, 0.03, 0.04, 0.05]),
    ],
)
def test_ticks_are_round_and_inside(lo: float, hi: float, expected: list[float]) -> None:
    assert ticks(lo, hi) == pytest.approx(expected)


def test_places_in_the_frame() -> None:
    plot = Plot("p", (0.0, 2.0), (10.0, 20.0), height=100.0, left=50.0, top=10.0, width=262.0)
    assert (plot.x(0.0), plot.x(1.0), plot.x(2.0)) == (50.0, 150.0, 250.0)
    assert (plot.y(10.0), plot.y(20.0)) == (110.0, 10.0)
    down = Plot("p", (0.0, 1.0), (5.0, 0.0), height=100.0, top=10.0)
    assert (down.y(0.0), down.y(5.0)) == (10.0, 110.0)


def test_what_is_drawn_is_xml_with_numbers_and_names() -> None:
    plot = Plot("p", (0.0, 1.0), (0.0, 1.0), left=100.0)
    plot.x_axis("z <units>")
    plot.y_axis("share")
    plot.dot(0.5, 0.5, "item", 'a"b<script>')
    plot.row_label(0.5, "a very long name that has no room at all")
    root = ElementTree.fromstring(plot.render("about & more"))  # noqa: S314 (our own output)
    assert root.attrib["aria-label"] == "about & more"
    texts = [each.text for each in root.iter() if each.tag.endswith("text")]
    assert "z <units>" in texts
    assert "0.2" in texts
    tips = [each.text for each in root.iter() if each.tag.endswith("title")]
    assert 'a"b<script>' in tips
    assert "a very long name that has no room at all" in tips


def test_foreign_text_is_neither_markup_nor_control() -> None:
    assert safe('<b>"x"\x1b[31m\u202e</b>') == "&lt;b&gt;&quot;x&quot;&lt;/b&gt;"
