"""The frontier of the fixed batches as a picture: true deviation and attempts over k and tau, BenchFill among them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchfill.report.svg import WIDTH, Plot
from benchmarks.search_tables import Row

STYLE = (
    "text{font:11px sans-serif;fill:#333}.title{font-size:12px}.k{font-size:9px;fill:#666}.grid{stroke:#e3e3e3}"
    ".frame{fill:none;stroke:#999}polyline{fill:none;stroke-width:1.2}"
    ".t1{stroke:#94a3b8}.t2{stroke:#475569}.t3{stroke:#d4a373}.d1{fill:#94a3b8}.d2{fill:#475569}.d3{fill:#d4a373}"
    ".ours{fill:#2563eb}.known{fill:#93b4f5}.bar{stroke:#2563eb;stroke-width:1.2}"
)
# Of a panel: the true deviations (z) and attempts over the bound that are shown, and its height in pixels.
DEVIATIONS, OVER, HEIGHT, PANEL = (0.005, 0.032), (2.0, 64.0), 190.0, 276.0
LEGEND_X, LEGEND_Y = 0.0235, 48.0


@dataclass(frozen=True)
class Batch:
    """Fixed batches of k attempts, ended at tau, and what they came to."""

    attempts: int
    tau: float
    row: Row


def frontier_picture(panels: Sequence[tuple[str, Sequence[Batch], Sequence[tuple[str, Row]]]]) -> str:
    """A standalone SVG: one panel an axis, a line a tau over k, BenchFill as dots.

    Parameters
    ----------
    panels
        Title, fixed batches, and (name, row) of the adaptive search.
    """
    drawn = []
    for number, (title, batches, ours) in enumerate(panels):
        svg = _panel(f"axis{number}", title, batches, ours)
        place = f'<svg y="{number * PANEL:.0f}" width="{WIDTH:.0f}" height="{PANEL:.0f}" '
        drawn.append(svg.replace("<svg ", place, 1))
    size = f'viewBox="0 0 {WIDTH:.0f} {PANEL * len(panels):.0f}"'
    white = '<rect width="100%" height="100%" fill="#fff"/>'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
            f"<style>{STYLE}</style>",
            white,
            *drawn,
            "</svg>\n",
        ]
    )


def _panel(name: str, title: str, batches: Sequence[Batch], ours: Sequence[tuple[str, Row]]) -> str:
    lo, hi = (math.log2(value) for value in OVER)
    plot = Plot(name, DEVIATIONS, (lo, hi), height=HEIGHT, top=30.0)
    plot.x_axis(f"{title}: true deviation of the accepted item, z (simulated)")
    plot.y_title("attempts over the bound")
    for power in range(round(lo), round(hi) + 1):
        plot.row_label(power, f"{2**power}")
        plot.segment(DEVIATIONS[0], power, DEVIATIONS[1], power, "grid")
    legend = math.log2(LEGEND_Y)
    for order, tau in enumerate(sorted({each.tau for each in batches}), start=1):
        along = sorted((each for each in batches if each.tau == tau), key=lambda each: each.attempts)
        places = [(each.row.true_deviation, math.log2(each.row.attempts / each.row.bound)) for each in along]
        plot.line(places, f"t{order}")
        for each, (x, y) in zip(along, places, strict=True):
            plot.dot(
                x, y, f"d{order}", f"k = {each.attempts}, tau = {tau:g}, {each.row.searches} searches", 2.4
            )
            plot.label(x + 0.0003, y + 0.12, f"{each.attempts}", "k", "start")
        plot.dot(LEGEND_X, legend - 0.55 * (order - 1), f"d{order}")
        plot.label(
            LEGEND_X + 0.0004,
            legend - 0.55 * (order - 1) - 0.1,
            f"fixed, tau = {tau:g}, over k",
            anchor="start",
        )
    for order, (what, row) in enumerate(ours):
        y = math.log2(row.attempts / row.bound)
        plot.segment(row.true_deviation - row.true_se, y, row.true_deviation + row.true_se, y, "bar")
        style = "known" if order else "ours"
        plot.dot(row.true_deviation, y, style, f"{what}, {row.searches} searches", 4.5)
        below = legend - 0.55 * (3 + order)
        plot.dot(LEGEND_X, below, style, radius=4.5)
        plot.label(LEGEND_X + 0.0004, below - 0.1, what, anchor="start")
    return plot.render(
        f"{title}: attempts over the least there is against the true deviation, fixed and adaptive"
    )
