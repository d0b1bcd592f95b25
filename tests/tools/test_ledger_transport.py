"""Nothing is paid twice: what makes two calls the same, what is pinned, what a killed process repeats."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import ssl
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import httpx2
import pytest

from benchfill.errors import CallFailed, InputError
from benchfill.memory.ledger import Ledger
from benchfill.tools import wire
from benchfill.tools.client import ModelClient
from benchfill.tools.endpoint import Endpoint
from benchfill.tools.exchange import EXCHANGE_HEADER, Exchange, call_key
from benchfill.tools.ledger_transport import LedgerTransport
from benchfill.tools.limits import ServerLimit
from benchfill.tools.meter import Meter
from benchfill.tools.reply import Reply
from benchfill.tools.wire import inner_transport
from tests.tools.fake_endpoint import Request, Response, completion, serving

ASK = [{"role": "user", "content": "7 x 6?"}]
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def client(
    url: str, ledger: Ledger, *, run: str = "r", meter: Meter | None = None, **options: Any
) -> ModelClient:
    endpoint = Endpoint("e", url, options.pop("model", "m"), **options)
    return ModelClient(
        endpoint, ledger=ledger, role="r", run=run, limit=ServerLimit(16), meter=meter or Meter()
    )


async def ask(url: str, ledger: Ledger, *, tag: str = "t", seed: int = 1, **options: Any) -> Reply:
    asked = client(url, ledger, **options)
    try:
        return await asked.ask(ASK, seed=seed, tag=tag)
    finally:
        await asked.aclose()


def counting(request: Request) -> Response:
    """Another text for every request that really arrives."""
    counting.n += 1  # type: ignore[attr-defined]
    return Response(completion(f"reply {counting.n}"))  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def count_from_zero() -> None:
    counting.n = 0  # type: ignore[attr-defined]


async def test_the_same_call_is_paid_once_across_runs_and_settings_of_the_transport(ledger: Ledger) -> None:
    async with serving(counting) as fake:
        first = await ask(fake.url, ledger)
        meter = Meter()
        again = await ask(
            fake.url,
            ledger,
            run="r2",
            meter=meter,
            timeout=7.0,
            tries=1,
            api_key="k" * 20,
            price_in=1.0,
            price_out=1.0,
        )
        slashed = await ask(fake.url + "/", ledger)
    assert len(fake.requests) == 1
    assert (first.from_ledger, again.from_ledger, slashed.from_ledger) == (False, True, True)
    assert (again.content, again.key) == (first.content, first.key) == ("reply 1", slashed.key)
    assert (meter.calls, meter.from_ledger, meter.cost) == (0, 1, None)
    assert [spend.run for spend in ledger.spend()] == ["r"]


async def test_what_differs_is_another_call(ledger: Ledger) -> None:
    async with serving(counting) as fake:
        variants: list[dict[str, Any]] = [
            {}, {"tag": "t2"}, {"seed": 2}, {"model": "m2"}, {"temperature": 0.0}, {"temperature": 0.5},
            {"max_tokens": 9}, {"extra_body": {"top_k": 1}}, {"ledger_name": "elsewhere"},
        ]  # fmt: skip
        replies = [await ask(fake.url, ledger, **variant) for variant in variants]
        again = [await ask(fake.url, ledger, **variant) for variant in variants]
    assert len({reply.content for reply in replies}) == len(fake.requests) == len(variants)
    assert [reply.content for reply in again] == [reply.content for reply in replies]


async def test_the_port_is_no_part_of_the_key_where_the_endpoint_has_a_constant_name(ledger: Ledger) -> None:
    name = "simulated-1"
    async with serving(counting) as fake:
        first = await ask(fake.url, ledger, ledger_name=name)
    async with serving(counting) as moved:
        same = await ask(moved.url, ledger, ledger_name=name)
        other = await ask(moved.url, ledger)
    assert same.from_ledger
    assert same.key == first.key
    assert not other.from_ledger


def test_the_key_is_of_the_content_not_of_its_spelling() -> None:
    key = call_key("POST", "p", "/c", b'{"a": 1, "b": "\\u00e9"}', "t")
    assert key == call_key("POST", "p", "/c", '{"b":"é","a":1}'.encode(), "t")
    assert key != call_key("POST", "p", "/c", b'{"a": 1.0, "b": "e"}', "t")
    # Parts are not merely joined.
    assert call_key("POST", "p", "/ct", b"{}", "") != call_key("POST", "p", "/c", b"{}", "t")


async def test_the_tag_and_the_number_of_the_exchange_never_go_out(ledger: Ledger) -> None:
    async with serving(counting) as fake:
        await ask(fake.url, ledger, tag="tag-é-\n-private")
    sent = json.dumps(fake.requests[0].headers) + fake.requests[0].raw.decode()
    assert "private" not in sent
    assert "benchfill" not in sent


async def test_credentials_in_the_url_are_not_kept(ledger: Ledger, tmp_path: Path) -> None:
    async with serving(counting) as fake:
        await ask(fake.url.replace("127.0.0.1", "user:pa55word@127.0.0.1"), ledger)
        assert (await ask(fake.url, ledger)).from_ledger
    ledger.close()
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and b"pa55word" in file.read_bytes()]


async def test_an_interrupted_call_is_noted_and_asked_again(ledger: Ledger) -> None:
    async with serving(Response(completion(), hang=30), counting) as fake:
        waiting = asyncio.create_task(ask(fake.url, ledger))
        while not fake.requests:
            await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert not (await ask(fake.url, ledger)).from_ledger
    (spend,) = ledger.spend()
    assert (spend.calls, spend.failed) == (1, 1)


async def test_the_reply_that_was_committed_first_is_the_one_that_counts(ledger: Ledger) -> None:
    async with serving(counting) as fake:
        replies = await asyncio.gather(*(ask(fake.url, ledger) for _ in range(5)))
        later = await ask(fake.url, ledger)
    assert len({reply.content for reply in [*replies, later]}) == 1
    (spend,) = ledger.spend()
    assert spend.calls == 1
    assert spend.calls + spend.failed == len(fake.requests)


async def test_the_exchange_carries_what_is_wrong_past_a_client_that_wraps_it(ledger: Ledger) -> None:
    refused = httpx2.MockTransport(lambda request: httpx2.Response(400, json={"error": {"code": "no_more"}}))
    endpoint = Endpoint("e", "http://127.0.0.1:1/v1", "m")
    transport = LedgerTransport(
        refused, endpoint=endpoint, ledger=ledger, limit=ServerLimit(1), meter=Meter(), role="r", run="r"
    )
    exchange = Exchange("t")
    headers = {EXCHANGE_HEADER: transport.open(exchange)}
    with pytest.raises(CallFailed) as caught:
        await transport.handle_async_request(
            httpx2.Request("POST", endpoint.base_url, headers=headers, json={})
        )
    assert exchange.error is caught.value
    assert exchange.body is None


async def test_a_ledger_that_cannot_be_written_stops_the_call_with_its_own_line(ledger: Ledger) -> None:
    class Full(Ledger):
        def commit(self, call: Any) -> bool:
            raise InputError("the disk is full", kind="disk_full")

    async with serving(counting) as fake:
        full = Full(ledger.path)
        with pytest.raises(InputError, match="disk is full"):
            await ask(fake.url, full)
        full.close()
    assert len(fake.requests) == 1


CHILD = """
import asyncio, os, signal, sys
from pathlib import Path
from benchfill.memory.ledger import Ledger
from benchfill.tools.client import ModelClient
from benchfill.tools.endpoint import Endpoint
from benchfill.tools.meter import Meter
from benchfill.tools.limits import ServerLimit

