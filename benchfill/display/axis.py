"""The difficulty axis in characters: items, gaps, target, and the posteriors that move on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from benchfill.display.text import number

__all__ = ["View", "axis", "posterior_bar"]

_TICKS = " │║┃"
_BLOCKS = " ▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True)
class View:
    """A stretch of the axis, z from `lo` to `hi`, drawn on `width` columns."""

    lo: float
    hi: float
    width: int

    def column(self, z: float) -> int:
        """Column of z; what lies outside is drawn on the edge."""
        place = int((z - self.lo) / (self.hi - self.lo) * self.width)
        return min(max(place, 0), self.width - 1)

    def holds(self, z: float) -> bool:
        """Whether z lies on the stretch."""
        return self.lo <= z <= self.hi


def axis(
    view: View,
    *,
    items: Sequence[float],
    gaps: Sequence[tuple[float, float]],
    target: float | None,
    accepted: Sequence[float] = (),
    labels: Sequence[float] = (),
) -> list[Text]:
    """Three rows: the target's mark, items as ticks with gaps shaded and accepted items, and labels.

    Where more than three items share a column, all columns are drawn as heights instead.
    """
    mark = Text(" " * view.width)
    if target is not None and view.holds(target):
        mark = Text(" " * view.column(target) + "▼", style="bold yellow")
        mark.pad_right(view.width - len(mark))
    counts = [0] * view.width
    for z in items:
        # The benchmark's own items end on the full axis; a stretch leaves out what lies beside it.
        if view.holds(z) or (view.lo, view.hi) == (0.0, 1.0):
            counts[view.column(z)] += 1
    shaded = {
        column for lo, hi in gaps if hi >= view.lo and lo <= view.hi
        for column in range(view.column(lo), view.column(hi) + 1)
    }  # fmt: skip
    new = {view.column(z) for z in accepted if view.holds(z)}
    row = Text()
    for column, count in enumerate(counts):
        if column in new:
            row.append("◆", "bold green")
        elif count:
            row.append(_tick(count, max(counts)), "cyan")
        elif column in shaded:
            row.append("░", "yellow")
        else:
            row.append("·", "dim")
    return [mark, row, _labels(view, labels)]


def posterior_bar(
    view: View, lo: float | None, mean: float | None, hi: float | None, style: str = ""
) -> Text:
    """A 90% interval as a line with its mean; an arrow where it leaves the stretch."""
    bar = Text(" " * view.width)
    if lo is None or mean is None or hi is None:
        return bar
    cells = [" "] * view.width
    if hi >= view.lo and lo <= view.hi:
        for column in range(view.column(lo), view.column(hi) + 1):
            cells[column] = "━"
    if lo < view.lo:
        cells[0] = "◂"
    if hi > view.hi:
        cells[-1] = "▸"
    if view.holds(mean):
        cells[view.column(mean)] = "●"
    return Text("".join(cells), style=style)


def _tick(count: int, most: int) -> str:
    if most < len(_TICKS):
        return _TICKS[count]
    return _BLOCKS[max(1, round(count / most * (len(_BLOCKS) - 1)))]


def _labels(view: View, labels: Sequence[float]) -> Text:
    """Numbers under their places, the first ones first; one that would touch another is left out."""
    row = [" "] * view.width
    for z in labels:
        if not view.holds(z):
            continue
        text = number(z, 1 if (view.lo, view.hi) == (0.0, 1.0) else 3)
        start = min(max(view.column(z) - len(text) // 2, 0), view.width - len(text))
        around = row[max(start - 1, 0) : start + len(text) + 1]
        if start >= 0 and all(cell == " " for cell in around):
            row[start : start + len(text)] = text
    return Text("".join(row), style="dim")
