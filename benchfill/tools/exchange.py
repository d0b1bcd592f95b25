"""One try of one call, between the client and the transport below it; and what makes two calls the same."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Protocol

from benchfill.call import StoredCall, StoredReply
from benchfill.errors import BenchfillError

__all__ = ["EXCHANGE_HEADER", "AnsweredCall", "AskedCall", "CallLedger", "Exchange", "call_key"]

# Carries the number of the exchange, and so its sample tag, from the client to the transport; never sent.
EXCHANGE_HEADER = "x-benchfill-exchange"


class CallLedger(Protocol):
    """What the transport needs of a ledger."""

    def look_up(self, key: str) -> StoredReply | None: ...

    def commit(self, call: StoredCall) -> bool: ...

    def commit_failure(self, call: StoredCall) -> None: ...


@dataclass(slots=True)
class Exchange:
    """One try of one call: what the client hands down, and what the transport hands up beside the response.

    Parameters
    ----------
    tag
        The sample tag: two calls that differ in nothing else are two samples.
    tries
        Which try this is, from 1.
    key
        Filled in: the key of the call.
    body
        Filled in: the raw body of a usable reply.
    from_ledger
        Filled in: whether it was served without asking.
    taken
        Filled in: tokens that the try took.
    error
        Filled in: why there is no usable reply, sorted into what the caller may do.
    """

    tag: str
    tries: int = 1
    key: str = ""
    body: bytes | None = None
    from_ledger: bool = False
    taken: int = 0
    error: BenchfillError | None = None


@dataclass(frozen=True, slots=True)
class AskedCall:
    """One try of one call, from a worker to the process that may send it.

    Parameters
    ----------
    role, name
        Which client: the pool has one a model.
    path
        Below the base URL.
    body
        As langchain-openai wrote it.
    """

    role: str
    name: str
    path: str
    body: bytes
    tag: str
    tries: int


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """Its usable reply."""

    reply: StoredReply
    key: str
    from_ledger: bool


def call_key(method: str, place: str, path: str, body: bytes, tag: str) -> str:
    """What makes two calls the same: sha256 of method, place, path, canonical JSON body and sample tag.

    Timeouts, retries, headers and keys are no part of it, so changing them pays nothing again.
    """
    canonical = json.dumps(json.loads(body), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    parts = json.dumps([method, place, path, canonical, tag], ensure_ascii=False)
    return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()
