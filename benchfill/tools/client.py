"""Models are asked here only: langchain-openai above, the call ledger below, bounded retries around."""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from benchfill.call import StoredReply
from benchfill.errors import BenchfillError, RetryableCall
from benchfill.tools.breaker import Breaker
from benchfill.tools.endpoint import Endpoint
from benchfill.tools.exchange import EXCHANGE_HEADER, AnsweredCall, AskedCall, CallLedger, Exchange
from benchfill.tools.meter import Meter
from benchfill.tools.reply import Message, Reply, reply_of
from benchfill.tools.reply_body import PartRefused, read_reply
from benchfill.tools.retrying import given_up, wait_before
from benchfill.tools.tool_modes import Mode, response_format, written_out
from benchfill.tools.tracing import apply_tracing

if TYPE_CHECKING:
    from pydantic import BaseModel

    from benchfill.tools.desk_transport import DeskTransport
    from benchfill.tools.ledger_transport import LedgerTransport
    from benchfill.tools.limits import ServerLimit

__all__ = ["ModelClient", "derive_seed"]

# A generation that takes longer than the limit will do so again, and every try of it may be billed.
TIMEOUT_TRIES = 3


class ModelClient:
    """Asks one model at one endpoint, in one role of one run.

    Parameters
    ----------
    ledger
        Where paid replies are kept and found again.
    limit
        Limits of the server, shared by all clients of it. A call that waits for its next try keeps its place, so
        that a struggling server is asked less.
    breaker
        Of the endpoint, when several clients share it.
    transport
        What sends instead, in a worker that has neither ledger nor limits of its own (`DeskTransport`).
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        ledger: CallLedger | None = None,
        role: str,
        run: str,
        limit: ServerLimit,
        meter: Meter,
        breaker: Breaker | None = None,
        transport: DeskTransport | None = None,
    ) -> None:
        # Imported here: together they take seconds, and commands without models need neither.
        import httpx2

        from benchfill.tools.chat import LeanChatOpenAI

        apply_tracing()
        self.endpoint = endpoint
        self.role = role
        self.mode: Mode = "tools" if endpoint.tool_mode == "auto" else endpoint.tool_mode
        self._named = {endpoint.model}
        self._limit = limit
        self._meter = meter
        self._transport = transport or self._ledger_transport(ledger, run, breaker)
        self._http = httpx2.AsyncClient(transport=self._transport, timeout=endpoint.timeout)

        async def api_key() -> str:
            # The OpenAI client insists on a key; without one the transport sends no header.
            return endpoint.api_key or "none"

        # An asynchronous key spares the synchronous client that nobody uses.
        self._chat = LeanChatOpenAI(
            model=endpoint.model,
            base_url=endpoint.base_url,
            api_key=api_key,
            http_async_client=self._http,
            timeout=endpoint.timeout,
            max_retries=0,
            use_responses_api=False,
            disable_streaming=True,
            temperature=endpoint.temperature,
            top_p=endpoint.top_p,
            extra_body=self._extra_body() or None,
            max_completion_tokens=endpoint.max_tokens if self._is_openai() else None,
        )
        self._bound: dict[tuple[tuple[type[BaseModel], ...], str | None], dict[str, Any]] = {}

    def _ledger_transport(
        self, ledger: CallLedger | None, run: str, breaker: Breaker | None
    ) -> LedgerTransport:
        from benchfill.tools.ledger_transport import LedgerTransport
        from benchfill.tools.wire import inner_transport

        if ledger is None:
            raise ValueError("a client asks through a ledger or through a desk")
        return LedgerTransport(
            inner_transport(self.endpoint),
            endpoint=self.endpoint,
            ledger=ledger,
            limit=self._limit,
            meter=self._meter,
            role=self.role,
            run=run,
            breaker=breaker or Breaker(patience=self.endpoint.max_wait),
        )

    async def ask(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[type[BaseModel]] = (),
        tool_choice: str | None = None,
        seed: int,
        tag: str,
        mode: Mode | None = None,
    ) -> Reply:
        """Ask, or take the reply that was paid for earlier.

        Parameters
        ----------
        tools
            Schemas the model may call.
        tool_choice
            ``auto``, ``required``, ``none`` or the name of a tool.
        seed
            Seed of this call, see :func:`derive_seed`.
        tag
            Sample tag: a deliberate re-ask of the same messages has another one.
        mode
            How calls are asked for, when not as the endpoint is set to.

        Raises
        ------
        CallFailed
            This call gave no usable reply, after all its tries; ``reason`` says why.
        EndpointDown
            No call to this endpoint can succeed.
        """
        mode = mode or self.mode
        options: dict[str, Any] = {}
        if mode == "tools" or not tools:
            options = self._options(tuple(tools), tool_choice)
        else:
            messages = written_out(messages, tools, tool_choice)
            if mode == "json_schema":
                options = {"response_format": response_format(tools, tool_choice)}
        if self.endpoint.send_seed:
            options = {**options, "seed": seed}
        waited, tries = 0.0, 1
        async with self._limit:
            while True:
                try:
                    return await self._try(messages, options, tag, tries)
                except PartRefused:
                    # The next try goes out changed; when there is nothing left to change, the call has failed.
                    wait = 0.0
                    tries += 1
                except RetryableCall as error:
                    wait = wait_before(tries, error.after, seed, tag)
                    # A call that was held back has not been tried.
                    rests = error.reason == "circuit_open"
                    most = min(self.endpoint.tries, TIMEOUT_TRIES if error.reason == "timeout" else math.inf)
                    if (tries >= most and not rests) or waited + wait > self.endpoint.max_wait:
                        raise given_up(error, tries) from None
                    self._meter.waiting(self.endpoint.name, wait, error.reason)
                    tries += not rests
                await asyncio.sleep(wait)
                waited += wait

    async def pass_on(self, call: AskedCall) -> AnsweredCall:
        """Send one try of a call that a worker made: ledger, limits and budget are here, and so is the key.

        Raises
        ------
        BenchfillError
            Why there is no usable reply, for the worker to decide what it does then.
        """
        exchange = Exchange(tag=call.tag, tries=call.tries)
        number = self._transport.open(exchange)
        headers = {"content-type": "application/json", "accept": "application/json", EXCHANGE_HEADER: number}
        if self.endpoint.api_key:
            headers["authorization"] = f"Bearer {self.endpoint.api_key}"
        url = self.endpoint.base_url.rstrip("/") + call.path
        try:
            async with self._limit:
                response = await self._http.post(url, content=call.body, headers=headers)
        finally:
            self._transport.close(number)
        reply = StoredReply(response.status_code, response.headers["content-type"], response.content)
        return AnsweredCall(reply, exchange.key, exchange.from_ledger)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _try(self, messages: Sequence[Message], options: dict[str, Any], tag: str, tries: int) -> Reply:
        thoughts = {
            place: message["reasoning_content"]
            for place, message in enumerate(messages)
            if message.get("reasoning_content")
        }
        if thoughts:
            options = {**options, "reasoning": thoughts}
        exchange = Exchange(tag=tag, tries=tries)
        number = self._transport.open(exchange)
        try:
            await self._chat.ainvoke(list(messages), **options, extra_headers={EXCHANGE_HEADER: number})
        except Exception:
            # A usable body that a parser above stumbles over is still a paid reply: it is read below. Our own
            # errors arrive wrapped, and name a cause that may hold headers: only ours is raised.
            if exchange.error is not None:
                raise exchange.error from None
            if exchange.body is None:
                raise
        finally:
            self._transport.close(number)
        if exchange.body is None:
            raise BenchfillError(f"{self.endpoint.name}: the call never reached the transport.")
        body = read_reply(exchange.body)
        self._notice_model(body.model)
        return reply_of(body, messages, from_ledger=exchange.from_ledger, key=exchange.key)

    def _notice_model(self, name: str) -> None:
        """Say once when a server answers under another name than a version of the model that was asked for."""
        asked, given = self.endpoint.model.lower(), name.lower()
        if given and name not in self._named and asked not in given and given not in asked:
            self._named.add(name)
            self._meter.notice(
                self.endpoint.name, f"asked for {self.endpoint.model}, it answers as {name[:100]}"
            )

    def _options(self, tools: tuple[type[BaseModel], ...], tool_choice: str | None) -> dict[str, Any]:
        """Keyword arguments of a call with these tools, bound once per set of tools."""
        if not tools:
            return {}
        if (tools, tool_choice) not in self._bound:
            bound = self._chat.bind_tools(tools, tool_choice=tool_choice)
            self._bound[tools, tool_choice] = dict(bound.kwargs)  # type: ignore[attr-defined]
        return self._bound[tools, tool_choice]

    def _is_openai(self) -> bool:
        return self.endpoint.host == "api.openai.com"

    def _extra_body(self) -> dict[str, Any]:
        body = dict(self.endpoint.extra_body)
        # langchain-openai renames max_tokens to max_completion_tokens, which only OpenAI is sure to know.
        if self.endpoint.max_tokens is not None and not self._is_openai():
            body["max_tokens"] = self.endpoint.max_tokens
        return body


def derive_seed(run_seed: int, role: str, item: str, model: str, attempt: int) -> int:
    """Seed of one call: ``(hash40(run_seed, role, item, model) << 12) | attempt``, 52 bits, exact in JSON.

    Parameters
    ----------
    attempt
        0 to 4095: the number of the attempt, which the embedded worlds read back from the seed.
    """
    if not 0 <= attempt < 4096:
        raise ValueError(f"attempt {attempt} is not in 0..4095")
    text = "\x1f".join((str(run_seed), role, item, model))
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:5], "big") << 12 | attempt


apply_tracing()
