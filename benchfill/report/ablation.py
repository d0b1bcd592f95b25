"""The picture of an ablation: what every search claimed, and how far off its item truly is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchfill.report.svg import Plot

if TYPE_CHECKING:
    from benchfill.graph.ablation import SearchRecord

__all__ = ["ablation_picture"]

STYLE = (
    "text{font:11px sans-serif;fill:#333}.title{font-size:12px}.grid{stroke:#e3e3e3}.frame{fill:none;stroke:#999}"
    ".true{fill:#2563eb;fill-opacity:.45}.mean{stroke:#1e3a8a;stroke-width:2.5}"
    ".claimed{stroke:#dc2626;stroke-width:2.5;stroke-dasharray:5 3}"
)


def ablation_picture(records: Sequence[SearchRecord], *, simulated: bool) -> str:
    """A standalone SVG: a row a method, a dot a search at its true deviation, mean truth and mean claim as bars."""
    methods = [name for name in dict.fromkeys(each.method for each in records) if name != "oracle"]
    true = {
        name: [
            each.true_deviation for each in records if each.method == name and each.true_deviation is not None
        ]
        for name in methods
    }
    claimed = {
        name: [
            each.claimed_deviation
            for each in records
            if each.method == name and each.claimed_deviation is not None
        ]
        for name in methods
    }
    reach = max([0.05, *(value for values in true.values() for value in values)])
    plot = Plot(
        "ablation",
        (0.0, 1.05 * reach),
        (len(methods) + 0.6, 0.4),
        height=70.0 * max(1, len(methods)),
        left=90.0,
    )
    plot.x_axis("distance of the item from its target, z" + (" (simulated)" if simulated else ""))
    for row, name in enumerate(methods, start=1):
        plot.row_label(row, name)
        for place, value in enumerate(true[name]):
            # Spread over the row's height by number, so that dots of one place are seen apart.
            plot.dot(value, row + 0.5 * ((place * 0.618) % 1.0 - 0.5), "true", f"{value:.4f}", radius=2.2)
        for style, values in (("mean", true[name]), ("claimed", claimed[name])):
            if values:
                middle = sum(values) / len(values)
                plot.segment(middle, row - 0.38, middle, row + 0.38, style)
    drawn = plot.render(
        "True deviation of every search as dots; their mean as a solid and the mean claim as a dashed bar."
    )
    return drawn.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1).replace(
        "<defs>", f"<style>{STYLE}</style><defs>", 1
    )
