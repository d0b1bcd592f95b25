"""The tree of errors. Each carries one plain line for the user and the exit code of the command.

::

    BenchfillError                 1   failed
    ├── InputError                 2   a file, flag or setting is unusable: what, where, what to do
    ├── GateRefused                1   a fit did not pass its gate, nothing downstream may use it
    ├── BudgetSpent                3   the budget is spent; everything is saved
    ├── RunPaused                  5   paused and resumable, e.g. too few models of the pool left
    ├── UnitLost                   1   a unit of work killed every worker it was given to
    └── CallFailed                 1   one call to a model is over: its attempt is missing, never wrong
        ├── RetryableCall              the same call may be asked again
        └── EndpointDown               no call to this endpoint can succeed (bad key, unknown model)

Exit codes besides: 0 done, 4 ended with gaps not filled, 130 / 143 interrupted by SIGINT / SIGTERM.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "BenchfillError",
    "BudgetSpent",
    "CallFailed",
    "EndpointDown",
    "GateRefused",
    "InputError",
    "RetryableCall",
    "RunPaused",
    "UnitLost",
]


class BenchfillError(Exception):
    """Something a user can read: ``str(error)`` is one line, without traceback, path of ours or secret.

    Parameters
    ----------
    message
        What happened and where.
    remedy
        What to do about it, printed behind the message.
    """

    exit_code = 1

    def __init__(self, message: str, remedy: str = "") -> None:
        self.message = message
        self.remedy = remedy
        super().__init__(f"{message} {remedy}".strip())

    def __reduce__(self) -> tuple[Any, ...]:
        # Errors cross processes: what exceptions pickle by themselves are the arguments of the base alone.
        return _remade, (type(self), self.args, self.__dict__)


def _remade(kind: type[BenchfillError], arguments: tuple[Any, ...], known: dict[str, Any]) -> BenchfillError:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(known)
    return error


class InputError(BenchfillError):
    """A file, a flag or a setting cannot be used.

    Parameters
    ----------
    kind
        Stable name of the fault for programs, e.g. ``duplicate_item``, ``bad_json_line``.
    path, lines
        Where: the file as the user named it and one-based line numbers.
    """

    exit_code = 2

    def __init__(
        self,
        message: str,
        remedy: str = "",
        *,
        kind: str = "usage",
        path: str | None = None,
        lines: tuple[int, ...] = (),
    ) -> None:
        self.kind = kind
        self.path = path
        self.lines = lines
        super().__init__(message, remedy)


class GateRefused(BenchfillError):
    """A fit did not pass its gate; nothing downstream may use it."""


class BudgetSpent(BenchfillError):
    """The budget of calls, tokens, cost or time is spent; the run can be resumed with a larger one."""

    exit_code = 3


class RunPaused(BenchfillError):
    """The run cannot go on now and loses nothing by waiting."""

    exit_code = 5


class UnitLost(BenchfillError):
    """A unit of work whose workers died again and again; what the others found is kept."""


class CallFailed(BenchfillError):
    """One call to a model is over without a usable reply.

    Parameters
    ----------
    reason
        Short stable name, stored with the missing attempt, e.g. ``attempts_exhausted``, ``timeout``.
    """

    def __init__(self, message: str, reason: str) -> None:
        self.reason = reason
        super().__init__(message)


class RetryableCall(CallFailed):
    """The same call may be asked again.

    Parameters
    ----------
    after
        Seconds the server asked to wait (``Retry-After``), None when it said nothing.
    """

    def __init__(self, message: str, reason: str, after: float | None = None) -> None:
        self.after = after
        super().__init__(message, reason)


class EndpointDown(CallFailed):
    """No call to this endpoint can succeed: bad key, unknown model, refused connection after all retries."""
