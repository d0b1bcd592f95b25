"""The HTTP transport below the model client: what was paid for once is never asked again.

A request's key is looked up in the ledger; on a miss the request goes out, the whole body is read and, when
it is a usable reply, committed before anyone above sees it. So a killed process repeats at most the calls
that were in flight, and raw bodies keep what parsers drop.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from urllib.parse import urlsplit

import httpx2

from benchfill.call import StoredCall, StoredReply
from benchfill.errors import BenchfillError, CallFailed, RetryableCall
from benchfill.tools.adjust import Adjustments
from benchfill.tools.breaker import Breaker
from benchfill.tools.budget import Reservation
from benchfill.tools.endpoint import Endpoint
from benchfill.tools.exchange import EXCHANGE_HEADER, CallLedger, Exchange, call_key
from benchfill.tools.limits import ServerLimit
from benchfill.tools.meter import Meter
from benchfill.tools.reply_body import PartRefused, fault_of, reported_usage

__all__ = ["LedgerTransport"]

# What goes out besides the body. The OpenAI client adds the user's organisation and project from the
# environment and a description of this machine: nothing that another provider should be told.
SENT_HEADERS = frozenset(
    {b"host", b"content-length", b"content-type", b"accept", b"accept-encoding", b"connection"}
)

# A server may echo a bad key. Placeholders such as "EMPTY" are shorter, and words a reply may well contain.
SECRET_BYTES = 12


class LedgerTransport(httpx2.AsyncBaseTransport):
    """An asynchronous transport for one model at one endpoint, in one role of one run.

    Parameters
    ----------
    inner
        What really sends.
    endpoint
        Where, and under which name and key it is kept.
    ledger
        Where usable replies are looked up and committed.
    limit
        What is sent passes it; ledger hits do not.
    meter
        Counts what is sent.
    breaker
        Holds back what would be sent to an endpoint that only fails; one of its own when None.
    """

    def __init__(
        self,
        inner: httpx2.AsyncBaseTransport,
        *,
        endpoint: Endpoint,
        ledger: CallLedger,
        limit: ServerLimit,
        meter: Meter,
        role: str,
        run: str,
        breaker: Breaker | None = None,
    ) -> None:
        self._inner = inner
        self._breaker = breaker or Breaker()
        self._adjustments = Adjustments(send_reasoning=endpoint.send_reasoning)
        self._endpoint = endpoint
        self._ledger = ledger
        self._limit = limit
        self._meter = meter
        self._role, self._run = role, run
        self._place = endpoint.place
        self._base_path = urlsplit(endpoint.base_url).path.rstrip("/")
        self._secret = (endpoint.api_key or "").encode()
        self._exchanges: dict[str, Exchange] = {}
        self._opened = 0

    def open(self, exchange: Exchange) -> str:
        """Announce an exchange; the value of :data:`EXCHANGE_HEADER` of its request."""
        self._opened += 1
        number = str(self._opened)
        self._exchanges[number] = exchange
        return number

    def close(self, number: str) -> None:
        """Forget an exchange."""
        del self._exchanges[number]

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        exchange = self._exchanges[request.headers[EXCHANGE_HEADER]]
        try:
            return await self._handle(request, exchange)
        except BenchfillError as error:
            # The client above wraps what it does not know; the exchange carries the error past it.
            exchange.error = error
            raise

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _handle(self, request: httpx2.Request, exchange: Exchange) -> httpx2.Response:
        body = await request.aread()
        path = request.url.path.removeprefix(self._base_path)
        exchange.key = call_key(request.method, self._place, path, body, exchange.tag)
        stored = self._ledger.look_up(exchange.key)
        if stored is None:
            stored = await self._ask(request, body, exchange)
        else:
            self._meter.from_ledger += 1
            exchange.from_ledger = True
        exchange.body = stored.response
        headers = {"content-type": stored.content_type}
        return httpx2.Response(stored.status, headers=headers, content=stored.response, request=request)

    async def _ask(self, request: httpx2.Request, body: bytes, exchange: Exchange) -> StoredReply:
        """Send what was meant, as the server wants it, unless the endpoint rests."""
        sent = self._adjustments.apply(body)
        with contextlib.ExitStack() as passed:
            first = exchange.tries == 1
            reports = [
                passed.enter_context(breaker.passing(self._endpoint.name, first=first))
                for breaker in (self._limit.breaker, self._breaker)
            ]
            try:
                stored = await self._pass(self._outgoing(request, body, sent), sent, exchange)
            except CallFailed as fault:
                for report in reports:
                    report(fault)
                if isinstance(fault, PartRefused):
                    self._learn(fault, body, sent)
                raise
            for report in reports:
                report(None)
        return stored

    async def _pass(self, request: httpx2.Request, body: bytes, exchange: Exchange) -> StoredReply:
        """Send within the budget and the limits of the server."""
        reserved = await self._meter.budget.reserve(self._endpoint, len(body))
        try:
            async with self._limit.sending(reserved.charge.tokens, on_wait=self._say_wait) as passage:
                try:
                    return await self._send(request, body, exchange, reserved)
                finally:
                    self._limit.settle(passage, exchange.taken)
        finally:
            self._meter.budget.release(reserved)

    def _learn(self, fault: PartRefused, body: bytes, sent: bytes) -> None:
        """Leave out what the server refuses from now on; where that changes nothing the call has failed."""
        if self._adjustments.learn(fault.change):
            self._meter.notice(self._endpoint.name, f"goes on without what it refuses ({fault.change})")
        if self._adjustments.apply(body) == sent:
            raise CallFailed(fault.message, fault.reason) from None

    def _say_wait(self, seconds: float) -> None:
        self._meter.waiting(self._endpoint.name, seconds, "limit_a_minute")

    def _outgoing(self, request: httpx2.Request, body: bytes, sent: bytes) -> httpx2.Request:
        """The request with the body it is to have, and without what the server is not told."""
        names = SENT_HEADERS | {b"authorization"} if self._secret else SENT_HEADERS
        if sent != body:
            names = names - {b"content-length"}
        headers = httpx2.Headers([pair for pair in request.headers.raw if pair[0].lower() in names])
        if sent == body:
            request.headers = headers
            return request
        return httpx2.Request(request.method, request.url, headers=headers, content=sent)

    async def _send(
        self, request: httpx2.Request, body: bytes, exchange: Exchange, reserved: Reservation
    ) -> StoredReply:
        """Forward, read the whole body, commit, and raise what is wrong with it."""
        status, content_type, content = 0, "", b""
        name, start = self._endpoint.name, time.monotonic()
        fault: CallFailed | None
        try:
            # One limit for the whole try: a body that drips never exceeds the limit of a single read.
            async with asyncio.timeout(self._endpoint.timeout):
                response = await self._inner.handle_async_request(request)
                try:
                    status, content_type = response.status_code, response.headers.get("content-type", "")
                    content = await response.aread()
                finally:
                    await response.aclose()
        except asyncio.CancelledError:
            self._keep(exchange, body, (status, content_type, b""), start, "cancelled", reserved)
            raise
        except (TimeoutError, httpx2.TimeoutException):
            fault = RetryableCall(f"{name}: no reply in time", "timeout")
        except httpx2.ConnectError:
            fault = RetryableCall(f"{name}: no connection", "unreachable")
        except (
            httpx2.NetworkError,
            httpx2.RemoteProtocolError,
            httpx2.ProxyError,
            httpx2.DecodingError,
        ) as error:
            fault = RetryableCall(f"{name}: connection lost ({type(error).__name__})", "connection")
        else:
            if len(self._secret) >= SECRET_BYTES:
                content = content.replace(self._secret, b"***")
            fault = fault_of(name, status, response.headers, content)
        reply = (status, content_type, content)
        if not self._keep(exchange, body, reply, start, "" if fault is None else fault.reason, reserved):
            # Another process was faster with the same call: its reply is the one every later run will see.
            earlier = self._ledger.look_up(exchange.key)
            if earlier is not None:
                return earlier
        if fault is not None:
            raise fault
        return StoredReply(*reply)

    def _keep(
        self,
        exchange: Exchange,
        request: bytes,
        reply: tuple[int, str, bytes],
        start: float,
        fault: str,
        reserved: Reservation,
    ) -> bool:
        """Write a request that was sent into ledger, meter and budget; False when it was a duplicate."""
        tokens = reported_usage(reply[2])
        price = self._endpoint.price(*tokens)
        # An error status without usage is not billed; a lost reply may be.
        sent = fault != "unreachable" and (not fault or not reply[2])
        charge = self._meter.budget.settle(reserved, tokens, sent=sent)
        exchange.taken = charge.tokens
        self._meter.count_call(tries=exchange.tries, failed=bool(fault), tokens=tokens, price=price)
        call = StoredCall(
            key=exchange.key,
            endpoint=self._place,
            role=self._role,
            model=self._endpoint.model,
            run=self._run,
            tag=exchange.tag,
            status=reply[0],
            content_type=reply[1],
            request=request,
            response=reply[2],
            input_tokens=tokens[0],
            output_tokens=tokens[1],
            price=price,
            seconds=time.monotonic() - start,
            tries=exchange.tries,
            fault=fault,
            charged_tokens=charge.tokens,
            charged_cost=charge.cost,
        )
        if not fault:
            return self._ledger.commit(call)
        self._ledger.commit_failure(call)
        return True
