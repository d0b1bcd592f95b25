"""The embedded endpoint as a child process that ends with this one."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from benchfill.errors import BenchfillError

__all__ = ["WorldProcess", "start_world"]

READY_SECONDS = 60.0


@dataclass(eq=False)
class WorldProcess:
    """A running endpoint. It watches its standard input and ends when that closes, however we end."""

    process: asyncio.subprocess.Process
    base_url: str
    world: str
    version: str
    name: str  # of its version, settings and data: what its answers depend on

    async def stop(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            await asyncio.wait_for(self.process.wait(), 5.0)
        except TimeoutError:
            self.process.kill()
            await self.process.wait()


async def start_world(config: Path, requests_log: Path) -> WorldProcess:
    """Start it and wait until it serves.

    Raises
    ------
    BenchfillError
        It did not come up.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "benchfill.worlds.server",
        "--config",
        str(config),
        "--requests-log",
        str(requests_log),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        # Ctrl-C goes to the whole foreground group: in a session of its own the endpoint outlives the calls in flight.
        start_new_session=True,
    )
    line = b""
    try:
        if process.stdout is not None:
            line = await asyncio.wait_for(process.stdout.readline(), READY_SECONDS)
        ready = json.loads(line)
        return WorldProcess(
            process, f"http://127.0.0.1:{ready['port']}/v1", ready["world"], ready["version"], ready["name"]
        )
    except (TimeoutError, ValueError, KeyError):
        if process.returncode is None:
            process.kill()
        await process.wait()
        raise BenchfillError(
            "The embedded endpoint did not start.",
            "Run it by hand to see why: python -m benchfill.worlds.server --config "
            f"{config.name} --requests-log requests.log",
        ) from None
