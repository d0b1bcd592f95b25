"""The embedded endpoint as a child process that ends with this one."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO

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
        except (TimeoutError, asyncio.CancelledError) as error:
            # Whoever cannot wait for its end is not left behind by it: the event loop would complain.
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
            await self.process.wait()
            if isinstance(error, asyncio.CancelledError):
                raise


async def start_world(config: Path, requests_log: Path) -> WorldProcess:
    """Start it and wait until it serves.

    Raises
    ------
    BenchfillError
        It did not come up.
    """
    said = requests_log.with_name("endpoint.log")
    with said.open("ab") as errors:
        process = await _spawn(config, requests_log, errors)
    line = b""
    try:
        if process.stdout is not None:
            line = await asyncio.wait_for(process.stdout.readline(), READY_SECONDS)
        ready = json.loads(line)
        base_url = f"http://127.0.0.1:{ready['port']}/v1"
        return WorldProcess(process, base_url, ready["world"], ready["version"], ready["name"])
    except (TimeoutError, ValueError, KeyError):
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        await process.wait()
        last = said.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
        raise BenchfillError(
            "The embedded endpoint did not start" + (f": {last[0]}" if last else "."),
            f"Its messages are in {said}.",
        ) from None


async def _spawn(config: Path, requests_log: Path, errors: IO[bytes]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "benchfill.worlds.server",
        "--config",
        str(config),
        "--requests-log",
        str(requests_log),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=errors,
        # Ctrl-C goes to the whole foreground group: in a session of its own the endpoint outlives the calls in flight.
        start_new_session=True,
    )
