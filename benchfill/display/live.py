"""The full terminal display: a live picture of the search, redrawn in place on stderr."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from benchfill.display.axis import View, axis, posterior_bar
from benchfill.display.console import print_table
from benchfill.display.plain import event_lines, meter_parts, waiting_text
from benchfill.display.session import CandidateView, GapView, Session, run_lines
from benchfill.display.tables import STATUS_STYLE, plan_table
from benchfill.display.text import counted, deviation, duration, interval, number, plain_text, z_interval

__all__ = ["FullDisplay", "picture"]

REFRESH = 4  # redraws a second; one takes some 15 ms
CANDIDATES = 4  # rows of candidates on the axis
GAPS = 6  # lines of gaps
LABEL = 14  # columns left of an axis
FIGURES = 34  # columns right of it, on terminals of at least WIDE columns
WIDE = 110

# Events that stay in the scrollback above the picture.
_LASTING = ("anchors", "gap_finished", "interrupted")
_SIGNS = {
    "open": "·",
    "searching": "▶",
    "filled": "✓",
    "accepted_outside_tolerance": "~",
    "skipped": "-",
}


class FullDisplay:
    """Shows the session while it runs and leaves plan and ended gaps behind in the scrollback."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._session = Session()
        self._metered = clock()
        # The refresh thread draws while events arrive; nothing is printed under this lock, because printing
        # redraws and would wait for it.
        self._lock = threading.Lock()
        self._live = Live(
            console=console, get_renderable=self._draw, transient=True, refresh_per_second=REFRESH
        )

    def __enter__(self) -> FullDisplay:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def __call__(self, event: Mapping[str, Any]) -> None:
        with self._lock:
            self._session.update(event)
            if event["event"] == "meter":
                self._metered = self._clock()
        if event["event"] == "plan":
            print_table(self._console, plan_table(event["gaps"]))
        elif event["event"] in _LASTING:
            style = STATUS_STYLE.get(event.get("status", ""), "")
            for line in event_lines(event, self._session):
                self._console.print(Text(line, style=style), soft_wrap=True)
        elif event["event"] == "summary":
            self._live.stop()

    def _draw(self) -> Group:
        with self._lock:
            since = self._clock() - self._metered
            return picture(self._session, self._console.width, self._console.height, since)


def picture(session: Session, width: int, height: int, since_meter: float = 0.0) -> Group:
    """The whole picture for a terminal of `width` columns and `height` rows.

    Parameters
    ----------
    since_meter
        Seconds since the last meter event, or since the start; elapsed and ETA go on by them.
    """
    head = [Text(line, style="bold" if not k else "") for k, line in enumerate(_header(session))]
    current = session.gaps.get(session.current) if session.current is not None else None
    body = _whole_axis(session, current, width) if session.diagnosis else []
    if current is not None:
        body += _close_up(session, current, width)
    tail = _gap_lines(session)
    foot = _footer(session, width, since_meter)
    rows = [*head, *body, *tail, *foot]
    if len(rows) >= height:
        # The gap in work and the footer matter more than the start of the picture.
        rows = rows[-(height - 1) :]
    for row in rows:
        row.no_wrap = True
        row.truncate(width, overflow="ellipsis")
    return Group(*rows)


def _header(session: Session) -> list[str]:
    return run_lines(session.started) if session.started else []


def _whole_axis(session: Session, current: GapView | None, width: int) -> list[Text]:
    diagnosis = session.diagnosis or {}
    figures = f"DDM {number(diagnosis['ddm'])}  Max Gap {number(diagnosis['max_gap'])}  top-3 gap sum "
    rows = axis(
        View(0.0, 1.0, _columns(width)),
        items=session.items(),
        gaps=[(gap.lo, gap.hi) for gap in session.gaps.values()],
        target=current.target if current else None,
        accepted=session.accepted(),
        labels=(0.0, 1.0, 0.2, 0.4, 0.6, 0.8, 0.1, 0.3, 0.5, 0.7, 0.9),
    )
    title = Text(f"\n{figures}{number(diagnosis['top3_sum'])}", style="dim")
    return [*title.split("\n"), *_labelled(("", "difficulty z", ""), rows)]


