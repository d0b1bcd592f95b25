"""A call to a model as the ledger keeps it: what was asked, the raw reply, what it cost."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["StoredCall", "StoredReply"]


@dataclass(frozen=True, slots=True)
class StoredCall:
    """One request that reached an endpoint.

    Parameters
    ----------
    key
        What makes two calls the same: method, endpoint, path, body and sample tag, hashed.
    endpoint
        The configured base URL without credentials, or the constant that stands for it.
    role, model, run, tag
        Who asked whom, in which run, as which sample.
    status, content_type, response
        The reply as it came, before anything parsed it.
    request
        The JSON body; headers, and so API keys, are no part of it.
    input_tokens, output_tokens
        As the server reported; None when it did not.
    price
        In the currency of the configured prices; None when there is no price or no usage.
    seconds
        From sending to the last byte.
    tries
        Which try of the same call this was, from 1.
    fault
        Empty for a usable reply, else the stable name of what was wrong with it.
    charged_tokens, charged_cost
        What it counted for against a budget: as reported, or what was set aside for it where the server did
        not report and may bill. The cost is None without prices.
    """

    key: str
    endpoint: str
    role: str
    model: str
    run: str
    tag: str
    status: int
    content_type: str
    request: bytes
    response: bytes
    input_tokens: int | None
    output_tokens: int | None
    price: float | None
    seconds: float
    tries: int
    fault: str = ""
    charged_tokens: int | None = None
    charged_cost: float | None = None


@dataclass(frozen=True, slots=True)
class StoredReply:
    """The reply of an earlier call with the same key."""

    status: int
    content_type: str
    response: bytes
