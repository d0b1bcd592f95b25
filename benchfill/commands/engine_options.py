"""Flags that say where work is done, the same in all commands that have work for more than one process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from benchfill.engines.protocol import Engine
    from benchfill.memory.runs import RunFolder

__all__ = ["HERE", "AddressOption", "EngineOption", "Where", "engine_of", "where_of"]

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


@dataclass(frozen=True, slots=True)
class Where:
    """An engine by its name, and the address of its cluster."""

    name: Literal["local", "ray"] = "local"
    address: str | None = None


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
