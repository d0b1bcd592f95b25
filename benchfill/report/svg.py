"""A plot as inline SVG: data coordinates in, elements with CSS classes out, so that the page's colours rule."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from benchfill.display.text import plain_text

__all__ = ["Plot", "safe", "ticks"]

WIDTH = 760.0
_FONT = 6.4  # mean width of a character of the labels


def safe(text: object) -> str:
    """Foreign text as HTML: no markup, no control characters."""
    return escape(plain_text(str(text)), quote=True)


def ticks(lo: float, hi: float, about: int = 8) -> list[float]:
    """Round numbers inside [lo, hi], about so many."""
    rough = (hi - lo) / max(1, about)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= rough * 0.999)
    first = math.ceil(lo / step - 1e-9)
    return [round(at * step, 12) + 0.0 for at in range(first, math.floor(hi / step + 1e-9) + 1)]


class Plot:
    """A frame with linear axes.

    Parameters
    ----------
    x, y
        Ranges in data units; y grows upwards, and downwards where its range is given descending.
    height
        Of the frame without labels, pixels.
    left
        Room for labels left of the frame, pixels.
    name
        Unique on the page: what is drawn outside the frame is cut off by it.
    """

    def __init__(
        self,
        name: str,
        x: tuple[float, float],
        y: tuple[float, float],
        *,
        height: float = 260.0,
        left: float = 56.0,
        top: float = 14.0,
        width: float = WIDTH,
    ) -> None:
        self._name, self._xs, self._ys = name, x, y
        self.left, self.right, self.top, self.bottom = left, width - 12.0, top, top + height
        self._width = width
        self._inside: list[str] = []
        self._outside: list[str] = []
        self._below = 8.0

    def x(self, value: float) -> float:
        """Column of a data value, pixels."""
        lo, hi = self._xs
        return self.left + (value - lo) / (hi - lo) * (self.right - self.left)

    def y(self, value: float) -> float:
        """Row of a data value, pixels."""
        lo, hi = self._ys
        return self.bottom - (value - lo) / (hi - lo) * (self.bottom - self.top)

    def line(self, points: Iterable[tuple[float, float]], style: str) -> None:
        """A polyline."""
        self._inside.append(f'<polyline class="{style}" points="{self._points(points)}"/>')

    def area(self, points: Iterable[tuple[float, float]], style: str) -> None:
        """A filled polygon."""
        self._inside.append(f'<polygon class="{style}" points="{self._points(points)}"/>')

    def segment(self, x0: float, y0: float, x1: float, y1: float, style: str) -> None:
        """A straight line."""
        self._inside.append(
            f'<line class="{style}" x1="{self.x(x0):.1f}" y1="{self.y(y0):.1f}" '
            f'x2="{self.x(x1):.1f}" y2="{self.y(y1):.1f}"/>'
        )

    def rect(self, x0: float, x1: float, y0: float, y1: float, style: str, tip: str = "") -> None:
        """A rectangle between two x and two y."""
        left, right = sorted((self.x(x0), self.x(x1)))
        top, bottom = sorted((self.y(y0), self.y(y1)))
        self._inside.append(
            f'<rect class="{style}" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
            f'height="{bottom - top:.1f}">{_tip(tip)}</rect>'
        )

    def dot(self, x: float, y: float, style: str, tip: str = "", radius: float = 3.0) -> None:
        """A point with a tip that shows when it is pointed at."""
        self._inside.append(
            f'<circle class="{style}" cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="{radius:g}">{_tip(tip)}</circle>'
        )

    def label(self, x: float, y: float, text: str, style: str = "label", anchor: str = "middle") -> None:
        """Text at a place in the frame."""
        self._inside.append(
            f'<text class="{style}" x="{self.x(x):.1f}" y="{self.y(y):.1f}" text-anchor="{anchor}">{safe(text)}</text>'
        )

    def x_axis(self, title: str) -> None:
        """Ticks, numbers and title below the frame."""
        for tick in ticks(*self._xs):
            at = self.x(tick)
            self._outside.append(
                f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{self.top:.1f}" y2="{self.bottom:.1f}"/>'
            )
            self._outside.append(_text(at, self.bottom + 15, f"{tick:g}"))
        middle = 0.5 * (self.left + self.right)
        self._outside.append(_text(middle, self.bottom + 34, title, style="title"))
        self._below = 42.0

    def top_axis(self, title: str, places: Sequence[tuple[float, str]]) -> None:
        """A second scale above the frame: (data x, label)."""
        for place, text in places:
            at = self.x(place)
            self._outside.append(
                f'<line class="tick" x1="{at:.1f}" x2="{at:.1f}" y1="{self.top - 4:.1f}" y2="{self.top:.1f}"/>'
            )
            self._outside.append(_text(at, self.top - 7, text))
        self._outside.append(_text(0.5 * (self.left + self.right), self.top - 24, title, style="title"))

    def y_axis(self, title: str) -> None:
        """Ticks, numbers and title left of the frame."""
        for tick in ticks(min(self._ys), max(self._ys), 5):
            at = self.y(tick)
            self._outside.append(
                f'<line class="grid" x1="{self.left:.1f}" x2="{self.right:.1f}" y1="{at:.1f}" y2="{at:.1f}"/>'
            )
            self._outside.append(_text(self.left - 6, at + 4, f"{tick:g}", anchor="end"))
        self.y_title(title)

    def y_title(self, title: str) -> None:
        """Title left of the frame, turned."""
        middle = 0.5 * (self.top + self.bottom)
        self._outside.append(
            f'<text class="title" text-anchor="middle" transform="translate(13 {middle:.1f}) rotate(-90)">'
            f"{safe(title)}</text>"
        )

    def row_label(self, y: float, text: str, *, size: float = 11.0) -> None:
        """A name left of the frame at a data row, shortened to the room there is."""
        most = int((self.left - 30) / (_FONT * size / 11.0))
        text = plain_text(text)
        shown = text if len(text) <= most else f"{text[: most - 1]}…"
        self._outside.append(
            f'<text class="label" x="{self.left - 6:.1f}" y="{self.y(y) + size * 0.34:.1f}" text-anchor="end" '
            f'style="font-size:{size:g}px">{_tip(text)}{safe(shown)}</text>'
        )

    def render(self, description: str) -> str:
        """The whole element; the description is for those who cannot see it."""
        height = self.bottom + self._below
        frame = (
            f'x="{self.left:.1f}" y="{self.top:.1f}" width="{self.right - self.left:.1f}" '
            f'height="{self.bottom - self.top:.1f}"'
        )
        return "\n".join(
            [
                f'<svg viewBox="0 0 {self._width:.0f} {height:.0f}" role="img" aria-label="{safe(description)}">',
                f'<defs><clipPath id="{self._name}"><rect {frame}/></clipPath></defs>',
                *self._outside,
                f'<rect class="frame" {frame}/>',
                f'<g clip-path="url(#{self._name})">',
                *self._inside,
                "</g></svg>",
            ]
        )

    def _points(self, points: Iterable[tuple[float, float]]) -> str:
        return " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)


def _tip(text: str) -> str:
    return f"<title>{safe(text)}</title>" if text else ""


def _text(x: float, y: float, text: str, *, anchor: str = "middle", style: str = "label") -> str:
    return f'<text class="{style}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{safe(text)}</text>'