url, path, tags, die_at = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])

class Dying(Ledger):
    def commit(self, call):
        # The reply is here, paid for, and not yet kept.
        if call.tag == f"t{die_at}":
            os.kill(os.getpid(), signal.SIGKILL)
        return super().commit(call)

async def main():
    asked = ModelClient(Endpoint("e", url, "m"), ledger=Dying(path), role="r", run="r",
                        limit=ServerLimit(1), meter=Meter())
    for n in range(tags):
        reply = await asked.ask([{"role": "user", "content": "7 x 6?"}], seed=1, tag=f"t{n}")
        print(n, reply.content, reply.from_ledger, flush=True)

asyncio.run(main())
"""


async def _child(*arguments: str) -> tuple[int, list[str]]:
    # Without the tracer of coverage, which doubles its time; other tests cover the same lines.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CHILD, *arguments, stdout=asyncio.subprocess.PIPE, env=environment
    )
    output, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode is not None
    return process.returncode, output.decode().splitlines()


async def test_a_process_killed_between_reply_and_commit_repeats_that_call_only(ledger: Ledger) -> None:
    async with serving(counting) as fake:
        code, lines = await _child(fake.url, str(ledger.path), "12", "7")
        assert code == -9
        assert len(lines) == 7
        code, again = await _child(fake.url, str(ledger.path), "12", "-1")
        assert code == 0
    assert [line.split()[-1] for line in again] == ["True"] * 7 + ["False"] * 5
    assert [line.rsplit(" ", 1)[0] for line in again[:7]] == [line.rsplit(" ", 1)[0] for line in lines]
    # 12 calls and the one that was in flight.
    assert len(fake.requests) == 13


async def test_many_calls_in_flight_and_repeated_are_each_paid_once(ledger: Ledger) -> None:
    async with serving(counting) as fake:
        asked = client(fake.url, ledger)
        for _ in range(2):
            await asyncio.gather(*(asked.ask(ASK, seed=1, tag=f"{n}") for n in range(60)))
        await asked.aclose()
    assert len(fake.requests) == 60
    assert set(Counter(request.raw for request in fake.requests).values()) == {60}


async def test_a_proxy_of_the_environment_is_used_for_others_and_never_for_loopback(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(counting) as proxy, serving(counting) as direct:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("ALL_PROXY", f"http://127.0.0.1:{proxy.port}")
        await ask("http://models.invalid/v1", ledger)
        assert [request.target for request in proxy.requests] == ["http://models.invalid/v1/chat/completions"]
        await ask(direct.url, ledger)
        await ask(direct.url.replace("127.0.0.1", "localhost"), ledger)
        assert len(proxy.requests) == 1
        assert len(direct.requests) == 2
        monkeypatch.setenv("NO_PROXY", "models.invalid")
        # Without its proxy the name is resolved here, where it is unknown.
        with pytest.raises(CallFailed) as caught:
            await ask("http://models.invalid/v1", ledger, tag="direct", tries=1)
        assert caught.value.reason == "unreachable"
        assert len(proxy.requests) == 1


def test_a_proxy_that_cannot_be_used_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "gopher://user:pa55word@127.0.0.1:1")
    with pytest.raises(InputError) as caught:
        inner_transport(Endpoint("e", "https://models.invalid/v1", "m"))
    assert caught.value.kind == "proxy"
    assert "pa55word" not in str(caught.value)


async def test_certificates_of_the_environment_are_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("the openssl command is absent")
    certificate = tmp_path / "both.pem"
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    subject = ["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "certificate.pem")]
    subprocess.run(command + subject + files, check=True, capture_output=True)
    certificate.write_bytes((tmp_path / "key.pem").read_bytes() + (tmp_path / "certificate.pem").read_bytes())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 204 X\r\ncontent-length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"

    async def status() -> int:
        wire._ssl_context.cache_clear()
        async with httpx2.AsyncClient(transport=inner_transport(Endpoint("e", url, "m"))) as plain:
            return (await plain.get(url)).status_code

    with pytest.raises(httpx2.ConnectError):
        await status()
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert await status() == 204
    wire._ssl_context.cache_clear()
    server.close()
