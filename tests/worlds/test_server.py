"""The endpoint as a child process, spoken to over real HTTP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx2
import pytest

from benchfill.worlds import WORLD_VERSION, world_name
from benchfill.worlds.simulated.respondents import RESPONDENTS, write_answer
from tests.worlds.chats import REWRITER_TOOLS, body, sample
from tests.worlds.test_replay import CONFIG
from tests.worlds.test_rewriter import messages

COMMAND = [sys.executable, "-m", "benchfill.worlds.server"]


class Server:
    def __init__(self, folder: Path, config: dict[str, Any]) -> None:
        (folder / "config.json").write_text(json.dumps(config))
        self.log = folder / "requests.log"
        started = time.monotonic()
        self.process = subprocess.Popen(
            [*COMMAND, "--config", str(folder / "config.json"), "--requests-log", str(self.log)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdout is not None
        self.ready = json.loads(self.process.stdout.readline())
        self.seconds_to_ready = time.monotonic() - started
        self.client = httpx2.Client(base_url=f"http://127.0.0.1:{self.ready['port']}/v1", timeout=20)

    def post(self, content: bytes) -> httpx2.Response:
        return self.client.post("/chat/completions", content=content)

    def close_stdin(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(10)

    def finish(self) -> None:
        self.client.close()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


@contextmanager
def serving(folder: Path, config: dict[str, Any] | None = None) -> Iterator[Server]:
    server = Server(folder, config or {"world": "simulated"})
    try:
        yield server
    finally:
        server.finish()


def question(number: int, model: str = "elm", seed: int = 1) -> bytes:
    return body(model, [{"role": "user", "content": sample()[number].question}], seed=seed)


def test_it_says_where_it_is_and_lists_its_models(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        assert server.ready["world"] == "simulated"
        assert server.ready["version"] == WORLD_VERSION
        assert server.ready["name"] == world_name({"world": "simulated"})
        listed = server.client.get("/models").json()
        assert [entry["id"] for entry in listed["data"]] == ["judge", "rewriter", *sorted(RESPONDENTS)]
        assert server.seconds_to_ready < 10


def test_replies_depend_on_nothing_but_the_request(tmp_path: Path) -> None:
    asked = [question(k, model, seed) for k in (3, 20, 37) for model in ("elm", "oak") for seed in (1, 2)]
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    with serving(tmp_path / "one") as server:
        first = [server.post(content).content for content in asked]
        assert json.loads(first[0])["choices"][0]["message"]["content"] == write_answer(
            "elm", sample()[3].question, 1
        )
    with serving(tmp_path / "two") as server, ThreadPoolExecutor(4) as pool:
        backwards = list(pool.map(lambda content: server.post(content).content, reversed(asked)))
    assert first == backwards[::-1]


def test_every_post_is_logged_before_its_reply_and_logs_go_on(tmp_path: Path) -> None:
    asked = [question(1), question(1), question(2), b"no json"]
    for _ in range(2):
        with serving(tmp_path) as server:
            for content in asked:
                server.post(content)
                assert server.log.read_text().splitlines()[-1] == sha256(content).hexdigest()
    assert server.log.read_text().splitlines() == [sha256(content).hexdigest() for content in asked] * 2


def test_a_tool_round_trip(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        history = messages()
        message = server.post(body("rewriter", history, tools=REWRITER_TOOLS, seed=3)).json()["choices"][0][
            "message"
        ]
        results = [{"role": "tool", "tool_call_id": c["id"], "content": "1"} for c in message["tool_calls"]]
        content = body("rewriter", [*history, message, *results], tools=REWRITER_TOOLS, seed=4)
        answer = server.post(content).json()["choices"][0]
        assert answer["finish_reason"] == "tool_calls"
        assert answer["message"]["tool_calls"][0]["function"]["name"] == "submit_item"


def test_errors_have_openai_shape(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        for response, status in (
            (server.post(b"{"), 400),
            (server.post(body("gpt", [{"role": "user", "content": "x"}])), 404),
            (server.client.get("/chat/completions"), 405),
            (server.client.get("/embeddings"), 404),
        ):
            assert response.status_code == status
            assert response.headers["content-type"] == "application/json"
            assert set(response.json()["error"]) == {"message", "type", "param", "code"}


def test_replay_over_http_ends_a_cell_with_an_error_code(tmp_path: Path) -> None:
    with serving(tmp_path, CONFIG) as server:
        assert server.ready["world"] == "replay"
        asked = [{"role": "user", "content": CONFIG["bank_items"][7]["question"]}]
        assert server.post(body("m-1", asked, seed=39)).status_code == 200
        spent = server.post(body("m-1", asked, seed=40))
        assert spent.status_code == 400
        assert spent.json()["error"]["code"] == "attempts_exhausted"


def test_it_ends_with_its_parent_and_not_by_a_ctrl_c(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        assert server.post(question(1)).status_code == 200
        server.process.send_signal(signal.SIGINT)
        assert server.post(question(2)).status_code == 200
        assert server.close_stdin() == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX process groups")
def test_it_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"world": "simulated"}')
    parent_code = (
        "import subprocess, sys, time\n"
        "p = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)\n"
        "print(p.stdout.readline().strip(), flush=True)\n"
        "time.sleep(60)\n"
    )
    command = [*COMMAND, "--config", str(tmp_path / "config.json"), "--requests-log", str(tmp_path / "log")]
    parent = subprocess.Popen([sys.executable, "-c", parent_code, *command], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    port = json.loads(parent.stdout.readline())["port"]
    assert httpx2.get(f"http://127.0.0.1:{port}/v1/models").status_code == 200
    parent.kill()
    parent.wait()
    parent.stdout.close()
    give_up = time.monotonic() + 10
    while time.monotonic() < give_up:
        try:
            httpx2.get(f"http://127.0.0.1:{port}/v1/models")
        except httpx2.TransportError:
            return
        time.sleep(0.1)
    pytest.fail("the endpoint outlived its killed parent")


def test_latency_is_waited(tmp_path: Path) -> None:
    with serving(tmp_path, {"world": "simulated", "settings": {"latency_ms": 150}}) as server:
        started = time.monotonic()
        server.post(question(1))
        assert time.monotonic() - started >= 0.15


@pytest.mark.parametrize(
    "config",
    ['{"world": "other"}', '{"world": "simulated", "settings": {"x": 1}}', "{", '{"world": "replay"}', "[]"],
)
def test_an_unusable_configuration_is_one_line(tmp_path: Path, config: str) -> None:
    (tmp_path / "config.json").write_text(config)
    done = subprocess.run(
        [*COMMAND, "--config", str(tmp_path / "config.json"), "--requests-log", str(tmp_path / "log")],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert "Traceback" not in done.stderr
