"""Flags that say where work is done, the same in all commands that have work for more than one process."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from benchfill.engines.protocol import Engine
    from benchfill.memory.runs import RunFolder

__all__ = [
    "HERE",
    "AddressOption",
    "EngineOption",
    "JobsOption",
    "Where",
    "engine_of",
    "spread_over",
    "where_of",
]

EngineOption = Annotated[
    Literal["local", "ray"],
    typer.Option("--engine", help="Where the work is done: processes of this machine, or a Ray cluster."),
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="HOST:PORT",
        help="Of the Ray cluster; without it one is started on this machine.",
    ),
]

JobsOption = Annotated[
    int | None,
    typer.Option("--jobs", min=1, help="Workers (default: one a processor; with Ray all of the cluster)."),
]


@dataclass(frozen=True, slots=True)
class Where:
    """An engine by its name, and the address of its cluster."""

    name: Literal["local", "ray"] = "local"
    address: str | None = None

    def at_once(self, jobs: int | None, units: int) -> int:
        """So many units at the same time: as asked, else one a processor of this machine; a cluster knows its own."""
        import os

        return min(units, jobs or (units if self.name == "ray" else os.cpu_count() or 1))


HERE = Where()


def where_of(name: Literal["local", "ray"], address: str | None) -> Where:
    """The engine that the flags name, known to be installed.

    Raises
    ------
    InputError
        Ray is not installed, or the local engine is given an address.
    """
    from benchfill.engines.opening import check_engine

    check_engine(name, address)
    return Where(name, address)


@contextlib.contextmanager
def engine_of(where: Where, folder: RunFolder) -> Iterator[Engine | None]:
    """The engine for the gaps of a run; None where it searches one after the other on this machine."""
    from benchfill.engines.opening import open_engine
    from benchfill.memory.pool import Pool

    pool = Pool(folder.memory, create=False)
    try:
        at_once = int(dict(pool.run().settings).get("search", {}).get("at_once", 1))
    finally:
        pool.close()
    if where.name == "local" and at_once == 1:
        yield None
        return
    with open_engine(where.name, where.address) as engine:
        yield engine


def spread_over(
    engine: Engine, where: Where, jobs: int | None
) -> Callable[[Callable[..., Any], Sequence[tuple[Any, ...]]], list[Any]]:
    """What runs a top-level function on each of many arguments, on workers; results in the order of the arguments."""
    from benchfill.engines.opening import run_all
    from benchfill.engines.protocol import Unit

    def spread(work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], /) -> list[Any]:
        units = [
            Unit(f"part {number} of {len(arguments)}", work, each)
            for number, each in enumerate(arguments, start=1)
        ]
        return run_all(engine, units, at_once=where.at_once(jobs, len(units)))

    return spread
