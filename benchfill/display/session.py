"""What has happened in a run so far, gathered from its events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchfill.display.text import plain_text

__all__ = ["CandidateView", "GapView", "Session", "run_lines"]

Event = Mapping[str, Any]


@dataclass(slots=True)
class CandidateView:
    """A candidate: its state and, once it was answered, its posterior (z, 0-1)."""

    candidate: str
    round: int
    status: str = ""
    reason: str = ""
    z_mean: float | None = None
    z_lo90: float | None = None
    z_hi90: float | None = None
    expected_deviation: float | None = None
    attempts: int = 0


@dataclass(slots=True)
class GapView:
    """A gap of the plan: where it lies, how far its search is, and how it ended."""

    gap: int
    lo: float
    hi: float
    target: float
    tolerance: float | None = None
    status: str = "open"
    round: int = 0
    candidates: dict[str, CandidateView] = field(default_factory=dict)
    finished: Event | None = None

    @property
    def ended(self) -> bool:
        """Whether the search of the gap is over, in this session or before it was resumed."""
        return self.status not in ("open", "searching")

    def best(self) -> CandidateView | None:
        """The measured candidate of smallest expected deviation, ties by id."""
        measured = [c for c in self.candidates.values() if c.expected_deviation is not None]
        return min(measured, key=lambda c: (c.expected_deviation or 0.0, c.candidate), default=None)

    def on_axis(self, limit: int) -> list[CandidateView]:
        """The measured candidates of this round, the best of all beside them, at most `limit`, best first."""
        best = self.best()
        shown = [
            c
            for c in self.candidates.values()
            if c.z_mean is not None and (c.round == self.round or c is best)
        ]
        shown.sort(key=lambda c: (c.expected_deviation or 0.0, c.candidate))
        return shown[:limit]


@dataclass(slots=True)
class Session:
    """State of the display of one run."""

    started: Event | None = None
    stage: Event | None = None
    diagnosis: Event | None = None
    meter: Event | None = None
    waiting: Event | None = None
    summary: Event | None = None
    gaps: dict[int, GapView] = field(default_factory=dict)
    current: int | None = None

    def update(self, event: Event) -> None:
        """Take in one event; names that are not known are passed over."""
        handler = getattr(self, f"_on_{event['event']}", None)
        if handler is not None:
            handler(event)
        if event["event"] not in ("waiting", "meter"):
            self.waiting = None

    def items(self) -> list[float]:
        """Difficulties z of the benchmark's items."""
        items = self.diagnosis["items"] if self.diagnosis else []
        return [item["z"] for item in items if item["z"] is not None]

    def accepted(self) -> list[float]:
        """Difficulties z of the items accepted so far."""
        done = [gap.finished for gap in self.gaps.values() if gap.finished]
        return [end["z_mean"] for end in done if end["accepted"] is not None and end["z_mean"] is not None]

    def _on_run_started(self, event: Event) -> None:
        self.started = event

    def _on_stage(self, event: Event) -> None:
        self.stage = event

    def _on_diagnosis(self, event: Event) -> None:
        self.diagnosis = event

    def _on_meter(self, event: Event) -> None:
        self.meter = event

    def _on_waiting(self, event: Event) -> None:
        self.waiting = event

    def _on_summary(self, event: Event) -> None:
        self.summary = event

    def _on_plan(self, event: Event) -> None:
        planned = {gap["gap"] for gap in event["gaps"]}
        # A check of the gaps may leave fewer.
        self.gaps = {number: view for number, view in self.gaps.items() if number in planned}
        for gap in event["gaps"]:
            self.gaps[gap["gap"]] = GapView(
                gap["gap"],
                gap["lo"],
                gap["hi"],
                gap["target"],
                gap.get("tolerance"),
                gap.get("status", "open"),
            )

    def _on_gap_started(self, event: Event) -> None:
        view = self._gap(event)
        view.tolerance = event["tolerance"]
        self._search(view)

    def _on_round_started(self, event: Event) -> None:
        view = self.gaps.get(event["gap"])
        if view is not None:
            view.round = event["round"]
            self._search(view)

    def _search(self, gap: GapView) -> None:
        # A resumed run may begin in the middle of a gap.
        gap.status, self.current, self.stage = "searching", gap.gap, None

    def _on_candidate(self, event: Event) -> None:
        view = self.candidate(event)
        if view is not None:
            view.status, view.reason = event["status"], plain_text(event.get("reason") or "")

    def _on_posterior(self, event: Event) -> None:
        view = self.candidate(event)
        if view is not None:
            view.z_mean, view.z_lo90, view.z_hi90 = event["z_mean"], event["z_lo90"], event["z_hi90"]
            view.expected_deviation, view.attempts = event["expected_deviation"], event["attempts"]

    def _on_gap_finished(self, event: Event) -> None:
        view = self._gap(event)
        view.status, view.finished = event["status"], event
        if self.current == view.gap:
            self.current = None

    def _gap(self, event: Event) -> GapView:
        # A gap named by hand, or taken up again by a resume, may come without a plan.
        return self.gaps.setdefault(
            event["gap"], GapView(event["gap"], event["lo"], event["hi"], event["target"])
        )

    def candidate(self, event: Event) -> CandidateView | None:
        """The candidate an event speaks of; None when its gap is unknown."""
        gap = self.gaps.get(event["gap"])
        if gap is None:
            return None
        name = plain_text(str(event["candidate"]))
        return gap.candidates.setdefault(name, CandidateView(name, event["round"]))


def run_lines(event: Event) -> list[str]:
    """What runs against what: one line for the run, one for each endpoint."""
    world = plain_text(event.get("world") or "")
    version = plain_text(event.get("version") or "")
    parts = [f"run {plain_text(event['run'])}", f"seed {event['seed']}"]
    if world:
        parts.append(f"{world} world {version}".strip())
    parts.append(f"{event['n_items']} items, {event['n_models']} models")
    lines = [" | ".join(parts)]
    places: dict[str, dict[str, list[str]]] = {}
    for endpoint in event["endpoints"]:
        roles = places.setdefault(plain_text(endpoint["where"]), {})
        roles.setdefault(plain_text(endpoint["role"]), []).append(plain_text(endpoint["model"]))
    for where, roles in places.items():
        lines.append(f"{where}: {', '.join(_role(role, models) for role, models in roles.items())}")
    return lines


def _role(role: str, models: list[str]) -> str:
    if len(models) > 1:
        return f"{role} ({len(models)} models)"
    # The models of the embedded endpoint are called like their roles.
    return role if models[0] == role else f"{role} {models[0]}"
