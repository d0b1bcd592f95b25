"""A model at a server, and how it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from benchfill.endpoint_settings import ToolMode
from benchfill.errors import InputError

__all__ = ["Endpoint"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model at a server, and how it is asked.

    Parameters
    ----------
    name
        As the user calls it, e.g. the pool entry; in messages.
    base_url, model
        OpenAI-compatible base URL (ending in ``/v1`` as a rule) and the model's name there.
    api_key
        Never in a repr, a log, an error or the ledger; None sends no ``Authorization``.
    ledger_name
        Constant that stands for ``base_url`` in ledger keys; "" means the URL itself.
    timeout
        Seconds for one try, from sending to the last byte.
    temperature, top_p, max_tokens
        Sent when not None.
    extra_body
        Further fields of the body.
    tool_mode
        How structured replies are asked for; ``auto`` is found out by a probe.
    send_seed
        Whether the seed of a call goes out as OpenAI's ``seed``.
    send_reasoning
        Whether the model's reasoning goes back to it with its earlier turns; a server that says it wants it
        gets it anyway.
    price_in, price_out
        Per million tokens; None when not known.
    tries
        How often one call is tried at most (after timeouts three times).
    max_wait
        Seconds that one call waits between its tries, in all; a server that asks for more ends the call.
    """

    name: str
    base_url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    ledger_name: str = ""
    timeout: float = 120.0
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    tool_mode: ToolMode = "tools"
    send_seed: bool = True
    price_in: float | None = None
    price_out: float | None = None
    tries: int = 8
    max_wait: float = 120.0
    send_reasoning: bool = False

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(
                f"The base URL of {self.name} is not an http(s) address.",
                "Give the address of the API, e.g. http://127.0.0.1:8000/v1.",
                kind="base_url",
            )

    @property
    def place(self) -> str:
        """What stands for the server in ledger keys: never a port that changes, never a credential."""
        parts = urlsplit(self.base_url)
        address = (parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", "")
        return self.ledger_name or urlunsplit(address)

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).hostname or ""

    def price(self, input_tokens: int | None, output_tokens: int | None) -> float | None:
        """Price of a call; None without prices or usage, for an unknown cost is not zero."""
        if self.price_in is None or self.price_out is None or input_tokens is None or output_tokens is None:
            return None
        return (input_tokens * self.price_in + output_tokens * self.price_out) / 1e6
