"""What really sends: connections, certificates and the environment's proxies."""

from __future__ import annotations

import functools
import ssl
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import cast

import httpx2

from benchfill.endpoint_settings import is_loopback
from benchfill.errors import InputError
from benchfill.tools.endpoint import Endpoint

__all__ = ["Lanes", "inner_transport"]

# A connection that was not used for so long is closed.
IDLE_SECONDS = 30.0
# Concurrency is bounded by the semaphore of the endpoint, so the pool never makes a call wait.
LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=IDLE_SECONDS)


def inner_transport(endpoint: Endpoint) -> httpx2.AsyncBaseTransport:
    """What sends to an endpoint: direct for loopback, else as HTTP(S)_PROXY, ALL_PROXY and NO_PROXY say.

    SSL_CERT_FILE and SSL_CERT_DIR hold for both. A transport handed to a client drops the environment's
    proxies, so clients of its own, which read them, do the sending below the ledger.

    Raises
    ------
    InputError
        ``proxy``: a proxy variable cannot be used.
    """
    if is_loopback(endpoint.host):
        return Lanes(lambda: httpx2.AsyncHTTPTransport(verify=_ssl_context(), limits=LIMITS))
    try:
        return Lanes(lambda: _ClientTransport(httpx2.AsyncClient(verify=_ssl_context(), limits=LIMITS)))
    except (ImportError, ValueError, httpx2.InvalidURL) as error:
        raise InputError(
            f"The proxy of the environment cannot be used: {type(error).__name__}.",
            "Check HTTP_PROXY, HTTPS_PROXY and ALL_PROXY; socks proxies need the package socksio.",
            kind="proxy",
        ) from None


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    # Loading certificates takes 20 ms and more, and a pool has many models.
    return httpx2.create_ssl_context()


class Lanes(httpx2.AsyncBaseTransport):
    """As many transports as there are requests at once, each with one request, and so one connection, at a time.

    The connection pool of one transport looks at all its connections at every request and asks every idle one of
    them whether it is still alive: with 64 of them that is a quarter of the time of a call.

    Parameters
    ----------
    open_lane
        Makes a transport; called once at once, so that what is wrong with it is known now.
    clock
        Seconds.
    """

    def __init__(
        self,
        open_lane: Callable[[], httpx2.AsyncBaseTransport],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._open_lane, self._clock = open_lane, clock
        # The one used last is taken first, so the idle ones stand in the order of their last use.
        self._idle: deque[tuple[float, httpx2.AsyncBaseTransport]] = deque([(clock(), open_lane())])

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        lane = self._idle.pop()[1] if self._idle else self._open_lane()
        try:
            await self._close_unused()
            response = await lane.handle_async_request(request)
        except BaseException:
            self._release(lane)
            raise
        body = cast("httpx2.AsyncByteStream", response.stream)
        response.stream = _Returning(body, functools.partial(self._release, lane))
        return response

    async def aclose(self) -> None:
        while self._idle:
            await self._idle.pop()[1].aclose()

    def _release(self, lane: httpx2.AsyncBaseTransport) -> None:
        self._idle.append((self._clock(), lane))

    async def _close_unused(self) -> None:
        while self._idle and self._idle[0][0] < self._clock() - IDLE_SECONDS:
            await self._idle.popleft()[1].aclose()


class _Returning(httpx2.AsyncByteStream):
    """The body of a response; closed, it gives back what it came over, once."""

    def __init__(self, body: httpx2.AsyncByteStream, give_back: Callable[[], None]) -> None:
        self._body, self._give_back = body, give_back
        self._closed = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._body.__aiter__()

    async def aclose(self) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            await self._body.aclose()
        finally:
            self._give_back()


class _ClientTransport(httpx2.AsyncBaseTransport):
    """A client that reads the environment's proxies, as a transport."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return await self._client.send(request, stream=True)

    async def aclose(self) -> None:
        await self._client.aclose()
