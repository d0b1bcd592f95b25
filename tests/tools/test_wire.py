"""What sends: proxies for https as for http, whatever the case of their variables."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator

import httpx2
import pytest

from benchfill.tools.endpoint import Endpoint
from benchfill.tools.reaching import reach
from benchfill.tools.wire import IDLE_SECONDS, Lanes, inner_transport
from tests.tools.fake_endpoint import Response, serving


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"])
async def test_https_goes_through_its_proxy_by_a_tunnel(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(Response("no", status=502)) as proxy:
        monkeypatch.setenv(variable, f"http://127.0.0.1:{proxy.port}")
        transport = inner_transport(Endpoint("e", "https://models.invalid/v1", "m"))
        async with httpx2.AsyncClient(transport=transport) as client:
            with pytest.raises(httpx2.ProxyError):
                await client.get("https://models.invalid/v1/models")
    assert [(each.method, each.target) for each in proxy.requests] == [("CONNECT", "models.invalid:443")]


async def test_the_free_look_goes_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = Response({"data": [{"id": "a"}, {"id": "b"}, {"id": 3}]})
    async with serving(listed) as proxy, serving(listed) as direct:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        found = await reach(Endpoint("e", "http://models.invalid/v1", "a", api_key="k" * 20))
        assert found.listed == {"a", "b"}
        assert proxy.requests[0].target == "http://models.invalid/v1/models"
        assert proxy.requests[0].headers["authorization"] == "Bearer " + "k" * 20
        assert (await reach(Endpoint("e", direct.url, "a"))).listed == {"a", "b"}
        assert "authorization" not in direct.requests[0].headers
        assert len(proxy.requests) == 1


class Recorded(httpx2.AsyncBaseTransport):
    """A transport that says which one answered, and when it was closed."""

    def __init__(self, name: str) -> None:
        self.name, self.closed, self.busy = name, False, False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        assert not self.busy
        if request.url.path == "/down":
            raise httpx2.ConnectError("down")
        self.busy = True
        return httpx2.Response(200, stream=Body(self))

    async def aclose(self) -> None:
        self.closed = True


class Body(httpx2.AsyncByteStream):
    def __init__(self, lane: Recorded) -> None:
        self.lane = lane

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.lane.name.encode()

    async def aclose(self) -> None:
        self.lane.busy = False


async def test_a_lane_carries_one_request_at_a_time_and_the_unused_ones_are_closed() -> None:
    opened: list[Recorded] = []
    now = 0.0

    def open_lane() -> Recorded:
        opened.append(Recorded(str(len(opened))))
        return opened[-1]

    lanes = Lanes(open_lane, clock=lambda: now)
    get = httpx2.Request("GET", "http://models.invalid/")
    first, second, third = [await lanes.handle_async_request(get) for _ in range(3)]
    # Read to its end a response is closed, and its lane free.
    assert await second.aread() == b"1"
    assert await (await lanes.handle_async_request(get)).aread() == b"1"
    with pytest.raises(httpx2.ConnectError):
        await lanes.handle_async_request(httpx2.Request("GET", "http://models.invalid/down"))
    # A failed request gives its lane back as well.
    assert await (await lanes.handle_async_request(get)).aread() == b"1"
    for each in (third, first):
        await each.aclose()
    assert len(opened) == 3
    now = IDLE_SECONDS + 1.0
    assert await (await lanes.handle_async_request(get)).aread() == b"0"
    assert [lane.closed for lane in opened] == [False, True, True]
    await lanes.aclose()
    assert all(lane.closed for lane in opened)
