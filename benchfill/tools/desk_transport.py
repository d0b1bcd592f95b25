"""The HTTP transport of a worker: it sends nothing itself, a desk elsewhere does, with its ledger, limits and keys."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

import httpx2

from benchfill.errors import BenchfillError
from benchfill.tools.endpoint import Endpoint
from benchfill.tools.exchange import EXCHANGE_HEADER, AnsweredCall, AskedCall, Exchange

__all__ = ["DeskTransport"]


class DeskTransport(httpx2.AsyncBaseTransport):
    """Stands where `LedgerTransport` stands in the process that owns the ledger.

    Parameters
    ----------
    ask
        The way to the desk: an `AskedCall` goes, an `AnsweredCall` comes back, or the error of the try is raised.
    endpoint
        Without its key, which stays at the desk.
    role
        With the endpoint's name, whom the desk asks.
    """

    def __init__(self, ask: Callable[[Any], Awaitable[Any]], *, endpoint: Endpoint, role: str) -> None:
        self._ask = ask
        self._role, self._name = role, endpoint.name
        self._base_path = urlsplit(endpoint.base_url).path.rstrip("/")
        self._exchanges: dict[str, Exchange] = {}
        self._numbers = itertools.count(1)

    def open(self, exchange: Exchange) -> str:
        """Announce an exchange; the value of :data:`EXCHANGE_HEADER` of its request."""
        number = str(next(self._numbers))
        self._exchanges[number] = exchange
        return number

    def close(self, number: str) -> None:
        """Forget an exchange."""
        del self._exchanges[number]

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        exchange = self._exchanges[request.headers[EXCHANGE_HEADER]]
        body = await request.aread()
        path = request.url.path.removeprefix(self._base_path)
        call = AskedCall(self._role, self._name, path, body, exchange.tag, exchange.tries)
        try:
            answer: AnsweredCall = await self._ask(call)
        except BenchfillError as error:
            # The client above wraps what it does not know; the exchange carries the error past it.
            exchange.error = error
            raise
        exchange.key, exchange.from_ledger = answer.key, answer.from_ledger
        exchange.body = answer.reply.response
        headers = {"content-type": answer.reply.content_type}
        return httpx2.Response(
            answer.reply.status, headers=headers, content=answer.reply.response, request=request
        )
