"""Plain lines for logs and pipes: no animation, nothing redrawn, no more lines than there is news."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.text import Text

from benchfill.display.session import CandidateView, Session, run_lines
from benchfill.display.tables import STATUS_STYLE, gap_check_line, there
from benchfill.display.text import (
    amount,
    cost,
    counted,
    deviation,
    duration,
    interval,
    number,
    plain_text,
    z_interval,
)

__all__ = ["PlainDisplay", "event_lines", "meter_parts", "waiting_text"]

METER_EVERY = 30.0  # seconds between two lines of the meter


class PlainDisplay:
    """Prints the lines of each event on stderr; the caller prints the result at the end."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._session = Session()
        self._throttle = _Throttle()

    def __enter__(self) -> PlainDisplay:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def __call__(self, event: Mapping[str, Any]) -> None:
        self._session.update(event)
        if self._throttle.lets_through(event):
            style = STATUS_STYLE.get(event.get("status", ""), "")
            for line in event_lines(event, self._session):
                self._console.print(Text(line, style=style), soft_wrap=True)


class _Throttle:
    """Keeps events that repeat themselves to a rate a log can bear."""

    def __init__(self) -> None:
        self._stage: tuple[str, str, int] | None = None
        self._meter = 0.0
        self._posteriors: dict[tuple[int, str], int] = {}

    def lets_through(self, event: Mapping[str, Any]) -> bool:
        """Stages by quarters, the meter by time, a candidate's posterior each time its attempts doubled."""
        if event["event"] == "stage":
            fraction = event.get("fraction")
            # A message that counts along with its fraction is not a new line each time.
            message = event["message"] if fraction is None else ""
            stage = (event["name"], message, 0 if fraction is None else int(fraction * 4))
            changed, self._stage = stage != self._stage, stage
            return changed
        if event["event"] == "meter":
            due = bool(event["elapsed"] - self._meter >= METER_EVERY)
            if due:
                self._meter = event["elapsed"]
            return due
        if event["event"] == "posterior":
            key = (event["gap"], str(event["candidate"]))
            due = bool(event["attempts"] >= 2 * self._posteriors.get(key, 0))
            if due:
                self._posteriors[key] = event["attempts"]
            return due
        return True


def event_lines(event: Mapping[str, Any], session: Session) -> list[str]:
    """The plain lines of one event; the session has taken it in already. Empty for events without any."""
    writer = _LINES.get(event["event"])
    return [] if writer is None else list(writer(event, session))


def posterior_text(view: CandidateView | Mapping[str, Any]) -> str:
    """Where a candidate stands, in words."""
    if isinstance(view, CandidateView):
        mean, lo, hi = view.z_mean, view.z_lo90, view.z_hi90
        off, attempts = view.expected_deviation, view.attempts
    else:
        mean, lo, hi = view["z_mean"], view["z_lo90"], view["z_hi90"]
        off, attempts = view["expected_deviation"], view["attempts"]
    return (
        f"z {z_interval(mean, lo, hi)}, expected deviation {deviation(off)}, {counted(attempts, 'attempt')}"
    )


def _run_started(event: Mapping[str, Any], session: Session) -> Iterator[str]:
    yield from run_lines(event)


def _stage(event: Mapping[str, Any], session: Session) -> Iterator[str]:
    fraction = event.get("fraction")
    share = "" if fraction is None else f" ({100 * fraction:.0f}%)"
    yield f"{plain_text(event['name'])}: {plain_text(event['message'])}{share}"


def _diagnosis(event: Mapping[str, Any], session: Session) -> Iterator[str]:
    yield (
        f"benchmark: DDM {number(event['ddm'])}, Max Gap {number(event['max_gap'])}, "
        f"top-3 gap sum {number(event['top3_sum'])}, {len(event['items'])} items"
    )


def _plan(event: Mapping[str, Any], session: Session) -> Iterator[str]:
    for gap in event["gaps"]:
        expected = gap.get("expected_attempts")
        attempts = "" if expected is None else f", about {expected:,.0f} attempts"
        known = "" if gap.get("p_empty") is None else f", {there(gap)}"
        yield (
            f"plan: gap {gap['gap']} {interval(gap['lo'], gap['hi'])} width {number(gap['width'])}, "
            f"target {number(gap['target'])}, tolerance {deviation(gap.get('tolerance'))}{attempts}{known}"
        )


def _gap_check(event: Mapping[str, Any], session: Session) -> Iterator[str]:
    yield f"gaps: {gap_check_line(event)}"


def _anchors(event: Mapping[str, Any], session: Session) -> Iterator[str]:
    yield f"anchors: {', '.join(plain_text(item) for item in event['items'])}, {event['attempts']} attempts a model"
    for shift in event["shifts"]:
        model = plain_text(shift["model"])
        if shift["shift"] is None:
            yield f"anchors: {model} did not answer"
            continue
        off = ", beyond its error" if shift["drifted"] else ""
        yield f"anchors: {model} {shift['shift']:+.2f} logits (standard error {shift['se']:.2f}){off}"


