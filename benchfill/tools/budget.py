"""The budget of a run: what a call may take is set aside before it goes out, and settled when it is back.

Nothing is counted twice and nothing in flight is forgotten, so that many calls at once overshoot no more than
one would. A call that does not fit while others are in flight waits for them: they rarely take all that was
set aside for them.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from benchfill.errors import BudgetSpent, InputError
from benchfill.tools.endpoint import Endpoint

__all__ = ["Budget", "Charge", "Limits", "Reservation", "check_limits"]

# Set aside for the output of an endpoint without max_tokens until a longer reply was seen there.
ASSUMED_OUTPUT = 4096


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be spent; None is without limit.

    Parameters
    ----------
    calls
        Requests that are sent, failed and repeated ones included.
    tokens
        In and out together.
    cost
        In the currency of the configured prices.
    seconds
        Of this session, from its first moment.
    """

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Charge:
    """What was spent, or is set aside; cost is None where there are no prices."""

    calls: int = 0
    tokens: int = 0
    cost: float | None = None

    def __add__(self, other: Charge) -> Charge:
        costs = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Charge(self.calls + other.calls, self.tokens + other.tokens, sum(costs) if costs else None)


@dataclass(eq=False, slots=True)
class Reservation:
    """One call's part of the budget, open until it is settled."""

    endpoint: Endpoint
    input_tokens: int
    output_tokens: int
    settled: bool = False

    @property
    def charge(self) -> Charge:
        price = self.endpoint.price(self.input_tokens, self.output_tokens)
        return Charge(1, self.input_tokens + self.output_tokens, price)


@dataclass(eq=False)
class Budget:
    """The budget of one run in one event loop.

    Parameters
    ----------
    limits
        What may be spent in all.
    spent
        What was spent before this session.
    go_on
        The command that goes on when the budget is spent, for the message.
    clock
        Seconds.
    """

    limits: Limits = field(default_factory=Limits)
    spent: Charge = field(default_factory=Charge)
    go_on: str = ""
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._began = self.clock()
        self._open: set[Reservation] = set()
        self._largest: Counter[str] = Counter()
        self._settled = asyncio.Event()
        self._refusal: BudgetSpent | None = None

    async def reserve(self, endpoint: Endpoint, request_bytes: int) -> Reservation:
        """Set aside what a call may take, waiting for calls in flight where that may help.

        A token is never shorter than a byte, so the bytes of the request bound its input; its output is
        bounded by ``max_tokens``. Where an endpoint has none, or disregards it, the largest reply seen there
        counts, at least 4,096 tokens; its first call goes out alone, so that there is one.

        Raises
        ------
        BudgetSpent
            It does not fit. Raised when no call is in flight any more, so that nobody who stops for it loses
            one. From then on every call is refused.
        """
        while True:
            need = self._need(endpoint, request_bytes)
            if self._refusal is None:
                refused = self._does_not_fit(need.charge, self.spent)
                self._refusal = None if refused is None else self._error(refused)
            if self._refusal is None and not self._must_wait(need):
                self._open.add(need)
                return need
            if self._refusal is not None and not self._open:
                raise self._refusal
            await self._settled.wait()

    def settle(
        self, reservation: Reservation, tokens: tuple[int | None, int | None], *, sent: bool
    ) -> Charge:
        """Replace what was set aside by what the call took; wakes those who wait.

        Parameters
        ----------
        tokens
            In and out as the server reported, None where it did not.
        sent
            Whether the server may bill what it did not report (a reply without usage, a lost connection):
            then what was set aside counts as spent.
        """
        if tokens[1] is not None:
            name = reservation.endpoint.name
            self._largest[name] = max(self._largest[name], tokens[1])
        unknown = (reservation.input_tokens, reservation.output_tokens) if sent else (0, 0)
        taken = [unknown[place] if reported is None else reported for place, reported in enumerate(tokens)]
        charge = Charge(1, sum(taken), reservation.endpoint.price(*taken))
        self.spent += charge
        self._close(reservation)
        return charge

    def release(self, reservation: Reservation) -> None:
        """Give back what was set aside for a call that never went out; nothing when it is settled."""
        if not reservation.settled:
            self._close(reservation)

    def _close(self, reservation: Reservation) -> None:
        reservation.settled = True
        self._open.discard(reservation)
        self._settled.set()
        self._settled = asyncio.Event()

    def _need(self, endpoint: Endpoint, request_bytes: int) -> Reservation:
        bound = ASSUMED_OUTPUT if endpoint.max_tokens is None else endpoint.max_tokens
        return Reservation(endpoint, request_bytes, max(bound, self._largest[endpoint.name]))

    def _must_wait(self, need: Reservation) -> bool:
        limits = self.limits
        if limits.calls is None and limits.tokens is None and limits.cost is None:
            return False
        together = self.spent
        for each in self._open:
            together += each.charge
        if self._does_not_fit(need.charge, together) is not None:
            return True
        bounded = limits.tokens is not None or limits.cost is not None
        unknown = need.endpoint.max_tokens is None and not self._largest[need.endpoint.name]
        return bounded and unknown and any(each.endpoint.name == need.endpoint.name for each in self._open)

    def _does_not_fit(self, need: Charge, spent: Charge) -> tuple[str, str] | None:
        """The flag of a limit that a call would exceed and what is left of it, None when it fits."""
        limits, after = self.limits, spent + need
        if limits.seconds is not None and self.clock() - self._began >= limits.seconds:
            return "--max-time", f"{limits.seconds:g} seconds are over"
        if limits.calls is not None and after.calls > limits.calls:
            return "--max-calls", f"{spent.calls:,} of {limits.calls:,} calls are made"
        if limits.tokens is not None and after.tokens > limits.tokens:
            left = max(0, limits.tokens - spent.tokens)
            return "--max-tokens", (
                f"{left:,} of {limits.tokens:,} tokens are left and the next call may take {need.tokens:,}"
            )
        if limits.cost is not None and (after.cost or 0.0) > limits.cost:
            left_cost = max(0.0, limits.cost - (spent.cost or 0.0))
            return "--max-cost", (
                f"{left_cost:.4f} of {limits.cost:g} is left and the next call may cost {need.cost or 0.0:.4f}"
            )
        return None

    def _error(self, refused: tuple[str, str]) -> BudgetSpent:
        flag, what = refused
        more = f" {flag} N" if self.go_on else ""
        remedy = (
            f"Everything is saved. Go on with: {self.go_on}{more}" if self.go_on else "Everything is saved."
        )
        return BudgetSpent(f"The budget is spent: {what} ({flag}).", remedy)


def check_limits(limits: Limits, endpoints: Sequence[Endpoint]) -> None:
    """Refuse a limit of the cost that could not be held.

    Raises
    ------
    InputError
        ``budget``: ``--max-cost``, and an endpoint has no prices or no ``max_tokens``.
    """
    if limits.cost is None:
        return
    lacking = {
        each.name: [
            *(["price_in and price_out"] if each.price_in is None or each.price_out is None else []),
            *(["max_tokens"] if each.max_tokens is None else []),
        ]
        for each in endpoints
    }
    named = [f"{name} has no {' and no '.join(what)}" for name, what in sorted(lacking.items()) if what]
    if named:
        others = f", and {len(named) - 1} more" if len(named) > 1 else ""
        raise InputError(
            f"--max-cost cannot be held: {named[0]}{others}.",
            "Set prices and max_tokens of every endpoint in benchfill.toml, or limit --max-calls or --max-tokens.",
            kind="budget",
        )
