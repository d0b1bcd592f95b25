"""What really sends: connections, certificates and the environment's proxies."""

from __future__ import annotations

import functools
import ssl

import httpx2

from benchfill.endpoint_settings import is_loopback
from benchfill.errors import InputError
from benchfill.tools.endpoint import Endpoint

__all__ = ["inner_transport"]


def inner_transport(endpoint: Endpoint) -> httpx2.AsyncBaseTransport:
    """What sends to an endpoint: direct for loopback, else as HTTP(S)_PROXY, ALL_PROXY and NO_PROXY say.

    SSL_CERT_FILE and SSL_CERT_DIR hold for both. A transport handed to a client drops the environment's
    proxies, so a client of its own, which reads them, does the sending below the ledger.

    Raises
    ------
    InputError
        ``proxy``: a proxy variable cannot be used.
    """
    if is_loopback(endpoint.host):
        return httpx2.AsyncHTTPTransport(verify=_ssl_context(), limits=LIMITS)
    try:
        return _ClientTransport(httpx2.AsyncClient(verify=_ssl_context(), limits=LIMITS))
    except (ImportError, ValueError, httpx2.InvalidURL) as error:
        raise InputError(
            f"The proxy of the environment cannot be used: {type(error).__name__}.",
            "Check HTTP_PROXY, HTTPS_PROXY and ALL_PROXY; socks proxies need the package socksio.",
            kind="proxy",
        ) from None


# Concurrency is bounded by the semaphore of the endpoint, so the pool never makes a call wait.
LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=30.0)


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    # Loading certificates takes 20 ms and more, and a pool has many models.
    return httpx2.create_ssl_context()


class _ClientTransport(httpx2.AsyncBaseTransport):
    """A client that reads the environment's proxies, as a transport."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return await self._client.send(request, stream=True)

    async def aclose(self) -> None:
        await self._client.aclose()