def _gap_started(event: Mapping[str, Any], session: Session) -> Iterator[str]:
    yield (
        f"gap {event['gap']} of {event['of']}: {interval(event['lo'], event['hi'])}, "
        f"target {number(event['target'])}, tolerance {deviation(event['tolerance'])}"
    )


def _round_started(event: Mapping[str, Any], session: Session) -> Iterator[str]:
    parents = ", ".join(plain_text(str(parent)) for parent in event["parents"])
    yield f"gap {event['gap']} round {event['round']}: parents {parents}"


def _candidate(event: Mapping[str, Any], session: Session) -> Iterator[str]:
    reason = plain_text(event.get("reason") or "")
    line = (
        f"gap {event['gap']} round {event['round']} {plain_text(str(event['candidate']))}: {event['status']}"
    )
    view = session.candidate(event)
    if view is not None and view.z_mean is not None and event["status"] in ("accepted", "dropped"):
        line += f", {posterior_text(view)}"
    yield f"{line} ({reason})" if reason else line


def _posterior(event: Mapping[str, Any], session: Session) -> Iterator[str]:
    name = plain_text(str(event["candidate"]))
    yield f"gap {event['gap']} round {event['round']} {name}: {posterior_text(event)}"


def _meter(event: Mapping[str, Any], session: Session) -> Iterator[str]:
    yield " | ".join(meter_parts(event))


def meter_parts(event: Mapping[str, Any], since: float = 0.0) -> list[str]:
    """Calls, tokens, cost, retries and time of a meter event, `since` seconds after it."""
    ledger = f" ({event['from_ledger']:,} from the ledger)" if event["from_ledger"] else ""
    parts = [
        counted(event["calls"], "call") + ledger,
        f"{amount(event['tokens_in'])} tokens in, {amount(event['tokens_out'])} out",
        cost(event["cost"], event["calls"]),
        counted(event["retries"], "retry"),
        f"{duration(event['elapsed'] + since)} elapsed",
    ]
    if event["eta"] is not None:
        parts.append(f"ETA {duration(event['eta'] - since)}")
    return parts


def _waiting(event: Mapping[str, Any], session: Session) -> Iterator[str]:
    yield waiting_text(event)


def waiting_text(event: Mapping[str, Any]) -> str:
    """What the run waits for."""
    endpoint, reason = plain_text(event["endpoint"]), plain_text(event["reason"])
    return f"waiting {duration(event['seconds'])} for {endpoint}: {reason}"


def _gap_finished(event: Mapping[str, Any], session: Session) -> Iterator[str]:
    yield finished_text(event)


def finished_text(event: Mapping[str, Any]) -> str:
    """How the search of a gap ended."""
    line = f"gap {event['gap']} {event['status'].replace('_', ' ')}"
    if event["accepted"] is not None:
        line += f": {plain_text(str(event['accepted']))}, {posterior_text(event)}"
        line += ", confirmed by fresh attempts" if event.get("confirmed") else ", unconfirmed"
        line += fit_text(event.get("fit"))
    return f"{line}, {counted(event['rounds'], 'round')}, {counted(event['calls'], 'call')}"


def fit_text(fit: Mapping[str, Any] | None) -> str:
    """How an item's answers fit the pool, after a comma; nothing where it is not known."""
    if fit is None:
        return ""
    beside = f"misfit {fit['residual']:.2f} logits beside {fit['own_residual']:.2f} of the benchmark's items"
    return f", {'misfits: ' if fit['misfits'] else ''}fit p {fit['p']:.2g}, {beside}"


def _confirmation(event: Mapping[str, Any], session: Session) -> Iterator[str]:
    line = f"gap {event['gap']} {plain_text(str(event['candidate']))}: "
    if event["verdict"] == "asking":
        yield line + f"{counted(event['attempts'], 'fresh attempt')} of all models to confirm it"
    else:
        yield line + f"{event['verdict']} by fresh attempts: {posterior_text(event)}"


def _interrupted(event: Mapping[str, Any], session: Session) -> Iterator[str]:
    yield f"interrupted by {_signal_name(event['signal'])}; go on with: {plain_text(event['resume'])}"


def _signal_name(signum: int | str) -> str:
    return plain_text(signum) if isinstance(signum, str) else signal.Signals(signum).name


_LINES = {
    "run_started": _run_started,
    "stage": _stage,
    "diagnosis": _diagnosis,
    "plan": _plan,
    "anchors": _anchors,
    "gap_check": _gap_check,
    "gap_started": _gap_started,
    "round_started": _round_started,
    "candidate": _candidate,
    "posterior": _posterior,
    "meter": _meter,
    "waiting": _waiting,
    "confirmation": _confirmation,
    "gap_finished": _gap_finished,
    "interrupted": _interrupted,
}
