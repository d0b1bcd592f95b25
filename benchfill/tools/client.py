"""Models are asked here only: langchain-openai above, the call ledger below, bounded retries around."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import math
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchfill.errors import BenchfillError, CallFailed, EndpointDown, RetryableCall
from benchfill.tools.endpoint import Endpoint
from benchfill.tools.meter import Meter
from benchfill.tools.reply_body import ToolCall, read_reply

if TYPE_CHECKING:
    from pydantic import BaseModel

    from benchfill.tools.ledger_transport import CallLedger

__all__ = ["Endpoint", "Message", "ModelClient", "Reply", "ToolCall", "derive_seed", "switch_tracing_off"]

# OpenAI chat message: role, content, tool_calls, tool_call_id.
Message = dict[str, Any]

FIRST_WAIT = 0.5
LONGEST_WAIT = 30.0
# A generation that takes longer than the limit will do so again, and every try of it may be billed.
TIMEOUT_TRIES = 3


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model replied.

    Parameters
    ----------
    tool_calls
        Calls whose arguments are JSON objects.
    malformed
        Calls that are none, as text.
    reasoning
        The server's separate reasoning text; never graded.
    input_tokens, output_tokens
        0 when the server reported no usage.
    from_ledger, key
        Whether the reply was paid for earlier, and its key in the ledger.
    """

    content: str
    tool_calls: tuple[ToolCall, ...]
    malformed: tuple[str, ...]
    reasoning: str
    finish_reason: str
    input_tokens: int
    output_tokens: int
    from_ledger: bool
    key: str


class ModelClient:
    """Asks one model at one endpoint, in one role of one run.

    Parameters
    ----------
    ledger
        Where paid replies are kept and found again.
    limit
        Bounds the calls in flight at the endpoint; shared by all clients of it. A call that waits for its
        next try keeps its place, so that a struggling server is asked less.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        ledger: CallLedger,
        role: str,
        run: str,
        limit: asyncio.Semaphore,
        meter: Meter,
    ) -> None:
        # Imported here: together they take seconds, and commands without models need neither.
        import httpx2

        from benchfill.tools.chat import LeanChatOpenAI
        from benchfill.tools.ledger_transport import LedgerTransport
        from benchfill.tools.wire import inner_transport

        switch_tracing_off()
        self.endpoint = endpoint
        self.role = role
        self._limit = limit
        self._meter = meter
        self._transport = LedgerTransport(
            inner_transport(endpoint), endpoint=endpoint, ledger=ledger, meter=meter, role=role, run=run
        )
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

    async def ask(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[type[BaseModel]] = (),
        tool_choice: str | None = None,
        seed: int,
        tag: str,
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

        Raises
        ------
        CallFailed
            This call gave no usable reply, after all its tries; ``reason`` says why.
        EndpointDown
            No call to this endpoint can succeed.
        """
        options = self._options(tuple(tools), tool_choice)
        if self.endpoint.send_seed:
            options = {**options, "seed": seed}
        waited = 0.0
        async with self._limit:
            for tries in itertools.count(1):
                try:
                    return await self._try(messages, options, tag, tries)
                except RetryableCall as error:
                    wait = _wait(tries, error.after, seed, tag)
                    most = min(self.endpoint.tries, TIMEOUT_TRIES if error.reason == "timeout" else math.inf)
                    if tries >= most or waited + wait > self.endpoint.max_wait:
                        raise _given_up(error, tries) from None
                    self._meter.waiting(self.endpoint.name, wait, error.reason)
                await asyncio.sleep(wait)
                waited += wait
        raise AssertionError

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _try(self, messages: Sequence[Message], options: dict[str, Any], tag: str, tries: int) -> Reply:
        from benchfill.tools.ledger_transport import EXCHANGE_HEADER, Exchange

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
        return Reply(
            content=body.content,
            tool_calls=body.tool_calls,
            malformed=body.malformed,
            reasoning=body.reasoning,
            finish_reason=body.finish_reason,
            input_tokens=body.input_tokens or 0,
            output_tokens=body.output_tokens or 0,
            from_ledger=exchange.from_ledger,
            key=exchange.key,
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


def _wait(tries: int, after: float | None, seed: int, tag: str) -> float:
    """Seconds before the next try: what the server asked for, at least an exponential backoff with jitter."""
    # Drawn from the call itself, so that the same run waits the same.
    digest = hashlib.sha256(f"{seed}:{tag}:{tries}".encode("utf-8", "surrogatepass")).digest()
    jitter = int.from_bytes(digest[:4], "big") / 2**32
    backoff = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (tries - 1)) * (0.5 + 0.5 * jitter)
    return backoff if after is None else max(after, backoff)


def _given_up(error: RetryableCall, tries: int) -> CallFailed:
    message = f"{error.message} (given up after {tries} {'try' if tries == 1 else 'tries'})"
    # A server that refuses every connection is down for the other calls too.
    kind = EndpointDown if error.reason == "unreachable" else CallFailed
    return kind(message, error.reason)


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


def switch_tracing_off() -> None:
    """Let no tracing variable of the user's shell send the texts of this process or its children anywhere."""
    for name in list(os.environ):
        if name.startswith(("LANGSMITH_", "LANGCHAIN_")):
            del os.environ[name]
    # Where langsmith is loaded already it may have read them.
    if "langsmith" in sys.modules:
        import langsmith

        langsmith.configure(enabled=False)


switch_tracing_off()
