"""Which engine: by its name, as the command line has it."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from benchfill.engines.local import LocalEngine
from benchfill.engines.protocol import Engine, EngineName, Failed, Outcome, Unit
from benchfill.errors import InputError

__all__ = ["check_engine", "open_engine", "run_all", "run_each"]


def check_engine(name: EngineName, address: str | None) -> None:
    """Whether there is such an engine, before anything is begun.

    Raises
    ------
    InputError
        Ray is not installed (kind ``no_ray``), an address is given to the local engine, or it is empty.
    """
    if name == "local" and address is not None:
        raise InputError("--address is that of a Ray cluster.", "Add --engine ray, or leave it out.")
    if address is not None and not address.strip():
        raise InputError("--address is empty.", "Give HOST:PORT of a Ray cluster, or leave it out.")
    if name == "ray" and importlib.util.find_spec("ray") is None:
        raise InputError(
            "--engine ray needs Ray, which is not installed.",
            "Get it with: pip install 'benchfill[ray]'",
            kind="no_ray",
        )


@contextlib.contextmanager
def open_engine(name: EngineName, address: str | None = None) -> Iterator[Engine]:
    """An engine, closed at the end.

    Parameters
    ----------
    address
        Of a Ray cluster; None starts one on this machine.

    Raises
    ------
    InputError
        Ray is not installed or not there, or an address is given to the local engine.
    """
    check_engine(name, address)
    engine: Engine
    if name == "local":
        engine = LocalEngine()
    else:
        from benchfill.engines.on_ray import RayEngine

        engine = RayEngine(address)
    try:
        yield engine
    finally:
        engine.close()


def run_all(
    engine: Engine, units: Sequence[Unit], *, at_once: int, done: Callable[[str], None] | None = None
) -> list[Any]:
    """Results of units that need no desk, in their order.

    Raises
    ------
    BenchfillError
        That of the first unit that has none; all others have been run.
    """
    found = run_each(engine, units, at_once=at_once, done=done)
    for outcome in found:
        if isinstance(outcome, Failed):
            raise outcome.error
    return found


def run_each(
    engine: Engine, units: Sequence[Unit], *, at_once: int, done: Callable[[str], None] | None = None
) -> list[Outcome]:
    """Results of units that need no desk, in their order; a `Failed` where there is none."""
    import asyncio

    return list(asyncio.run(engine.run(units, at_once=at_once, done=done)).values())
