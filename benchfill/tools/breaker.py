"""A circuit breaker: an endpoint that only fails is left alone for a while, then tried with one call."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchfill.errors import CallFailed, EndpointDown, RetryableCall

__all__ = ["SERVER_FAULTS", "Breaker"]

# Failures that say something of the endpoint and not of the one call.
ENDPOINT_FAULTS = frozenset(
    {
        "unreachable",
        "connection",
        "timeout",
        "loading",
        "server_error",
        "not_json",
        "no_choices",
        "error_in_200",
    }
)
# Those of them that say something of the server, and so of all its models.
SERVER_FAULTS = frozenset({"unreachable", "connection"})
# Reasons for which no call will succeed in this session. Without tools the other tool modes may still work.
FOR_GOOD = frozenset({"bad_key", "no_credit", "unknown_model", "not_found"})
# While the one trial is out, the others look again after this many seconds.
GLANCE = 0.25


@dataclass(eq=False)
class Breaker:
    """The breaker of one endpoint, or of a server for all its models.

    Parameters
    ----------
    failures
        Calls in a row that fail at their first try before it opens. Later tries do not count: a call that failed
        before says more of itself than of the endpoint.
    cool_down, longest
        Seconds without any call after it opened, doubled each time the trial fails, up to the longest.
    patience
        Seconds of an outage after which calls no longer wait for its end.
    faults, final
        Reasons of failures that count, and those after which no call goes out any more.
    clock
        Seconds.
    """

    failures: int = 5
    cool_down: float = 5.0
    longest: float = 60.0
    patience: float = 120.0
    faults: frozenset[str] = ENDPOINT_FAULTS
    final: frozenset[str] = FOR_GOOD
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._in_a_row = 0
        self._pause = 0.0
        self._until: float | None = None
        self._since = 0.0
        self._trial = False
        self._reason = ""
        self._ended: EndpointDown | None = None

    @property
    def open(self) -> bool:
        """Whether calls are held back."""
        return self._until is not None or self._ended is not None

    def admit(self, name: str) -> bool:
        """Let a call out, or say why not; every admitted call is followed by a report or withdrawn.

        Parameters
        ----------
        name
            Of the endpoint, for the message.

        Returns
        -------
        bool
            Whether it is the trial that decides whether the rest is over.

        Raises
        ------
        RetryableCall
            Reason ``circuit_open``: the endpoint rests; ``after`` says how long.
        EndpointDown
            It has failed for longer than the patience, or for good.
        """
        if self._ended is not None:
            raise EndpointDown(self._ended.message, self._ended.reason)
        if self._until is None:
            return False
        now = self.clock()
        if now >= self._until and not self._trial:
            self._trial = True
            return True
        if now - self._since > self.patience:
            failed = f"{name}: has only failed for {now - self._since:.0f} s ({self._reason})"
            raise EndpointDown(failed, self._reason)
        after = GLANCE if self._trial else self._until - now
        rests = f"{name}: left alone after failures ({self._reason})"
        raise RetryableCall(rests, "circuit_open", after)

    @contextlib.contextmanager
    def passing(self, name: str, *, first: bool) -> Iterator[Callable[[CallFailed | None], None]]:
        """Admit a call for as long as it takes; gives what it is reported by, and takes it back where it is not.

        Raises
        ------
        RetryableCall, EndpointDown
            As :meth:`admit`.
        """
        trial, ended = self.admit(name), False

        def report(fault: CallFailed | None) -> None:
            nonlocal ended
            ended = True
            self.report(fault, first=first, trial=trial)

        try:
            yield report
        finally:
            if not ended:
                self.withdraw(trial=trial)

    def report(self, fault: CallFailed | None, *, first: bool, trial: bool) -> None:
        """Take in how an admitted call ended.

        Parameters
        ----------
        fault
            None for a usable reply. A fault of the call alone shows that the endpoint works.
        first
            Whether it was the first try of its call.
        trial
            What :meth:`admit` returned for it.
        """
        if isinstance(fault, EndpointDown) and fault.reason in self.final:
            self._ended = fault
        elif fault is None or fault.reason not in self.faults:
            self._in_a_row, self._until, self._trial = 0, None, False
        elif self._until is not None:
            # Failures of calls that were out before it opened are no news.
            if trial:
                self._pause = min(2 * self._pause, self.longest)
                self._rest(fault)
        elif first:
            self._in_a_row += 1
            if self._in_a_row >= self.failures:
                self._pause, self._since = self.cool_down, self.clock()
                self._rest(fault)

    def withdraw(self, *, trial: bool) -> None:
        """Take back an admitted call that ended without an outcome: it was cancelled, or never sent."""
        if trial:
            self._trial = False

    def _rest(self, fault: CallFailed) -> None:
        self._until, self._trial, self._reason = self.clock() + self._pause, False, fault.reason
