"""A server of six models in a thread of its own, for commands that run in this process."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

MODELS = tuple(f"m{number}" for number in range(6))


@dataclass
class PoolServer:
    """Answers every question by `reply`, a text or (status, body); remembers what it was asked."""

    reply: Callable[[dict[str, Any]], str | tuple[int, Any]] = lambda body: "\\boxed{42}"
    asked: list[dict[str, Any]] = field(default_factory=list)
    port: int = 0

    def completion(self, body: dict[str, Any]) -> tuple[int, Any]:
        self.asked.append(body)
        answer = self.reply(body)
        if not isinstance(answer, str):
            return answer
        choice = {"index": 0, "message": {"role": "assistant", "content": answer}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}
        return 200, {"id": "c", "object": "chat.completion", "created": 1, "model": body["model"],
                     "choices": [choice], "usage": usage}  # fmt: skip

    def toml(self, folder: Path, *, models: tuple[str, ...] = MODELS, **options: Any) -> None:
        """Write a benchfill.toml whose pool is here."""
        lines = []
        for model in models:
            lines += ["[[pool]]", f'base_url = "http://127.0.0.1:{self.port}/v1"', f'model = "{model}"']
            lines += [f"{name} = {json.dumps(value)}" for name, value in options.items()]
        (folder / "benchfill.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


@contextlib.contextmanager
def serving_pool() -> Iterator[PoolServer]:
    pool = PoolServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            listed = [{"id": model, "object": "model"} for model in MODELS]
            self._send(200, {"object": "list", "data": listed})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            self._send(*pool.completion(body))

        def _send(self, status: int, document: Any) -> None:
            content = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            return

    class Server(ThreadingHTTPServer):
        # Five, as it is by default, are fewer than come at once: those beyond are dropped when the machine is busy,
        # asked again, and counted.
        request_queue_size = 128

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    pool.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield pool
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
