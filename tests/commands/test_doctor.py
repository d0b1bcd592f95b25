"""``benchfill doctor``: everything that can be wrong is found, each with its remedy; keys are shown nowhere."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchfill.commands import health
from benchfill.commands.health import Check
from benchfill.settings import load_settings
from tests.commands.conftest import Said
from tests.commands.pool_server import MODELS, PoolServer, serving_pool

KEY = "sk-planted0123456789abcdefghij"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PoolServer]:
    monkeypatch.chdir(tmp_path)
    # Compiling takes seconds and has a test of its own.
    monkeypatch.setattr(health, "_pytensor", lambda: Check("pytensor", "ok", "not looked at"))
    with serving_pool() as pool:
        pool.toml(tmp_path)
        yield pool


def document(said: Said) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    whole = json.loads(said.out)
    return {check["name"]: check for check in whole["checks"]}, whole


def roles(server: PoolServer, **options: Any) -> str:
    """TOML of a rewriter and a judge at the server."""
    lines = []
    for role in ("rewriter", "judge"):
        lines += [f"[{role}]", f'base_url = "http://127.0.0.1:{server.port}/v1"', 'model = "m0"']
        lines += [f"{name} = {json.dumps(value)}" for name, value in options.items()]
    return "\n".join(lines) + "\n"


def test_all_is_well(benchfill: Callable[..., Said], server: PoolServer) -> None:
    said = benchfill("doctor", "--json")
    checks, whole = document(said)
    assert said.code == 0, said.out
    assert whole["ok"]
    assert whole["hosts"] == [f"127.0.0.1:{server.port}"]
    assert {"python", "pytensor", "blas", "disk", "write", "clock", *MODELS} <= set(checks)
    assert {check["status"] for check in checks.values()} == {"ok"}
    # All models are on the server's list and there is no key: nothing had to be asked.
    assert server.asked == []


def test_the_real_compiler_check_needs_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    check = health._pytensor()
    assert check.status == "ok", check.found
    assert "no C compiler is needed" in check.found


def test_the_machine_is_looked_at_for_real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_pytensor", lambda: Check("pytensor", "ok", ""))
    home = tmp_path / "home"
    assert {check.status for check in health.check_machine(home)} == {"ok"}
    assert list(home.iterdir()) == []
    assert home.stat().st_mode & 0o077 == 0


def test_a_full_disk_and_a_home_that_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type("Usage", (), {"free": 100 * 2**20})
    monkeypatch.setattr(health.shutil, "disk_usage", lambda place: usage)
    disk = health._disk(tmp_path / "home")
    assert (disk.status, "BENCHFILL_HOME" in disk.remedy) == ("broken", True)
    occupied = tmp_path / "occupied"
    occupied.write_text("")
    write = health._write(occupied)
    assert (write.status, "BENCHFILL_HOME" in write.remedy) == ("broken", True)


def test_a_model_the_server_does_not_know(
    benchfill: Callable[..., Said], server: PoolServer, tmp_path: Path
) -> None:
    server.toml(tmp_path, models=("m0", "m9"))
    server.reply = lambda body: (404, {"error": {"code": "model_not_found", "message": "no model m9"}})
    said = benchfill("doctor", "--json")
    checks, whole = document(said)
    assert (said.code, whole["ok"]) == (1, False)
    assert checks["m0"]["status"] == "ok"
    assert checks["m9"]["status"] == "broken"
    assert "model" in checks["m9"]["remedy"]
    assert [body["model"] for body in server.asked] == ["m9"]


def test_a_key_that_is_refused_and_one_that_is_not_set(
    benchfill: Callable[..., Said], server: PoolServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.toml(tmp_path, models=("m0", "m1"), api_key_env="THE_KEY")
    file = tmp_path / "benchfill.toml"
    file.write_text(roles(server, api_key_env="OTHER_KEY", tool_mode="text") + file.read_text())
    monkeypatch.setenv("THE_KEY", KEY)
    server.reply = lambda body: (401, {"error": {"message": f"Incorrect API key provided: {KEY}"}})
    said = benchfill("doctor", "--json")
    checks, _ = document(said)
    assert said.code == 1
    assert checks["key THE_KEY"]["status"] == "ok"
    assert checks["key OTHER_KEY"]["status"] == "broken"
    assert "export OTHER_KEY" in checks["key OTHER_KEY"]["remedy"]
    assert "rewriter, judge" in checks["key OTHER_KEY"]["found"]
    # One question tells of the key; the model that asked it is named.
    assert len(server.asked) >= 1
    assert any(checks[name]["status"] == "broken" for name in ("m0", "m1") if name in checks)
    assert KEY not in said.out + said.err
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path


def test_the_tool_mode_that_is_found(
    benchfill: Callable[..., Said], server: PoolServer, tmp_path: Path
) -> None:
    file = tmp_path / "benchfill.toml"
    file.write_text(roles(server, temperature=0.5) + file.read_text())

    def reply(body: dict[str, Any]) -> str | tuple[int, Any]:
        if "tools" in body:
            return 400, {"error": {"message": "tools are not supported"}}
        return '{"tool": "report_word", "arguments": {"word": "harbour"}}'

    server.reply = reply
    checks, _ = document(benchfill("doctor", "--json"))
    assert checks["rewriter"]["status"] == "ok", checks["rewriter"]
    assert checks["rewriter"]["found"].endswith("structured replies as json_schema")
    assert any("response_format" in body for body in server.asked)


def test_an_endpoint_that_is_not_there(benchfill: Callable[..., Said], server: PoolServer) -> None:
    text = Path("benchfill.toml").read_text()
    Path("benchfill.toml").write_text(text.replace(f":{server.port}/v1", ":9/v1", 1))
    said = benchfill("doctor")
    assert said.code == 1
    assert "m0: no connection (127.0.0.1:9)" in said.out
    assert "Is the server running" in said.out
    assert f"Hosts this configuration contacts: 127.0.0.1:{server.port}, 127.0.0.1:9" in said.out


def test_a_broken_file_is_one_of_the_findings(benchfill: Callable[..., Said], server: PoolServer) -> None:
    Path("benchfill.toml").write_text("[search]\nroundz = 1\n")
    said = benchfill("doctor", "--json")
    checks, _ = document(said)
    assert said.code == 1
    assert "line 2" in checks["settings"]["found"]


def test_a_clock_that_is_wrong(benchfill: Callable[..., Said], server: PoolServer) -> None:
    from benchfill.tools import reaching

    class Late:
        @staticmethod
        def now(zone: Any) -> Any:
            from datetime import datetime, timedelta

            return datetime.now(zone) + timedelta(minutes=10)

    patch = pytest.MonkeyPatch()
    with patch.context() as patched:
        patched.setattr(reaching, "datetime", Late)
        checks, _ = document(benchfill("doctor", "--json"))
    assert checks["clock"]["status"] == "broken"
    assert "ahead of" in checks["clock"]["found"]


def test_hosts_of_tracing_and_of_proxies_are_named(
    server: PoolServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    (tmp_path / "benchfill.toml").write_text(
        '[tracing]\nenabled = true\n[judge]\nmodel = "j"\nbase_url = "https://h.example/v1"\n'
    )
    monkeypatch.setenv("HTTPS_PROXY", "http://user:secret@proxy.example:3128")
    settings = load_settings()
    assert health.hosts_contacted(settings) == ["api.smith.langchain.com", "h.example"]
    (proxy,) = health._proxies(settings)
    assert proxy.found == "h.example through proxy.example:3128"
    monkeypatch.setenv("NO_PROXY", "h.example")
    assert list(health._proxies(settings)) == []