def _close_up(session: Session, gap: GapView, width: int) -> list[Text]:
    """The gap in work with its surroundings, and the candidates' 90% intervals on the same columns."""
    margin = max(0.75 * (gap.hi - gap.lo), 0.02)
    view = View(gap.lo - margin, gap.hi + margin, _columns(width))
    rows = axis(
        view,
        items=session.items(),
        gaps=[(gap.lo, gap.hi)],
        target=gap.target,
        accepted=session.accepted(),
        labels=(gap.target, gap.lo, gap.hi, view.lo, view.hi),
    )
    shown = _labelled(("", f"gap {gap.gap}", ""), rows)
    for candidate in gap.on_axis(CANDIDATES):
        style = STATUS_STYLE.get(candidate.status, "")
        bar = posterior_bar(view, candidate.z_lo90, candidate.z_mean, candidate.z_hi90, style)
        if width >= WIDE:
            bar.append(f"  {_figures(candidate)}", "dim")
        shown += _labelled((candidate.candidate,), [bar])
    return shown


def _figures(candidate: CandidateView) -> str:
    return f"deviation {deviation(candidate.expected_deviation)}, {counted(candidate.attempts, 'attempt')}"


def _columns(width: int) -> int:
    """Columns of an axis, the same for all of them so that they can be compared."""
    return width - LABEL - (FIGURES if width >= WIDE else 0)


def _labelled(labels: tuple[str, ...], rows: list[Text]) -> list[Text]:
    labelled = []
    for label, row in zip(labels, rows, strict=True):
        left = Text(label)
        left.truncate(LABEL - 2, overflow="ellipsis", pad=True)
        labelled.append(Text.assemble(left, "  ", row))
    return labelled


def _gap_lines(session: Session) -> list[Text]:
    """A line a gap; of many gaps those around the one in work."""
    gaps = sorted(session.gaps.values(), key=lambda gap: gap.gap)
    place = next((k for k, gap in enumerate(gaps) if gap.gap == session.current), 0)
    first = max(0, min(place - GAPS // 2, len(gaps) - GAPS))
    lines = [_gap_line(gap) for gap in gaps[first : first + GAPS]]
    hidden = len(gaps) - len(lines)
    if hidden:
        lines.append(Text(f"  and {hidden} more gaps", style="dim"))
    return [Text(), *lines] if lines else []


def _gap_line(gap: GapView) -> Text:
    line = f"{_SIGNS.get(gap.status, '×')} gap {gap.gap} {interval(gap.lo, gap.hi)}"
    if gap.ended:
        end = gap.finished
        line += f" {gap.status.replace('_', ' ')}"
        if end is not None and end["accepted"] is not None:
            place = z_interval(end["z_mean"], end["z_lo90"], end["z_hi90"])
            item = plain_text(str(end["accepted"]))
            unconfirmed = "" if end.get("confirmed") else ", unconfirmed"
            line += f": deviation {deviation(end['expected_deviation'])}, z {place}, {item}{unconfirmed}"
    elif gap.status == "searching":
        line += f" round {gap.round}"
        best = gap.best()
        if best is not None:
            line += f", best {_best(best, gap)}"
    else:
        line += f" target {number(gap.target)}"
    return Text(line, style=STATUS_STYLE.get(gap.status, ""))


def _best(best: CandidateView, gap: GapView) -> str:
    aim = "" if gap.tolerance is None else f" (wanted {deviation(gap.tolerance)})"
    place = z_interval(best.z_mean, best.z_lo90, best.z_hi90)
    off = deviation(best.expected_deviation)
    return f"deviation {off}{aim}, z {place}, {counted(best.attempts, 'attempt')}, {best.candidate}"


def _footer(session: Session, width: int, since_meter: float) -> list[Text]:
    rows = [Text()]
    if session.gaps:
        done = sum(gap.ended for gap in session.gaps.values())
        rows.append(_bar(done / len(session.gaps), f"{done}/{len(session.gaps)} gaps"))
    if session.stage is not None:
        rows.append(_stage_line(session.stage))
    if session.waiting is not None:
        rows.append(Text(waiting_text(session.waiting), style="yellow"))
    parts = meter_parts(session.meter, since_meter) if session.meter else [f"{duration(since_meter)} elapsed"]
    half = 3 if len(" | ".join(parts)) > width else len(parts)
    rows += [Text(" | ".join(part), style="dim") for part in (parts[:half], parts[half:]) if part]
    return rows


def _stage_line(stage: Mapping[str, Any]) -> Text:
    text = f"{plain_text(stage['name'])}: {plain_text(stage['message'])}"
    fraction = stage.get("fraction")
    return Text(text) if fraction is None else _bar(fraction, f"{100 * fraction:.0f}% {text}")


def _bar(fraction: float, text: str) -> Text:
    full = round(20 * min(max(fraction, 0.0), 1.0))
    return Text.assemble(("━" * full, "green"), ("─" * (20 - full), "dim"), f" {text}")
