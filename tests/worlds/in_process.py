"""The embedded endpoint within the test's own process and loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import uvicorn

from benchfill.worlds.server import RequestsLog, build_app, make_world


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextlib.asynccontextmanager
async def endpoint(log: Path, world: str = "simulated", **settings: Any) -> AsyncIterator[str]:
    """Base URL of a world with these settings; ``log`` takes the hashes of its requests."""
    app = build_app(make_world({"world": world, "settings": settings}), RequestsLog(log))
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app, http="h11", ws="none", lifespan="off", log_config=None, timeout_graceful_shutdown=1
    )
    # A reply that breaks off on purpose is reported as an error of the application.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        await asyncio.sleep(0.002)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        server.should_exit = server.force_exit = True
        await serving
        listener.close()
