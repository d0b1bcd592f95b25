"""Units of work, and what an engine does with them.

A unit is a top-level function with its arguments: a search of one gap, the fit of one benchmark, a refit on half of
the models, one seed of an ablation. An engine brings units to workers, runs a unit again whose worker died, and gives
up one that kills every worker it is given to. It hands results back and decides nothing.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from benchfill.errors import BenchfillError, UnitLost

__all__ = [
    "TRIES",
    "Desk",
    "Engine",
    "EngineName",
    "Failed",
    "Line",
    "Outcome",
    "Unit",
    "answered",
    "lost",
    "run_unit",
]

EngineName = Literal["local", "ray"]

# A unit whose worker died as often is given up: it is the unit, and not the machines.
TRIES = 3


class Line(Protocol):
    """A worker's way to the process that hands out the work."""

    async def ask(self, question: Any) -> Any:
        """The desk's answer; many may be awaited at once, none waits for another.

        Raises
        ------
        BenchfillError
            The desk raised it.
        """
        ...

    def tell(self, news: Any) -> None:
        """Hand over something that needs no answer, from any thread; it arrives in order, before the result."""
        ...

    async def close(self) -> None:
        """Wait until everything that was told is on its way."""
        ...


class Desk(Protocol):
    """The other end of the lines, in the process that hands out the work: state lives there, and only there."""

    async def answer(self, question: Any) -> Any: ...

    def hear(self, news: Any) -> None: ...


@dataclass(frozen=True, slots=True)
class Unit:
    """One piece of work.

    Parameters
    ----------
    name
        For messages; each in one call of `Engine.run` has another.
    work
        A top-level function of this package. With a desk it is a coroutine function and gets a `Line` as its last
        argument.
    arguments
        Plain values and dataclasses: they are pickled.
    """

    name: str
    work: Callable[..., Any]
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Failed:
    """A unit ended with an error of its own, or was given up (`UnitLost`)."""

    error: BenchfillError


# What came of a unit: its result, or why there is none.
Outcome = Any


class Engine(Protocol):
    """Runs units on workers."""

    async def run(
        self,
        units: Sequence[Unit],
        *,
        at_once: int,
        desk: Desk | None = None,
        done: Callable[[str], None] | None = None,
    ) -> dict[str, Outcome]:
        """Run all units; each ends, whatever becomes of the others.

        Parameters
        ----------
        at_once
            Units that run at the same time at most.
        desk
            Answers the questions of the units, many at once.
        done
            Told the name of each unit that has ended. An error of its own, or of `Desk.hear`, ends the work.

        Returns
        -------
        dict
            By name, in the order of the units: the result, or a `Failed`.
        """
        ...

    def close(self) -> None:
        """End the workers, whatever they are doing."""
        ...


def run_unit(unit: Unit, open_line: Callable[[], Line] | None) -> Outcome:
    """A unit's result, or its error as a value: an error crosses to another process as what it is.

    Parameters
    ----------
    open_line
        Called in the event loop of the unit; None where there is no desk.
    """
    import asyncio

    try:
        if open_line is None:
            return unit.work(*unit.arguments)
        return asyncio.run(_with_line(unit, open_line))
    except BenchfillError as error:
        return Failed(_with_trace(error))
    except Exception as error:
        return Failed(_with_trace(_unexpected(unit.name, error), error))


async def _with_line(unit: Unit, open_line: Callable[[], Line]) -> Any:
    line = open_line()
    try:
        return await unit.work(*unit.arguments, line)
    finally:
        await line.close()


async def answered(desk: Desk, question: Any) -> Outcome:
    """The desk's answer, or its error as a value: whatever it is, somebody waits for it."""
    try:
        return await desk.answer(question)
    except BenchfillError as error:
        return Failed(error)
    except Exception as error:
        return Failed(_with_trace(_unexpected("the process of the run", error), error))


def _unexpected(where: str, error: Exception) -> BenchfillError:
    first = str(error).splitlines()[0] if str(error) else ""
    message = f"{where}: unexpected {type(error).__name__}: {first}"
    return BenchfillError(message, "This is a fault of BenchFill.")


def _with_trace(error: BenchfillError, cause: Exception | None = None) -> BenchfillError:
    """The error with the traceback of where it came from as a note, which only --debug shows."""
    error.add_note("where it happened:\n" + "".join(traceback.format_exception(cause or error)))
    return error


def lost(unit: Unit, what: str) -> Failed:
    """A unit that is given up."""
    return Failed(
        UnitLost(
            f"{unit.name} was given up: its worker died {TRIES} times ({what}).",
            "Look at the machine's memory, and run again.",
        )
    )
