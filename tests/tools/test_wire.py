"""What sends: proxies for https as for http, whatever the case of their variables."""

from __future__ import annotations

import os

import httpx2
import pytest

from benchfill.tools.endpoint import Endpoint
from benchfill.tools.reaching import reach
from benchfill.tools.wire import inner_transport
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
