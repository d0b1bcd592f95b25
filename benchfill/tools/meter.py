"""Counts what calls to models cost, for the footer of a session and the summary of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from benchfill.tools.budget import Budget

__all__ = ["Meter"]


@dataclass(slots=True)
class Meter:
    """Running totals of one event loop (not for several threads).

    Parameters
    ----------
    calls
        Requests sent to endpoints, repeated ones included.
    from_ledger
        Replies that were paid for earlier and came from the ledger.
    retries
        How many of ``calls`` repeated a failed one.
    failed
        How many of ``calls`` gave no usable reply.
    input_tokens, output_tokens
        As servers reported.
    cost
        Sum over the calls that have a price; None while none has.
    unpriced, unmetered
        How many of ``calls`` have no price, and no reported usage.
    on_wait
        Told (endpoint, seconds, reason) before every wait between two tries.
    on_notice
        Told (endpoint, what) of something about an endpoint that its user should know.
    budget
        What may be spent; asked before every request, unlimited as a rule.
    """

    calls: int = 0
    from_ledger: int = 0
    retries: int = 0
    failed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    unpriced: int = 0
    unmetered: int = 0
    on_wait: Callable[[str, float, str], None] | None = None
    on_notice: Callable[[str, str], None] | None = None
    budget: Budget = field(default_factory=Budget)

    def count_call(
        self, *, tries: int, failed: bool, tokens: tuple[int | None, int | None], price: float | None
    ) -> None:
        """Count one request that was sent."""
        self.calls += 1
        self.retries += tries > 1
        self.failed += failed
        self.input_tokens += tokens[0] or 0
        self.output_tokens += tokens[1] or 0
        self.unmetered += tokens[1] is None
        if price is None:
            self.unpriced += 1
        else:
            self.cost = (self.cost or 0.0) + price

    def waiting(self, endpoint: str, seconds: float, reason: str) -> None:
        """Say that a call waits before its next try."""
        if self.on_wait is not None:
            self.on_wait(endpoint, seconds, reason)

    def notice(self, endpoint: str, what: str) -> None:
        """Say something about an endpoint, e.g. that it refuses a parameter that was set."""
        if self.on_notice is not None:
            self.on_notice(endpoint, what)
