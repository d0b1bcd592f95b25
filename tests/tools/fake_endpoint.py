"""A tiny HTTP server of the tests' own: it does exactly what a test tells it and remembers what it was asked."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Request:
    method: str
    target: str
    headers: dict[str, str]
    body: Any
    raw: bytes


@dataclass
class Response:
    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "application/json"})
    hang: float = 0.0
    drip: float = 0.0
    reset: bool = False

    def encoded(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return self.body.encode() if isinstance(self.body, str) else json.dumps(self.body).encode()


def completion(
    content: Any = "42", *, finish: str | None = "stop", usage: Any = ..., **message: Any
) -> dict[str, Any]:
    counts = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10} if usage is ... else usage
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content, **message},
                "finish_reason": finish,
            }
        ],
        "usage": counts,
    }


def tool_call(name: Any, arguments: Any, **extra: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **extra}


class FakeEndpoint:
    """Answers with the planned responses in turn, then with the last one for ever."""

    def __init__(self, *plan: Response | Callable[[Request], Response]) -> None:
        self.plan = list(plan) or [Response(completion())]
        self.requests: list[Request] = []
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while True:
                request = await self._read(reader)
                self.requests.append(request)
                planned = self.plan.pop(0) if len(self.plan) > 1 else self.plan[0]
                await self._answer(writer, planned(request) if callable(planned) else planned)
        writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> Request:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ")
        headers = {k.lower(): v.strip() for k, v in (line.split(":", 1) for line in head[1:] if line)}
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
        return Request(method, target, headers, json.loads(raw) if raw else None, raw)

    async def _answer(self, writer: asyncio.StreamWriter, response: Response) -> None:
        body = response.encoded()
        head = "".join(f"{name}: {value}\r\n" for name, value in response.headers.items())
        await asyncio.sleep(response.hang)
        writer.write(f"HTTP/1.1 {response.status} X\r\n{head}content-length: {len(body)}\r\n\r\n".encode())
        if response.reset:
            writer.write(body[: len(body) // 2])
            await writer.drain()
            writer.transport.abort()
            raise ConnectionError
        if response.drip:
            for byte in body:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(response.drip)
        else:
            writer.write(body)
        await writer.drain()


@contextlib.asynccontextmanager
async def serving(*plan: Response | Callable[[Request], Response]) -> AsyncIterator[FakeEndpoint]:
    fake = FakeEndpoint(*plan)
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        await fake.handle(reader, writer)
        tasks.discard(task)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    fake.port = server.sockets[0].getsockname()[1]
    try:
        yield fake
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
