"""The embedded endpoint: ``python -m benchfill.worlds.server --config CONFIG.json --requests-log FILE``.

Serves ``/v1/chat/completions`` and ``/v1/models`` on a free port of 127.0.0.1, says which in one JSON line on
stdout, appends the SHA-256 of every request body to the log, and ends when its stdin ends.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchfill.errors import InputError
from benchfill.worlds import WORLD_VERSION, world_name
from benchfill.worlds.chat import ChatError, World, encode_error, encode_turn, read_request
from benchfill.worlds.faults import FaultPlan
from benchfill.worlds.settings import ReplaySettings, SimulatedSettings, read_settings

__all__ = ["build_app", "main", "make_world"]

_JSON = "application/json"


class RequestsLog:
    """A file of request hashes, one a line, complete on disk before the reply goes out."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def note(self, body: bytes) -> None:
        os.write(self._file, sha256(body).hexdigest().encode() + b"\n")


def make_world(config: Any) -> World:
    """The world a configuration names.

    Raises
    ------
    InputError
        The configuration names no known world or has an unusable setting.
    """
    if not isinstance(config, dict) or not isinstance(config.get("settings", {}), dict):
        raise InputError("the configuration and its settings must be JSON objects.")
    settings = config.get("settings", {})
    if config.get("world") == "simulated":
        from benchfill.worlds.simulated.world import SimulatedWorld

        return SimulatedWorld(read_settings(SimulatedSettings, settings))
    if config.get("world") == "replay":
        from benchfill.worlds.replay import ReplayWorld

        return ReplayWorld(config, read_settings(ReplaySettings, settings))
    raise InputError(f"unknown world: {config.get('world')!r}.", "Known are simulated and replay.")


def build_app(world: World, log: RequestsLog) -> Starlette:
    """The application."""
    latency = world.settings.latency_ms / 1000.0
    faults = FaultPlan(world.settings)

    async def complete(request: Request) -> Response:
        body = await request.body()
        log.note(body)
        asked = read_request(body, world.models)
        answer = encode_turn(asked, world.reply(asked))
        if latency:
            await asyncio.sleep(latency)
        fault = await faults.instead(asked.model, asked.digest, answer)
        if fault is not None:
            return fault
        return Response(answer, media_type=_JSON)

    async def models(_: Request) -> Response:
        entries = [
            {"id": name, "object": "model", "created": 0, "owned_by": "benchfill"} for name in world.models
        ]
        return Response(json.dumps({"object": "list", "data": entries}).encode(), media_type=_JSON)

    async def refused(_: Request, error: Exception) -> Response:
        if not isinstance(error, ChatError):
            error = ChatError("the endpoint failed on this request", status=500, kind="server_error")
        return Response(encode_error(error), error.status, media_type=_JSON)

    async def not_served(_: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        return Response(encode_error(ChatError("not served here", status=status)), status, media_type=_JSON)

    return Starlette(
        routes=[
            Route("/v1/chat/completions", complete, methods=["POST"]),
            Route("/v1/models", models, methods=["GET"]),
        ],
        exception_handlers={ChatError: refused, HTTPException: not_served, Exception: refused},
    )


class _Server(uvicorn.Server):
    """A server whose end is its parent's business: a Ctrl-C meant for the parent must not reach it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        yield


def _end_with_parent(server: uvicorn.Server) -> None:
    while sys.stdin.buffer.read(4096):
        pass
    server.should_exit = True


async def _serve(app: Starlette, ready: dict[str, Any]) -> None:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", 0))
    listener.listen(512)
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        loop="asyncio",
        lifespan="off",
        access_log=False,
        log_level="error",
        server_header=False,
        date_header=False,
        timeout_keep_alive=600,
        timeout_graceful_shutdown=1,
    )
    server = _Server(config)
    threading.Thread(target=_end_with_parent, args=(server,), daemon=True).start()
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.005)
    print(json.dumps({"port": listener.getsockname()[1], **ready}), flush=True)
    await serving


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchfill.worlds.server", description=__doc__)
    parser.add_argument("--config", type=Path, required=True, help="JSON file: world, settings, its data")
    parser.add_argument(
        "--requests-log", type=Path, required=True, help="file the request hashes are appended to"
    )
    given = parser.parse_args()
    try:
        config = json.loads(given.config.read_bytes())
        world = make_world(config)
        app = build_app(world, RequestsLog(given.requests_log))
    except (InputError, OSError, ValueError) as error:
        print(f"the embedded endpoint cannot start: {error}", file=sys.stderr)
        return 2
    ready = {
        "world": world.name,
        "version": WORLD_VERSION,
        "name": world_name(config),
        "models": world.models,
    }
    asyncio.run(_serve(app, ready))
    return 0


if __name__ == "__main__":
    sys.exit(main())
